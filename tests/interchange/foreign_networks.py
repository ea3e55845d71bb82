#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Twenty networks that others wrote, as typenet's types, by way of ONNX.

    foreign_networks.py ONNX_IMPORTED ONNX_TO_TYPENET [--networks NAME,... | all] [--exporters legacy,dynamo]
                        [--keep FOLDER] [--results FILE] [--table FILE]

The list was fixed before the first of them was tried. Each network gets random weights, with a fixed seed, and is
exported with both of PyTorch's exporters. Then typenet either predicts what onnxruntime predicts, to 1e-4 of the
largest value, and the header that onnx_to_typenet prints compiles to the graph that made the predictions; or typenet
refuses the file, with the node, its operator and the reason. At least 15 must agree, and no one may be wrong. --table
writes docs/foreign_networks.md, --keep keeps the ONNX files and takes those that are there. --results appends each
result to a file; what it has is not tried again. Exit 77: a framework is missing; the networks of a missing library are
left out.
"""
import argparse
import datetime
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

from result_file import Results

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("KERAS_BACKEND", "torch")

INTRO = """\
# Networks that others wrote

<!-- Written by tests/interchange/foreign_networks.py --table. -->

The list of these 20 networks was fixed before the first of them was tried. Each of them gets random weights, and batch
normalisations get the statistics of a batch, so that the output depends on the input: another input must change it by
at least 5 %. The number is the largest difference from the outputs of onnxruntime, relative to the largest output. If
typenet cannot express a network, the table has the error of `onnx_to_typenet`. [From PyTorch to
C++](from_pytorch.md) lists the operators that are read.

| Network | Library | Input | older exporter | newer exporter | Date |
|---|---|---|---|---|---|
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


def prepared(name):
    """The model with random weights and its input, both with a fixed seed."""
    import numpy as np
    import torch

    torch.manual_seed(7)
    np.random.seed(7)
    model, shape = NETWORKS[name][1]()
    model = model.eval()
    with torch.no_grad():
        for key, value in model.state_dict().items():  # nothing may be equal by its initial value
            if key.endswith("running_var"):
                value.uniform_(0.7, 1.3)
            elif key.endswith("running_mean"):
                value.uniform_(-0.2, 0.2)
            elif value.dtype == torch.float32 and value.dim() == 1:
                value.add_(torch.empty_like(value).uniform_(-0.1, 0.1))
            elif value.dtype == torch.float32 and not value.any():  # timm initialises some classifiers with zeros
                value.normal_(0, 0.1)
    random = torch.Generator().manual_seed(3)
    if isinstance(shape, tuple):
        calibrate(model, torch.randn(4, *shape[1:], generator=random))
    if isinstance(shape, list):  # batch, tokens, vocabulary
        return model, torch.randint(0, shape[2], shape[:2], generator=random)
    return model, torch.randn(*shape, generator=random)


def calibrate(model, batch):
    """Gives every batch normalisation the statistics of a batch."""
    import torch
    from onnx_import_test import calibrate as calibrate_torch

    if not hasattr(model, "layers"):
        return calibrate_torch(model, batch)
    with torch.no_grad():  # Keras
        for layer in model.layers:
            if type(layer).__name__ == "BatchNormalization":
                layer.momentum = 0.0
        model(batch, training=True)


def channels_first(name, array):
    """An array in the order of typenet, whose channels come first."""
    import numpy as np

    library = NETWORKS[name][0]
    if array.ndim == 4 and library == "Keras":
        array = array.transpose(0, 3, 1, 2)
    elif array.ndim == 3 and library == "transformers":
        array = array.transpose(0, 2, 1)
    return np.ascontiguousarray(array, np.float32)


def export(model, x, path, exporter):
    import torch

    if path.exists():
        return
    options = {"dynamo": True, "verbose": False} if exporter == "dynamo" else {"dynamo": False}
    with torch.no_grad():
        torch.onnx.export(model, (x,), str(path), **options)


def attempt(a, name, exporter, model, x, folder):
    """Returns the error of the predictions as text, or the reason why typenet refuses the file."""
    import numpy as np
    import onnxruntime
    from onnx_import_test import check_header, run

    path = (a.keep or folder) / f"{name}_{exporter}.onnx"
    export(model, x, path, exporter)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    def run_theirs(values):
        return channels_first(name, session.run(None, {session.get_inputs()[0].name: values})[0]).ravel()

    theirs = run_theirs(x.numpy())
    change = float(np.abs(theirs - run_theirs(np.ascontiguousarray(x.numpy()[..., ::-1]))).max())
    channels_first(name, x.numpy()).tofile(folder / "input")
    try:
        printed = run(a.program, path, folder / "input", folder / "output")
    except RuntimeError as e:
        refusal = re.search(r"onnx: \S*\.onnx: ((?:node \d+|input|output|the graph).*)", str(e))
        if not refusal:
            raise
        return refusal[1].partition("; change the network and export it again")[0]  # the same advice in all rows
    ours = np.fromfile(folder / "output", np.float32)
    if ours.shape != theirs.shape or not change > 0.05 * np.abs(theirs).max():
        raise RuntimeError(f"{ours.shape} numbers instead of {theirs.shape}, or an output that hardly depends on the input: {change:.1e}")
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not error < 1e-4:
        raise RuntimeError(f"the predictions differ by {error:.1e}")
    if a.headers:
        check_header(a, path, folder, printed)
    return f"{error:.1e}"


def versions():
    import importlib.metadata as installed

    found = []
    for package in ("torch", "torchvision", "torchaudio", "onnxruntime", "timm", "keras", "transformers",
                    "segmentation-models-pytorch"):
        try:
            found.append(f"{package} {installed.version(package).split('+')[0]}")
        except installed.PackageNotFoundError:
            pass
    return ", ".join(found)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("tool")
    p.add_argument("--networks", default="all")
    p.add_argument("--exporters", default="legacy,dynamo")
    p.add_argument("--no-headers", dest="headers", action="store_false", help="do not compile the headers")
    p.add_argument("--keep", type=Path)
    p.add_argument("--results", type=Path)
    p.add_argument("--table", type=Path)
    a = p.parse_args()
    a.program, a.tool = Path(a.program).resolve(), Path(a.tool).resolve()
    try:
        import onnx_import_test  # noqa: F401, which exits if a framework is missing
    except ImportError as e:
        print(f"skipped: {e}")
        return 77
    warnings.simplefilter("ignore")
    names = list(NETWORKS) if a.networks == "all" else a.networks.split(",")
    exporters = a.exporters.split(",")
    results = Results(a.results, "network", "exporter")

    def keep(name, exporter, size, text):
        print(f"{name} {exporter}: {text}", flush=True)
        results.add({"network": name, "exporter": exporter, "input": size, "result": text,
                     "date": str(datetime.date.today())})

    if a.keep:
        a.keep.mkdir(parents=True, exist_ok=True)
    for name in names:
        left = [e for e in exporters if not (name, e) in results]
        if not left:
            continue
        try:
            model, x = prepared(name)
        except ImportError as e:
            print(f"{name}: skipped: {e}", flush=True)
            continue
        except ValueError as e:  # a model that its library cannot make here
            for exporter in left:
                keep(name, exporter, "", f"not tried: {str(e).splitlines()[0]}")
            continue
        for exporter in left:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    text = attempt(a, name, exporter, model, x, Path(folder))
                except Exception as e:  # noqa: BLE001, an exporter may raise anything
                    failed = str(e).strip().splitlines() or [type(e).__name__]
                    is_export = not isinstance(e, RuntimeError) or type(e).__module__ != "builtins"
                    text = "the exporter fails" if is_export else f"FAILED: {failed[0][:300]}"
            keep(name, exporter, "x".join(map(str, x.shape[1:])), text)
    agreeing = {name for (name, _), r in results.items() if re.fullmatch(r"\d\.\de-\d+", r["result"])}
    bad = sum(r["result"].startswith("FAILED") for r in results.values())
    tried = len({name for name, _ in results})
    print(f"{len(agreeing)} of {tried} networks agree, {bad} wrong")
    if a.table:
        a.table.write_text(page(results))
    return 1 if bad or (a.networks == "all" and len(agreeing) < 15 * tried / 20) else 0


def page(results):
    """Returns the text of docs/foreign_networks.md."""
    rows = []
    for name, (library, _) in NETWORKS.items():
        own = [results.get((name, e)) for e in ("legacy", "dynamo")]
        known = [r for r in own if r]
        if known:
            last = max(r["date"] for r in known)
            cells = [r["result"].replace("|", "\\|") + ("" if r["date"] == last else f" ({r['date']})") if r
                     else "not tried" for r in own]
            rows.append(" | ".join([f"| {name}", library, known[0]["input"], *cells, last + " |"]))
    return INTRO + "\n".join(rows) + "\n\nVersions: " + versions() + ".\n"


if __name__ == "__main__":
    sys.exit(main())
