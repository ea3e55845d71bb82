# SPDX-License-Identifier: MIT
"""Tests the search for NVIDIA's libraries: in a toolkit, in wheels, with carried headers, too old, and missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
from unittest import mock

from support import Case
import programs
import toolkit
from toolkit import Toolkit

CUDA = {"cuda_runtime_api.h": "#define CUDART_VERSION  {}\n", "nvrtc.h": "", "cublasLt.h": ""}
CUDNN = {"cudnn.h": "", "cudnn_backend.h": "",
         "cudnn_version.h": "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 19\n#define CUDNN_PATCHLEVEL 1\n"}


class Finding(Case):
    def lay(self, folder, headers=(), libraries=(), version=13000):
        """Makes a folder with include/ and lib/, whose libraries are empty."""
        root = self.folder / folder
        for name, text in dict(headers).items():
            (root / "include").mkdir(parents=True, exist_ok=True)
            (root / "include" / name).write_text(text.replace("{}", str(version)))
        for name in libraries:
            (root / "lib").mkdir(parents=True, exist_ok=True)
            (root / "lib" / name).touch()
        return str(root.resolve())

    def wheels(self, headers=True):
        """Makes folders as Python's wheels have them: cuDNN is separate, and no library has a name without version."""
        return [self.lay("site/nvidia/cu13", CUDA if headers else (),
                         ("libcudart.so.13", "libnvrtc.so.13", "libcublasLt.so.13")),
                self.lay("site/nvidia/cudnn", CUDNN if headers else (), ("libcudnn.so.9",))]

    def test_wheels(self):
        cuda, cudnn = self.wheels()
        kit = Toolkit(only=[cuda, cudnn])
        self.assertEqual(kit.missing, [])
        self.assertEqual(kit.versions, {"cuda": 13000, "cudnn": 91901})
        self.assertEqual(kit.libraries["cudnn"], f"{cudnn}/lib/libcudnn.so.9")
        self.assertIn(f"{cuda}/lib/libnvrtc.so.13", kit.link_flags())
        self.assertIn(f"-Wl,-rpath,{cudnn}/lib", kit.link_flags())
        self.assertEqual(kit.compile_flags(), ["-isystem", f"{cuda}/include", "-isystem", f"{cudnn}/include"])
        self.assertIn(f"-DTYPENET_CUDNN_LIBRARY={cudnn}/lib/libcudnn.so.9", kit.cmake_flags())
        with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": "/before"}):
            self.assertEqual(kit.environment()["LD_LIBRARY_PATH"], f"{cuda}/lib:{cudnn}/lib:/before")

    def test_wheels_of_an_interpreter(self):
        wheels = self.wheels()
        with mock.patch.dict(os.environ, {"PYTHONPATH": str(self.folder / "site")}):
            found = toolkit.roots(None, sys.executable)
        self.assertEqual([r for r in found if r in wheels], wheels)
        self.assertEqual(toolkit.module_folders(str(self.folder / "no_python")), [])

    def test_a_toolkit_that_is_too_old_is_passed_over(self):
        old = self.lay("cuda-12.8", {**CUDA, **CUDNN}, ("libcudart.so", "libnvrtc.so", "libcublasLt.so", "libcudnn.so"),
                       12080)
        kit = Toolkit(only=[old, *self.wheels()])
        self.assertEqual(kit.missing, [])
        self.assertEqual(kit.versions["cuda"], 13000)
        self.assertTrue(kit.libraries["nvrtc"].endswith("site/nvidia/cu13/lib/libnvrtc.so.13"))
        self.assertEqual(kit.libraries["cudnn"], f"{old}/lib/libcudnn.so")  # this one is recent enough
        self.assertIn("cuda 12080", " ".join(kit.notes))
        kit = Toolkit(only=[old])
        self.assertIn("cudart: no cuda_runtime_api.h", kit.missing)

    def test_one_folder_that_has_both_is_preferred(self):
        alone = self.lay("alone", {}, ("libcudart.so",))
        cuda, cudnn = self.wheels()
        kit = Toolkit(only=[alone, cuda, cudnn])
        self.assertEqual(kit.libraries["cudart"], f"{cuda}/lib/libcudart.so.13")

    def test_carried_headers(self):
        carried = self.folder / "carried"
        shutil.copytree(pathlib.Path(self.lay("from", {**CUDA, **CUDNN})) / "include", carried)
        wheels = self.wheels(headers=False)
        kit = Toolkit(only=wheels, carried=carried)
        self.assertEqual(kit.missing, [])
        self.assertEqual(kit.headers["cudnn"], str(carried))
        self.assertIn("cudnn's header is the carried one", kit.notes)
        self.assertEqual(kit.compile_flags()[-2:], ["-idirafter", str(carried)])
        (carried / "cudnn_version.h").write_text("#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n")
        kit = Toolkit(only=wheels, carried=carried)
        self.assertIn("cudnn must be 91100 or later; its header says 80900", kit.missing)
        self.assertIn("cudnn: no cudnn_backend.h", Toolkit(only=wheels).missing)

    def test_nothing(self):
        s = self.stage("bench")
        self.assertEqual(len(s.toolkit.missing), 8)
        self.assertEqual(programs.build_all(s, ["cuda_step"]), {})
        self.assertEqual(self.status(s), {"NVIDIA's libraries": "FAILED"})
        self.assertIn("cudart: no libcudart.so or libcudart.so.13", self.detail(s, "NVIDIA's libraries"))

    def test_real_libraries_in_the_layout_of_wheels(self):
        here = Toolkit()
        if here.missing or not shutil.which("g++"):
            self.skipTest("needs NVIDIA's libraries and g++")
        cuda, cudnn = self.folder / "site/nvidia/cu13", self.folder / "site/nvidia/cudnn"
        for root, parts in ((cuda, ("cudart", "nvrtc", "cublasLt")), (cudnn, ("cudnn",))):
            (root / "lib").mkdir(parents=True)
            (root / "include").symlink_to(here.headers[parts[0]])
            for part in parts:
                (root / "lib" / toolkit.PARTS[part][1][1]).symlink_to(here.libraries[part])
        kit = Toolkit(only=[cuda, cudnn])
        self.assertEqual(kit.missing, [])
        self.assertTrue(kit.libraries["cudnn"].endswith("/libcudnn.so.9"))
        source, program = self.folder / "versions.cpp", self.folder / "versions"
        source.write_text("""#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>
int main() {
  int runtime = 0, major = 0, minor = 0;
  bool const asked = cudaRuntimeGetVersion(&runtime) == cudaSuccess && nvrtcVersion(&major, &minor) == NVRTC_SUCCESS;
  return asked && runtime >= 13000 && major >= 13 && cudnnGetVersion() >= 91100 && cublasLtGetVersion() > 0 ? 0 : 1;
}
""")
        built = subprocess.run(["g++", *kit.compile_flags(), source, "-o", program, *kit.link_flags()],
                               capture_output=True, text=True)
        self.assertEqual((built.returncode, built.stderr), (0, ""))
        self.assertEqual(subprocess.run([program], env={**os.environ, **kit.environment()}).returncode, 0)


if __name__ == "__main__":
    unittest.main()
