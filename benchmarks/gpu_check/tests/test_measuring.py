# SPDX-License-Identifier: MIT
"""Tests bench, peers and train with programs that answer at once: cases, ratios, tables, and invalid options."""
import contextlib
import io
import json
import sys
import unittest
from unittest import mock

from support import Case, gpu_check
import bench
import peers
import programs
import serving
import train
import worker
from stage import Done, Failure, Late, Skip, Stage
from worker import Worker

STEP = """
def said(words):
    mode, batch, precision = words[0], int(words[1]), words[2]
    return {"peer": "typenet on Tester", "step_s": 0.001, "latency_s": 0.002, "replay_s": 0.0009, "prepare_s": 1.5,
            "images_per_s": 1000.0 * batch, "own_kernels": 70, "convolutions": 56, "kernel_nodes": 130, "loss": 2.5,
            "calls_a_step": 2, "allocates": False, "arena_mib": 100, "executor_mib": 10, "device_mib": 500}
def change(answer, words): return answer
"""
ONCE = "print(json.dumps(change(said(sys.argv[1:]), sys.argv[1:])))"
SERVE = """
for line in sys.stdin if sys.argv[1:] == ["serve"] else [" ".join(sys.argv[1:])]:
    if line == "version\\n":
        print(json.dumps({"version": "1.0", "device": True}), flush=True)
        continue
    print(json.dumps(change(said(line.split()), line.split())), flush=True)
"""


class Whole(Case):
    def run_stage(self, text, name, *words):
        program = self.program("step", text)
        with mock.patch.object(gpu_check, "gpu", lambda: None), \
                mock.patch.object(programs, "build_all", lambda stage, names: {n: program for n in names}):
            return gpu_check.main([name, "--output", str(self.folder / "results"), *words])


class Bench(Whole):
    def test_all_cases(self):
        self.assertEqual(self.run_stage(STEP + ONCE, "bench", "--rounds", "2", "--precision", "bf16,fp32_strict"), 0)
        found = self.result("bench")["cases"]
        self.assertEqual(len(found), 2 * 8 + 2)  # batches from the host, and one queue, in one precision only
        self.assertEqual({len(c["rounds"]) for c in found}, {2})
        self.assertRegex(self.said.getvalue(), r"\| train 64, bf16, resident +\| +0.900 \| +1.000 \| +2.000 \|")

    def test_the_most_telling_come_first(self):
        found = bench.cases(self.options("bench"))
        self.assertEqual(found[0], ("train", 64, "bf16", "resident"))
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual({c[2] for c in found[:bench.OTHER_PRECISIONS]}, {"bf16"})
        self.assertEqual(bench.cases(self.options("bench", "--batch", "7", "--precision", "tf32")),
                         [("train", 7, "tf32", "resident"), ("infer", 7, "tf32", "host")])

    def test_what_is_wrong(self):
        for change, what in (("answer['allocates'] = True", "a step allocates"),
                             ("answer['calls_a_step'] = 4", "a step makes 4 calls"),
                             ("answer['loss'] = float('nan')", "loss is nan"),
                             ("print('nothing of JSON'); sys.exit(0)", "it printed no line of JSON"),
                             ("print(json.dumps(answer).replace('2.5', '-nan')); sys.exit(0)", "loss is nan"),
                             ("sys.exit(5)", "exit code 5")):
            text = f"{STEP}def change(answer, words):\n  if words[0] == 'train': {change}\n  return answer\n{ONCE}"
            self.assertEqual(self.run_stage(text, "bench", "--batch", "64", "--precision", "bf16"), 1)
            self.assertIn(what, self.result("bench")["parts"][1]["detail"])
            self.assertEqual(self.result("bench")["parts"][2]["status"], "passed")  # infer is measured nevertheless

    def test_losses_must_agree(self):
        text = STEP + "def change(answer, words): return answer | {'loss': 2.6 if words[2] == 'tf32' else 2.5}\n" + ONCE
        self.assertEqual(self.run_stage(text, "bench", "--batch", "64", "--rounds", "1"), 1)
        self.assertIn("the loss in tf32 differs from that in fp32_strict by 0.04", self.result("bench")["parts"][-1]["detail"])
        self.assertEqual(self.run_stage(STEP + ONCE, "bench", "--batch", "64", "--rounds", "1"), 0)

    def test_what_libraries_say_behind_it(self):
        text = STEP + ONCE + "\nprint('a warning at the end'); print('{cut off')"
        self.assertEqual(self.run_stage(text, "bench", "--batch", "64", "--precision", "bf16"), 0)

    def test_a_device_whose_name_can_not_be_asked(self):
        text = f"{STEP}def change(answer, words):\n  if words[2] == 'fp32_strict': sys.exit(3)\n  return answer\n{ONCE}"
        self.assertEqual(self.run_stage(text, "bench", "--batch", "64", "--rounds", "1"), 1)
        parts = {p["name"]: p["status"] for p in self.result("bench")["parts"]}
        self.assertEqual((parts["device"], parts["train 64 fp32_strict resident"]), ("FAILED", "FAILED"))
        self.assertEqual((parts["train 64 bf16 resident"], parts["infer 64 tf32 host"]), ("passed", "passed"))

    def test_the_first_case_may_take_all_the_time(self):
        limits = []
        with mock.patch.object(Stage, "must", autospec=True,
                               side_effect=lambda s, command, seconds: limits.append(seconds) or Done(0, "", 1)):
            s = self.stage("bench", "--minutes", "10")
            for rounds in ({}, {"train 64 bf16 resident": []}):
                with self.assertRaises(Failure):
                    bench.measure(s, "program", ("infer", 1, "bf16", "host"), rounds)
        self.assertGreater(limits[0], 500)
        self.assertEqual(limits[1], bench.LIMIT)

    def test_a_case_that_took_too_long_is_tried_again(self):
        mark = self.folder / "mark"
        slow = f"if words[0] == 'infer' and words[2] == 'bf16' and not os.path.exists({str(mark)!r}):\n" \
               f"    open({str(mark)!r}, 'w').close(); time.sleep(60)\n"
        text = f"{STEP}def change(answer, words):\n  {slow}  return answer\n{ONCE}"
        words = "bench", "--batch", "64", "--precision", "bf16", "--rounds"
        with mock.patch.object(bench, "LIMIT", 5):
            self.assertEqual(self.run_stage(text, *words, "3"), 0)
            parts = {p["name"]: p for p in self.result("bench")["parts"]}
            self.assertIn("not done after 5 s", parts["infer 64 bf16 host"]["detail"])
            self.assertIn("the next round tries it again", parts["infer 64 bf16 host"]["detail"])
            self.assertEqual([parts[f"infer 64 bf16 host, round {n}"]["status"] for n in (2, 3)], ["passed"] * 2)
            mark.unlink()
            self.assertEqual(self.run_stage(text, *words, "1"), 1)  # there is no next round

    def test_nothing_measured_is_not_well(self):
        with mock.patch.object(bench, "timed", side_effect=Skip("no time")):
            self.assertEqual(self.run_stage(STEP + ONCE, "bench"), 1)
        self.assertIn("no step was measured", self.result("bench")["parts"][-1]["detail"])

    def test_no_device(self):
        self.assertEqual(self.run_stage("sys.exit(77)", "bench"), 77)


class Peers(Whole):
    def run_peers(self, theirs, *words, ours=STEP + SERVE):
        there = self.program("peer", theirs)
        with mock.patch.dict(peers.PROGRAMS, {"torch": there, "jax": there}):
            return self.run_stage(ours, "peers", "--python", str(self.program("python", "os.execv(sys.argv[1], "
                                  "sys.argv[1:])")), "--rounds", "3", *words)

    def change(self, text):
        return f"{STEP}def change(answer, words):\n{text}\n  return answer\n{SERVE}"

    def test_ratio_is_to_the_fastest_of_each_round(self):
        theirs = self.change("  answer['step_s'] = {'eager': 0.009, 'graph': 0.004, 'compile': 0.003, 'jit': 0.006}["
                             "words[-1]]")
        self.assertEqual(self.run_peers(theirs, "--mode", "train", "--variants", "compile,eager,graph,jax"), 0)
        found = self.result("peers")["cases"]
        self.assertEqual([(c["mode"], c["batch"]) for c in found], [("train", 64), ("train", 1024), ("train", 256)])
        self.assertAlmostEqual(found[0]["ratio"]["step_s"]["median"], 3)
        self.assertAlmostEqual(found[0]["ratio"]["latency_s"]["median"], 1)
        self.assertEqual(len(found[0]["ratio"]["step_s"]["per_round"]), 3)
        self.assertEqual(set(found[0]["variants"]), {"typenet", "eager", "graph", "compile", "jax"})
        self.assertRegex(self.said.getvalue(), r"\| train 64 +\| +1.000 / 2.000 \|.*\*\*3.00x\*\*.*\| +met \|")

    def test_one_that_fails_is_left_out(self):
        theirs = self.change("  if words[-1] == 'graph': answer = {'error': 'capture refused'}\n"
                             "  if words[-1] == 'jit': sys.exit('no kernel')")
        self.assertEqual(self.run_peers(theirs, "--mode", "infer", "--batch", "1"), 0)
        self.assertEqual(set(self.result("peers")["cases"][0]["variants"]), {"typenet", "eager"})
        details = {p["name"]: p["detail"] for p in self.result("peers")["parts"]}
        self.assertEqual(details["infer 1: graph"], "it does not work here: capture refused")
        self.assertIn("no kernel", details["infer 1: jax"])
        self.assertIn("MISSED", self.said.getvalue())  # the ratio is 1, and the target is 3

    def test_one_that_fails_later_is_left_out(self):
        theirs = self.change("  global count\n  count = globals().get('count', 0) + 1\n"
                             "  if words[-1] == 'eager' and count > 2: sys.exit(1)")
        self.assertEqual(self.run_peers(theirs, "--mode", "infer", "--batch", "1", "--variants", "eager,graph"), 0)
        self.assertEqual(set(self.result("peers")["cases"][0]["variants"]), {"typenet", "graph"})

    def test_ours_must_work(self):
        ours = self.change("  if words[1] == '64': sys.exit('out of memory')")
        self.assertEqual(self.run_peers(STEP + SERVE, "--mode", "train", "--variants", "eager", ours=ours), 1)
        self.assertEqual([c["batch"] for c in self.result("peers")["cases"]], [1024, 256])

    def test_words_are_those_that_the_programs_take(self):
        for case in peers.CASES:
            for precision in bench.PRECISIONS:
                for variant, (framework, _) in peers.VARIANTS.items():
                    words = [str(w) for w in peers.request(case, precision, "resident", variant)]
                    serving.parse(words, ("eager", "graph", "compile") if framework == "torch" else ("jit",))

    def test_workers(self):
        s = self.stage("peers")
        w = Worker(s, [self.program("w", "for line in sys.stdin:\n  print('noise\\n' + json.dumps({'n': len(line)}) if "
                                    "'slow' not in line else time.sleep(60), flush=True)")])
        self.assertEqual(w.ask(["ab", 1], 30), {"n": 5})
        with self.assertRaisesRegex(Late, "no answer within 1 s"):
            w.ask(["slow"], 1)
        self.assertEqual(w.ask(["again"], 30), {"n": 6})  # another process
        w.close()
        self.assertFalse(w.alive())
        with self.assertRaisesRegex(Failure, "No such file"):
            Worker(s, ["/not/there"]).ask(["x"], 1)

    def test_what_a_worker_wrote_to_its_standard_error_is_in_the_log(self):
        s = self.stage("peers")
        talk = "for line in sys.stdin:\n" \
               "  print('x' * 9000 + line.strip() + ' at line 7', file=sys.stderr, flush=True)\n" \
               "  if line[0] == 'd': sys.exit(3)\n  if line[0] == 's': time.sleep(60)\n  print('{}', flush=True)"
        w = Worker(s, [self.program("w", talk)])
        w.ask(["closed"], 30)
        w.close()
        w.ask(["more"], 30)  # the message about a process that has ended must not disturb the next request
        with self.assertRaisesRegex(Failure, "it ended: .*dead at line 7|it ended: x"):
            w.ask(["dead"], 30)
        w.ask(["up again"], 60)
        with self.assertRaises(Late):
            w.ask(["slow"], 5)
        log = (self.folder / "results/peers.log").read_text()
        self.assertEqual([log.count(f"{word} at line 7") for word in ("closed", "dead", "slow")], [1, 1, 1])
        self.assertLess(len(log), 3 * 8192 + 3000)

    def test_a_worker_that_can_not_be_killed(self):
        s = self.stage("peers")
        w = Worker(s, [self.program("w", "time.sleep(60)")])
        with mock.patch.object(worker, "is_gone", lambda process: False), \
                self.assertRaisesRegex(Late, "it was killed, but still exists"):
            w.ask(["x"], 1)
        w.process.wait(30)

    def test_a_variant_that_took_too_long_is_left_out_from_then_on(self):
        theirs = self.change("  if words[-1] == 'compile': time.sleep(60)")
        with mock.patch.dict(peers.READY, {"compile": 2}), mock.patch.dict(peers.LEAST, {"compile": 1}):
            self.assertEqual(self.run_peers(theirs, "--mode", "train", "--variants", "compile,eager"), 0)
        parts = {p["name"]: p["detail"] for p in self.result("peers")["parts"]}
        self.assertIn("further cases omit it", parts["train 64: compile"])
        self.assertNotIn("train 1024: compile", parts)
        self.assertIn("train 1024: eager", parts)
        names = list(parts)
        self.assertLess(names.index("train 64: eager"), names.index("train 64: compile"))

    def test_compile_comes_behind_everything_else_if_time_is_left(self):
        self.assertEqual(self.run_peers(STEP + SERVE, "--batch", "64"), 0)
        found = self.result("peers")["cases"]
        self.assertEqual([c["name"] for c in found],
                         ["train 64", "infer 64", "train 64, compile", "infer 64, compile"])
        self.assertEqual(set(found[0]["variants"]), {"typenet", "eager", "graph", "jax"})
        self.assertEqual(set(found[2]["variants"]), {"typenet", "compile"})
        self.assertEqual(self.run_peers(STEP + SERVE, "--batch", "64", "--minutes", "2"), 0)
        self.assertEqual([c["name"] for c in self.result("peers")["cases"]], ["train 64", "infer 64"])

    def test_the_most_telling_come_first(self):
        self.assertEqual([c[:2] for c in peers.CASES[:3]], [("train", 64), ("infer", 1), ("train", 1024)])

    def test_a_device_whose_name_can_not_be_asked(self):
        ours = self.change("  if sys.argv[1:] != ['serve']: sys.exit(3)")
        self.assertEqual(self.run_peers(STEP + SERVE, "--batch", "64", "--variants", "eager", ours=ours), 1)
        self.assertEqual([len(c["ratio"]) for c in self.result("peers")["cases"]], [2, 2])

    def test_versions_come_from_the_programs_themselves(self):
        noisy = "print('a warning', file=sys.stderr, flush=True)\nprint('loading', flush=True)\n" + STEP + \
                "def change(answer, words): return answer\n" + SERVE
        self.assertEqual(self.run_peers(noisy, "--batch", "64"), 0)
        self.assertEqual((self.result("peers")["torch"], self.result("peers")["jax"]), ("1.0", "1.0"))
        blind = noisy.replace('"device": True', '"device": False')
        self.assertEqual(self.run_peers(blind, "--batch", "64"), 1)
        self.assertIn("torch 1.0 cannot use a device", [p["detail"] for p in self.result("peers")["parts"]])

    def test_nobody_there(self):
        self.assertEqual(self.run_peers("sys.exit('No module named torch')"), 1)
        parts = self.result("peers")["parts"]
        self.assertIn("has no working jax (it ended: No module named torch)", parts[-2]["detail"])
        self.assertIn("no peer to compare with", parts[-1]["detail"])
        self.assertEqual(self.run_peers(self.change("  return {'error': 'x'}"), "--batch", "64"), 1)
        self.assertIn("compared with no peer", self.result("peers")["parts"][-1]["detail"])


class Train(Whole):
    TEXT = """
o = dict(w.split("=") for w in sys.argv[1:])
for e in range(int(o["epochs"])):
    print(json.dumps({"epoch": e + 1, "epoch_s": 0.5 if e else 5, "train_s": 0.4, "images_per_s": 1e5, "acc": .9,
                      "val_acc": 0.9 + 0.01 * e, "elapsed_s": 5 + 0.5 * e}))
print(json.dumps({"peer": "typenet on Tester", "batch": int(o["batch"]), "epochs": int(o["epochs"]), "train": 3840,
                  "seed": int(o.get("seed", 0)), "prepare_s": 3, "wall_s": 7, "acc": .9, "val_acc": ACC}))
"""

    def test_synthetic_images(self):
        with mock.patch.object(train, "has_cifar10", lambda: False), mock.patch.object(train, "example", lambda *_: ""):
            self.assertEqual(self.run_stage("ACC = 0.99" + self.TEXT, "train"), 0)
            self.assertEqual(len(self.result("train")["trainings"]), 5)
            self.assertRegex(self.said.getvalue(), r"\| +4 \| +0.500 \| +0.400 \|")
            self.assertEqual(self.run_stage("ACC = 0.5" + self.TEXT, "train"), 1)
            self.assertEqual(self.run_stage("ACC = 0.99" + self.TEXT, "train", "--epochs", "70"), 1)
            self.assertIn("--epochs needs the .bin files of CIFAR-10", self.result("train")["parts"][-1]["detail"])

    def test_cifar10(self):
        with mock.patch.object(train, "has_cifar10", lambda: True):
            self.assertEqual(self.run_stage("ACC = 0.9" + self.TEXT,
                                            "train", "--epochs", "3", "--seeds", "2"), 0)
        self.assertEqual([t["options"]["seed"] for t in self.result("train")["trainings"]], [0, 1])
        self.assertEqual(self.result("train")["val_acc"]["seeds"], 2)

    def test_recipes_and_when_an_accuracy_was_reached(self):
        with mock.patch.object(train, "has_cifar10", lambda: True):
            self.assertEqual(self.run_stage("ACC = 0.92" + self.TEXT, "train", "--epochs", "3", "--recipe", "modern",
                                            "--rate", "0.4"), 0)
        options = self.result("train")["trainings"][0]["options"]
        self.assertEqual((options["rate"], options["bn_momentum"], options["schedule"], options["augment"]),
                         (0.4, 0.9, "one_cycle", "crop_flip"))
        self.assertIn("0.9065 after 5.5 s", self.result("train")["parts"][-1]["detail"])
        self.assertRegex(self.said.getvalue(), r"\| +0.9200 \| +5.5 \| +- \|")

    CUT = """
o = dict(w.split("=") for w in sys.argv[1:])
for e in range(int(o["epochs"])):
    print(json.dumps({"epoch": e + 1, "epoch_s": 0.5, "train_s": 0.4, "images_per_s": 1e5, "acc": .9,
                      "val_acc": 0.95 - 0.01 * e, "elapsed_s": 5 + 0.5 * e}), flush=True)
print(json.dumps({"peer": "typenet on Tester", "batch": 64, "epochs": int(o["epochs"]), "train": 50000, "seed": 0,
                  "prepare_s": 3, "wall_s": 7, "acc": .9, "val_acc": 0.9}))
"""

    def cut(self, *words):
        with mock.patch.object(train, "has_cifar10", lambda: True), \
                mock.patch.object(train, "ask", lambda stage, _: setattr(stage, "has_device", True) or "Tester"):
            return self.run_stage(self.CUT, "train", "--epochs", "3", *words)

    def test_one_that_is_cut_off_tells_what_it_reached(self):
        lines = [json.dumps({"epoch": e + 1, "epoch_s": 0.5, "train_s": 0.4, "images_per_s": 1e5, "acc": 0.9,
                             "val_acc": 0.95 - 0.01 * e, "elapsed_s": 5 + 0.5 * e}) for e in range(2)]
        cut_off = Done(-9, "\n".join([*lines, '{"epoch": 3, "lo']), 5.0, timed_out=True, stage_over=True)
        with mock.patch.object(Stage, "run", lambda *_: cut_off):
            self.assertEqual(self.cut(), 1)  # none of them ended
        parts = self.result("train")["parts"]
        self.assertEqual(parts[-2]["status"], "skipped")
        self.assertIn("2 of 3 epochs, 0.9065 after 5.0 s, 0.94 after 5.0 s, val_acc 0.9400, at best 0.9500; the "
                      "time of the stage ended", parts[-2]["detail"])
        self.assertIn("no training was completed", parts[-1]["detail"])
        self.assertEqual(len(self.result("train")["trainings"][0]["epochs"]), 2)
        self.assertRegex(self.said.getvalue(), r"\| +2 of 3 \| +0.500 \|.*\| cut off \|")

    def test_a_seed_is_begun_only_if_time_suffices(self):
        s = self.stage("train", "--epochs", "3", "--seeds", "2", "--minutes", "1")
        with self.assertRaisesRegex(Skip, "a training may take 66"):
            train.train(s, "program", {}, 0, 66)
        wanted = []
        with mock.patch.object(train, "train", lambda stage, program, options, least, seconds: wanted.append(seconds) or
                               stage.results.setdefault("trainings", []).append({"end": 1, "seconds": 60.0})), \
                mock.patch.object(train, "tables", lambda stage: []), mock.patch.object(train, "accuracy"):
            self.assertEqual(self.cut("--seeds", "3"), 0)
        self.assertEqual([round(s, 3) for s in wanted], [20, 66, 66])

    def test_lines_that_are_cut_off_or_no_numbers(self):
        self.assertEqual(str(programs.json_lines('{"loss": -nan, "a": inf, "b": -inf}\n{"cut": 1, \nand more')),
                         "[{'loss': nan, 'a': inf, 'b': -inf}]")

    def test_what_the_data_is_is_said(self):
        self.assertEqual(self.cut("--data-note", "JPEG copy"), 0)
        self.assertEqual(self.result("train")["trainings"][0]["data"], "CIFAR-10 (JPEG copy)")
        self.assertIn("| CIFAR-10 (JPEG copy), 50000 images, batch 64, bf16, seed 0 ", self.said.getvalue())

    def test_a_device_whose_name_can_not_be_asked(self):
        text = "if 'epochs=1' in sys.argv: sys.exit(3)\nACC = 0.99" + self.TEXT
        with mock.patch.object(train, "has_cifar10", lambda: False), mock.patch.object(train, "example", lambda *_: ""):
            self.assertEqual(self.run_stage(text, "train"), 1)
        self.assertEqual(len(self.result("train")["trainings"]), 5)

    def test_one_that_ends_early(self):
        with mock.patch.object(train, "has_cifar10", lambda: True):
            self.assertEqual(self.run_stage("ACC = 0.9" + self.TEXT.replace('range(int(o["epochs"]))', "range(1)"),
                                            "train", "--epochs", "3"), 1)

    def test_the_example_program(self):
        s = self.stage("train")
        program = self.program("example", "import subprocess\nsubprocess.run('gnuplot', input=b'', check=True)\n"
                               "print('test accuracy 0.9130; plot in', sys.argv[-1])")
        with mock.patch.object(train.shutil, "which", lambda name: None):
            self.assertEqual(train.example(s, program), "test accuracy 0.9130 after 2 epochs, without gnuplot")
        with self.assertRaisesRegex(Failure, "no test accuracy"):
            train.example(s, self.program("other", "print('done')"))

    def test_no_device(self):
        self.assertEqual(self.run_stage("sys.exit(77)", "train"), 77)


class Serving(unittest.TestCase):
    def test_words(self):
        self.assertEqual(serving.parse("train 64 bf16 50 10 resident".split(), ("eager", "graph")),
                         ["train", 64, "bf16", 50, 10, "resident", "eager"])
        for words in ("train", "test 64 bf16 5 1 fixed", "train x bf16 5 1 fixed", "train 64 fp16 5 1 fixed",
                      "infer 64 bf16 5 1 resident", "train 0 bf16 5 1 fixed", "train 64 bf16 0 1 fixed",
                      "train 64 bf16 5 1 fixed jit"):
            with self.subTest(words=words), self.assertRaises(ValueError):
                serving.parse(words.split(), ("eager", "graph"))

    def test_times(self):
        calls = []
        found = serving.timed(lambda: calls.append("run"), lambda: calls.append("wait"), 3, 2)
        self.assertEqual(calls, ["run"] * 2 + ["wait"] + ["run"] * 3 + ["wait"] + ["run", "wait"] * 3)
        self.assertEqual(set(found), {"step_s", "latency_s"})

    def serve(self, lines, has_device, make):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["peer", "serve"]), mock.patch.object(sys, "stdin", io.StringIO(lines)), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(serving.answer_all("", ("eager",), "2.11", lambda: has_device, make), 0)
        return [json.loads(x) for x in out.getvalue().splitlines()], err.getvalue()

    def test_versions_and_tracebacks(self):
        def make(request, device):
            raise KeyError("in the depths")
        answers, errors = self.serve("version\ntrain 64 bf16 5 1 fixed\n", True, make)
        self.assertEqual(answers, [{"version": "2.11", "device": True}, {"error": "KeyError: 'in the depths'"}])
        self.assertIn("in make", errors)
        answers, _ = self.serve("version\ntrain 64 bf16 5 1 fixed\n", False, make)
        self.assertEqual(answers[0]["device"], False)
        self.assertIn("no device", answers[1]["error"])


if __name__ == "__main__":
    unittest.main()
