#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills or stops one rank of a training at random points, and looks whether the job ends as docs/several_machines.md
promises: within the deadline, with an exit code that is not 0, a message that names rank and cause, and no process left.

    tests/mpi/failures.py build/gcc/examples/minigooglenet_cifar --ranks 3                         3 points, as in CI
    tests/mpi/failures.py build/gcc/examples/minigooglenet_cifar                                   2, 3 and 4 ranks: scripts/test long
    tests/mpi/failures.py PROGRAM --points 20 --output benchmarks/results/DATE_mpi_failures.json   all of them

A point is a random time, up to --span seconds, after the call of mpirun: the start, drawing images, training,
validation, checkpoints. In jobs of 2, 3 and 4 ranks, each rank is killed (SIGKILL) and stopped (SIGSTOP) in turn. Needs
only Python's standard library.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "benchmarks")]
import launching
import measuring

# What standard error says of a rank: mpirun of one that has died, ours of one that keeps the others waiting.
NAMED = {signal.SIGKILL: r"process rank {} with PID \d+ on node .* exited on signal 9",
         signal.SIGSTOP: r"error: rank \d+( of \d+)?: waited .* rank {} \(process \d+ of this machine\) is stopped"}


# mpirun gives what does not end by itself a second before it kills it, two where it is stopped: too long for 2 s.
AT_ONCE = ("--mca", "odls_base_sigkill_timeout", "0")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path, help="a built minigooglenet_cifar")
    p.add_argument("--points", type=int, default=3, help="points for each number of ranks and each signal (default: 3)")
    p.add_argument("--ranks", default="2,3,4", help="the numbers of ranks (default: 2,3,4)")
    p.add_argument("--deadline", type=float, default=2, help="seconds (default: 2)")
    p.add_argument("--grace", type=float, default=1,
                   help="additional seconds for a busy machine (default: 1)")
    p.add_argument("--span", type=float, default=5, help="points are drawn from this number of seconds (default: 5)")
    p.add_argument("--seed", type=int, default=None, help="the seed of the points (default: a new one each time)")
    p.add_argument("--output", type=pathlib.Path, help="write this .json and a .md beside it")
    o = p.parse_args()
    o.seed = random.SystemRandom().randrange(10**6) if o.seed is None else o.seed
    measuring.check_output(o.output)
    return o


def strike(o, ranks, victim, fault, after):
    """Runs one job. Returns a dictionary of what happened; "wrong" lists the broken promises."""
    with tempfile.TemporaryDirectory() as folder:
        # an epoch is two steps, a validation and a checkpoint; it would go on for minutes
        job = launching.Job(launching.mpirun(
            (ranks, o.program.resolve(), "--output", "plot.svg", "--synthetic", "--train-size", 8 * ranks, "--test-size", 8,
             "--batch-size", 4, "--epochs", 10000, "--threads", 1, "--deadline", o.deadline), flags=AT_ONCE), cwd=folder)
        pids = {}
        try:
            time.sleep(max(0, job.begin + after - time.monotonic()))
            while victim not in job.ranks() and job.wait(0) is None and time.monotonic() < job.begin + 300:
                time.sleep(0.005)  # mpirun has not started it yet
            pids = job.ranks()
            struck = time.monotonic()
            os.kill(pids[victim], fault)
            code = job.wait(o.deadline + o.grace + 20)
            left = []
            while True:  # the job has ended when mpirun and every rank are gone
                took = time.monotonic() - struck
                left = [r for r, pid in pids.items() if launching.runs(pid)]
                if not left or took > o.deadline + o.grace:
                    break
                time.sleep(0.01)
            error = job.said(job.err)
            wrong = []
            if code is None:
                wrong.append("hangs")
            elif code == 0:
                wrong.append("exit code 0")
            if left:
                wrong.append(f"ranks {left} survive")
            elif took > o.deadline + o.grace:
                wrong.append(f"took {took:.1f} s")
            if not re.search(NAMED[fault].format(victim), error):
                wrong.append("does not name the rank and the cause")
            epochs = job.said(job.out).count(" - loss: ")
            return {"ranks": ranks, "victim": victim, "signal": fault.name, "after_s": round(after, 3), "epochs": epochs,
                    "exit_code": code, "ended_s": round(took, 3), "wrong": wrong, "error": error if wrong else ""}
        finally:
            for pid in filter(launching.runs, pids.values()):
                os.kill(pid, signal.SIGKILL)
            job.end()


def main():
    o = arguments()
    why_not = launching.missing(o.program)
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    session, dice, strikes = measuring.Session(), random.Random(o.seed), []
    print(f"seed {o.seed}", flush=True)
    sizes = [int(n) for n in o.ranks.split(",")]
    for ranks in sizes:
        for s, fault in enumerate(NAMED):
            for point in range(max(o.points, ranks)):  # every rank has its turn
                victim = (point + s * o.points) % ranks
                did = strike(o, ranks, victim, fault, dice.uniform(0, o.span))
                strikes.append(did)
                print(f"{fault.name} of rank {victim} of {ranks} after {did['after_s']:.2f} s ({did['epochs']} epochs): ended "
                      f"in {did['ended_s']:.2f} s, exit code {did['exit_code']}; {', '.join(did['wrong']) or 'as promised'}",
                      flush=True)
                if did["wrong"]:
                    print(did["error"], flush=True)
    rows = []
    for ranks in sizes:
        for fault in NAMED:
            these = [s for s in strikes if (s["ranks"], s["signal"]) == (ranks, fault.name)]
            took = [s["ended_s"] for s in these]
            good = sum(not s["wrong"] for s in these)
            rows.append([f"{fault.name} of one of {ranks} ranks", len(these), f"{statistics.median(took):.2f} s",
                         f"{max(took):.2f} s", f"{good} of {len(these)}"])
    bad = [s for s in strikes if s["wrong"]]
    text = "\n\n".join([
        "# A rank that dies or stops",
        f"MiniGoogLeNet under `mpirun {' '.join(AT_ONCE)}` with a deadline of {o.deadline:g} s; each rank in turn is killed or stopped at "
        f"{o.points} random points in the first {o.span:g} s (seed {o.seed}). The job must end within "
        f"{o.deadline + o.grace:g} s, "
        "with an exit code that is not 0, a message that names rank and cause, and no process left.",
        measuring.table(["strike", "points", "ended, median", "ended, latest", "as promised"], rows),
        measuring.circumstances(finished := session.finish())])
    measuring.publish({"what": "a rank that dies or stops", "deadline_s": o.deadline, "seed": o.seed, "strikes": strikes,
                       "session": finished}, text, o.output)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
