#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the networks of dsl::models::keras with keras.applications, if Keras is installed.

    keras_applications_test.py PROGRAM [--models ResNet50,... | all] [--executors onednn,native,reference]
    keras_applications_test.py PROGRAM --table   writes docs/keras_models.md, and nothing else

Each model gets random weights and running statistics; the file of model.save_weights is loaded here, where every weight
must have its place. The probabilities of an image must differ by at most 1e-4 of the largest one. The number of
parameters must be Keras's count_params() without the layer "normalization", and docs/keras_models.md must say it.
Exit 77: Keras is not installed.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
root = Path(__file__).resolve().parents[2]
page = root / "docs/keras_models.md"
sys.path.insert(0, str(root / "scripts"))
intro = """\
# Networks of keras.applications

<!-- Written by tests/interchange/keras_applications_test.py --table. -->

The table lists the networks of `dsl::models::keras` in `<dsl/models.hpp>`, with 1000 classes. The table uses Keras's
names: `ResNet50V2`, for example, is the type `dsl::models::keras::resnet50_v2<>`. Parameters are Keras's
`count_params()`, with the running statistics. In Keras, `EfficientNetB0` to `EfficientNetB7` have 7 numbers more, in a
layer `normalization` for the images. Multiply-adds are those of convolutions and dense layers for one image, and nodes
are the operations of the graph that the compiler checks and plans. `scripts/test models` saves random weights of each
model with Keras, loads all of them by their places in the file, and compares the predictions.

| Model | Image | Parameters | Multiply-adds | Nodes |
|---|---|---|---|---|
"""
outro = """
`NASNetLarge` and `NASNetMobile` are missing, since they crop images.
The probabilities of the others were last compared with Keras 3.15 on 2026-11-27, on `onednn`, those of `ConvNeXtXLarge`
on `native`, too. The largest difference, relative to the largest probability, was 4.7e-6, in `ResNet50`.

The networks have no layers that normalise images. Normalise the images as the model in Keras does, or as
`preprocess_input` of its module does. Some of the models need options of `load_keras_h5`:

- `Xception`: `.separable_convolutions = true`;
- `EfficientNetB0` to `EfficientNetB7`: `.unused = {"layers/normalization"}`;
- `ConvNeXtTiny` to `ConvNeXtXLarge`: `.groups`, since these models contain models;
  `keras_safetensors.h5_groups(model)` returns the groups ([Keras's own files](moving_weights.md#kerass-own-files)).
"""


def listed(program):
    """Returns what the program prints about each model: parameters, multiply-adds, nodes, and the height of an image."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in lines}


def table(models):
    rows = [f"| `{name}` | {size}x{size} | {parameters:,} | {macs:,} | {nodes} |"
            for name, (parameters, macs, nodes, size) in models.items()]
    return intro + "\n".join(rows) + "\n" + outro


if sys.argv[2:] == ["--table"]:
    page.write_text(table(listed(sys.argv[1])))
    sys.exit(0)

try:
    import keras
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)
import keras_safetensors

# Models that have all layers of the others.
QUICK = ("DenseNet121,EfficientNetB0,EfficientNetV2B0,InceptionResNetV2,MobileNetV2,MobileNetV3Small,ResNet50,ResNet50V2,Xception,"
         "ConvNeXtTiny")
BOUND = 1e-4


def make(name, size):
    """Returns a model with random weights, without layers that change images if that is an option of Keras's."""
    options = {"weights": None, "input_shape": (size, size, 3)}
    if name.startswith(("ConvNeXt", "EfficientNetV2", "MobileNetV3")):
        options["include_preprocessing"] = False
    return getattr(keras.applications, name)(**options)


def randomise(model, random):
    """Sets all weights so that activations keep a size of about 1."""
    for v in model.weights:
        shape, kind = tuple(v.shape), v.path.rsplit("/", 1)[1]
        if kind in ("mean", "variance", "count") or "seed" in kind:  # of the layer normalization
            continue
        if kind in ("kernel", "depthwise_kernel", "pointwise_kernel"):
            inputs = math.prod(shape[:2]) if kind == "depthwise_kernel" else math.prod(shape[:-1])
            numbers = random.standard_normal(shape) * (1.5 / inputs)**0.5
        elif kind in ("gamma", "moving_variance"):
            numbers = random.uniform(0.5, 1.5, shape)
        else:
            numbers = random.standard_normal(shape) * 0.1
        v.assign(numbers.astype(np.float32))


def settle(model, image):
    """Scales the last layer with weights so that no probability is nearly 1 and hides the others."""
    last = [layer for layer in model.layers if hasattr(layer, "kernel")][-1]
    means = keras.ops.convert_to_numpy(keras.Model(model.input, last.input)(image, training=False)).ravel()
    kernel = keras.ops.convert_to_numpy(last.kernel)
    scale = np.float32(1 / (means @ kernel.reshape(len(means), -1)).std())
    last.kernel.assign(kernel * scale)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", default=QUICK)
    parser.add_argument("--executors", default="onednn")
    options = parser.parse_args()
    models = listed(options.program)
    bad = 0
    if not page.exists() or page.read_text() != table(models):
        print("docs/keras_models.md is out of date: write it with --table")
        bad += 1
    for name in list(models) if options.models == "all" else options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            bad += compare(options.program, name, models[name], options.executors.split(","), Path(folder))
    return 1 if bad else 0


def compare(program, name, facts, executors, folder):
    parameters, _, _, size = facts
    random, bad = np.random.default_rng(sum(map(ord, name))), 0
    model = make(name, size)
    of_images = sum(math.prod(v.shape) for layer in model.layers if isinstance(layer, keras.layers.Normalization)
                    for v in layer.weights)
    if model.count_params() - of_images != parameters:
        print(f"{name}: {parameters} parameters; {model.count_params()} in Keras, {of_images} of them for images")
        bad += 1
    randomise(model, random)
    image = random.standard_normal((1, size, size, 3)).astype(np.float32)
    normalised = image
    if name.startswith("EfficientNetB"):  # whose first layers divide by 255 and normalise with a mean of 0
        image = image * np.float32(255)
    settle(model, image)
    wanted = keras.ops.convert_to_numpy(model(image, training=False))
    model.save_weights(folder / "weights.weights.h5")
    normalised.transpose(0, 3, 1, 2).tofile(folder / "image")
    groups = keras_safetensors.h5_groups(model) if name.startswith("ConvNeXt") else []
    del model
    for executor in executors:
        run = subprocess.run([program, name, executor, folder / "weights.weights.h5", folder / "image",
                              folder / "probabilities", *groups], capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{name}, {executor}: {run.stderr.strip()}  FAILED", flush=True)
            bad += 1
            continue
        found = np.fromfile(folder / "probabilities", np.float32).reshape(wanted.shape)
        difference = np.abs(found - wanted).max() / wanted.max()
        fine = difference <= BOUND and wanted.max() < 0.5 and wanted.max() > 2 * wanted.min()
        print(f"{name}, {executor}: {difference:.1e}{'' if fine else '  FAILED'}", flush=True)
        bad += not fine
    return bad


sys.exit(main())
