# SPDX-License-Identifier: MIT
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TypenetTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def parts(self):
        options = self.dependencies["typenet"].options
        return [part for part in ("text", "safetensors", "keras_h5", "onnx", "onednn", "pictures")
                if options.get_safe(f"with_{part}")]

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TYPENET_PARTS"] = ";".join(self.parts())
        toolchain.cache_variables["TYPENET_COMPILED"] = not self.dependencies["typenet"].options.header_only
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("train_one_step", "read_picture") if "pictures" in self.parts() else ("train_one_step",):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
