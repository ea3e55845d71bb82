# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import load

required_conan_version = ">=2.0.9"


class TypenetConan(ConanFile):
    name = "typenet"
    description = "A network is a type: header-only C++20 language for neural networks, checked and planned at compile time"
    license = "MIT"
    topics = ("neural-network", "deep-learning", "dsl", "compile-time", "header-only")
    # Headers, or with header_only=False headers and libraries.
    package_type = "library"
    implements = ["auto_shared_fpic"]
    settings = "os", "arch", "compiler", "build_type"
    # with_... adds a requirement. Without it the package does not take this part from the system, either.
    options = {"header_only": [True, False], "shared": [True, False], "fPIC": [True, False],
               "with_text": [True, False], "with_safetensors": [True, False], "with_keras_h5": [True, False],
               "with_onnx": [True, False], "with_onednn": [True, False], "with_pictures": [True, False]}
    # ConanCenter has fmt but no oneDNN.
    default_options = {"header_only": True, "shared": False, "fPIC": True, "with_text": True, "with_safetensors": False, "with_keras_h5": False, "with_onnx": False,
                       "with_onednn": False, "with_pictures": False, "hdf5/*:shared": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "dsl", "version.hpp"))
        self.version = re.search(r'version = "([0-9.]+)"', text).group(1)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.with_text:
            self.requires("fmt/[>=9 <13]", transitive_headers=True, transitive_libs=True)
        if self.options.with_safetensors:
            self.requires("nlohmann_json/[>=3.10 <4]", transitive_headers=True)
        if self.options.with_keras_h5:
            self.requires("hdf5/[>=1.10 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.with_onnx:
            self.requires("onnx/[>=1.12 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.with_onednn:
            self.requires("onednn/[>=2.6 <4]", transitive_headers=True, transitive_libs=True)
        if self.options.with_pictures:
            self.requires("libpng/[>=1.6 <2]", transitive_headers=True, transitive_libs=True)
            self.requires("libjpeg-turbo/[>=2.1 <4]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        if self.info.options.header_only:  # the same for all compilers; only the parts depend on the options
            self.info.settings.clear()
            self.info.requires.clear()

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"TYPENET_BUILD_{part}"] = False
        # Conan's name of it, whatever the machine has that makes the package: it is the same everywhere.
        toolchain.cache_variables["TYPENET_HDF5_MODULE"] = "hdf5"
        parts = ("text", "safetensors", "keras_h5", "onnx", "onednn", "pictures")
        toolchain.cache_variables["TYPENET_WITHOUT"] = ",".join(
            part for part in parts if not self.options.get_safe(f"with_{part}"))
        toolchain.cache_variables["TYPENET_COMPILED"] = not self.options.header_only
        if not self.options.header_only:
            # The libraries are those of the options, whatever the machine has.
            for part in ("ONEDNN", "PICTURES", "KERAS_H5", "ONNX"):
                toolchain.cache_variables[f"TYPENET_WITH_{part}"] = (
                    "ON" if self.options.get_safe(f"with_{part.lower()}") else "OFF")
            for part in ("CUDA", "MPI"):
                toolchain.cache_variables[f"TYPENET_WITH_{part}"] = "OFF"
            for part, package in (("text", "fmt"), ("safetensors", "nlohmann_json")):
                if not self.options.get_safe(f"with_{part}"):
                    toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{package}"] = True
            CMakeDeps(self).generate()
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if not self.options.header_only:
            cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The installed typenetConfig.cmake finds fmt and oneDNN itself, whether they come from Conan or, as platform
        # requirements, from the system; a generated one would lose the latter.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "typenet")]
        self.cpp_info.bindirs = []
        if self.options.header_only:
            self.cpp_info.libdirs = []
        self.cpp_info.set_property("pkg_config_name", "typenet")
