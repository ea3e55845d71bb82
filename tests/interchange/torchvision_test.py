#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Published networks against torchvision's, where that is installed.

    torchvision_test.py PROGRAM [--models resnet18,... | all] [--executors onednn,native,reference]

Each model gets random weights and running statistics; its state_dict is saved as .safetensors and loaded here, where
every weight must be found by its name. The probabilities of two pictures must differ by at most 1e-4 of the largest one.
Exit 77: there is no torchvision.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import torchvision
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

# The large ones take the same layers.
QUICK = ("squeezenet1_0,googlenet,inception_v3,resnet18,resnet50,resnext50_32x4d,densenet121,mobilenet_v2,"
         "mobilenet_v3_small,shufflenet_v2_x0_5,mnasnet0_5,efficientnet_b0,efficientnet_v2_s,regnet_y_400mf,regnet_x_400mf,convnext_tiny")
SIZES = {"inception_v3": 299}
BOUND = 1e-4


def make(name, pictures):
    """A model whose outputs are about 1 in size, so that no probability is nearly 1 and hides the others."""
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(**options).eval()
    for key, value in model.state_dict().items():
        if key.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif key.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif key.endswith("layer_scale"):
            value.uniform_(-0.5, 0.5)  # it starts from 1e-6, which would hide the block
    last = [m for m in model.modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d))][-1]
    with torch.no_grad():
        size = model(pictures).std()
        last.weight /= size
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
    names = options.models.split(",")
    if names == ["all"]:
        names = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout.split()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        weights, pictures, out = (str(Path(folder) / n) for n in ("weights", "pictures", "probabilities"))
        for name in names:
            size = SIZES.get(name, 224)
            x = torch.randn(2, 3, size, size)
            model = make(name, x)
            save_file({k: v.contiguous() for k, v in model.state_dict().items()}, weights)
            save_file({"pictures": x}, pictures)
            with torch.no_grad():
                wanted = model(x).softmax(1)
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
