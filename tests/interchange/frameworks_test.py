#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that weights from PyTorch and Keras, if these are installed, are loaded by typenet and written back.

    frameworks_test.py WEIGHTS_PROGRAM [--executors reference,direct,winograd] [--networks small,minigooglenet]

For every framework found and every network: random weights and running statistics are saved by the framework, loaded,
written again by typenet in both conventions, and loaded into a fresh model. They must have the same bits as before, and
the predictions of the framework and of typenet must agree to 1e-5, or with Winograd's transforms to 1e-4. If the
safetensors package is installed, typenet also reads random files of that package and must write the same bytes. Exit
code 77: none of them is installed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)
here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "scripts")]
import keras_safetensors as files
import models

SHAPES = {"small": (16, 2, 4, 4), "minigooglenet": (16, 3, 32, 32)}
BOUNDS = {"reference": 1e-5, "direct": 1e-5, "winograd": 1e-4}


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.torch, self.models, self.version = torch, models.torch_models(), torch.__version__
        torch.set_num_threads(1)

    def fresh(self, network, random):
        model = self.models[network]()
        with self.torch.no_grad():
            for name, v in model.state_dict().items():
                if name.endswith("num_batches_tracked"):
                    v.fill_(41)
                else:
                    v.copy_(self.torch.from_numpy(draw(random, name, tuple(v.shape))))
        return model.eval()

    def save(self, model, path):
        try:  # the package where it is there: then its bytes are read, too
            from safetensors.torch import save_file

            save_file(model.state_dict(), path, {"format": "pt"})
        except ImportError:
            files.write(path, {n: v.numpy() for n, v in model.state_dict().items()}, {"format": "pt"})

    def load(self, model, path):
        try:
            from safetensors.torch import load_file

            state = load_file(path)
        except ImportError:
            state = {n: self.torch.from_numpy(a.copy()) for n, a in files.read(path)[0].items()}
        model.load_state_dict(state, strict=True)

    def state(self, model):
        return {n: v.numpy() for n, v in model.state_dict().items()}

    def predict(self, model, pictures):
        with self.torch.no_grad():
            return model(self.torch.from_numpy(pictures)).softmax(1).numpy()


class Keras:
    name = "keras"

    def __init__(self):
        import keras

        self.models, self.version = models.keras_models(), f"{keras.__version__} on {keras.backend.backend()}"

    def fresh(self, network, random):
        model = self.models[network]()
        for v in model.weights:
            v.assign(draw(random, v.path, tuple(v.shape)))
        return model

    def save(self, model, path):
        files.save(model, path)

    def load(self, model, path):
        files.load(model, path)

    def state(self, model):
        return {n: v.numpy() for n, v in files.named_variables(model).items()}

    def predict(self, model, pictures):
        return np.array(model(pictures.transpose(0, 2, 3, 1), training=False))


def draw(random, name, shape):
    """Returns weights that keep activations near 1, whatever the depth, and probabilities away from 0 and 1."""
    if name.endswith(("running_var", "moving_variance")):
        return random.uniform(0.5, 2.0, shape).astype(np.float32)
    if len(shape) > 1:
        inputs = np.prod(shape[1:] if name.endswith("weight") else shape[:-1])
        if len(shape) == 4 and shape[-1] == 1 and name.endswith("kernel"):  # Keras's of one channel each
            inputs = np.prod(shape[:2])
        return (random.standard_normal(shape) * np.sqrt((2.0 if len(shape) > 2 else 0.2) / inputs)).astype(np.float32)
    if name.endswith("gamma") or name.endswith("weight"):
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    return (random.standard_normal(shape) * 0.2).astype(np.float32)


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(np.asarray(a[n]), np.asarray(b[n])) for n in a)


def run(program, network, executor, convention, weights, outputs, folder):
    words = [convention, weights, folder / "pictures", outputs["torch"], outputs["keras"], folder / "probabilities"]
    subprocess.run([program, network, executor, *words], check=True)


def check(framework, network, program, executors, folder):
    random = np.random.default_rng(1)
    pictures = random.standard_normal(SHAPES[network]).astype(np.float32)
    files.write(folder / "pictures", {"pictures": pictures}, None)
    model, other = framework.fresh(network, random), framework.fresh(network, random)
    framework.save(model, folder / "in")
    wanted, bad = framework.predict(model, pictures), 0
    for executor in executors:
        outputs = {c: folder / f"out.{c}" for c in ("torch", "keras")}
        run(program, network, executor, framework.name, folder / "in", outputs, folder)
        error = np.abs(files.read(folder / "probabilities")[0]["probabilities"] - wanted).max()
        changed = (folder / "in").read_bytes() != outputs[framework.name].read_bytes()
        framework.load(other, outputs[framework.name])
        round_trip = same(framework.state(model), framework.state(other))
        # the other convention, and back
        third = {c: folder / f"third.{c}" for c in ("torch", "keras")}
        far = "keras" if framework.name == "torch" else "torch"
        run(program, network, executor, far, outputs[far], third, folder)
        arrays, through = files.read(folder / "in")[0], files.read(third[framework.name])[0]
        detour = all(np.array_equal(a, through[n]) for n, a in arrays.items() if not n.endswith("num_batches_tracked"))
        assert np.ptp(wanted) > 0.1 and np.median(wanted.max(1)) < 0.9, "predictions that show nothing"
        passed = error <= BOUNDS[executor] and round_trip and detour
        bad += not passed
        print(f"{framework.name} {framework.version}: {network} on {executor}: predictions differ by {error:.1e}, "
              f"weights {'unchanged' if round_trip else 'CHANGED'}, through {far}'s names "
              f"{'unchanged' if detour else 'CHANGED'}, file {'of other' if changed else 'of the same'} bytes"
              f"{'' if passed else ': FAILED'}")
    return bad


def check_package(program, folder, count=200):
    """Checks that typenet writes the same bytes as the safetensors package."""
    import safetensors
    from safetensors.numpy import save

    random, different = np.random.default_rng(2), 0
    types = [np.bool_, np.uint8, np.int8, np.int16, np.uint16, np.float16, np.int32, np.uint32, np.float32, np.float64,
             np.int64, np.uint64]
    letters = list('abc.xyz/019_" \\\n\t\x01\x7f\u00e4\u4e2d\U0001f600')
    for _ in range(count):
        tensors = {}
        for _ in range(random.integers(0, 9)):
            shape = random.integers(0, 5, random.integers(0, 5))
            kind = types[random.integers(len(types))]
            tensors["".join(random.choice(letters, random.integers(0, 12)))] = random.integers(0, 2, shape).astype(kind)
        metadata = {"one": "".join(random.choice(letters, 8))} if random.integers(2) else None
        (folder / "a").write_bytes(save(tensors, metadata))
        subprocess.run([program, "copy", folder / "a", folder / "b"], check=True)
        different += (folder / "a").read_bytes() != (folder / "b").read_bytes()
    print(f"safetensors {safetensors.__version__}: {count} random files, {different} come out different")
    return different


def check_script(folder):
    """Checks that an incomplete file causes a ValueError that names it."""
    path, unnoticed = folder / "x.safetensors", 0
    files.write(path, {"dense/bias": np.zeros(3, np.float32)}, {"format": "keras"})
    whole = path.read_bytes()
    for wrong in (b"", whole[:5], whole[:40], whole[:-1], whole.replace(b"F32", b"BF1"), b"\2" + bytes(7) + b"[]",
                  b"\x89HDF\r\n\x1a\n" + bytes(100)):
        path.write_bytes(wrong)
        try:
            files.read(path)
            unnoticed += 1
        except ValueError as e:
            unnoticed += str(path) not in str(e)
    print(f"keras_safetensors: {unnoticed} broken files are not said to be so")
    return unnoticed


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("--executors", default="reference")
    p.add_argument("--networks", default="small,minigooglenet")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bad, ran = check_script(Path(folder)), 0
    for kind in (Torch, Keras):
        try:
            framework = kind()
        except ImportError as e:
            print(f"{kind.name}: left out: {e}")
            continue
        for network in a.networks.split(","):
            with tempfile.TemporaryDirectory() as folder:
                bad += check(framework, network, a.program, a.executors.split(","), Path(folder))
                ran += 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            bad += check_package(a.program, Path(folder))
            ran += 1
    except ImportError as e:
        print(f"safetensors: left out: {e}")
    sys.exit(1 if bad else 0 if ran else 77)


if __name__ == "__main__":
    main()
