# SPDX-License-Identifier: MIT
"""Starts programs under mpirun, and observes their processes. Needs only Python's standard library."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# mpirun refuses root, and more ranks than cores, without these.
FLAGS = ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
# Looking for faster networks than this machine's memory takes a job as long as all else that it does here.
os.environ.setdefault("OMPI_MCA_pml", "ob1")
# A waiting rank yields its core, since other tests use the same cores.
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")


def mpirun(*groups, flags=()):
    """Returns the command for groups of ranks with different programs; a group is (ranks, program, argument...)."""
    command = [os.environ.get("TYPENET_MPIRUN") or shutil.which("mpirun") or "mpirun", *FLAGS, *flags]
    for i, (ranks, *program) in enumerate(groups):
        command += ([":"] if i else []) + ["-n", str(ranks), *map(str, program)]
    return command


def missing(*programs):
    """Returns why the tests cannot run, or an empty text if they can."""
    launcher = shutil.which(os.environ.get("TYPENET_MPIRUN") or "mpirun")
    if not launcher:
        return "mpirun was not found"
    version = subprocess.run([launcher, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    if not any(name in version for name in ("Open MPI", "OpenRTE")):
        return f"{launcher} is not Open MPI's, whose flags these tests need"
    return next((f"{p} is not built" for p in programs if not os.access(p, os.X_OK)), None)


class Job:
    """A process that writes its output to files, so that it never blocks on a full pipe."""

    def __init__(self, command, **more):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.begin = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, **more)

    def wait(self, seconds):
        """Returns the exit code, or None if the process still runs after this time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def said(self, file):
        """Without what onednn says on processors without AVX2. The process writes at the place in the file that it shares
        with us, which must not move."""
        lines = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("[WARNING] onednn: there is no fast kernel for"))

    def ranks(self):
        """{rank: pid} of its processes that live: those whose environment the mpirun with our pid has made."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) != self.process.pid or state in "ZX":
                    continue
                environment = dict(e.split("=", 1) for e in (folder / "environ").read_text().split("\0") if "=" in e)
            except (OSError, ValueError):
                continue  # the process has ended in the meantime
            if "OMPI_COMM_WORLD_RANK" in environment:
                found[int(environment["OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        return found

    def end(self):
        """Kills the processes that still run."""
        for pid in [*self.ranks().values(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.out.close()
        self.err.close()


def runs(pid):
    """Returns whether a process runs. A process that has ended and waits for its parent does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def finished(command, seconds=400, **more):
    """Returns (exit code, standard output, standard error). The code is None if the process did not end by itself."""
    job = Job(command, **more)
    code = job.wait(seconds)
    try:
        return code, job.said(job.out), job.said(job.err)
    finally:
        job.end()


def main(why_not):
    """Runs the tests of the script that calls it, or says why they are skipped; nothing: they are not."""
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(77)
    unittest.main()
