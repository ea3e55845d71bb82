#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a training with SIGKILL, or ends it with SIGINT or SIGTERM, at random moments and resumes it with --resume, until it
finishes. Its output files must have the same bytes as those of an uninterrupted training.

    tests/runtime/resume_test.py build/gcc/examples/minigooglenet_cifar                                   4 moments
    tests/runtime/resume_test.py PROGRAM --moments 50 --output benchmarks/results/DATE_resume.json        as the docs quote

A moment is a random time after the start of the program (or of mpirun, whose ranks are killed in turn), within the duration of
a whole run: start-up, drawing images, steps, validation, checkpoints, weights, plot. If a run finishes before its moment,
it is compared, and another run starts. This is repeated until one run was resumed within an epoch and one after an epoch;
if that never happens, the test fails. In history and log, only seconds and images_per_second may differ. Needs only
Python's standard library.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/mpi"), str(ROOT / "benchmarks")]
import launching
import measuring

EPOCHS, STEPS = 4, 8
WHERE = {"[INFO] resuming after batch": "within an epoch", "[INFO] resuming after epoch": "after an epoch"}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
TIMES = 2  # columns at the end of a row
# Every callback that has a state: two epochs of 4 end within --save-every's steps, and the best value is one of them.
OPTIONS = ["--output", "plot.svg", "--synthetic", "--train-size", 64, "--test-size", 16, "--batch-size", 8, "--epochs",
           EPOCHS, "--bn-momentum", 0.9, "--learning-rate", 0.02, "--schedule", "one_cycle", "--threads", 1, "--verbose", 2,
           "--swa", 2, "--early-stopping", 3, "--best", "best", "--weights", "weights", "--csv", "log.csv", "--save-every", 3]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path, help="a built minigooglenet_cifar")
    p.add_argument("--moments", type=int, default=4, help="the number of kills in each kind of run (default: 4)")
    p.add_argument("--ranks", default="0", help="kinds of run: 0 is one process, 2 is two under mpirun (default: 0)")
    p.add_argument("--seed", type=int, default=None, help="the seed of the moments (default: a new one each time)")
    p.add_argument("--output", type=pathlib.Path, help="write this .json and a .md beside it")
    o = p.parse_args()
    o.seed = random.SystemRandom().randrange(10**6) if o.seed is None else o.seed
    measuring.check_output(o.output)
    return o


def command(o, ranks, *more):
    program = [o.program.resolve(), *OPTIONS, *more]
    return launching.mpirun((ranks, *program)) if ranks else [str(word) for word in program]


def left_by(folder):
    """Returns {file: bytes}, and for rows of numbers the bytes without the times at the end of each row."""
    files = {f.name: f.read_bytes() for f in sorted(folder.iterdir())}
    for name in files:
        if name.endswith(".csv"):
            files[name] = b"\n".join(b",".join(row.split(b",")[:-TIMES]) for row in files[name].splitlines())
    return files


def where(out):
    """Returns what a program with this output was doing."""
    begun, ended = len(re.findall("^Epoch [0-9]+/", out, re.M)), out.count(" - loss: ")
    return "starting" if not begun else "within an epoch" if begun > ended else "after an epoch"


def killed(o, ranks, folder, after, dice, rank):
    """Runs the program, and kills it or, under mpirun, a rank. Returns the exit code (None: killed) and the output."""
    job = launching.Job(command(o, ranks, "--resume"), cwd=folder)
    try:
        code = job.wait(after)
        if code is None:
            victim = job.process.pid
            while ranks and not (victim := job.ranks().get(rank)) and job.wait(0) is None:
                time.sleep(0.005)  # mpirun has not started it yet
            code = job.wait(0)
            if code is None and victim:
                os.kill(victim, dice.choice(SIGNALS))
                job.wait(300)
        return code, job.said(job.out), job.said(job.err)
    finally:
        job.end()


def series(o, ranks, dice):
    """Runs until this number of moments, and finishes each run. Returns the kills, and the runs with their faults."""
    kills, runs, went_on = [], [], set()
    with tempfile.TemporaryDirectory() as base:
        whole = pathlib.Path(base, "whole")
        whole.mkdir()
        begin = time.monotonic()
        code, out, err = launching.finished(command(o, ranks), cwd=whole)
        span = time.monotonic() - begin
        if code != 0:
            sys.exit(f"the undisturbed run ended with {code}:\n{out}{err}")
        wanted = left_by(whole)
        if {"best", "log.csv", "plot.svg", "plot.svg.history.csv", "weights"} - {*wanted} or "plot.svg.checkpoint" in wanted:
            sys.exit(f"the undisturbed run has left {sorted(wanted)}")
        print(f"an undisturbed run takes {span:.2f} s", flush=True)
        most = 10 * o.moments + 20
        draws = lambda: len(kills) < (most if len(went_on) < len(WHERE) else o.moments)
        while draws() or (runs and runs[-1]["wrong"] is None):
            if not runs or runs[-1]["wrong"] is not None:
                folder = pathlib.Path(base, f"run{len(runs)}")
                folder.mkdir()
                runs.append({"ranks": ranks, "kills": 0, "wrong": None, "error": ""})
            after = dice.uniform(0, span) if draws() else 300
            rank = len(kills) % max(ranks, 1)  # each in turn
            code, out, err = killed(o, ranks, folder, after, dice, rank)
            went_on |= {place for words, place in WHERE.items() if words in out and "[INFO] training network..." in out}
            if code is None:
                kills.append({"ranks": ranks, "rank": rank, "after_s": round(after, 3), "at": where(out), "epochs": out.count(" - loss: "),
                              "resumed": "[INFO] resuming after" in out, "run": len(runs) - 1})
                runs[-1]["kills"] += 1
                print(f"run {len(runs)}: killed after {after:.2f} s, {kills[-1]['at']}", flush=True)
                continue
            found = left_by(folder)
            differ = sorted(n for n in {*wanted, *found} if wanted.get(n) != found.get(n))
            wrong = [f"exit code {code}"] if code else [f"{name} differs" for name in differ]
            wrong += ["a warning"] if "[WARNING]" in err else []
            runs[-1].update(wrong=wrong, error=err if wrong else "")
            print(f"run {len(runs)}: killed {runs[-1]['kills']} times; {', '.join(wrong) or 'the same bytes'}", flush=True)
            if wrong:
                print(err, flush=True)
        for place in sorted({*WHERE.values()} - went_on):
            runs.append({"ranks": ranks, "kills": 0, "wrong": [f"no run has gone on {place}"], "error": ""})
            print(f"{len(kills)} kills, and no run has gone on {place}", flush=True)
    return kills, runs, span


def main():
    o = arguments()
    kinds = [int(n) for n in o.ranks.split(",")]
    why_not = launching.missing(o.program) if any(kinds) else None if os.access(o.program, os.X_OK) else "no program"
    if why_not:
        print(f"skipped: {why_not}")
        return 77
    session, dice, kills, runs, rows = measuring.Session(), random.Random(o.seed), [], [], []
    print(f"seed {o.seed}", flush=True)
    for ranks in kinds:
        k, r, span = series(o, ranks, dice)
        kills, runs = kills + k, runs + r
        at = [sum(x["at"].startswith(word) for x in k) for word in ("starting", "within", "after")]
        same = sum(not x["wrong"] for x in r)
        rows.append([f"{ranks} ranks under mpirun" if ranks else "one process", f"{span:.1f} s", len(k), *at,
                     sum(x["resumed"] for x in k), f"{same} of {len(r)}"])
    text = "\n\n".join([
        "# A training that is killed and resumed",
        f"MiniGoogLeNet, {EPOCHS} epochs of {STEPS} steps, a checkpoint every 3 steps and after each epoch; SIGKILL, SIGINT or "
        f"SIGTERM at random moments (seed {o.seed}), then the same command with --resume, until it finishes. Weights, best weights, plot, "
        "history and log must have the same bytes as those of an uninterrupted run, except for the two columns of the "
        "last two that contain times.",
        measuring.table(["run", "uninterrupted", "kills", "starting", "within an epoch", "after one",
                         "of a resumed run", "runs with the same bytes"], rows),
        measuring.circumstances(finished := session.finish())])
    measuring.publish({"what": "a training that is killed and goes on", "seed": o.seed, "kills": kills, "runs": runs,
                       "session": finished}, text, o.output)
    return 1 if any(r["wrong"] for r in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
