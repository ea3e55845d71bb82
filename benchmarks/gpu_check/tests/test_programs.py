# SPDX-License-Identifier: MIT
"""Tests that the programs of the stages are built without Catch2, fmt, CLI11 and oneDNN."""
import os
import subprocess
import unittest

from support import ROOT, Case
import programs
from toolkit import Toolkit

NOT_THERE = ("catch2/", "fmt/", "CLI/", "dnnl", "oneapi/", "hdf5", "onnx/", "mpi.h")


class Includes(Case):
    def test_programs_include_no_library_that_a_gpu_machine_lacks(self):
        kit = Toolkit()
        if kit.missing:
            self.skipTest("; ".join(kit.missing))
        for name in ("gpu_conformance", "cuda_step", "cuda_train", "cuda_options"):
            with self.subTest(name):
                command = [programs.compiler(), "-std=c++20", *map(str, programs.flags_of(name)), *kit.compile_flags(),
                           "-M", *programs.SOURCES[name]]
                done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                files = [w for w in done.stdout.replace("\\\n", " ").split() if not w.endswith(":")]
                self.assertTrue(any("cudnn" in os.path.basename(f) for f in files), "the list is not complete")
                self.assertEqual([f for f in files if any(f"/include/{n}" in f for n in NOT_THERE)], [])


if __name__ == "__main__":
    unittest.main()
