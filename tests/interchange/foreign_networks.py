#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Twenty networks that others wrote, as typenet's types, by way of ONNX.

    foreign_networks.py ONNX_IMPORTED ONNX_TO_TYPENET [--networks NAME,... | all] [--exporters legacy,dynamo] [--table FILE]

The list was fixed before the first of them was tried. Each network gets random weights, with a fixed seed, and is
exported with both of PyTorch's exporters. Then typenet either predicts what onnxruntime predicts, to 1e-4 of the
largest value, and the header that onnx_to_typenet prints compiles to the graph that made the predictions; or typenet
refuses the file, with the node, its operator and the reason. At least 15 must agree, and no one may be wrong. --table
writes docs/foreign_networks.md. Exit 77: a framework is missing; the networks of a missing library are left out.
"""
import argparse
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("KERAS_BACKEND", "torch")

INTRO = """\
# Networks that others wrote

<!-- Written by tests/interchange/foreign_networks.py --table. -->

The list of these 20 networks was fixed before the first of them was tried. Each of them gets random weights and is
exported with both of PyTorch's exporters. The number is the largest difference from the outputs of onnxruntime,
relative to the largest output. For each network that typenet cannot express, the table has the error of
`onnx_to_typenet`. [From PyTorch to C++](from_pytorch.md) lists the operators that are read.

| Network | Library | Input | older exporter | newer exporter |
|---|---|---|---|---|
"""


def timm(name, size=224):
    def build():
        import timm as library
        return library.create_model(name, pretrained=False), (1, 3, size, size)
    return build


def keras(name, size=224):
    def build():
        import keras as library
        model = getattr(library.applications, name)(weights=None, input_shape=(size, size, 3), classes=1000)
        return model, (1, size, size, 3)
    return build


def finest_level():
    """The feature pyramid of a detector: its level with the most pixels."""
    import torch
    import torchvision

    class Level(torch.nn.Module):
        def __init__(self):
            super().__init__()
            detector = torchvision.models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None)
            self.backbone = detector.backbone

        def forward(self, x):
            return self.backbone(x)["0"]

    return Level(), (1, 3, 128, 128)


def lraspp():
    import torch
    import torchvision

    class Result(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)

        def forward(self, x):
            return self.model(x)["out"]

    return Result(), (1, 3, 128, 128)


def bert():
    import torch
    import transformers

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(transformers.BertConfig(
                vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512))

        def forward(self, tokens):
            return self.bert(tokens).last_hidden_state

    return States(), [1, 24, 1000]


def gpt2():
    import torch
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(
                vocab_size=500, n_positions=64, n_embd=96, n_layer=3, n_head=4, use_cache=False))

        def forward(self, tokens):
            return self.gpt(tokens).logits

    return Logits(), [1, 32, 500]


def unet():
    import segmentation_models_pytorch as library
    return library.Unet("resnet18", encoder_weights=None, classes=4), (1, 3, 128, 128)


def wav2letter():
    import torchaudio
    return torchaudio.models.Wav2Letter(num_classes=29, input_type="mfcc", num_features=13), (1, 13, 200)


# Name: library and builder. The list is not to be changed for what comes out.
NETWORKS = {
    "resnet26d": ("timm", timm("resnet26d")),
    "tf_efficientnet_lite0": ("timm", timm("tf_efficientnet_lite0")),
    "mobilenetv4_conv_small": ("timm", timm("mobilenetv4_conv_small")),
    "ghostnet_100": ("timm", timm("ghostnet_100")),
    "dla34": ("timm", timm("dla34")),
    "cspdarknet53": ("timm", timm("cspdarknet53")),
    "ese_vovnet19b_dw": ("timm", timm("ese_vovnet19b_dw")),
    "vit_tiny_patch16_224": ("timm", timm("vit_tiny_patch16_224")),
    "poolformer_s12": ("timm", timm("poolformer_s12")),
    "convnextv2_atto": ("timm", timm("convnextv2_atto")),
    "mixer_s32_224": ("timm", timm("mixer_s32_224")),
    "MobileNetV2": ("Keras", keras("MobileNetV2")),
    "EfficientNetV2B0": ("Keras", keras("EfficientNetV2B0")),
    "NASNetMobile": ("Keras", keras("NASNetMobile")),
    "retinanet_resnet50_fpn": ("torchvision", finest_level),
    "lraspp_mobilenet_v3_large": ("torchvision", lraspp),
    "BertModel": ("transformers", bert),
    "GPT2LMHeadModel": ("transformers", gpt2),
    "Unet": ("segmentation_models_pytorch", unet),
    "Wav2Letter": ("torchaudio", wav2letter),
}
