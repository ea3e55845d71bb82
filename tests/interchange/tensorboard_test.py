#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that TensorBoard, if it is installed, reads the files of dsl::tensorboard correctly.

    tensorboard_test.py EVENTS_PROGRAM

Its two accumulators, one opened before the run is killed and one after, must show the points of a run that was never
killed, each once. If TensorBoard can start its server, the server must send the same points. Exit code 77: TensorBoard
is not installed.
"""
import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

try:
    from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
    from tensorboard.util import tensor_util
except ImportError:
    print("skipped: no tensorboard (pip install tensorboard)")
    sys.exit(77)

program = sys.argv.pop(1)
FOLDERS = ("train", "validation")


def run(folder, *kill):
    """Returns the points that the program reports to have written."""
    ended = subprocess.run([program, str(folder), *map(str, kill)], stdout=subprocess.PIPE, text=True, timeout=300)
    assert ended.returncode == (-signal.SIGKILL if kill else 0), ended.returncode
    points = {f: {} for f in FOLDERS}
    for line in ended.stdout.splitlines() if not kill else []:
        f, tag, step, value = line.split()
        points[f].setdefault(tag, []).append((int(step), float(value)))
    return points


class Plain:
    """The accumulator that scripts usually use."""

    def __init__(self, folder):
        self.events = event_accumulator.EventAccumulator(str(folder), size_guidance={event_accumulator.SCALARS: 0})

    def points(self):
        self.events.Reload()
        return {t: [(e.step, e.value) for e in self.events.Scalars(t)] for t in self.events.Tags()["scalars"]}


class Server:
    """The accumulator in TensorBoard's server."""

    def __init__(self, folder):
        self.events = plugin_event_accumulator.EventAccumulator(
            str(folder), size_guidance={plugin_event_accumulator.TENSORS: 0}
        )

    def points(self):
        self.events.Reload()
        for tag in self.events.Tags()["tensors"]:
            assert self.events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars"
        return {
            t: [(e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in self.events.Tensors(t)]
            for t in self.events.Tags()["tensors"]
        }


class Tensorboard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, readers, wanted):
        for f, reader in readers.items():
            found = reader.points()
            self.assertEqual(sorted(found), sorted(wanted[f]))
            for tag, points in wanted[f].items():
                self.assertEqual(found[tag], points, f"{f} {tag}")

    def test_a_run(self):
        wanted = run(self.folder / "whole")
        self.assertEqual(sorted(wanted["train"]),
                         ["batch_accuracy", "batch_loss", "epoch_accuracy", "epoch_learning_rate", "epoch_loss"])
        for kind in (Plain, Server):
            self.check({f: kind(self.folder / "whole/logs" / f) for f in FOLDERS}, wanted)

    def test_killed_and_resumed(self):
        wanted = run(self.folder / "whole")
        here = self.folder / "killed"
        run(here, 1, 4)  # the state is that of batch 8: it goes on from there
        open_ones = [{f: kind(here / "logs" / f) for f in FOLDERS} for kind in (Plain, Server)]
        for readers in open_ones:
            self.assertEqual([s for s, _ in readers["train"].points()["batch_loss"]], list(range(1, 12)))
        run(here, 3, 2)
        for readers in open_ones:
            self.assertEqual([s for s, _ in readers["train"].points()["batch_loss"]], list(range(1, 22)))
            self.assertEqual([s for s, _ in readers["validation"].points()["epoch_loss"]], [0, 1, 2])
        run(here)
        for readers in open_ones:
            self.check(readers, wanted)
        for kind in (Plain, Server):
            self.check({f: kind(here / "logs" / f) for f in FOLDERS}, wanted)
        # once more from the beginning, into the same folder
        run(here)
        for readers in open_ones:
            self.check(readers, wanted)
        for kind in (Plain, Server):
            self.check({f: kind(here / "logs" / f) for f in FOLDERS}, wanted)

    def test_the_server(self):
        wanted = run(self.folder / "whole")
        for load_fast in ("auto", "false"):  # its reader in Rust, where it has it, and the one in Python
            with self.subTest(load_fast):
                self.served(load_fast, wanted)

    def served(self, load_fast, wanted):
        here = self.folder / load_fast
        run(here, 1, 4)
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(here / "logs"), "--port", "0",
                   "--reload_interval", "1", "--load_fast", load_fast]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        address = next((w for line in server.stderr for w in line.split() if w.startswith("http://")), None)
        if address is None:
            self.skipTest("it does not start")

        def shows(f, tag, check):
            """Returns the points that the server sends, once they are correct or after a minute."""
            end = time.monotonic() + 60
            while True:
                found = None
                try:
                    url = f"{address}data/plugin/scalars/scalars?run={f}&tag={tag}"
                    with urllib.request.urlopen(url, timeout=30) as answer:
                        found = [(step, value) for _, step, value in json.load(answer)]
                except OSError:
                    pass
                if check(found) or time.monotonic() > end:
                    return found
                time.sleep(0.2)

        before = shows("train", "batch_loss", lambda found: found is not None and len(found) == 11)
        self.assertEqual([s for s, _ in before], list(range(1, 12)))
        run(here)
        for f in FOLDERS:
            for tag, points in wanted[f].items():
                self.assertEqual(shows(f, tag, lambda found: found == points), points, f"{f} {tag}")


if __name__ == "__main__":
    unittest.main()
