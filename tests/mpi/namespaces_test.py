#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks that share nothing but a network train as the towers of one process do: each in a network namespace of its own,
with its own address and host name, started by mpirun as on other machines; then one of them is stopped, one killed, and
once the network between them goes down.    namespaces_test.py RANKS-PROGRAM
Needs root, and a system that lets it make network namespaces; skipped elsewhere."""
import os
import pathlib
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
import launching
import network
from launching import Job, finished

DEADLINE_S = 4

program = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None


class Namespaces(unittest.TestCase):
    def setUp(self):
        self.network = network.Network(3)
        self.addCleanup(self.network.remove)

    def command(self, ranks, *options):
        return self.network.mpirun(ranks, program, *options)

    def ranks(self):
        """Returns {rank: pid} of the programs that run in our namespaces."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "exe") != os.path.realpath(program):
                    continue
                environment = dict(e.split("=", 1) for e in (folder / "environ").read_text().split("\0") if "=" in e)
            except OSError:
                continue
            if environment.get("TMPDIR", "").startswith(self.network.folder.name):
                found[int(environment["OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        return found

    def test_they_train_as_towers_do(self):
        for ranks in (2, 3):
            code, one, err = finished([program, f"towers={ranks}"])
            self.assertEqual(code, 0, err)
            code, many, err = finished(self.command(ranks))
            self.assertEqual(code, 0, err)
            self.assertEqual(one, many)
            self.assertIn(f"replicas {ranks} ", many)

    def struck(self, strike, pattern, mpirun_ends=True):
        """Checks that a long training in which strike() is called ends with a message, and leaves no rank."""
        job = Job(self.command(3, "epochs=100000", f"deadline={DEADLINE_S}", "announce=1"))
        try:
            end = time.monotonic() + 300  # every rank has exchanged messages with every other once it has trained
            while job.said(job.out).count(" trains\n") < 3 and job.wait(0) is None and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(job.said(job.out).count(" trains\n"), 3, job.said(job.err))
            pids = self.ranks()
            self.assertIsNone(job.wait(0), job.said(job.err))
            self.assertEqual(len({os.readlink(f"/proc/{pid}/ns/net") for pid in pids.values()}), 3)
            begin = time.monotonic()
            strike(pids)
            if mpirun_ends:
                self.assertNotIn(job.wait(300), (None, 0), job.said(job.err))
            while any(map(launching.runs, pids.values())) and time.monotonic() < begin + 300:
                time.sleep(0.05)
            self.assertEqual([r for r, pid in pids.items() if launching.runs(pid)], [])
            self.assertRegex(job.said(job.err), pattern)
        finally:
            for pid in self.all_processes():
                os.kill(pid, signal.SIGKILL)
            job.end()

    def all_processes(self):
        """Programs, and mpirun's daemons, whose network is one of ours."""
        ours = {os.stat(f"/run/netns/{name}").st_ino for name in self.network.names}
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.stat(folder / "ns/net").st_ino in ours:
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def test_a_rank_elsewhere_is_killed(self):
        # mpirun names one of the ranks that ended, which on a busy machine may be one that ended because this one did
        self.struck(lambda pids: os.kill(pids[2], signal.SIGKILL),
                    r"rank 2 .* on node .* exited on signal 9|error: rank [01] of 3: waited .* for rank ([01], )?2")

    def test_a_rank_elsewhere_is_stopped(self):
        self.struck(lambda pids: os.kill(pids[1], signal.SIGSTOP), r"error: rank [02] of 3: waited .* for rank (0, )?1")

    def test_a_machine_is_cut_off(self):
        # mpirun repeats its request to its daemon there until TCP gives up
        self.struck(lambda pids: self.network.cut(2), r"error: rank [01] of 3: waited .* for rank ([01], )?2",
                    mpirun_ends=False)


if __name__ == "__main__":
    launching.main(launching.missing(program) or network.missing())
