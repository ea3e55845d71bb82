#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several processes train as the towers of one do, to the bit; where they differ they refuse to start; where one throws,
all end.    ranks_test.py RANKS-PROGRAM

Each case is a start of mpirun. With TYPENET_TESTS=all in the environment every combination is one; otherwise each value of
each option is in some."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import launching
from launching import finished, mpirun

everything = os.environ.get("TYPENET_TESTS") == "all"
program = sys.argv.pop(1) if len(sys.argv) > 1 and "=" not in sys.argv[1] else None


def result(text):
    """What the program printed of the training; a single line, whatever the number of ranks."""
    lines = [line for line in text.splitlines() if line.startswith("replicas ")]
    return lines[0] if len(lines) == 1 else text


class Equal(unittest.TestCase):
    def train(self, *groups):
        command = [program, *groups[0]] if len(groups) == 1 and isinstance(groups[0], list) else mpirun(*groups)
        code, out, err = finished(command)
        self.assertEqual(code, 0, err)
        self.assertRegex(result(out), r"^replicas \d+ loss 0x.* parameters [0-9a-f]{16}$")
        return result(out)

    def same(self, ranks, *options, towers=1):
        one = self.train([f"towers={ranks * towers}", *options])
        many = self.train((ranks, program, f"towers={towers}", *options), )
        self.assertEqual(one, many)
        return one

    def test_two_three_and_four_ranks(self):
        results = set()
        kinds = ((), ("merge=all_reduce",), ("executor=double", "synchronized=1"), ("merge=all_reduce", "synchronized=1"))
        cases = [(ranks, options) for ranks in (2, 3, 4) for options in kinds] if everything else [*zip((4, 3, 2, 3), kinds)]
        for ranks, options in cases:
            with self.subTest(ranks=ranks, options=options):
                results.add(self.same(ranks, *options))
        self.assertEqual(len(results), len(cases))  # none of them is a constant

    def test_onednn(self):
        for ranks in (2, 4):
            self.same(ranks, "executor=onednn", "augment=1")

    def test_optimizers_and_clipped_gradients(self):
        results = {self.same(3, *options, "clip_norm=0.1")
                   for options in (("optimizer=adamw", "learning_rate=0.002", "executor=onednn"),
                                   ("optimizer=rmsprop", "learning_rate=0.001", "label_smoothing=0.1"),
                                   ("optimizer=sgd", "batch=2", "validation=1"))}  # a rank has no samples
        self.assertEqual(len(results), 3)
        self.assertNotEqual(self.train(["towers=3"]), self.train(["towers=3", "clip_norm=0.1"]))

    def test_a_class_a_pixel(self):
        one = self.same(3, "network=mapped", "augment=1", "executor=double")
        self.assertNotEqual(one, self.same(2, "network=mapped", "label_smoothing=0.1", "batch=11"))

    def test_a_loss_of_ones_own(self):
        one = self.same(3, "own_loss=0.125", "executor=double")
        self.assertNotEqual(one, self.same(3, "own_loss=0.5", "executor=double"))

    def test_several_outputs(self):
        one = self.same(3, "network=headed", "loss_weight=0.5")
        self.assertNotIn("outputs 0x0p+0", one)
        self.assertNotEqual(one, self.same(3, "network=headed"))
        self.same(3, "network=headed", "batch=2", "validation=1")  # a rank has no samples
        self.same(2, "network=headed", "batch=11", towers=2)

    def test_outputs_with_targets_of_their_own(self):
        one = self.same(3, "network=tasked", "augment=1", "executor=double")
        self.assertNotIn("outputs 0x0p+0", one)
        self.assertNotEqual(one, self.same(3, "network=tasked", "augment=1", "executor=double", "of_numbers=squares"))
        self.same(3, "network=tasked", "batch=2", "validation=1", "executor=double")  # a rank has no samples
        self.same(2, "network=tasked", "batch=11", "executor=double", towers=2)

    def test_a_stream(self):
        one = self.same(3, "stream=1", "shuffle=0", "augment=1", "size=64")  # the next epoch reads on
        self.assertNotEqual(one, self.same(3, "shuffle=0", "augment=1", "size=64"))
        self.same(3, "stream=1", "shuffle=0", "batch=2", "validation=1")  # a rank has no samples

    def test_ranks_with_several_towers(self):
        self.same(2, "batch=11", towers=2)
        self.same(2, "batch=11", "executor=onednn", towers=2)

    def test_unequal_numbers_of_towers(self):
        for options, splits in ((["batch=13"], ((1, 3), (1, 2, 1))),
                                (["batch=13", "merge=all_reduce", "executor=double"], ((3, 1),))):
            one = self.train(["towers=4", *options])
            for split in ((1, 3), (3, 1), (1, 2, 1)) if everything else splits:
                many = self.train(*((1, program, f"towers={t}", *options) for t in split))
                self.assertEqual(one, many, split)

    def test_batches_that_leave_ranks_without_samples(self):
        self.same(4, "batch=3", "validation=2")
        self.same(3, "batch=2", "merge=all_reduce", "validation=1")

    def test_messages_in_pieces(self):
        one = self.train(["towers=3"])
        for piece in (1000, 4096):
            self.assertEqual(one, self.train((3, program, f"piece={piece}")))
        self.assertEqual(one, self.train((1, program, "piece=77"), (2, program)))  # each sender's own

    def test_one_rank_is_the_plain_network(self):
        self.assertEqual(self.train(["towers=1"]), self.train((1, program, "towers=1")))


class Refused(unittest.TestCase):
    def refused(self, words, *differing, common=()):
        """Rank 1 of 3 has something else: all end before the first step, and the message names it and what differs."""
        code, out, err = finished(mpirun((1, program, *common), (1, program, *common, *differing), (1, program, *common)))
        self.assertEqual(code, 1, err)
        self.assertRegex(err, f"rank [0-2] of 3: .*rank 1 and rank 0 differ in {words}")
        self.assertNotIn("replicas", out)

    def test_each_kind(self):
        for words, *differing in (("the network", "network=other"), ("the seed: 7 and 1;", "seed=7"),
                                  ("the batch size: 12 and 10;", "batch=12"), ("the number of epochs: 3 and 2;", "epochs=3"),
                                  ("the learning rate: 0.03.* and 0.02", "learning_rate=0.03"),
                                  ("the optimizer's momentum: 0.5", "momentum=0.5"),
                                  ("the label smoothing: 0.1", "label_smoothing=0.1"),
                                  ("the optimizer: adam and sgd", "optimizer=adamw"),
                                  ("the norm that gradients are clipped to: 2", "clip_norm=2"),
                                  ("the value that gradients are clipped to: 0.5", "clip_value=0.5"),
                                  ("whether the data is shuffled", "shuffle=0"), ("the augmentation", "augment=1"),
                                  ("the number of training samples: 61 and 60", "size=61"),
                                  ("the training data", "pictures=1"), ("the training data", "mean=1"),
                                  ("the number of validation samples: 24 and 25", "validation=24"),
                                  ("the number of validation samples: 0 and 25", "validation=0"),
                                  ("how the towers split a batch: evenly and with the rest last", "merge=all_reduce"),
                                  ("how the towers' moments are merged", "synchronized=1"),
                                  ("the parameters", "parameter=2")):
            with self.subTest(words):
                self.refused(words, *differing)

    def test_other_weights_of_outputs(self):
        self.refused("the outputs and the weights of their losses", "loss_weight=0.5", common=("network=headed",))

    def test_other_weights_of_classes(self):
        self.refused("the weights of classes", "class_weight=2")

    def test_other_losses_of_outputs(self):
        self.refused("the outputs and the weights of their losses", "of_numbers=squares", common=("network=tasked",))

    def test_a_loss_of_ones_own_with_other_numbers(self):
        self.refused("your own loss", "own_loss=0.25", common=("own_loss=0.125",))

    def test_an_optimizers_other_numbers(self):
        self.refused("the optimizer's beta_2 or rho: 0.99", "beta_2=0.99", common=("optimizer=adamw",))
        self.refused("the optimizer's rule", "nesterov=1")

    def test_another_executor(self):
        self.refused("the executor: reference, plain loops in double and reference, plain loops in float;",
                     "executor=double")

    def test_the_same_executor_with_other_numbers(self):
        """Towers, threads and versions are each process's own affair."""
        code, _, err = finished(mpirun((1, program, "executor=onednn"), (1, program, "executor=onednn", "towers=2")))
        self.assertEqual(code, 0, err)


class Callbacks(unittest.TestCase):
    def train(self, command, code=0):
        did, out, err = finished(command)
        self.assertEqual(did, code, err)
        return out, err

    def test_a_job_that_was_killed_goes_on(self):
        """With the bits of one that was not; process 0 alone reads the file, on whatever machine the others are."""
        moments = ((3, 1), (7, 2), (13, 4))
        for options, some in ((("epochs=3", "augment=1"), (moments[::2], moments[1:2])),
                              (("epochs=3", "merge=all_reduce", "executor=double"), (moments[1:2], ()))):
            wanted = result(self.train([program, "towers=2", *options])[0])
            for victim in (0, 1):
                for step, every in moments if everything else some[victim]:
                    with self.subTest(options=options, victim=victim, step=step), tempfile.TemporaryDirectory() as folder:
                        mine = [f"backup={folder}/state", f"every={every}", *options]
                        elsewhere = [f"backup=/nowhere/at/all", f"every={every}", *options]
                        groups = [(1, program, *mine), (1, program, *elsewhere)]
                        killed = [(*g, f"kill={step}") if r == victim else g for r, g in enumerate(groups)]
                        code, out, err = finished(mpirun(*killed))
                        self.assertNotEqual(code, 0, err)
                        self.assertTrue(os.path.exists(f"{folder}/state"))
                        again = result(self.train(mpirun(*groups))[0])
                        if "executor=double" not in options:  # which a checkpoint rounds to floats
                            self.assertEqual(again, wanted)
                        self.assertRegex(again, "^replicas 2 .* epochs 3 ")
                        self.assertEqual(os.listdir(folder), [])

    def test_one_process_goes_on_with_what_two_began(self):
        wanted = result(self.train([program, "towers=2", "epochs=2"])[0])
        with tempfile.TemporaryDirectory() as folder:
            mine = [f"backup={folder}/state", "epochs=2"]
            finished(mpirun((1, program, *mine), (1, program, *mine, "kill=8")))
            self.assertEqual(result(self.train([program, "towers=2", *mine])[0]), wanted)

    def test_all_ranks_stop_where_one_does(self):
        one = result(self.train([program, "towers=3", "epochs=2"])[0])
        out, _ = self.train(mpirun((1, program, "epochs=5"), (1, program, "epochs=5", "stop=1"), (1, program, "epochs=5")))
        self.assertEqual(result(out), one)
        for moment, epoch in (("epoch_begin", 1), ("batch_end", 1), ("saving_point", 1), ("backup", 1)):
            with self.subTest(moment):
                out, _ = self.train(mpirun((1, program, "epochs=5"), (1, program, "epochs=5", f"stop={epoch}", f"stop_in={moment}"),
                                           (1, program, "epochs=5")))
                self.assertEqual(result(out), one)
        out, _ = self.train(mpirun((1, program, "epochs=5"), (1, program, "epochs=5", "stop=0", "stop_in=train_begin")))
        self.assertEqual(out, "no epochs\n")

    def test_a_stop_survives_a_kill_in_its_epoch(self):
        wanted = result(self.train([program, "towers=2", "epochs=2"])[0])
        for victim in (0, 1):
            for moment, step in (("batch_end", 10), ("saving_point", 12)):  # 12 would be a third epoch's
                with self.subTest(moment, victim=victim), tempfile.TemporaryDirectory() as folder:
                    mine = [f"backup={folder}/state", "every=1", "epochs=5"]
                    groups = [(1, program, *mine), (1, program, *mine, "stop=1", f"stop_in={moment}")]
                    killed = [(*g, f"kill={step}") if r == victim else g for r, g in enumerate(groups)]
                    code, out, err = finished(mpirun(*killed))
                    self.assertEqual(code == 0, step == 12, err)
                    if code != 0:
                        out = self.train(mpirun(*groups))[0]
                    self.assertEqual(result(out), wanted)

    def test_a_state_that_cant_be_is_every_ranks_error(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/state")
            with open(f"{folder}/bad", "w") as bad:
                bad.write("no state")
            for path, words in ((f"{folder}/state", "cannot write .*: it is a directory"), (f"{folder}/bad", "must begin as typenet's")):
                code, _, err = finished(mpirun((3, program, f"backup={path}", "hears=1")))
                self.assertEqual(code, 1, err)
                for rank in range(3):
                    self.assertRegex(err, f"rank {rank} hears: .*{words}")

    def test_one_rank_warns(self):
        with tempfile.TemporaryDirectory() as folder:
            mine = [f"backup={folder}/state", "epochs=3"]
            finished([program, "towers=2", *mine, "kill=6"])
            _, err = self.train(mpirun((3, program, *mine, "batch=12")))
            self.assertEqual(err.count("is from a run with 2 towers, but this one has 3"), 1, err)
            self.assertEqual(err.count("the run continues, but its results will not be bit-identical"), 1, err)

    def test_early_stopping(self):
        options = ("epochs=30", "patience=2", "learning_rate=0.1")
        alone, _ = self.train([program, "towers=2", *options])
        ranks, _ = self.train(mpirun((2, program, *options)))
        self.assertEqual(result(ranks), result(alone))
        self.assertNotIn(" epochs 30 ", result(alone))
        self.assertEqual(ranks.count(": early stopping"), 1)
        self.assertEqual(ranks.count("Restoring model weights"), 1)

    def test_a_learning_rate_of_its_own(self):
        code, _, err = finished(mpirun((1, program), (1, program, "rate=1")))
        self.assertEqual(code, 1, err)
        self.assertIn("rank 1 and rank 0 differ in the epoch's learning rate: 0.01 and 0.02", err)


class Lingering(unittest.TestCase):
    """A rank that keeps the others waiting, and others that don't end when they hear of it."""
    def ended(self, words, *options, code=1):
        """With a deadline within which a busy machine starts both, too."""
        did, _, err = finished(mpirun((1, program, "deadline=12", *options), (1, program, "deadline=12", "hang=3")))
        self.assertEqual(did, code, err)  # one that hangs would be killed
        self.assertIn('error: rank 0 of 2: waited 9 s for rank 1 in the exchange "all_reduce"', err)
        self.assertIn(words, err)

    def test_a_program_that_catches_and_goes_on(self):
        self.ended('for rank 1 in the exchange "all_reduce"; it has died, hangs or was stopped', "lingers=1")
        self.ended("scoped: rank 0 of 2: waited", "scoped=1", "lingers=1")

    def test_an_abort_that_hangs(self):
        self.ended("rank 0 of 2: MPI_Abort has not ended the job within 5 s; this process ends by itself", "abort_hangs=1")


class Throwing(unittest.TestCase):
    def test_every_rank(self):
        every = [(ranks, victim) for ranks in (2, 3, 4) for victim in range(ranks)]
        for ranks, victim in every if everything else ((2, 0), (3, 2), (4, 1)):
            groups = [(1, program, *(["throw=3"] if r == victim else [])) for r in range(ranks)]
            code, out, err = finished(mpirun(*groups))
            self.assertEqual(code, 1, err)
            self.assertIn(f"error: rank {victim} of {ranks}: this rank has had enough", err)
            self.assertNotIn("replicas", out)

    def test_a_tower_in_the_middle_of_a_step(self):
        """Its gradients are on their way already, and another rank never sends its own: nobody waits for the deadline."""
        late = "deadline=100000"
        code, _, err = finished(mpirun((1, program, "network=eventful", "towers=2", "backward=throw", late),
                                       (1, program, "network=eventful", "forward=hang", late)))
        self.assertEqual(code, 1, err)
        self.assertIn("error: rank 0 of 2: this tower has had enough", err)

    def test_a_program_that_knows_no_abort(self):
        code, _, err = finished(mpirun((1, program, "scoped=1"), (1, program, "scoped=1", "throw=3")))
        self.assertEqual(code, 3, err)
        self.assertIn("error: rank 1 of 2: an exception ends this process, and thereby the job", err)
        self.assertIn("scoped: this rank has had enough", err)

    def test_a_launcher_of_another_kind(self):
        code, out, err = finished([program], env={**os.environ, "PMI_RANK": "1"})
        self.assertEqual(code, 1, err)
        self.assertIn("the launcher says that this is rank 1, but MPI knows of no other", err)
        self.assertEqual(out, "")

    def test_a_wrong_deadline(self):
        for deadline in (-1, 0.9):
            code, _, err = finished(mpirun((2, program, f"deadline={deadline}")))
            self.assertEqual(code, 1, err)
            self.assertIn(f"the deadline must be at least 1 second and less than 1,000,000; found {deadline}", err)

    def test_wrong_pieces(self):
        for piece in (0, 2**31):
            code, _, err = finished(mpirun((2, program, f"piece={piece}")))
            self.assertEqual(code, 1, err)
            self.assertIn(f"the largest message must have 1 to 2147483647 bytes; found {piece}", err)


if __name__ == "__main__":
    launching.main(launching.missing(program))
