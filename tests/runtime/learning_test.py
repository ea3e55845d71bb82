#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the example of segmentation or that of transfer learning learns, over several seeds.

    learning_test.py segmentation|transfer_learning PROGRAM [--seeds 1 2 3 4 5]

The program is run once with each seed, which is that of the data and of the weights. The median must reach what the
example promises: a mean IoU of at least 0.9 on shapes of other sizes, or 10 points of accuracy more with the frozen body
than from scratch, after the same epochs. About five seconds of processor time a seed.
"""
import argparse
import re
import statistics
import subprocess
import sys
import tempfile

# What is read from the output, the figure made of it, its name, and the least that its median may be.
examples = {
    "segmentation": (r"mean IoU ([0-9.]+)", lambda iou: iou, "mean IoU", 0.9),
    "transfer_learning": (r"([0-9.]+) % accuracy.*, ([0-9.]+) % from scratch", lambda frozen, scratch: frozen - scratch,
                          "points gained by the frozen body", 10),
}


def numbers_of(program, seed, pattern):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, str(seed)], capture_output=True, text=True, cwd=folder)
    found = re.search(pattern, done.stdout)
    if not found:
        sys.exit(f"{program} {seed} printed {done.stdout!r} and {done.stderr!r}")
    print(f"seed {seed}: {done.stdout.strip()}", flush=True)
    return [float(number) for number in found.groups()]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("example", choices=examples)
    p.add_argument("program")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    o = p.parse_args()
    pattern, figure_of, name, least = examples[o.example]
    median = statistics.median(figure_of(*numbers_of(o.program, seed, pattern)) for seed in o.seeds)
    print(f"median: {name} {median:.3f}, of {least} promised")
    return 0 if median >= least else 1


if __name__ == "__main__":
    sys.exit(main())
