#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that networks of torchvision, exported as ONNX files, become types of typenet.

    onnx_import_test.py ONNX_IMPORTED ONNX_TO_TYPENET [--models NAME,... | all] [--exporters legacy,kept,dynamo]
                        [--results FILE] [--table FILE]

PyTorch exports each model, with random weights and the statistics of a batch: as its older exporter does by default
("legacy"), with every batch_norm kept ("kept"), and as its newer one does ("dynamo"). typenet must predict what
onnxruntime does, to 1e-4 of the largest value; another input must change that value by 5 %. The header that
onnx_to_typenet prints must compile to the graph that made the predictions, and name its weights as in the .safetensors
file. --results appends each result to a file; models that agreed in an earlier run with the same file are not compared
again. --table writes docs/exported_models.md. Exit 77: a framework is missing.
"""
import argparse
import collections
import datetime
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from result_file import Results

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
# Those of <dsl/models.hpp> that torchvision has. Above 100 million weights, only at a reduced width.
ALL = ("alexnet,vgg11_reduced,vgg13_reduced,vgg16_reduced,vgg19_reduced,vgg11_bn_reduced,vgg13_bn_reduced,"
       "vgg16_bn_reduced,vgg19_bn_reduced,squeezenet1_0,squeezenet1_1,googlenet,inception_v3,resnet18,resnet34,"
       "resnet50,resnet101,resnet152,wide_resnet50_2,wide_resnet101_2_reduced,resnext50_32x4d,resnext101_32x8d,"
       "resnext101_64x4d,densenet121,densenet161,densenet169,densenet201,mobilenet_v2,mobilenet_v3_small,"
       "mobilenet_v3_large,shufflenet_v2_x0_5,shufflenet_v2_x1_0,shufflenet_v2_x1_5,shufflenet_v2_x2_0,mnasnet0_5,"
       "mnasnet0_75,mnasnet1_0,mnasnet1_3,efficientnet_b0,efficientnet_b1,efficientnet_b2,efficientnet_b3,"
       "efficientnet_b4,efficientnet_b5,efficientnet_b6,efficientnet_b7,efficientnet_v2_s,efficientnet_v2_m,"
       "efficientnet_v2_l_reduced,regnet_y_400mf,regnet_y_800mf,regnet_y_1_6gf,regnet_y_3_2gf,regnet_y_8gf,"
       "regnet_y_16gf,regnet_y_32gf_reduced,regnet_y_128gf_reduced,regnet_x_400mf,regnet_x_800mf,regnet_x_1_6gf,"
       "regnet_x_3_2gf,regnet_x_8gf,regnet_x_16gf,regnet_x_32gf_reduced,convnext_tiny,convnext_small,convnext_base,"
       "convnext_large_reduced,fcn_resnet50,fcn_resnet101,deeplabv3_resnet50,deeplabv3_resnet101,vit_b_16,vit_b_32,"
       "vit_l_16_reduced,vit_l_32_reduced,vit_h_14_reduced,swin_t,swin_s,swin_b,swin_v2_t,swin_v2_s,swin_v2_b,maxvit_t")

INTRO = """\
# Published networks as PyTorch exports them

<!-- Written by tests/interchange/onnx_import_test.py --table. -->

The [published networks](models.md) that torchvision has, exported as ONNX files and converted by `onnx_to_typenet`.
Each network has random weights; batch normalisations have the statistics of a batch, so that the output depends on the
input. The number is the largest difference from the outputs of onnxruntime, relative to the largest output. *Reduced*
means that a network has all its layers, but fewer channels, because the original has more than 100 million weights.

"""
COLUMNS = {"legacy": "older exporter", "kept": "older exporter, every batch normalisation kept",
           "dynamo": "newer exporter"}


def halved(n, by=4):
    """A number of channels at reduced width."""
    return max(8, n // by // 8 * 8)


def reduced(name):
    """A model with the layers of one above 100 million weights, but fewer channels."""
    from functools import partial

    from torchvision import models
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    from torchvision.models.regnet import BlockParams, RegNet
    from torchvision.models.vision_transformer import VisionTransformer

    if name.startswith("vgg"):
        letter = {"11": "A", "13": "B", "16": "D", "19": "E"}[name[3:5]]
        channels = [c if c == "M" else c // 4 for c in models.vgg.cfgs[letter]]
        net = models.vgg.VGG(models.vgg.make_layers(channels, "bn" in name))
        net.classifier[0] = torch.nn.Linear(128 * 7 * 7, 512)
        net.classifier[3], net.classifier[6] = torch.nn.Linear(512, 512), torch.nn.Linear(512, 1000)
        return net
    if name == "wide_resnet101_2":
        return models.resnet.ResNet(models.resnet.Bottleneck, [3, 4, 23, 3], width_per_group=32)
    if name == "convnext_large":
        blocks = zip((48, 96, 192, 384), (96, 192, 384, None), (3, 3, 27, 3))
        return ConvNeXt([CNBlockConfig(*each) for each in blocks], stochastic_depth_prob=0.5)
    if name.startswith("regnet"):
        kind = models.regnet.BlockParams.from_init_params
        numbers = {"regnet_y_32gf": (20, 232, 115.89, 2.53, 232), "regnet_y_128gf": (27, 456, 160.83, 2.52, 264),
                   "regnet_x_32gf": (23, 320, 69.86, 2.0, 168)}[name]
        full = kind(*numbers[:1], w_0=numbers[1], w_a=numbers[2], w_m=numbers[3], group_width=numbers[4],
                    se_ratio=0.25 if "_y_" in name else None)
        groups = [w // g for w, g in zip(full.widths, full.group_widths)]
        widths = [16 * g for g in groups]
        return RegNet(BlockParams(full.depths, widths, [16] * len(widths), full.bottleneck_multipliers, full.strides,
                                  full.se_ratio), norm_layer=partial(torch.nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    if name.startswith("vit"):
        patch, layers, heads = {"vit_l_16": (16, 24, 16), "vit_l_32": (32, 24, 16), "vit_h_14": (14, 32, 16)}[name]
        return VisionTransformer(224, patch, layers, heads, hidden_dim=heads * 8, mlp_dim=heads * 32)
    settings, last = models.efficientnet._efficientnet_conf(name)
    for each in settings:
        each.input_channels, each.out_channels = halved(each.input_channels), halved(each.out_channels)
    return models.efficientnet.EfficientNet(settings, 0.4, last_channel=halved(last),
                                            norm_layer=partial(torch.nn.BatchNorm2d, eps=1e-03))


def build(name):
    torch.manual_seed(7)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if name.startswith(("fcn", "deeplabv3")):
        options["weights_backbone"] = None
    if name.endswith("_reduced"):
        model = reduced(name.removesuffix("_reduced"))
    else:
        model = torchvision.models.get_model(name, weights=None, **options)
    with torch.no_grad():
        for key, value in model.state_dict().items():  # nothing may be equal by its initial value
            if value.dtype == torch.float32 and value.dim() == 1:
                value.add_(torch.empty_like(value).uniform_(-0.1, 0.1))
            elif value.dtype == torch.float32 and not value.any():  # then the output would show nothing
                value.normal_(0, 0.02)
    model.eval()
    calm(model)
    batch = torch.randn(4, 3, *[size_of(name)] * 2, generator=torch.Generator().manual_seed(4))
    calibrate(model, batch)
    if name.startswith("swin_v2"):  # with random weights, the outputs for all inputs are almost the same
        with torch.no_grad():
            model.head.bias -= 0.7 * model(batch).mean(0)
    return model


def calm(model):
    """Lets each residual branch add little, as in trained networks. Otherwise each block of a deep network enlarges
    rounding errors: after 100 layers, even PyTorch's own floats differ from its doubles by 1e-4."""
    for m in model.modules():
        is_residual = type(m).__name__ in ("BasicBlock", "Bottleneck", "ResBottleneckBlock")
        if is_residual or getattr(m, "use_res_connect", False) or getattr(m, "apply_residual", False):
            norms = [n for key, n in m.named_modules()
                     if isinstance(n, torch.nn.modules.batchnorm._BatchNorm) and "downsample" not in key]
            with torch.no_grad():
                norms[-1].weight.mul_(0.3)


def size_of(name):
    """The height and width of a model's images: small where the layers do not depend on them."""
    sizes = {"inception": 299, "fcn": 64, "deeplabv3": 64, "swin_v2": 256}
    fixed = ("alexnet", "vgg", "vit", "swin", "maxvit")
    return next((size for start, size in sizes.items() if name.startswith(start)), 224 if name.startswith(fixed) else 128)


def calibrate(model, batch):
    """Gives every batch normalisation the statistics of a batch. Otherwise the output hardly depends on the input. A
    model without normalisations gets weights with which each layer's values have mean 0 and variance 1."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    hooks = []

    def normalise(module, _, out):
        axes = [i for i in range(out.dim()) if i != 1]
        mean, deviation = out.mean(axes), out.std(axes) + 1e-3
        module.weight /= deviation.reshape(-1, *[1] * (module.weight.dim() - 1))
        module.bias.copy_((module.bias - mean) / deviation)
        shape = [1, -1] + [1] * (out.dim() - 2)
        return (out - mean.reshape(shape)) / deviation.reshape(shape)

    with torch.no_grad():
        for m in norms:
            m.momentum = 1.0
            m.train()
        if not any("Norm" in type(m).__name__ for m in model.modules()):
            hooks = [m.register_forward_hook(normalise) for m in model.modules()
                     if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
        model(batch)
        for hook in hooks:
            hook.remove()
        model.eval()


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
  std::printf("%016" PRIx64 " %016" PRIx64 " %lld\\n", dsl::detail::fingerprint_of(g),
              dsl::detail::fingerprint_of_frozen(g), dsl::parameter_count(g));
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
    weights = sum(p.numel() for p in model.parameters())
    is_segmentation = name.startswith(("fcn", "deeplab"))
    x = torch.randn(1, 3, *[size_of(name)] * 2, generator=torch.Generator().manual_seed(3))
    path = folder / "model.onnx"
    export(first_output(model) if is_segmentation else model, x, path, exporter)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


    def run_theirs(values):
        return session.run(None, {session.get_inputs()[0].name: values})[0].ravel()

    theirs = run_theirs(x.numpy())
    largest = float(np.abs(theirs).max())
    change = float(np.abs(theirs - run_theirs(np.ascontiguousarray(x.numpy()[..., ::-1]))).max())
    x.numpy().tofile(folder / "input")
    if not change > 0.05 * largest:
        raise RuntimeError(f"another input changes the output by {change / largest:.1e} only")
    printed = run(a.program, path, folder / "input", folder / "output")
    ours = np.fromfile(folder / "output", np.float32)
    error = float(np.abs(ours - theirs).max() / largest)
    if not (ours.shape == theirs.shape and error < 1e-4):
        raise RuntimeError(f"the predictions differ by {error}")
    names = check_header(a, path, folder, printed) if a.headers else []
    if a.headers and exporter == "kept":  # then nothing is merged, and every weight has PyTorch's name
        wanted = [k for k in model.state_dict() if not k.endswith(("num_batches_tracked", "relative_position_index", "relative_coords_table"))
                  and not k.startswith(("aux", "AuxLogits"))]
        if is_segmentation:
            wanted = ["model." + k for k in wanted]
        if collections.Counter(names) != collections.Counter(wanted):
            raise RuntimeError(f"the weights have other names: {sorted(set(names) ^ set(wanted))[:6]}")
    return f"{error:.1e}", weights


def shown(name):
    return f"`{name.removesuffix('_reduced')}`" + (", reduced" if name.endswith("_reduced") else "")


def page(a, results):
    """Returns the text of docs/exported_models.md."""
    exporters = a.exporters.split(",")
    text = INTRO + "| Network | Weights | " + " | ".join(COLUMNS[e] for e in exporters) + " | Date |\n"
    text += "|---" * (3 + len(exporters)) + "|\n"
    left = []
    for name in ALL.split(","):
        row = [results[name, e] for e in exporters if (name, e) in results]
        if len(row) < len(exporters):
            left.append(name)
            continue
        cells = [shown(name), f"{row[0]['weights']:,}", *(r["result"].replace("|", "\\|") for r in row)]
        text += "| " + " | ".join(cells) + f" | {max(r['date'] for r in row)} |\n"
    rest = "\nNot compared: " + "; ".join(shown(n) for n in left) + ".\n" if left else ""
    versions = ", ".join(f"{library.__name__} {library.__version__.split('+')[0]}"
                         for library in (torch, torchvision, onnxruntime))
    return text + rest + f"\nVersions: {versions}.\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("tool")
    p.add_argument("--models", default=SAMPLE)
    p.add_argument("--exporters", default="legacy,kept,dynamo")
    p.add_argument("--no-headers", dest="headers", action="store_false", help="do not compile the headers")
    p.add_argument("--results", type=Path, help="a file to which the results are appended, and in which they are found")
    p.add_argument("--table", type=Path, help="write the results as a page")
    a = p.parse_args()
    a.program, a.tool = Path(a.program).resolve(), Path(a.tool).resolve()
    results = Results(a.results, "name", "exporter")
    bad = 0
    for name in (ALL if a.models == "all" else a.models).split(","):
        for exporter in a.exporters.split(","):
            if re.match(r"\d", results.get((name, exporter), {}).get("result", "")):
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    text, weights = check(a, name, exporter, Path(folder))
                except (RuntimeError, onnx.checker.ValidationError) as e:
                    text, weights = f"FAILED: {str(e)[:600]}", 0
                    bad += 1
            print(f"{name} {exporter}: {text}", flush=True)
            results.add({"name": name, "exporter": exporter, "result": text, "weights": weights,
                         "date": str(datetime.date.today())})
            if a.table:
                a.table.write_text(page(a, results))
    if a.table:  # even if an earlier run has all results
        a.table.write_text(page(a, results))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
