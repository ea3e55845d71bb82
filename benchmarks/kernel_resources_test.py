# SPDX-License-Identifier: MIT
"""Tests how kernel_resources reads cuobjdump's output, and the number of warps that it computes."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent / "kernel_resources"
loader = importlib.machinery.SourceFileLoader("kernel_resources", str(PATH))
resources = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(resources)


class Warps(unittest.TestCase):
    # The expected numbers are the results of cudaOccMaxActiveBlocksPerMultiprocessor (cuda_occupancy.h), times a block's
    # warps.
    def test_shared_memory_is_the_architecture_s(self):
        for architecture, of_32_kb, of_44_kb in (("sm_80", 32, 24), ("sm_90", 48, 40), ("sm_90a", 48, 40), ("sm_100f", 48, 40)):
            self.assertEqual(resources.warps_at_once(architecture, 32, 32 * 1024, 256), of_32_kb)
            self.assertEqual(resources.warps_at_once(architecture, 32, 44 * 1024, 256), of_44_kb)
        self.assertEqual(resources.warps_at_once("sm_80", 32, 12970, 128), 44)  # not 12 blocks: in pieces of 128 bytes

    def test_registers_are_four_parts(self):
        # 152 registers are 4,864 per warp: three warps fit into each part of 16,384; thirteen would fit into 65,536.
        self.assertEqual(resources.warps_at_once("sm_90", 152, 0, 32), 12)
        self.assertEqual(resources.warps_at_once("sm_90", 35, 0, 160), 45)
        self.assertEqual(resources.warps_at_once("sm_90", 72, 0, 224), 28)
        self.assertEqual(resources.warps_at_once("sm_90", 128, 0, 544), 0)  # not launched: 17 warps count as 20

    def test_threads_and_blocks(self):
        self.assertEqual(resources.warps_at_once("sm_90", 16, 0, 1024), 64)
        self.assertEqual(resources.warps_at_once("sm_90", 16, 0, 32), 32)  # the maximum number of blocks
        self.assertEqual(resources.warps_at_once("sm_90", 16, 0, 33), 64)

    def test_other_architectures_are_refused(self):
        for architecture in ("sm_75", "sm_86", "sm_89", "sm_103", "sm_120", "compute_90", "sm_90b", "90"):
            with self.assertRaises(ValueError):
                resources.capability(architecture)


LISTED = "0 copy 12 256\n1 sum 3 128\n"
USAGE = """Resource usage:
 Common:
  GLOBAL:0
 Function k0:
  REG:40 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:600 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function k1:
  REG:32 STACK:16 SHARED:2112 LOCAL:0 CONSTANT[0]:600 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
CODE = """\t\tFunction : k0
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.U16 R4, desc[UR4][R2.64] ;
        /*0030*/              @!P0 STG.E.64 desc[UR4][R2.64], R4 ;
\t\tFunction : k1
        /*0010*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;
        /*0020*/                   LDGDEPBAR ;
        /*0030*/                   LDG.E R4, desc[UR4][R2.64] ;
        /*0040*/                   STL.64 [R1], R4 ;
        /*0050*/                   LDS R4, [R5] ;
        /*0060*/                   STG.E.U8 desc[UR4][R2.64], R4 ;
"""


class Words(unittest.TestCase):
    def test_what_cuobjdump_says(self):
        copy, sums = resources.read_kernels("sm_90a", LISTED, USAGE, CODE)
        self.assertEqual((copy["name"], copy["blocks"], copy["threads"]), ("copy", 12, 256))
        self.assertEqual((copy["registers"], copy["shared"], copy["warps"]), (40, 0, 48))
        self.assertEqual(copy["widths"], {"load 16": 1, "load 2": 1, "store 8": 1})
        self.assertEqual((sums["stack"], sums["shared"]), (16, 1088))  # without the bytes that every block takes
        self.assertEqual(sums["widths"], {"load 16": 1, "load 4": 1, "spill 8": 1, "store 1": 1})
        # for sm_80, cuobjdump does not count the bytes that every block takes
        self.assertEqual(resources.read_kernels("sm_80", LISTED, USAGE, CODE)[1]["shared"], 2112)

    def test_a_kernel_of_which_nothing_is_said(self):
        with self.assertRaises(SystemExit):
            resources.read_kernels("sm_90a", LISTED, USAGE[:USAGE.index(" Function k1")], "")


if __name__ == "__main__":
    unittest.main()
