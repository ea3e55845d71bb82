#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that networks of torchvision, exported as ONNX files, become types of typenet.

    onnx_import_test.py ONNX_IMPORTED ONNX_TO_TYPENET [--models NAME,... | all] [--exporters legacy,kept,dynamo]

PyTorch exports each model, with random weights and statistics: as its older exporter does by default ("legacy"), with
every batch_norm kept ("kept"), and as its newer one does ("dynamo"). typenet must predict what onnxruntime does, to 1e-4
of the largest value, and the header that onnx_to_typenet prints must compile to the graph that made the predictions, and
name its weights as in the .safetensors file. Exit 77: a framework is missing.
"""
import argparse
import collections
import os
import shlex
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    import torch
    import torchvision
    from safetensors import safe_open
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = "resnet18,densenet121,googlenet,shufflenet_v2_x0_5,convnext_tiny,efficientnet_b0"
# Those of <dsl/models.hpp>; of a family, no model above 100 million weights.
ALL = ("alexnet,vgg11_bn,vgg16,squeezenet1_0,squeezenet1_1,googlenet,inception_v3,resnet18,resnet34,resnet50,resnet101,"
       "resnet152,wide_resnet50_2,resnext50_32x4d,resnext101_32x8d,densenet121,densenet161,densenet169,densenet201,"
       "mobilenet_v2,mobilenet_v3_small,mobilenet_v3_large,shufflenet_v2_x0_5,shufflenet_v2_x1_0,shufflenet_v2_x1_5,"
       "shufflenet_v2_x2_0,mnasnet0_5,mnasnet0_75,mnasnet1_0,mnasnet1_3,efficientnet_b0,efficientnet_b1,efficientnet_b2,"
       "efficientnet_b3,efficientnet_b4,efficientnet_b5,efficientnet_b6,efficientnet_b7,efficientnet_v2_s,"
       "efficientnet_v2_m,regnet_y_400mf,regnet_y_800mf,regnet_y_1_6gf,regnet_y_3_2gf,regnet_y_8gf,regnet_y_16gf,"
       "regnet_x_400mf,regnet_x_800mf,regnet_x_1_6gf,regnet_x_3_2gf,regnet_x_8gf,regnet_x_16gf,convnext_tiny,"
       "convnext_small,convnext_base,fcn_resnet50,deeplabv3_resnet50,vit_b_16,vit_b_32")


def build(name):
    torch.manual_seed(7)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if "_resnet50" in name and not name.startswith("wide"):
        options["weights_backbone"] = None
    model = torchvision.models.get_model(name, weights=None, **options)
    with torch.no_grad():
        for key, value in model.state_dict().items():  # nothing may be equal by its initial value
            if key.endswith("running_var"):
                value.uniform_(0.7, 1.3)
            elif key.endswith("running_mean"):
                value.uniform_(-0.2, 0.2)
            elif value.dtype == torch.float32 and value.dim() == 1:
                value.add_(torch.empty_like(value).uniform_(-0.1, 0.1))
            elif value.dtype == torch.float32 and not value.any():  # then the output would show nothing
                value.normal_(0, 0.02)
    return model.eval()


class first_output(torch.nn.Module):
    """Returns only the first result of a model that returns several results by name."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def export(model, x, path, exporter):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            torch.onnx.export(model, (x,), path, dynamo=True, verbose=False)
        elif exporter == "kept":
            torch.onnx.export(model, (x,), path, dynamo=False, do_constant_folding=False,
                              training=torch.onnx.TrainingMode.PRESERVE)
        else:
            torch.onnx.export(model, (x,), path, dynamo=False, dynamic_axes={"input": {0: "batch"}}, input_names=["input"])


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    return done.stdout


def check_header(a, path, folder, printed):
    """Compiles the header, and compares its graph and the names of its weights."""
    (folder / "model.hpp").write_text(run(a.tool, path, folder / "w.safetensors", "--namespace", "imported"))
    (folder / "main.cpp").write_text("""#include <dsl/dsl.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/training/fingerprint.hpp>
#include <cinttypes>
#include <cstdio>
#include "model.hpp"
int main() {
  dsl::graph_view const g = imported::model::view();
  std::printf("%016" PRIx64 " %lld\\n", dsl::detail::fingerprint_of(g), dsl::parameter_count(g));
  for (std::string const& name : dsl::weight_names(g)) std::printf("%s\\n", name.c_str());
}
""")
    run(*shlex.split(os.environ.get("TYPENET_GCC") or "g++"), "-std=c++20", f"-I{ROOT}/include", "main.cpp", "-pthread", "-o", "main", cwd=folder)
    fingerprint, *names = run("./main", cwd=folder).splitlines()
    if fingerprint != printed.strip():
        raise RuntimeError(f"the header's graph is {fingerprint}, not {printed.strip()}")
    with safe_open(folder / "w.safetensors", "pt") as weights:
        if sorted(names) != sorted(weights.keys()):
            raise RuntimeError("the header names its weights otherwise than the .safetensors file")
    return names


def check(a, name, exporter, folder):
    model = build(name)
    is_segmentation = name.startswith(("fcn", "deeplab"))
    size = 299 if name == "inception_v3" else 64 if is_segmentation else 224
    x = torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(3))
    path = folder / "model.onnx"
    export(first_output(model) if is_segmentation else model, x, path, exporter)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    theirs = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0].ravel()
    x.numpy().tofile(folder / "input")
    printed = run(a.program, path, folder / "input", folder / "output")
    ours = np.fromfile(folder / "output", np.float32)
    error = float(np.abs(ours - theirs).max() / max(1, np.abs(theirs).max()))
    if not (ours.shape == theirs.shape and error < 1e-4):
        raise RuntimeError(f"the predictions differ by {error}")
    names = check_header(a, path, folder, printed)
    if exporter == "kept":  # then nothing is merged, and every weight has PyTorch's name
        wanted = [k for k in model.state_dict() if not k.endswith("num_batches_tracked") and not k.startswith(("aux", "AuxLogits"))]
        if is_segmentation:
            wanted = ["model." + k for k in wanted]
        if collections.Counter(names) != collections.Counter(wanted):
            raise RuntimeError(f"the weights have other names: {sorted(set(names) ^ set(wanted))[:6]}")
    return error


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("tool")
    p.add_argument("--models", default=SAMPLE)
    p.add_argument("--exporters", default="legacy,kept,dynamo")
    a = p.parse_args()
    a.program, a.tool = Path(a.program).resolve(), Path(a.tool).resolve()
    bad = 0
    for name in (ALL if a.models == "all" else a.models).split(","):
        for exporter in a.exporters.split(","):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"{name} {exporter}: {check(a, name, exporter, Path(folder)):.1e}", flush=True)
                except (RuntimeError, onnx.checker.ValidationError) as e:
                    print(f"{name} {exporter}: FAILED: {str(e)[:600]}", flush=True)
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
