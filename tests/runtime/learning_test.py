#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the examples of segmentation and of transfer learning learn, over several seeds.

    learning_test.py SEGMENTATION TRANSFER_LEARNING [--seeds 1 2 3 4 5]

Each program is run once with each seed, which is that of the data and of the weights. The medians must reach what the
examples promise: a mean IoU of at least 0.9 on shapes of other sizes, and 10 points of accuracy more with the frozen body
than from scratch, after the same epochs. About half a minute of processor time a seed.
"""
import argparse
import re
import statistics
import subprocess
import sys
import tempfile


def numbers_of(program, seed, pattern):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, str(seed)], capture_output=True, text=True, cwd=folder)
    found = re.search(pattern, done.stdout)
    if not found:
        sys.exit(f"{program} {seed} printed {done.stdout!r} and {done.stderr!r}")
    return [float(number) for number in found.groups()]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("segmentation")
    p.add_argument("transfer_learning")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    o = p.parse_args()
    iou, gain = [], []
    print("| seed | mean IoU | with the frozen body | from scratch |\n|---|---|---|---|")
    for seed in o.seeds:
        iou += numbers_of(o.segmentation, seed, r"mean IoU ([0-9.]+)")
        frozen, scratch = numbers_of(o.transfer_learning, seed, r"([0-9.]+) % accuracy.*, ([0-9.]+) % from scratch")
        gain.append(frozen - scratch)
        print(f"| {seed} | {iou[-1]} | {frozen} % | {scratch} % |", flush=True)
    good = statistics.median(iou) >= 0.9 and statistics.median(gain) >= 10
    print(f"medians: mean IoU {statistics.median(iou):.3f}, {statistics.median(gain):.1f} points gained: "
          + ("as promised" if good else "less than promised"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
