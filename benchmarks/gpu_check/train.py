# SPDX-License-Identifier: MIT
"""train: runs whole trainings, measures the seconds per epoch, and checks that the network learns."""
import math
import os
import pathlib
import re
import shutil
import statistics

import measuring
import programs
from stage import Failure, Skip

# Four epochs on synthetic images give 0.99 on the CPU. A lower accuracy than this indicates an error.
LEAST_ACCURACY = 0.9
DRAWN = {"epochs": 4, "batch": 32, "rate": 0.02, "bn_momentum": 0.9, "data": "synthetic", "train": 3840, "test": 1000}
LARGE = {"epochs": 3, "rate": 0.01, "bn_momentum": 0.99, "data": "synthetic", "train": 50_000, "test": 10_000}
# the options of cuda_train for each recipe for CIFAR-10
RECIPES = {"tutorial": {"rate": 0.005, "bn_momentum": 0.99},
           "modern": {"rate": 0.1, "bn_momentum": 0.9, "schedule": "one_cycle", "nesterov": 1, "weight_decay": 5e-4,
                      "label_smoothing": 0.1, "augment": "crop_flip"}}
LEAST_SECONDS = 20  # a training starts only if this much time is left
TOLD_OF = 0.9065, 0.94  # values of val_acc: the result of the tutorials, and that of good networks
# long enough for a program that checks whether the plot is complete
EMPTY_PLOT = f'<svg xmlns="http://www.w3.org/2000/svg"><!-- {"nothing was drawn, " * 5}--></svg>'


def has_cifar10():
    """Whether CIFAR-10 is where dsl::cifar10::load looks for it."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return any(os.path.isfile(os.path.join(folder, *place, "data_batch_1.bin"))
               for folder in (os.environ.get("TYPENET_DATA"), os.path.join(cache, "typenet")) if folder
               for place in ((), ("cifar-10-batches-bin",)))


def trainings(o):
    """Yields (name, options of cuda_train, least accuracy)."""
    precisions = o.precision or ("bf16", "tf32", "fp32_strict")
    cifar = {"data": "cifar10", "train": 0, "test": 0} if has_cifar10() else {}
    if o.epochs:  # with --epochs, these trainings only
        own = {name: value for name, value in (("rate", o.rate), ("bn_momentum", o.bn_momentum)) if value is not None}
        for seed in range(o.seeds):
            yield (f"{data_name(o, 'cifar10')}, {o.recipe} recipe, {o.epochs} epochs, seed {seed}",
                   {"data": "cifar10", "train": 0, "test": 0, "epochs": o.epochs,
                    "batch": (o.batch or (64,))[0], **RECIPES[o.recipe], **own, "seed": seed,
                    "precision": precisions[0]}, 0)
        return
    for p in precisions:
        yield f"synthetic images, {p}", {**DRAWN, "precision": p}, LEAST_ACCURACY
    for batch in o.batch or (64, 1024):
        yield (f"{data_name(o, 'cifar10') if cifar else '50,000 synthetic images'}, batch {batch}, {precisions[0]}",
               {**LARGE, **cifar, "batch": batch, "precision": precisions[0]}, 0)


def data_name(o, data):
    """Returns the name of the data in tables and files, with the text of --data-note for CIFAR-10."""
    name = "CIFAR-10" if data == "cifar10" else "synthetic images"
    return f"{name} ({o.data_note})" if data == "cifar10" and o.data_note else name


def train(stage, program, options, least, seconds):
    """Runs a training, which takes at least `seconds`."""
    stage.need(seconds, "a training")
    done = stage.run([program, *(f"{k}={v}" for k, v in options.items())], math.inf)
    lines = programs.json_lines(done.out)
    epochs, end = [x for x in lines if "epoch" in x], next((x for x in lines if "peer" in x), None)
    if epochs:
        stage.results.setdefault("trainings", []).append(
            {"data": data_name(stage.options, options["data"]), "options": options, "epochs": epochs, "end": end,
             "seconds": done.seconds})
    if done.timed_out:
        late = done.late()
        raise type(late)(f"{so_far(epochs, options['epochs'])}; {late}")
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {so_far(epochs, options['epochs'])}; {done.last(3)}")
    if end is None or len(epochs) != options["epochs"]:
        raise Failure(f"it reported {len(epochs)} of {options['epochs']} epochs: {done.last()}")
    # the first epoch warms up the caches
    median = {k: statistics.median(e[k] for e in epochs[1:] or epochs) for k in ("epoch_s", "train_s")}
    if not end["val_acc"] >= least:
        raise Failure(f"the validation accuracy must be at least {least}; found {end['val_acc']}")
    return (f"{median['epoch_s']:.3f} s an epoch, {median['train_s']:.3f} of them training, val_acc "
            f"{end['val_acc']:.4f}, {reached(epochs)}{end['wall_s']:.1f} s in all, ready in {end['prepare_s']:.1f} s")


def so_far(epochs, of):
    if not epochs:
        return "no epoch was completed"
    return (f"{len(epochs)} of {of} epochs, {reached(epochs)}val_acc {epochs[-1]['val_acc']:.4f}, at best "
            f"{max(e['val_acc'] for e in epochs):.4f}")


def reached(epochs):
    return "".join(f"{a} after {t:.1f} s, " for a in TOLD_OF if (t := seconds_to(a, epochs)) is not None)


def finished(stage):
    return [t for t in stage.results.get("trainings", []) if t["end"]]


def seconds_to(accuracy, epochs):
    """Returns the seconds from the first step to the end of the first epoch with this accuracy on the test set, or
    None."""
    return next((e["elapsed_s"] for e in epochs if e["val_acc"] >= accuracy), None)


def accuracy(stage):
    found = [t["end"]["val_acc"] for t in finished(stage)]
    if not found:
        raise Skip("no training was completed")
    stage.results["val_acc"] = {"mean": statistics.mean(found), "least": min(found), "greatest": max(found),
                                "seeds": len(found)}
    return f"val_acc of {len(found)} seeds: mean {statistics.mean(found):.4f}, {min(found):.4f} to {max(found):.4f}"


def example(stage, program):
    """Runs the example program, which needs fmt and CLI11. It checks for gnuplot before it trains; without gnuplot, it
    runs with a script that writes an empty plot."""
    stage.need(30, "the example")
    environment, note = stage.environment(), ""
    if shutil.which("gnuplot") is None:
        stub = pathlib.Path(stage.scratch.name) / "gnuplot"
        stub.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{EMPTY_PLOT}'\n")
        stub.chmod(0o755)
        environment["PATH"], note = f"{stub.parent}{os.pathsep}{os.environ['PATH']}", ", without gnuplot"
    plot = os.path.join(stage.scratch.name, "plot.svg")
    done = stage.must([program, "--executor", "cuda", "--synthetic", "--epochs", 2, "--batch-size", 32, "-o", plot],
                      180, environment)
    found = re.search(r"test accuracy (\d\.\d+)", done.out)
    if not found:
        raise Failure(f"it printed no test accuracy: {done.last(2)}")
    return f"{found.group(0)} after 2 epochs{note}"


def run(stage):
    names = ["cuda_train"]
    if not stage.options.epochs and programs.flags_of("minigooglenet_cifar") is not None:
        names.append("minigooglenet_cifar")
    built = programs.build_all(stage, names)
    program = built.get("cuda_train")
    if program is None:
        return
    stage.part("device", ask, stage, program)
    if not stage.has_device:
        return
    if not has_cifar10():
        if stage.options.epochs:
            raise Failure("--epochs needs the .bin files of CIFAR-10 in $TYPENET_DATA, which has none")
        print("$TYPENET_DATA has no .bin files of CIFAR-10, so only synthetic images are used", flush=True)
    for name, options, least in trainings(stage.options):
        # with --epochs, each seed takes about as long as the one before
        before = finished(stage)[-1]["seconds"] if stage.options.epochs and finished(stage) else 0
        stage.part(name, train, stage, program, options, least, max(LEAST_SECONDS, 1.1 * before))
    if not finished(stage):
        raise Failure("no training was completed")
    if stage.options.seeds > 1:
        stage.part("all seeds", accuracy, stage)
    if "minigooglenet_cifar" in built:
        stage.part("the example program", example, stage, built["minigooglenet_cifar"])


def tables(stage):
    rows = []
    for t in stage.results.get("trainings", []):
        o, end, epochs = t["options"], t["end"], t["epochs"]
        later = epochs[1:] or epochs
        pictures = (end or o)["train"] or "all"
        what = f"{t['data']}, {pictures} images, batch {o['batch']}, {o['precision']}, seed {o.get('seed', 0)}"
        rows.append([what, end["epochs"] if end else f"{len(epochs)} of {o['epochs']}",
                     f"{statistics.median(e['epoch_s'] for e in later):.3f}",
                     f"{statistics.median(e['train_s'] for e in later):.3f}",
                     f"{statistics.median(e['images_per_s'] for e in later):.0f}",
                     f"{epochs[-1]['acc']:.4f}", f"{epochs[-1]['val_acc']:.4f}",
                     *("-" if (s := seconds_to(a, epochs)) is None else f"{s:.1f}" for a in TOLD_OF),
                     *((f"{end['wall_s']:.1f}", f"{end['prepare_s']:.1f}") if end else ("cut off", "-"))])
    return [measuring.table(["training", "epochs", "s/epoch", "training alone", "images/s", "acc", "val_acc",
                             *(f"to {a}, s" for a in TOLD_OF), "all, s", "ready, s"], rows)] if rows else []


def ask(stage, program):
    done = programs.with_device(stage, program, "epochs=1", "train=64", "test=64", "batch=32", "precision=fp32_strict",
                                "deterministic=1")
    return programs.last_json(done)["peer"]
