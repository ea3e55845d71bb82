#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks on several devices, in several processes: they train as the towers of one do, to the bit; where a device
fails, all ranks end.    placed_test.py PLACED-PROGRAM"""
import sys
import unittest

sys.dont_write_bytecode = True
import launching
from launching import finished, mpirun

program = sys.argv.pop(1) if len(sys.argv) > 1 and "=" not in sys.argv[1] else None


class Equal(unittest.TestCase):
    def train(self, command):
        code, out, err = finished(command)
        self.assertEqual(code, 0, err)
        lines = [line for line in out.splitlines() if line.startswith("replicas ")]
        self.assertEqual(len(lines), 1, out)
        self.assertRegex(lines[0], r"^replicas \d+ loss 0x.* parameters [0-9a-f]{16}$")
        return lines[0]

    def test_as_the_towers_of_one_process(self):
        results = set()
        for options in (("executor=double",), ("merge=all_reduce",), ("parts=3", "batch=20"),
                        ("parts=3", "batch=15", "merge=all_reduce"),  # 8 and 7: parts of 2 2 4, and of 2 2 3
                        ("parts=3", "batch=5", "merge=all_reduce")):  # 3 and 2: three parts, and one
            one = self.train([program, "towers=2", *options])
            with self.subTest(options=options):
                self.assertEqual(one, self.train(mpirun((2, program, *options))))
            results.add(one)
        self.assertEqual(len(results), 5)  # none of them is a constant

    def test_ranks_with_several_towers(self):
        one = self.train([program, "towers=3", "parts=3", "batch=20"])
        self.assertEqual(one, self.train(mpirun((1, program, "towers=2", "parts=3", "batch=20"),
                                                (1, program, "towers=1", "parts=3", "batch=20"))))

    def test_a_rank_without_samples(self):
        one = self.train([program, "towers=3", "batch=2", "merge=all_reduce"])
        self.assertEqual(one, self.train(mpirun((3, program, "batch=2", "merge=all_reduce"))))

    def test_a_failed_prediction_is_forgotten(self):
        well = self.train(mpirun((2, program)))
        self.assertEqual(well, self.train(mpirun((1, program), (1, program, "fail=prediction"))))


class Failing(unittest.TestCase):
    def test_a_device_of_either_rank(self):
        for victim in (0, 1):
            for parts in (1, 3):
                groups = [(1, program, f"parts={parts}", *(["fail=training"] if r == victim else [])) for r in (0, 1)]
                code, out, err = finished(mpirun(*groups))
                with self.subTest(victim=victim, parts=parts):
                    self.assertEqual(code, 1, err)
                    self.assertIn(f"rank {victim} of 2: ", err)
                    self.assertIn("this device has had enough", err)
                    self.assertNotIn("replicas", out)

    def test_another_placement(self):
        code, _, err = finished(mpirun((1, program), (1, program, "devices=1")))
        self.assertEqual(code, 1, err)
        self.assertRegex(err, "rank 1 and rank 0 differ in the network")


if __name__ == "__main__":
    launching.main(launching.missing(program))
