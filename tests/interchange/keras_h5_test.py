#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that weights in Keras's own files are loaded by typenet and written back, if Keras is installed.

    keras_h5_test.py KERAS_H5_PROGRAM [--executors reference,direct,winograd]

Each model is saved by model.save_weights, loaded and written by typenet, and loaded by load_weights of a fresh model,
which must not even warn. The weights must have the same bits, and the predictions must agree to 1e-5, with Winograd to
1e-4. Exit code 77: Keras is not installed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "scripts")]
try:
    import keras
    import numpy as np
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
import frameworks_test
import keras_safetensors
import models

BOUNDS = {"reference": 1e-5, "direct": 1e-5, "winograd": 1e-4}


def randomised(model, random):
    for v in model.weights:
        v.assign(frameworks_test.draw(random, v.path, tuple(v.shape)))
    return model


def same(a, b):
    return len(a.weights) == len(b.weights) and all(x.numpy().tobytes() == y.numpy().tobytes()
                                                    for x, y in zip(a.weights, b.weights))


def check(name, make, program, executors, folder):
    random, bad = np.random.default_rng(3), 0
    model, other = randomised(make(), random), randomised(make(), random)
    pictures = random.standard_normal((16, *model.input_shape[1:])).astype(np.float32)
    pictures.transpose(0, 3, 1, 2).tofile(folder / "pictures")
    wanted = keras.ops.convert_to_numpy(model(pictures, training=False))
    assert np.ptp(wanted) > 0.1 and not same(model, other)
    model.save_weights(folder / "in.weights.h5")
    groups = keras_safetensors.h5_groups(model) if name == "nested" else []
    for executor in executors:
        subprocess.run([program, name, executor, folder / "in.weights.h5", folder / "out.weights.h5", folder / "pictures",
                        folder / "probabilities", *groups], check=True)
        error = np.abs(np.fromfile(folder / "probabilities", np.float32).reshape(wanted.shape) - wanted).max()
        randomised(other, random)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other.load_weights(folder / "out.weights.h5")
        passed = same(model, other) and error <= BOUNDS[executor]
        bad += not passed
        print(f"keras {keras.__version__} on {keras.backend.backend()}: {name} on {executor}: predictions differ by "
              f"{error:.1e}, weights {'unchanged' if same(model, other) else 'CHANGED'}{'' if passed else ': FAILED'}")
    return bad


def check_trained(program, folder):
    """Checks a file with an optimizer's state, and a model with such a state that loads a file without one."""
    model = models.keras_models()["small"]()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "categorical_crossentropy", metrics=["accuracy"])
    random = np.random.default_rng(4)
    pictures, classes = random.standard_normal((16, 4, 4, 2)).astype(np.float32), np.eye(3)[random.integers(0, 3, 16)]
    model.fit(pictures, classes, batch_size=8, epochs=2, verbose=0)
    model.save_weights(folder / "in.weights.h5")
    pictures.transpose(0, 3, 1, 2).tofile(folder / "pictures")
    subprocess.run([program, "small", "reference", folder / "in.weights.h5", folder / "out.weights.h5",
                    folder / "pictures", folder / "probabilities"], check=True)
    before = [v.numpy() for v in model.weights]
    randomised(model, random)
    model.load_weights(folder / "out.weights.h5")
    passed = all(a.tobytes() == v.numpy().tobytes() for a, v in zip(before, model.weights))
    print(f"a trained model: weights {'unchanged' if passed else 'CHANGED: FAILED'}")
    return not passed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("--executors", default="reference")
    a = p.parse_args()
    bad = 0
    for name, make in {**models.keras_models(), **models.keras_h5_models()}.items():
        with tempfile.TemporaryDirectory() as folder:
            bad += check(name, make, a.program, a.executors.split(","), Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        bad += check_trained(a.program, Path(folder))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
