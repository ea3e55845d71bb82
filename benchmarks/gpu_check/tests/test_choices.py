# SPDX-License-Identifier: MIT
"""Tests the stage options with a program that answers at once: its order, its rounds, its ratios and its errors."""
import unittest
from unittest import mock

from support import Case, gpu_check
import choices
import programs

ANSWER = """
words = sys.argv[1:]
def answer(question, setting): return {}
said = {"peer": "typenet on Tester", "question": words[0], "setting": words[1], "loss": 2.0, "later_s": 0.05, "kept": 2,
        "seconds": {"off": 0.012, "on": 0.010, "2": 0.001, "1": 0.002, "0": 0.001}[words[1]]}
"""
PRINT = "said.update(answer(words[0], words[1]))\nprint(json.dumps(said))"


class Options(Case):
    def run_stage(self, text, *words):
        self.asked = []
        program = self.program("options", text)
        run = gpu_check.Stage.run

        def watched(stage, command, *more):
            self.asked.append([str(c) for c in command[1:]])
            return run(stage, command, *more)
        with mock.patch.object(gpu_check, "gpu", lambda: None), mock.patch.object(gpu_check.Stage, "run", watched), \
                mock.patch.object(programs, "build_all", lambda stage, names: {n: program for n in names}):
            return gpu_check.main(["options", "--output", str(self.folder / "results"), *words])

    def parts(self):
        return {p["name"]: p for p in self.result("options")["parts"]}

    def test_the_most_valuable_question_comes_first_and_settings_take_turns(self):
        self.assertEqual(self.run_stage(ANSWER + PRINT, "--rounds", "2"), 0)
        self.assertEqual(list(self.parts()), ["device", "ahead", "filled", "queues"])
        measured = [a[:2] for a in self.asked[1:]]
        self.assertEqual(measured, [[q, s] for q in choices.QUESTIONS for s in (
            *choices.QUESTIONS[q][0], *choices.QUESTIONS[q][0][::-1])])
        self.assertEqual({tuple(a[2:]) for a in self.asked[1:]}, {("64", "bf16")})
        self.assertIn("on: 10.000 ms (1.200x)", self.parts()["ahead"]["detail"])
        self.assertIn("later evaluations: off 50.000 ms, on 50.000 ms", self.parts()["filled"]["detail"])
        self.assertIn("1: 2.000 ms (0.500x), 0: 1.000 ms (1.000x); 0 keeps 2, 2", self.parts()["queues"]["detail"])
        self.assertRegex(self.said.getvalue(), r"copy_ahead +\| +on \| +10\.000 \| +1\.200x \| +2 \|")
        self.assertEqual(len(self.result("options")["questions"]["queues"]["0"]), 2)

    def test_every_question_stands_alone(self):
        for question in choices.QUESTIONS:
            with self.subTest(question):
                self.assertEqual(self.run_stage(ANSWER + PRINT, "--rounds", "1", "--question", question, "--batch", "8",
                                                "--precision", "tf32"), 0)
                self.assertEqual(list(self.parts()), ["device", question])
                self.assertEqual(self.asked[1], [question, choices.QUESTIONS[question][0][0], "8", "tf32"])
        fails = ANSWER + "if words[0] == 'ahead': sys.exit('out of memory')\n" + PRINT
        self.assertEqual(self.run_stage(fails, "--rounds", "1"), 1)
        status = {name: p["status"] for name, p in self.parts().items()}
        self.assertEqual(status, {"device": "passed", "ahead": "FAILED", "filled": "passed", "queues": "passed"})

    def test_settings_that_compute_something_else(self):
        apart = ANSWER + "def answer(q, s): return {'loss': 2.2} if (q, s) == ('ahead', 'on') else {}\n" + PRINT
        self.assertEqual(self.run_stage(apart, "--rounds", "1"), 1)
        self.assertIn("the settings give different losses: 2, 2.2", self.parts()["ahead"]["detail"])
        nan = ANSWER + "def answer(q, s): return {'loss': float('nan')} if s == '1' else {}\n" + PRINT
        self.assertEqual(self.run_stage(nan, "--rounds", "1", "--question", "queues"), 1)
        self.assertIn("different losses", self.parts()["queues"]["detail"])

    def test_no_device_and_no_time(self):
        self.assertEqual(self.run_stage("sys.exit(77)"), 77)
        self.assertEqual(self.run_stage(ANSWER + PRINT, "--minutes", "0.5"), 1)
        self.assertEqual({p["status"] for n, p in self.parts().items() if n in choices.QUESTIONS}, {"skipped"})
        self.assertIn("no option was measured", self.result("options")["parts"][-1]["detail"])

    def test_names_that_are_not_questions(self):
        with self.assertRaises(SystemExit):
            self.options("options", "--question", "ahead,behind")


if __name__ == "__main__":
    unittest.main()
