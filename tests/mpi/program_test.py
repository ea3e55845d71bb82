#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""minigooglenet_cifar under mpirun as its user meets it, and --resume.    program_test.py PROGRAM"""
import os
import pathlib
import re
import shutil
import signal
import struct
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import launching
from launching import finished, mpirun

program = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SMALL = ["--output", "plot.svg", "--synthetic", "--train-size", "16", "--test-size", "10", "--batch-size", "4",
         "--bn-momentum", "0.9", "--threads", "1"]


def checksum(data):
    """As dsl/training/fingerprint.hpp has it."""
    value = 0xcbf29ce484222325
    whole = len(data) // 8
    rest = data[8 * whole:]
    for word in (*struct.unpack(f"<{whole}Q", data[:8 * whole]), int.from_bytes(rest, "little") ^ len(rest) << 56):
        value = (value ^ word) * 0x100000001b3 & 0xffffffffffffffff
        value ^= value >> 29
    return value


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)

    def run_in(self, name, command, code=0, environment=()):
        where = self.here / name
        where.mkdir(exist_ok=True)
        did, out, err = finished(command, cwd=where, env={**os.environ, **dict(environment)})
        self.assertEqual(did, code, out + err)
        return out, err

    def numbers(self, name):
        """PLOT.history.csv without its seconds and speed."""
        return [line.split(",")[:6] for line in (self.here / name / "plot.svg.history.csv").read_text().splitlines()]

    def files(self, name):
        return sorted(f.name for f in (self.here / name).iterdir())

    def test_two_processes_are_two_towers(self):
        out, err = self.run_in("two", mpirun((2, program, *SMALL, "--epochs", "2")))
        self.run_in("one", [program, *SMALL, "--epochs", "2", "--gpus", "2"])
        self.assertEqual(self.numbers("two"), self.numbers("one"))
        self.assertEqual(self.files("two"), ["plot.svg", "plot.svg.history.csv"])
        self.assertEqual(err, "")
        for line in ("[INFO] training with 2 towers in 2 processes...", "[INFO] training network...", "Epoch 1/2"):
            self.assertEqual(out.count(line), 1, out)  # one of them prints
        self.assertIn("num_replicas_in_sync: 2", out)

    def test_two_processes_count_one_confusion_matrix(self):
        more = ("--epochs", "1", "--confusion", "confusion.txt")  # of batches of 8 and 2
        self.run_in("two", mpirun((2, program, *SMALL, *more)))
        self.run_in("one", [program, *SMALL, *more, "--gpus", "2"])
        self.run_in("uneven", mpirun((1, program, *SMALL, *more), (1, program, *SMALL, *more, "--gpus", "2")))
        self.run_in("three", [program, *SMALL, *more, "--gpus", "3"])
        table = (self.here / "two/confusion.txt").read_text()
        self.assertEqual(table, (self.here / "one/confusion.txt").read_text())
        self.assertIn(" of 10 samples", table)
        uneven = (self.here / "uneven/confusion.txt").read_text()
        self.assertEqual(uneven, (self.here / "three/confusion.txt").read_text())
        self.assertIn(" of 10 samples", uneven)

    def test_different_numbers_of_towers(self):
        self.run_in("two", mpirun((1, program, *SMALL, "--epochs", "1"), (1, program, *SMALL, "--epochs", "1", "--gpus", "2")))
        self.run_in("one", [program, *SMALL, "--epochs", "1", "--gpus", "3"])
        self.assertEqual(self.numbers("two"), self.numbers("one"))

    def test_help_is_said_once(self):
        out, _ = self.run_in("help", mpirun((3, program, "--help")))
        self.assertEqual(out.count("Examples:"), 1)

    def test_bad_options_and_data(self):
        _, err = self.run_in("a", mpirun((2, program, *SMALL, "--epochs", "0")), 2)
        self.assertIn("error: rank 0: --epochs: it must be 1 or more", err)
        _, err = self.run_in("a", mpirun((1, program, *SMALL), (1, program, *SMALL, "--seed", "5")), 1)
        self.assertIn("rank 1 and rank 0 differ in the seed: 5 and 0", err)
        for more, said in ((["--confusion", "c.txt"], "whether there is --confusion: 0 and 1"),
                           (["--early-stopping", "2"], "--early-stopping: 0 and 2"),
                           (["--save-every", "3"], "--save-every: 0 and 3")):
            out, err = self.run_in("a", mpirun((1, program, *SMALL, *more), (1, program, *SMALL)), 1)
            self.assertIn(f"rank 1 and rank 0 differ in {said}", err)
            self.assertNotIn("Epoch 1", out)
        watched = [[*SMALL, "--early-stopping", "2", "--monitor", m] for m in ("loss", "val_loss")]
        _, err = self.run_in("a", mpirun((1, program, *watched[0]), (1, program, *watched[1])), 1)
        self.assertIn("differ in --monitor", err)
        _, err = self.run_in("a", mpirun((1, program, *SMALL), (1, program, "--output", "plot.svg", "--data", "nowhere")), 1)
        self.assertIn("error: rank 1 of 2: cifar10: ", err)
        _, err = self.run_in("a", [program, *SMALL, "--deadline", "0"], 2)
        self.assertIn("--deadline: it must be at least 1 second and less than 1,000,000; found ", err)
        # a process that is ended in the middle of trying whether a plot can be written leaves that try behind
        self.assertEqual([f for f in self.files("a") if not f.endswith((".tmp", ".lock"))], [])

    def test_another_executor(self):
        _, err = self.run_in("a", mpirun((1, program, *SMALL), (1, program, *SMALL, "--executor", "reference")), 1)
        self.assertIn("rank 1 and rank 0 differ in the executor: reference, plain loops in float and native ", err)

    def test_a_launcher_that_this_mpi_does_not_know(self):
        """Each would train by itself and write the same files."""
        tiny = [program, *SMALL, "--epochs", "1"]
        for variables in ({"PMI_RANK": "0", "PMI_SIZE": "2"}, {"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"},
                          {"PMI_RANK": "1", "PMI_SIZE": "2"}, {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}):
            with self.subTest(variables):
                rank = variables.get("PMI_RANK") or variables["SLURM_PROCID"]
                _, err = self.run_in("a", tiny, 1, variables)
                self.assertRegex(err, f"^error: rank {rank}: mpi: the launcher says that this is rank {rank}.* but MPI knows of no others; ")
                if rank == "0":
                    self.assertRegex(err, "rank 0 of 2,.* to run it as a single process, unset (PMI|PMIX)_RANK$")
                self.assertEqual(len(err.splitlines()), 1)
                self.assertEqual(self.files("a"), [])
        # what is no launch: a job's script, that has room for tasks; one process that may find others
        for variables in ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, {"PMI_RANK": "0", "PMI_SIZE": "1"}):
            with self.subTest(variables):
                _, err = self.run_in("b", tiny, 0, variables)
                self.assertEqual(err, "")

    def interrupted(self, name, command, epochs):
        """Runs until so many epochs are saved and the next one has begun, then kills everything."""
        where = self.here / name
        where.mkdir()
        job = launching.Job(command, cwd=where)
        try:
            end = time.monotonic() + 300
            while f"Epoch {epochs + 1}/" not in job.said(job.out):  # printed behind the last one's checkpoint
                self.assertIsNone(job.wait(0), job.said(job.err))
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            self.assertTrue((where / "plot.svg.checkpoint").exists())
        finally:
            job.end()

    def test_a_resumed_run_ends_as_one_that_was_not_interrupted(self):
        arguments = [*SMALL, "--epochs", "6"]
        self.run_in("whole", [program, *arguments, "--gpus", "2"])
        for name, command in (("alone", [program, *arguments, "--gpus", "2"]), ("ranks", mpirun((2, program, *arguments)))):
            with self.subTest(name):
                self.interrupted(name, command, 2)
                out, err = self.run_in(name, [*command, "--resume"])
                self.assertIn("[INFO] resuming after epoch ", out)
                self.assertNotIn("Epoch 1/6", out)
                self.assertEqual(self.numbers(name), self.numbers("whole"))
                self.assertEqual(err, "")
                self.assertNotIn("plot.svg.checkpoint", self.files(name))  # it has ended

    def test_a_signal_to_one_process_stops_all_and_they_resume(self):
        arguments = [*SMALL, "--epochs", "6"]
        self.run_in("whole", [program, *arguments, "--gpus", "2"])
        for name, to, number in (("one", 1, signal.SIGTERM), ("all", None, signal.SIGUSR1)):
            with self.subTest(name):
                where = self.here / name
                where.mkdir()
                job = launching.Job(mpirun((2, program, *arguments)), cwd=where)
                try:
                    end = time.monotonic() + 300
                    while "Epoch 2/6" not in job.said(job.out) or len(job.ranks()) < 2:
                        self.assertIsNone(job.wait(0), job.said(job.err))
                        self.assertLess(time.monotonic(), end)
                        time.sleep(0.01)
                    ranks = job.ranks()
                    os.kill(job.process.pid if to is None else ranks[to], number)  # Open MPI hands SIGUSR1 on to all
                    self.assertEqual(job.wait(300), 128 + number, job.said(job.err))
                    self.assertFalse([pid for pid in ranks.values() if launching.runs(pid)])
                    out = job.said(job.out)
                finally:
                    job.end()
                self.assertEqual(self.files(name), ["plot.svg", "plot.svg.checkpoint"])
                self.assertRegex(out, rf"\[INFO\] fit: interrupted by signal {int(number)} after (batch|epoch) ")
                self.assertEqual(out.count("to resume, under mpirun as before: "), 1, out)
                out, err = self.run_in(name, mpirun((2, program, *arguments, "--resume")))
                self.assertIn("[INFO] resuming after ", out)
                self.assertEqual(err, "")
                self.assertEqual(self.numbers(name), self.numbers("whole"))

    def test_a_resumed_run_with_other_options_says_which(self):
        arguments = [*SMALL, "--epochs", "6", "--schedule", "cosine"]
        self.interrupted("a", mpirun((2, program, *arguments)), 2)
        other = [*SMALL[:-2], "--epochs", "7", "--learning-rate", "0.001", "--augment", "none", "--threads", "1"]
        _, err = self.run_in("a", mpirun((2, program, *other, "--resume", "--merge", "all_reduce")))
        lines = [line for line in err.splitlines() if "--resume: " in line]
        self.assertEqual(len(lines), 1, err)  # one of them warns, once
        self.assertRegex(lines[0], r"^\[WARNING\] --resume: plot.svg.checkpoint is from a run with "
                         "--learning-rate 0.005, now 0.001; --schedule cosine, now poly; "
                         "--epochs 6, now 7; --merge host_merge, now all_reduce; the run continues, but its results will not be bit-identical$")
        self.assertEqual(len(re.findall(r"checkpoint: plot.svg.checkpoint is from a run with augmentation a policy \([0-9a-f]{8}\), now "
                                        "none; the run continues", err)), 1, err)

    def test_a_run_of_data_with_another_mean_is_refused_by_both_ranks(self):
        self.interrupted("a", mpirun((2, program, *SMALL, "--epochs", "6")), 2)
        state = (self.here / "a/plot.svg.checkpoint").read_bytes()
        other = [*SMALL, "--epochs", "6", "--resume"]
        other[other.index("16")] = "20"
        out, err = self.run_in("a", mpirun((2, program, *other)), 1)
        self.assertIn("is from a run with another normalisation: the data of this run have the mean ", err)
        self.assertEqual((self.here / "a/plot.svg.checkpoint").read_bytes(), state)

    def test_a_state_of_before_an_option_was_there_is_one_of_its_default(self):
        arguments = [*SMALL, "--epochs", "6", "--merge", "all_reduce"]
        self.interrupted("a", [program, *arguments], 2)
        state = self.here / "a/plot.svg.checkpoint"
        unknown = state.read_bytes()[:-8].replace(b"--merge\0", b"--mergz\0")
        self.assertEqual(unknown.count(b"--mergz"), 1)
        state.write_bytes(unknown + struct.pack("<Q", checksum(unknown)))
        _, err = self.run_in("a", [program, *arguments, "--resume"])
        self.assertEqual(err, "[WARNING] --resume: plot.svg.checkpoint is from a run with --merge host_merge, now all_reduce; the run continues, but its results will not be bit-identical\n")

    def test_a_text_of_a_state_fills_no_warning(self):
        self.interrupted("a", [program, *SMALL, "--epochs", "6"], 2)
        path = self.here / "a/plot.svg.checkpoint"
        state, text, value = bytearray(path.read_bytes()[:-8]), b"poly", b"\x1b" * 2**20
        at = state.index(b"--schedule\0") + 11
        for size in (at, state.index(b"says_what_differs 0\0") + 20, 96):  # of the value, of the callback, of all
            struct.pack_into("<Q", state, size, struct.unpack_from("<Q", state, size)[0] + len(value) - len(text))
        state[at + 8:at + 8 + len(text)] = value
        path.write_bytes(state + struct.pack("<Q", checksum(bytes(state))))
        _, err = self.run_in("a", [program, *SMALL, "--epochs", "6", "--resume"])
        self.assertIn(r"is from a run with --schedule \x1b\x1b", err)
        self.assertLess(len(err), 2000)

    def test_weights_that_are_averaged_are_as_the_run_was_begun(self):
        averages = [*SMALL, "--epochs", "6", "--swa", "1"]
        self.interrupted("a", [program, *averages], 3)
        state = (self.here / "a/plot.svg.checkpoint").read_bytes()
        for arguments, said in ((["--swa", "2"], "'s average was saved with start_from_epoch 1, but this run has 2; "),
                                ([], " is from a run with averaged weights; ")):
            _, err = self.run_in("a", [program, *SMALL, "--epochs", "6", *arguments, "--resume"], code=1)
            self.assertIn(f"error: checkpoint: plot.svg.checkpoint{said}", err)
            self.assertEqual((self.here / "a/plot.svg.checkpoint").read_bytes(), state)
        _, err = self.run_in("a", [program, *averages, "--resume"])
        self.assertEqual(err, "")

    def test_a_run_that_begins_anew_is_not_mistaken_for_the_one_before(self):
        self.interrupted("a", [program, *SMALL, "--epochs", "40"], 3)
        state = (self.here / "a/plot.svg.checkpoint").read_bytes()
        job = launching.Job([program, *SMALL, "--epochs", "41"], cwd=self.here / "a")
        try:
            end = time.monotonic() + 300
            while not (self.here / "a/plot.svg.checkpoint.before").exists():
                self.assertIsNone(job.wait(0), job.said(job.err))
                self.assertLess(time.monotonic(), end)
                time.sleep(0.001)
        finally:
            job.end()
        if (self.here / "a/plot.svg.checkpoint").exists():
            self.skipTest("this machine is too fast")
        self.assertEqual((self.here / "a/plot.svg.checkpoint.before").read_bytes(), state)
        out, _ = self.run_in("a", [program, *SMALL, "--epochs", "2", "--resume"])
        self.assertIn("no plot.svg.checkpoint to resume from: training from the beginning", out)

    def test_early_stopping_that_is_new_where_the_run_has_ended(self):
        """It has seen no epoch, so the weights are the last one's, as without it, and not those of some best epoch."""
        self.interrupted("a", [program, *SMALL, "--epochs", "40"], 3)
        again = [program, *SMALL, "--resume", "--weights", "cifar.weights", "--epochs"]
        watched = [*again[:-1], "--early-stopping", "9", "--epochs"]
        _, err = self.run_in("a", [*watched, "1"], 2)
        ended = re.search("already has ([0-9]+) epochs", err).group(1)
        shutil.copytree(self.here / "a", self.here / "b")
        out, _ = self.run_in("a", [*watched, ended])
        self.run_in("b", [*again, ended])
        weights = [(self.here / name / "cifar.weights").read_bytes() for name in "ab"]
        self.assertEqual(*weights)
        rows = (self.here / "a/plot.svg.history.csv").read_text().splitlines()
        last = dict(zip(rows[0].split(","), rows[-1].split(",")))
        self.assertEqual(last["epoch"], ended)
        said = re.search("test accuracy ([0-9.]+);", out).group(1)
        self.assertEqual(said, f"{float(last['val_acc']):.4f}")

    def test_what_a_kill_leaves_is_removed(self):
        where = self.here / "a"
        self.interrupted("a", [program, *SMALL, "--epochs", "40"], 2)
        for left in ("plot.svg.checkpoint.9999999-0", "plot.svg.9999999-3", "plot.svg.history.csv.9999999-0"):
            (where / f"{left}.typenet.tmp").write_bytes(b"half of one")  # by a process that can't be alive
        self.run_in("a", [program, *SMALL, "--epochs", "2"])
        self.assertEqual([f for f in self.files("a") if not f.endswith(".before")], ["plot.svg", "plot.svg.history.csv"])

    def test_a_checkpoint_that_cant_be_written_ends_no_training(self):
        """Nor does it keep the other processes waiting. The 13 MB don't fit; what MPI itself makes does."""
        small = ["sh", "-c", "trap '' XFSZ; ulimit -f 16384; exec \"$@\"", "sh"]
        _, err = self.run_in("a", mpirun((2, *small, program, *SMALL, "--epochs", "3")))
        self.assertEqual(err.count("[WARNING] checkpoint: cannot write plot.svg.checkpoint: "), 1, err)
        self.assertEqual(self.files("a"), ["plot.svg", "plot.svg.history.csv"])

    def test_nothing_to_resume(self):
        out, _ = self.run_in("a", [program, *SMALL, "--epochs", "1", "--resume"])
        self.assertIn("no plot.svg.checkpoint to resume from: training from the beginning", out)
        out, _ = self.run_in("b", mpirun((2, program, *SMALL, "--epochs", "1", "--resume")))
        self.assertIn("no plot.svg.checkpoint to resume from: training from the beginning", out)

    def test_bad_checkpoints_are_refused_and_kept(self):
        command = [program, *SMALL, "--epochs", "40"]
        self.interrupted("a", command, 3)  # so that its checkpoint has two epochs or more
        path = self.here / "a/plot.svg.checkpoint"
        good = path.read_bytes()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 1
        for bytes_, words in ((b"", "must begin as typenet's checkpoints do"), (b"x" * 200, "must begin as typenet's"),
                              (good[:100], "must have"), (good[:-1], f"must have {len(good)} bytes; found {len(good) - 1}: it is truncated or damaged"),
                              (good + b"x", "must have"), (bytes(flipped), "is damaged: its checksum is wrong")):
            path.write_bytes(bytes_)
            _, err = self.run_in("a", [*command, "--resume"], 1)
            self.assertIn("error: checkpoint: plot.svg.checkpoint " + words, err)
            self.assertEqual(path.read_bytes(), bytes_)  # nothing is lost
            self.assertEqual(len(err.splitlines()), 1)
        path.write_bytes(good)
        _, err = self.run_in("a", [*command, "--resume", "--seed", "9"], 1)
        self.assertIn("has the seed 0, but this run has 9", err)
        _, err = self.run_in("a", [*command[:-1], "1", "--resume"], 2)
        self.assertRegex(err, "plot.svg.checkpoint already has [0-9]+ epochs?, but this run has 1; set .epochs to [0-9]+ or more")
        out, _ = self.run_in("a", [*command[:-1], "1"])
        self.assertIn("plot.svg.checkpoint is from an unfinished run. It is kept as plot.svg.checkpoint.before until", out)
        self.assertIn("the files of an earlier run are kept; to give them their names again: mv --backup=numbered plot.svg.checkpoint.before plot.svg.checkpoint", out)
        self.assertFalse(path.exists())
        self.assertEqual((self.here / "a/plot.svg.checkpoint.before").read_bytes(), good)
        for bytes_, words in ((good[:-1], "it is truncated or damaged"), (b"", "must begin as typenet's")):
            path.write_bytes(bytes_)
            _, err = self.run_in("a", mpirun((2, program, *SMALL, "--epochs", "40", "--resume")), 1)
            self.assertIn(words, err)


if __name__ == "__main__":
    launching.main(launching.missing(program))
