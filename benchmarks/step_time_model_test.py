# SPDX-License-Identifier: MIT
"""Tests the model of step times with numbers that were computed by hand."""
import sys
import unittest

sys.dont_write_bytecode = True
import step_time_model as model


def link():
    # a round takes 10 us per message, and 1 ns per byte
    counts = [2, 4, 1024]
    parts = [4_000_000 // n for n in counts]
    return model.Link(counts, [(n - 1) * 10e-6 for n in counts], parts,
                      [(n - 1) * (10e-6 + (b - model.HEADER_BYTES) * 1e-9) for n, b in zip(counts, parts)])


def host():
    return model.Host(model.Compute(0.02, 0.005), model.Local(1e-4, 1e-9), link())


class StepTimeModel(unittest.TestCase):
    def test_a_fit_finds_the_line(self):
        c = model.fitted([8, 16, 64], [0.02 + 0.005 * n for n in (8, 16, 64)])
        self.assertAlmostEqual(c.fixed, 0.02)
        self.assertAlmostEqual(c.per_sample, 0.005)
        self.assertAlmostEqual(c.step(32), 0.18)

    def test_a_round_is_what_was_measured(self):
        for n, header, size, part in zip(link().processes, link().header, link().part_bytes, link().part):
            self.assertAlmostEqual(link().round(n, model.HEADER_BYTES), header)
            self.assertAlmostEqual(link().round(n, size), part)
        self.assertAlmostEqual(link().round(2, 1_000_000 + model.HEADER_BYTES), 1.01e-3)
        self.assertEqual(link().round(1, 1000), 0)
        self.assertTrue(link().round(2, 56) < link().round(3, 56) < link().round(4, 56))

    def test_sums_work_beside_the_computing(self):
        self.assertAlmostEqual(model.waited_for(1, [(0.2, 1.0)]), 0.2)
        self.assertAlmostEqual(model.waited_for(1, [(0.2, 0.5)]), 0)
        self.assertAlmostEqual(model.waited_for(1, [(0.2, 0.5), (0.1, 1.0)]), 0.1)
        self.assertAlmostEqual(model.waited_for(1, [(0.9, 0.5), (0.1, 1.0)]), 0.5)  # the second waits for the first
        self.assertAlmostEqual(model.waited_for(1, [(0.9, 0.5), (0.1, 0.6)]), 0.5)

    def test_one_tower_only_computes(self):
        buckets = [(4_000_000, 1.0)]
        self.assertAlmostEqual(host().step(1, 1, 32, buckets, 1000), 0.18)
        # two towers of a process add up 4 MB at 1 GB/s and 1000 bytes, and synchronise twice
        self.assertAlmostEqual(host().step(1, 2, 32, buckets, 1000), 0.18 + (1e-4 + 4e-3) + (1e-4 + 1e-6))

    def test_two_processes(self):
        # two rounds of headers and two of half of the numbers; 4 MB are packed, and as many are added up
        expected = 4 * 10e-6 + 2 * (2_000_000 - model.HEADER_BYTES) * 1e-9 + 8e-3
        self.assertAlmostEqual(host().sum(2, 1, 4_000_000), expected)
        # with a second tower in each: twice the numbers in the first round, and one synchronisation
        more = 2_000_000e-9 + 8e-3 + 1e-4
        self.assertAlmostEqual(host().sum(2, 2, 4_000_000), expected + more, places=6)

    def test_gpus(self):
        f = model.Fabric(100e9, 1e-6, 10e9, 5e-6, 4)
        self.assertEqual(f.sum(1, 1e6), 0)
        self.assertAlmostEqual(f.sum(2, 1e6), 1e6 / 100e9 + 2e-6)
        # two machines with four devices each: a tree with 6 hops within and 2 between machines, which are slower
        self.assertAlmostEqual(f.sum(8, 1e6), min(2 * 1e6 / 10e9 + 6e-6 + 10e-6,
                                                  2 * 7 / 8 * 1e6 / 10e9 + 14 * (2 * 5e-6 + 6 * 1e-6) / 8))
        self.assertAlmostEqual(f.step(2, 1e-3, [(1e6, 1.0)]), 1e-3 + f.sum(2, 1e6))


if __name__ == "__main__":
    unittest.main()
