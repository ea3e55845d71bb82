#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradients of published networks against PyTorch's, where torchvision is installed.

    gradients_test.py PROGRAM [--models resnet18,...] [--executors double,native]

Each model, without dropout and stochastic depth, gets random weights and trains one step in both libraries, in double.
The gradient of each parameter and the new running statistics must agree to 1e-6 of their norm. `native` computes in
float, where a ReLU whose input is about zero may have the other sign: there the gradients of all parameters together
must agree to a tenth of their norm, and the running statistics to 1e-4. swin_v2's biases of keys are not compared,
since torchvision keeps them at 0. Exit 77: there is no torchvision.
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
from torch import nn
from torchvision.models import maxvit, resnet, swin_transformer, vision_transformer

RATE = 2.0**20  # the new weights are gradients, up to this factor, and their rounding does not matter


class DoubleConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        layers = []
        for i in (inputs, outputs):
            layers += [nn.Conv2d(i, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        self.double_conv = nn.Sequential(*layers)

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.up = nn.ConvTranspose2d(2 * outputs, outputs, 2, stride=2)
        self.conv = DoubleConv(2 * outputs, outputs)

    def forward(self, below, beside):
        return self.conv(torch.cat([beside, self.up(below)], 1))


class UNet(nn.Module):
    """Ronneberger et al. 2015, with padded convolutions and batch normalisation."""

    def __init__(self, classes, width):
        super().__init__()
        self.inc = DoubleConv(3, width)
        for level in range(4):
            setattr(self, f"down{level + 1}", Down(width << level, width << (level + 1)))
            setattr(self, f"up{level + 1}", Up(width << (3 - level)))
        self.outc = nn.Sequential()
        self.outc.conv = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = [self.inc(x)]
        for level in range(4):
            levels.append(getattr(self, f"down{level + 1}")(levels[-1]))
        x = levels.pop()
        for level in range(4):
            x = getattr(self, f"up{level + 1}")(x, levels.pop())
        return self.outc(x)


class CifarResNet(resnet.ResNet):
    """He et al. 2016, section 4.2: three stages for images of 32x32."""

    def __init__(self, blocks):
        super().__init__(resnet.BasicBlock, [1, 1, 1, 1])
        self.inplanes = 16
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self._make_layer(resnet.BasicBlock, 16, blocks)
        self.layer2 = self._make_layer(resnet.BasicBlock, 32, blocks, stride=2)
        self.layer3 = self._make_layer(resnet.BasicBlock, 64, blocks, stride=2)
        self.maxpool = self.layer4 = nn.Identity()
        self.fc = nn.Linear(64, 10)


class MixerMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.mlp_tokens, self.mlp_channels = MixerMlp(tokens, width // 2), MixerMlp(width, 4 * width)

    def forward(self, x):
        x = x + self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channels(self.norm2(x))


class Mixer(nn.Module):
    """Tolstikhin et al. 2021, on patches of 16x16 pixels."""

    def __init__(self, size, depth, width):
        super().__init__()
        self.stem = nn.Module()
        self.stem.proj = nn.Conv2d(3, width, 16, stride=16)
        self.blocks = nn.Sequential(*(MixerBlock((size // 16) ** 2, width) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem.proj(x).flatten(2).transpose(1, 2))).mean(1))


def swin(window, **kinds):
    return swin_transformer.SwinTransformer([4, 4], 32, [2, 2, 2, 2], [2, 4, 8, 16], [window, window],
                                            stochastic_depth_prob=0.2, num_classes=10, **kinds)


# Networks that torchvision does not have, or not as small.
OF_THEIR_OWN = {
    "unet": lambda: UNet(5, 8),
    "cifar_resnet20": lambda: CifarResNet(3),
    "mlp_mixer": lambda: Mixer(64, 2, 64),
    "vit": lambda: vision_transformer.VisionTransformer(64, 16, 2, 4, 64, 256, num_classes=10),
    "swin": lambda: swin(7),
    "swin_v2": lambda: swin(8, block=swin_transformer.SwinTransformerBlockV2,
                            downsample_layer=swin_transformer.PatchMergingV2),
    "maxvit": lambda: maxvit.MaxVit((224, 224), 32, 7, [32, 64, 128, 256], [2, 2, 2, 2], 32, 0.2, num_classes=10),
}


def make(name):
    if name in OF_THEIR_OWN:
        return OF_THEIR_OWN[name]()
    if name.startswith(("fcn_", "deeplabv3_")):
        return getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=5,
                                                              aux_loss=False)
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(num_classes=10, **options)


def prepared(name):
    """A model in training mode without random numbers, whose weights are floats."""
    model = make(name)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        elif type(module).__name__ == "StochasticDepth":
            module.p = 0.0
    for key, value in model.state_dict().items():
        if key.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif key.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif key.endswith("layer_scale"):
            value.uniform_(-0.5, 0.5)  # it starts from 1e-6, which would hide the block
        elif key.endswith(("relative_position_bias_table", "pos_embedding", "class_token")):
            value.normal_()  # they start near 0
        elif key == "heads.head.weight":
            value.normal_(0, 0.1)  # it starts from 0, which would hide all blocks
    return model.train()


def wanted(model, pictures, labels):
    """The gradients and new running statistics, by name, computed in double."""
    model = model.double()
    found = model(pictures.double())
    found = found["out"] if isinstance(found, dict) else found
    nn.functional.cross_entropy(found, labels).backward()
    result = {key: p.grad for key, p in model.named_parameters()}
    result |= {key: b for key, b in model.named_buffers() if is_statistic(key)}
    return result


def is_statistic(key):
    return key.endswith(("running_mean", "running_var"))


def compare(found, expected, before, in_double):
    """Whether all is within its bound; and the largest error and the tensor that has it."""
    errors, norms = {}, {}
    for key, value in expected.items():
        here = found[key].double()
        if not is_statistic(key):
            here = (before[key].double() - here) / RATE
        if key.replace("qkv.bias", "logit_scale") in expected and key.endswith("qkv.bias"):
            here.view(3, -1)[1] = 0
        errors[key], norms[key] = (here.reshape(value.shape) - value).norm().item(), value.norm().item()
    gradients = [key for key in expected if not is_statistic(key)]
    largest = max(norms[key] for key in gradients)
    relative = {key: errors[key] / max(norms[key], 0 if is_statistic(key) else 1e-6 * largest) for key in expected}
    if not in_double:
        together = sum(errors[key] ** 2 for key in gradients) ** 0.5 / sum(norms[key] ** 2 for key in gradients) ** 0.5
        relative = {key: error for key, error in relative.items() if is_statistic(key)} | {"all gradients": together}
    where = max(relative, key=lambda key: relative[key] if relative[key] == relative[key] else float("inf"))
    bounds = {key: 1e-6 if in_double else 0.1 if key == "all gradients" else 1e-4 for key in relative}
    return all(relative[key] <= bounds[key] for key in relative), relative[where], where


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--models", default="all")
    parser.add_argument("--executors", default="double,native")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout.splitlines()
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        weights, batch, out = (str(Path(folder) / n) for n in ("weights", "batch", "trained"))
        for name in sizes if options.models == "all" else options.models.split(","):
            torch.manual_seed(1)
            model = prepared(name)
            size = sizes[name]
            before = {key: value.clone().contiguous() for key, value in model.state_dict().items()}
            by_pixel = name.startswith(("fcn_", "deeplabv3_", "unet"))
            count = 2 if size > 100 else 3 if by_pixel else 4
            pictures = torch.randn(count, 3, size, size)
            labels = torch.randint(5 if by_pixel else 10, (count, size, size) if by_pixel else (count,))
            save_file(before, weights)
            save_file({"pictures": pictures, "labels": labels.float()}, batch)
            expected = wanted(model, pictures, labels)
            for executor in options.executors.split(","):
                run = subprocess.run([options.program, name, executor, str(RATE), weights, batch, out],
                                     capture_output=True, text=True)
                if run.returncode != 0:
                    print(f"{name}, {executor}: {run.stderr.strip()}")
                    bad += 1
                    continue
                fine, worst, where = compare(load_file(out), expected, before, executor == "double")
                print(f"{name}, {executor}: {worst:.1e} in {where}{'' if fine else '  FAILED'}")
                bad += not fine
    return 1 if bad else 0


sys.exit(main())
