# SPDX-License-Identifier: MIT
"""Tests options, parts, time limits, exit codes and result files."""
import contextlib
import io
import os
import subprocess
import time
import unittest
from unittest import mock

from support import ROOT, Case, gpu_check
import measuring
import stage
from stage import Failure, Skip
from worker import Worker


class Options(Case):
    def refused(self, *words):
        """Returns the message about invalid options."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as left:
            gpu_check.arguments(list(words))
        self.assertEqual(left.exception.code, 2, said.getvalue())
        return said.getvalue()

    def test_wrong_ones(self):
        for words, what in (("nothing", "invalid choice"), ("bench --batch 0", "'0' must be a whole number of at least 1"),
                            ("bench --batch 64,x", "'x' must be a whole number"), ("bench --jobs 0", "--jobs must be 1"),
                            ("bench --precision fp16", "'fp16' must be one of bf16, tf32, fp32_strict"),
                            ("correct --only layers,", "'' must be one of"), ("correct --runs 1", "must be 2 or more"),
                            ("peers --variants keras", "'keras' must be one of eager"),
                            ("train --seeds 2", "--seeds needs --epochs"),
                            ("train --recipe modern", "--recipe needs --epochs"),
                            ("train --recipe secret --epochs 3", "invalid choice"), ("bench --rounds 0", "above 0"),
                            ("bench --name a/b", "without a folder"), ("bench --name ..", "without a folder"),
                            ("bench --minutes 0", "above 0"), ("bench --minutes nan", "above 0")):
            with self.subTest(words=words):
                self.assertIn(what, self.refused(*words.split()))

    def test_right_ones(self):
        o = gpu_check.arguments(["bench", "--batch", "64,1024", "--precision", "bf16"])
        self.assertEqual((o.batch, o.precision, o.rounds, o.minutes), ([64, 1024], ["bf16"], 3, 7.5))
        self.assertTrue(o.output.endswith("build/gpu_check"))
        self.assertEqual(gpu_check.arguments(["peers"]).rounds, 7)
        self.assertEqual(gpu_check.arguments(["correct", "--only", "layers,memcheck"]).only, ["layers", "memcheck"])


class Parts(Case):
    def end(self, s):
        code = s.finish([])
        self.assertEqual(self.result(s.name)["exit_code"], code)
        self.assertEqual(self.result(s.name)["parts"], s.parts)
        self.assertIn(self.result(s.name)["verdict"], (self.folder / "results" / f"{s.name}.md").read_text())
        return code

    def raising(self, what):
        def function():
            raise what
        return function

    def test_all_well(self):
        s = self.stage("bench")
        self.assertEqual(s.part("one", lambda: "done"), "done")
        self.assertEqual(self.end(s), 0)
        self.assertEqual(self.result("bench")["verdict"], "all well")

    def test_results_are_written_after_each_part(self):
        s = self.stage("bench", "--name", "bench_1")
        s.results["findings"] = [1]
        s.part("one", lambda: "done")
        found = self.result("bench_1")
        self.assertEqual((found["verdict"], found["exit_code"], found["findings"]), ("not done yet", None, [1]))
        self.assertEqual([p["name"] for p in found["parts"]], ["one"])
        s.part("two", lambda: self.assertEqual(len(self.result("bench_1")["parts"]), 1))
        self.assertEqual(len(self.result("bench_1")["parts"]), 2)
        s.finish([])
        self.assertEqual(sorted(f.name for f in (self.folder / "results").iterdir()),
                         ["bench_1.json", "bench_1.log", "bench_1.md"])

    def test_a_write_that_fails_leaves_the_old_file(self):
        file = self.folder / "x.json"
        stage.write(file, "old")
        with mock.patch.object(stage.os, "replace", side_effect=OSError("disk")), self.assertRaises(OSError):
            stage.write(file, "new")
        self.assertEqual(file.read_text(), "old")

    def test_one_that_failed(self):
        s = self.stage("bench")
        s.part("one", lambda: "done")
        self.assertIsNone(s.part("two", self.raising(Failure("it broke"))))
        s.part("three", self.raising(KeyError("a mistake here")))
        s.part("four", self.raising(Skip("no time")))
        self.assertEqual(list(self.status(s).values()), ["passed", "FAILED", "FAILED", "skipped"])
        self.assertEqual(self.end(s), 1)
        self.assertEqual(self.result("bench")["verdict"], "2 of 4 parts went WRONG")
        self.assertIn("KeyError", self.detail(s, "three"))

    def test_no_device(self):
        s = self.stage("bench")
        s.part("one", lambda: "done")
        s.has_device = False
        self.assertEqual(s.verdict()[1], 77)
        s.part("two", self.raising(Failure("it broke")))
        self.assertEqual(self.end(s), 1)

    def test_nothing_done_is_not_well(self):
        self.assertEqual(self.end(self.stage("bench")), 1)
        s = self.stage("train")
        s.part("one", self.raising(Skip("no time")))
        self.assertEqual(self.end(s), 1)
        self.assertEqual(self.result("train")["verdict"], "NOTHING was done")


class Programs(Case):
    def test_what_they_say(self):
        s = self.stage("bench")
        done = s.run([self.program("p", "print('one'); print('two', file=sys.stderr); sys.exit(3)")])
        self.assertEqual((done.returncode, sorted(done.out.split())), (3, ["one", "two"]))
        with self.assertRaisesRegex(Failure, "exit code 3: .*two"):
            s.must([self.folder / "p"])
        with self.assertRaisesRegex(Failure, "No such file"):
            s.must([self.folder / "not there"])
        with self.assertRaisesRegex(Skip, "no device"):
            s.must([self.program("q", "print('no device'); sys.exit(77)")])
        self.assertIn("exit code 3", (self.folder / "results/bench.log").read_text())

    def test_limits(self):
        slow = self.program("slow", "if os.fork() == 0: time.sleep(60)\nprint('begun', flush=True); time.sleep(60)")
        s, begin = self.stage("bench"), time.monotonic()
        with self.assertRaisesRegex(Failure, "not done after 4 s: begun"):
            s.must([slow], 4)
        s.options.minutes = 0
        with self.assertRaisesRegex(Skip, "the time of the stage ended"):
            s.must([slow], 60)
        with self.assertRaisesRegex(Skip, "0 s are left, it may take 20"):
            s.need(20)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(s.running, set())

    def test_a_program_is_in_a_group_of_its_own_and_in_our_session(self):
        s = self.stage("bench")
        done = s.run([self.program("p", "print(os.getpgrp() == os.getpid(), os.getsid(0))")])
        self.assertEqual(done.out.split(), ["True", str(os.getsid(0))])
        w = Worker(s, [self.program("w", "print(json.dumps([os.getpgrp() == os.getpid(), os.getsid(0)])"
                                    ".replace('[', '{\"n\": [') + '}', flush=True); sys.stdin.readline()")])
        self.assertEqual(w.ask(["x"], 30)["n"], [True, os.getsid(0)])
        w.close()

    def test_a_program_that_can_not_be_killed(self):
        s, begin = self.stage("bench"), time.monotonic()
        with mock.patch.object(stage, "kill") as kill, mock.patch.object(stage, "is_gone", lambda p, seconds=10:
                                                                         time.sleep(min(seconds, 0.1))):
            done = s.run([self.program("p", "time.sleep(5)")], 1)
        kill.assert_called_once()
        self.assertTrue(done.timed_out and done.stuck)
        self.assertIn("it was killed, but still exists", str(done.late()))
        self.assertIn("it was killed, but still exists", (self.folder / "results/bench.log").read_text())
        self.assertLess(time.monotonic() - begin, 4)

    def test_is_gone(self):
        process = subprocess.Popen(["sleep", "60"], **stage.OWN_GROUP)
        self.assertFalse(stage.is_gone(process, 0.1))
        stage.kill(process)
        self.assertTrue(stage.is_gone(process))

    def test_the_log_has_what_a_running_program_says(self):
        s = self.stage("bench")
        seen = []
        log, follow = self.folder / "results/bench.log", s.follow

        def watched(*arguments, **more):
            told = follow(*arguments, **more)
            seen.append(log.read_text())
            return told
        with mock.patch.object(s, "follow", watched):
            done = s.run([self.program("p", "for i in range(3): print('line', i, flush=True); time.sleep(0.8)\n"
                                       "print('no end', end='')")])
        self.assertEqual(done.out, "line 0\nline 1\nline 2\nno end")
        self.assertTrue(any("line 0" in x and "no end" not in x for x in seen[:-1]))
        text = log.read_text()
        self.assertEqual([text.count(x) for x in ("line 0", "line 2", "no end", "exit code 0")], [1] * 4)

    def test_the_log_says_which_program_goes_on(self):
        s = self.stage("bench")
        for of in ("one", "one", "two", "one"):
            s.log(f"from {of}", of=of)
        self.assertEqual((self.folder / "results/bench.log").read_text().split("\n"),
                         ["[one]", "from one", "from one", "[two]", "from two", "[one]", "from one", ""])

    def test_interrupted(self):
        s = self.stage("bench")
        s.stop()
        with self.assertRaises(Skip):
            s.run(["true"])

    def test_a_signal_ends_what_runs_and_leaves_results(self):
        slow = self.program("slow", f"with open({str(self.folder / 'pid')!r}, 'w') as f: print(os.getpid(), file=f)\n"
                            "time.sleep(60)")
        driver = self.program("driver", f"sys.path.insert(0, {str(ROOT / 'benchmarks/gpu_check/tests')!r})\n"
                              "from support import gpu_check\nimport programs\ngpu_check.gpu = lambda: None\n"
                              f"programs.build_all = lambda stage, names: {{'cuda_step': {str(slow)!r}}}\n"
                              "sys.exit(gpu_check.main(sys.argv[1:]))")
        process = subprocess.Popen([driver, "bench", "--output", self.folder / "results"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        said = self.folder / "pid"
        until = time.monotonic() + 60
        while not (said.is_file() and said.read_text().endswith("\n")) and time.monotonic() < until:
            time.sleep(0.05)
        process.terminate()
        self.assertEqual(process.wait(30), 1)
        self.assertIn("it was interrupted", self.result("bench")["parts"][-1]["detail"])
        self.assertTrue((self.folder / "results/bench.md").is_file())
        state = measuring.read(f"/proc/{said.read_text().strip()}/stat").split(") ")[-1][:1]
        self.assertIn(state, ("", "Z", "X"))  # it does not exist, or its exit code has not been read

    def test_what_went_wrong_between_parts_is_written(self):
        for what, word in ((KeyboardInterrupt(), "interrupted"), (Failure("no compiler"), "no compiler")):
            s = self.stage("bench")
            with mock.patch.object(gpu_check, "gpu", lambda: None), \
                    mock.patch.object(gpu_check.bench, "run", side_effect=what):
                self.assertEqual(gpu_check.run(s), 1)
            self.assertIn(word, self.result("bench")["parts"][-1]["detail"])

    def test_each_stage_of_measuring_has_its_own_cache_of_plans(self):
        checked = self.stage("correct").environment()["TYPENET_CACHE"]
        measured = {self.stage(n).environment()["TYPENET_CACHE"] for n in ("bench", "peers", "train")}
        self.assertEqual(len(measured), 1)
        self.assertNotIn(checked, measured)

    def test_first_line(self):
        self.assertEqual(stage.first_line([self.program("p", "print('one\\ntwo')")]), "one")
        self.assertIsNone(stage.first_line([self.program("q", "time.sleep(60)")], 1))
        self.assertIsNone(stage.first_line([self.folder / "not there"]))

    def test_output_that_can_not_be_written(self):
        (self.folder / "file").touch()
        with self.assertRaisesRegex(SystemExit, "--output: .*file"):
            gpu_check.main(["bench", "--output", str(self.folder / "file")])


if __name__ == "__main__":
    unittest.main()
