#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares published networks with torchvision's, if that is installed.

    torchvision_test.py PROGRAM [--models resnet18,... | all] [--executors onednn,native,reference]
    torchvision_test.py PROGRAM --table   writes docs/models.md, and nothing else

Each model gets random weights and running statistics; its state_dict is saved as .safetensors and loaded here, where
every weight must be found by its name. The probabilities of two pictures must differ by at most 1e-4 of the largest one.
The numbers of weights and of multiply-adds must be those of PyTorch, and docs/models.md must say them.
Exit 77: there is no torchvision.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
page = root / "docs/models.md"
intro = """\
# Published networks

<!-- Written by tests/interchange/torchvision_test.py --table. -->

The table lists the types of `<dsl/models.hpp>`, with 1000 classes as in torchvision, or 21 for a class per pixel.
Weights are the trainable parameters, without running statistics; multiply-adds are those of convolutions, dense layers
and attention for one image. Both numbers are equal to PyTorch's (`parameters()`, and half of `FlopCounterMode`'s).
Nodes are the operations of the graph that the compiler checks and plans. `scripts/test models` loads random weights of
each network by name and compares the predictions. In every run of the tests, `runtime.safetensors_models_test` does so
for 14 small networks, with weights from a formula.

| Model | Image | Weights | Multiply-adds | Nodes |
|---|---|---|---|---|
"""
missing = """
`fcn_resnet50_aux`, `fcn_resnet101_aux`, `deeplabv3_resnet50_aux` and `deeplabv3_resnet101_aux` have the auxiliary
classifier as a further output, and 2,365,205 weights more, as with torchvision's `aux_loss`. The height and width of
their images, and of those of the networks without it, must be multiples of 8.

`unet` has 31,037,698 weights for images of three channels; `cifar_resnet20`, `cifar_resnet32`, `cifar_resnet44` and
`cifar_resnet56` have 272,474, 466,906, 661,338 and 855,770. torchvision does not have these networks. [Networks of
keras.applications](keras_models.md) lists those with Keras's layers, in `dsl::models::keras`.

`googlenet_aux` and `inception_v3_aux` have their auxiliary classifiers as further outputs, and 13,004,888 and 27,161,264
weights, as with torchvision's `aux_logits`; the pools of GoogLeNet's are those of the paper.

These are all of torchvision's classifiers. The probabilities of the largest transformers were last compared with
torchvision 0.24 on 2026-11-27, on `native`. The largest differences, relative to the largest probability, were 1.4e-6
for `swin_s`, 1.2e-6 for `swin_b`, 1.3e-6 for `swin_v2_s`, 3.0e-6 for `swin_v2_b`, and 5.4e-6 for `vit_l_16`. With 128
instead of 1,280 channels, that of `vit_h_14` was 1.7e-6.

The gradients of one training step were last compared with PyTorch's (torchvision 0.24) on 2026-11-27, by
`tests/interchange/gradients_test.py`, which the stage `models` runs. It compares 28 networks, at least one of each
family whose original is in PyTorch, with images of 32x32 to 256x256 pixels, two to four in a batch; MLP-Mixer and the
transformers have fewer channels and blocks. In double, with `reference`, no gradient of a parameter and no new running
statistic differs by more than 1.2e-7 of its norm in `swin_v2`, and 4.6e-8 in the others. `native` computes in float,
where a ReLU whose input is about 0 may have the other sign. There, the gradients of all parameters together differ by
at most 3.9e-2 of their norm in `inception_v3`, and by at most 4.3e-6 in MLP-Mixer and the transformers.

Every network compiles within 1 s + 5 ms and 60 MB + 0.7 MB a node with g++ 12 and with Clang 19, and compiles with
nvcc 13. Its rules are checked, and a training step is planned and verified ([figures](../benchmarks/results/2026-11-27_models_compile_time.md)).
"""


def listed(program):
    """Returns what the program prints about each model: weights, multiply-adds, nodes, and the height of an image."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in lines}


def table(models):
    rows = [f"| `{name}` | {size}x{size} | {weights:,} | {macs:,} | {nodes} |"
            for name, (weights, macs, nodes, size) in models.items()]
    return intro + "\n".join(rows) + "\n" + missing


if sys.argv[2:] == ["--table"]:
    page.write_text(table(listed(sys.argv[1])))
    sys.exit(0)

try:
    import torch
    import torchvision
    from safetensors.torch import load_file, save_file
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

# The large ones take the same layers.
QUICK = ("squeezenet1_0,googlenet,inception_v3,resnet18,resnet50,resnext50_32x4d,densenet121,mobilenet_v2,"
         "mobilenet_v3_small,shufflenet_v2_x0_5,mnasnet0_5,efficientnet_b0,efficientnet_v2_s,regnet_y_400mf,regnet_x_400mf,"
         "convnext_tiny,vit_b_32,swin_t,swin_v2_t,maxvit_t,fcn_resnet50,deeplabv3_resnet50")
BOUND = 1e-4


def outputs(model, pictures):
    found = model(pictures)
    return found["out"] if isinstance(found, dict) else found


def make(name, pictures):
    """Returns a model whose outputs have a size of about 1, so that no probability is nearly 1 and hides the others."""
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    by_pixel = name.startswith(("fcn_", "deeplabv3_"))
    if by_pixel:
        options = {"weights": None, "weights_backbone": None, "aux_loss": False}
    model = getattr(torchvision.models.segmentation if by_pixel else torchvision.models, name)(**options).eval()
    for key, value in model.state_dict().items():
        if key.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif key.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif key.endswith("layer_scale"):
            value.uniform_(-0.5, 0.5)  # it starts from 1e-6, which would hide the block
        elif key.endswith("relative_position_bias_table"):
            value.normal_()  # it starts near 0
        elif key.endswith("cpb_mlp.2.weight"):
            value.normal_(0, 0.5)
    last = [m for m in model.modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d))][-1]
    with torch.no_grad():
        if not last.weight.any():
            last.weight.normal_()  # vit's starts from 0
        size = outputs(model, pictures).std() * (2 if by_pixel else 1)  # many pixels have larger extremes
        last.weight /= size
        if last.bias is not None:
            last.bias /= size
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", default=QUICK)
    parser.add_argument("--executors", default="onednn")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # whose multiply-adds FlopCounterMode does not see
    models = listed(options.program)
    names = list(models) if options.models == "all" else options.models.split(",")
    bad = 0
    if page.read_text() != table(models):
        print("docs/models.md is out of date: write it with --table")
        bad += 1
    with tempfile.TemporaryDirectory() as folder:
        weights, pictures, out = (str(Path(folder) / n) for n in ("weights", "pictures", "probabilities"))
        for name in names:
            weights_here, macs_here, _, size = models[name]
            x = torch.randn(2, 3, size, size)
            model = make(name, x)
            save_file({k: v.contiguous() for k, v in model.state_dict().items()}, weights)
            save_file({"pictures": x}, pictures)
            counter = FlopCounterMode(display=False)
            with torch.no_grad():
                wanted = outputs(model, x).softmax(1).flatten(1)
            with torch.no_grad(), counter, sdpa_kernel(SDPBackend.MATH):  # the counter does not know all kernels
                outputs(model, x[:1])  # of one image: swin_v2 computes its biases once a batch
            weights_there = sum(p.numel() for p in model.parameters())
            macs_there = counter.get_total_flops() // 2
            if (weights_here, macs_here) != (weights_there, macs_there):
                print(f"{name}: {weights_here} weights and {macs_here} multiply-adds; {weights_there} and {macs_there} "
                      "in PyTorch")
                bad += 1
            for executor in options.executors.split(","):
                run = subprocess.run([options.program, name, executor, weights, pictures, out], capture_output=True,
                                     text=True)
                if run.returncode != 0:
                    print(f"{name}, {executor}: {run.stderr.strip()}")
                    bad += 1
                    continue
                found = load_file(out)["probabilities"]
                difference = ((found - wanted).abs().max() / wanted.max()).item()
                fine = difference <= BOUND and wanted.max() < 0.5 and wanted.max() > 2 * wanted.min()
                print(f"{name}, {executor}: {difference:.1e}{'' if fine else '  FAILED'}")
                bad += not fine
    return 1 if bad else 0


sys.exit(main())
