# SPDX-License-Identifier: MIT
"""Tests how the findings of a conformance program and the output of compute-sanitizer are interpreted."""
import json
import os
import shutil
import unittest
from unittest import mock

from support import Case, gpu_check
import correct
import programs
from stage import Failure, Skip


def finding(what, verdict="good", measured=0.01, bound=0.1, values=1000, note=""):
    return {"group": "layers", "what": what, "verdict": verdict, "measured": measured, "bound": bound, "values": values,
            "note": note}


PROMISE = finding("a promise", measured=0, bound=0, values=0)
TOLD = finding("a figure", "told", 7, 0, 0)
FINDINGS = """
a = sys.argv
with open(a[a.index("--json") + 1], "w") as f:
    json.dump(FOUND, f)
sys.exit(any(x["verdict"] == "BAD" for x in FOUND))
"""


class Conformance(Case):
    def check(self, found, more="", seconds=60):
        s = self.stage("correct")
        program = self.program("conformance", f"true, false, null = True, False, None\nFOUND = {json.dumps(found)}\n"
                               f"{more}{FINDINGS}")
        try:
            return correct.conformance(s, program, "layers", seconds)
        finally:
            self.assertEqual(s.results["findings"], found if not more else [])

    def test_good(self):
        self.assertEqual(self.check([finding("one"), finding("two", measured=0.05, values=500), PROMISE, TOLD]),
                         "4 findings from 1500 values; the largest difference is 0.50 of its bound")
        self.assertEqual(self.check([PROMISE]), "1 findings")

    def test_bad(self):
        with self.assertRaisesRegex(Failure, r"1 of 2 bad: two: 0.3 \(bound 0.1\)"):
            self.check([finding("one"), finding("two", "BAD", 0.3)])
        with self.assertRaisesRegex(Failure, "1 of 1 bad: one: None"):  # the measured number is missing
            self.check([finding("one", "BAD", None)])

    def test_nothing_compared(self):
        for found in ([], [TOLD], [finding("one", values=0)], [finding("two"), finding("one", values=0)]):
            with self.subTest(found=found), self.assertRaisesRegex(Failure, "nothing was compared"):
                self.check(found)

    def test_crash(self):
        with self.assertRaisesRegex(Failure, "exit code -6"):
            self.check([finding("one")], "os.abort()\n")

    def test_time_was_up(self):
        slow = "time.sleep(60)\n"
        with self.assertRaisesRegex(Failure, "not done after 4 s"):
            self.check([finding("one")], slow, 4)
        with self.assertRaisesRegex(Failure, "1 bad before its time limit: BAD   layers"):
            self.check([finding("one")], "print('good  layers: one\\nBAD   layers: two', flush=True)\n" + slow, 4)


class Sanitizing(Case):
    def check(self, said, code, tolerated=False, minutes=None):
        s = self.stage("correct", *(["--minutes", str(minutes)] if minutes else []))
        tool = self.program("compute-sanitizer", f"print({said!r}); sys.exit({code})")
        with mock.patch.object(type(s.toolkit), "tool", lambda _, name: tool):
            return correct.sanitize(s, "program", "memcheck", 60, tolerated)

    def test_clean(self):
        self.assertEqual(self.check("========= ERROR SUMMARY: 0 errors", 0), "ERROR SUMMARY: 0 errors")

    def test_ours(self):
        said = "========= Invalid __global__ read of size 4 bytes\n=========     at k12+0x90\n" \
               "========= ERROR SUMMARY: 1 error"
        for tolerated in (False, True):
            with self.assertRaisesRegex(Failure, "ERROR SUMMARY: 1 error; 1 lines of the log name typenet's kernels"):
                self.check(said, 99, tolerated)

    def test_others(self):
        said = "=========     at cudnn_kernel+0x90\n" \
               "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)"
        self.assertIn("none of them in typenet's kernels", self.check(said, 99, True))
        with self.assertRaisesRegex(Failure, "2 hazards displayed"):
            self.check(said, 99)

    def test_the_program_itself_fails(self):
        with self.assertRaisesRegex(Failure, "results are wrong: BAD   exercise"):
            self.check("BAD   exercise: a network\n========= ERROR SUMMARY: 0 errors", 1, True)
        with self.assertRaisesRegex(Failure, "exit code 1"):
            self.check("========= ERROR SUMMARY: 0 errors", 1, True)

    def test_a_machine_that_does_not_let_it(self):
        with self.assertRaisesRegex(Skip, "does not work on this machine"):
            self.check("========= Error: Device not supported", 1)
        with self.assertRaisesRegex(Skip, "may take 60"):
            self.check("", 0, minutes=0.5)
        s = self.stage("correct")
        with mock.patch.object(type(s.toolkit), "tool", lambda *_: None), self.assertRaisesRegex(Skip, "not installed"):
            correct.sanitize(s, "program", "memcheck", 60, False)


class Whole(Case):
    """Tests the whole stage, from options to files, with programs that only print."""

    def run_stage(self, text, *words):
        program = self.program("conformance", text)
        with mock.patch.object(gpu_check, "gpu", lambda: None), \
                mock.patch.object(programs, "build_all", lambda stage, names: {n: program for n in names}), \
                mock.patch.object(correct, "sanitize", lambda *_: "clean"), \
                mock.patch.object(correct, "core_alone", lambda *_: "fine"), \
                mock.patch.object(correct, "cmake_finds", lambda *_: "found"):
            return gpu_check.main(["correct", "--output", str(self.folder / "results"), *words])

    def test_no_device(self):
        self.assertEqual(self.run_stage("print('skipped: no device: no driver'); sys.exit(77)"), 77)
        self.assertIn("NO DEVICE", self.said.getvalue())
        self.assertEqual(self.result("correct")["parts"][0]["status"], "skipped")

    def test_a_device_that_only_nvidia_sees(self):
        with mock.patch.object(gpu_check, "gpu", lambda: {"name": "H200"}):
            s = self.stage("correct")
            s.results["gpu"] = {"name": "H200"}
            with self.assertRaisesRegex(Failure, "nvidia-smi lists a GPU, but: no driver"):
                programs.with_device(s, self.program("p", "print('no driver'); sys.exit(77)"))

    def test_order(self):
        quick = list(correct.QUICK)
        self.assertEqual(quick[:6], ["refusals", "calls", "small_convolutions", "convolutions", "gradients", "layers"])
        self.assertEqual((quick[-1], list(correct.SLOW)), ("trajectories", ["minigooglenet", "batch64", "timed64"]))
        self.assertGreater(correct.QUICK["calls"], 120)
        self.assertEqual(correct.TOOLS[0][0], "memcheck")
        text = f"FOUND = [{finding('one')!r}]\nif '--list' in sys.argv or 'device' in sys.argv: sys.exit(0)\n"
        self.assertEqual(self.run_stage(text + FINDINGS), 0)
        parts = [p["name"] for p in self.result("correct")["parts"]]
        self.assertEqual([p for p in parts if p in quick], quick)
        self.assertEqual(parts[-2:], ["the core alone", "cmake"])
        self.assertLess(parts.index("trajectories"), parts.index("compute-sanitizer memcheck"))

    def test_groups_that_only_one_side_knows(self):
        text = f"FOUND = [{finding('one')!r}]\nif '--list' in sys.argv:\n" \
               "  print('device  what\\nlayers  small\\nbrand_new  more\\nbatch64  big\\nx (by name only)')\n" \
               "  sys.exit(0)\nif 'device' in sys.argv: sys.exit(0)\n"
        self.assertEqual(self.run_stage(text + FINDINGS), 0)
        parts = {p["name"] for p in self.result("correct")["parts"]}
        self.assertEqual(parts & {*correct.QUICK, *correct.SLOW, "brand_new", "device", "x"},
                         {"device", "layers", "batch64", "brand_new"})
        refuses = "if 'calls' in sys.argv: print('there is no group calls'); sys.exit(2)\n"
        self.assertEqual(self.run_stage(text + refuses + FINDINGS, "--only", "layers,calls"), 1)
        self.assertIn("there is no group calls", self.said.getvalue())

    def test_nothing_compared_is_not_well(self):
        with mock.patch.object(correct, "conformance", side_effect=Skip("no time")):
            self.assertEqual(self.run_stage("print('told  device the device: cuda on Tester')"), 1)
        self.assertIn("nothing was compared", self.result("correct")["parts"][-1]["detail"])

    def test_how_cudnn_describes_the_device_is_in_the_results(self):
        text = "if '--device-properties' in sys.argv: open(sys.argv[-1], 'w').write('{\"sm\": 90}\\n')\n"
        self.run_stage(text, "--only", "memcheck")
        self.assertEqual(self.result("correct")["device_properties"], '{"sm": 90}')
        self.assertEqual(sorted(f.name for f in (self.folder / "results").iterdir()),
                         ["correct.json", "correct.log", "correct.md"])

    def test_good_and_bad(self):
        good = f"FOUND = [{finding('one')!r}]\nprint('told  device the device: cuda on Tester')\n" \
               "if 'device' in sys.argv: sys.exit(0)\n"
        self.assertEqual(self.run_stage(good + FINDINGS), 0)
        parts = {p["name"]: p["detail"] for p in self.result("correct")["parts"]}
        self.assertEqual(parts["device"], "cuda on Tester")
        self.assertEqual(set(parts) - {"device", "the core alone", "cmake"}, {*correct.QUICK, *correct.SLOW} | {
            f"compute-sanitizer {t[0]}" for t in correct.TOOLS})
        self.assertEqual(len(self.result("correct")["findings"]), len(correct.QUICK) + len(correct.SLOW))
        bad = good + "if 'calls' in sys.argv: FOUND[0]['verdict'] = 'BAD'\n"
        self.assertEqual(self.run_stage(bad + FINDINGS), 1)
        self.assertIn("| layers: one ", self.said.getvalue())
        self.assertEqual(self.run_stage(bad + FINDINGS, "--only", "layers,memcheck"), 0)
        self.assertEqual([p["name"] for p in self.result("correct")["parts"]],
                         ["device", "layers", "compute-sanitizer memcheck"])


class CMake(Case):
    ninja = None  # the path of the program, or None

    def finds(self, version, says="-- typenet 0.1: core cuda"):
        self.program("cmake", f"print('cmake version {version}' if '--version' in sys.argv else '{says}')\n"
                     f"open('{self.folder}/asked', 'w').write(' '.join(sys.argv))")
        which = shutil.which
        with mock.patch.object(correct.shutil, "which", lambda x: self.ninja if x == "ninja" else which(x)), \
                mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            return correct.cmake_finds(self.stage("correct"))

    def test_one_that_is_too_old_is_no_fault_of_ours(self):
        for version in ("3.24.9", "2.8.12", "of another kind"):
            with self.subTest(version=version), self.assertRaisesRegex(Skip, r"CMake 3\.25 or later was not found"):
                self.finds(version)

    def test_what_it_found(self):
        for version in ("3.25.1", "4.0.3"):
            self.assertEqual(self.finds(version), "typenet 0.1: core cuda")
        with self.assertRaisesRegex(Failure, "did not define typenet::cuda"):
            self.finds("3.25.1", "-- typenet 0.1: core")

    def test_ninja_where_it_is(self):
        for self.ninja in (None, "/usr/bin/ninja"):
            self.finds("3.31.6")
            self.assertEqual("-G Ninja" in (self.folder / "asked").read_text(), bool(self.ninja))


if __name__ == "__main__":
    unittest.main()
