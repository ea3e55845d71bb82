#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the networks of timm_networks.txt as typenet's types, by way of ONNX, and compares their weights.

    timm_networks.py ONNX_TO_TYPENET [--networks NAME,... | sample | all] [--program ONNX_IMPORTED]
                     [--results FILE] [--table] [--note TEXT] [--limit SECONDS]

Each network gets random weights and is exported by PyTorch's older exporter, with every batch normalisation kept.
onnx_to_typenet converts the file, and the header must compile. The number of trainable weights must be that of
PyTorch's parameters(). With --program, typenet must also predict what onnxruntime does, to 1e-4 of the largest value,
or, if float is not enough for that, have at most three times onnxruntime's error compared with PyTorch in double.
If typenet refuses a network, the result is the node, its operator and the reason.

docs/timm_networks.md has the results for all networks. A network that is built there must be built, and one that is
refused there must be refused. --results appends each result to a file of JSON lines, and leaves out networks that are
in this file already. With --table, the program writes docs/timm_networks.md from the file, with the note, and tries nothing. Exit 77: a
framework is missing.
"""
import argparse
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

from result_file import Results

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/timm_networks.md"
sys.path.insert(0, str(HERE))

# Small networks with different operators. The stage "models" runs them.
SAMPLE = "resnet26t,dla34,tinynet_a,convmixer_768_32,vit_tiny_patch16_224,poolformer_s12,mobilenetv4_conv_small"

INTRO = """\
# Networks of timm

<!-- Written by tests/interchange/timm_networks.py --table. -->

The networks of `tests/interchange/timm_networks.txt`: each of timm's 98 modules, with one to 16 networks, mostly the
smallest of each kind of block. The list was fixed before the first of them was tried. Each network has random weights.
PyTorch's older exporter writes it as an ONNX file, and `onnx_to_typenet` converts the file to a type. A network is
*built* if the header compiles and has as many trainable weights as PyTorch's `parameters()`. Some are also compared
with onnxruntime: the number is the largest difference of the outputs, relative to the largest output. `scripts/test
models` tries a sample of these networks, and all of them with `TYPENET_TIMM=all`.

If a network is not built, the table has the reason: the error of `onnx_to_typenet`, or of the exporter. *Other weights*
means that the header compiles, with another number of trainable weights. An ONNX file does not say which of its tensors
were trained: a buffer, such as the kernel of a blur, is read as a weight, and a single number as a constant, which
training does not change. A normalisation of weights is computed by the import.

"""
KERAS = """
## Keras

Two of Keras's 40 applications are not in `<dsl/models.hpp>`. `NASNetLarge` and `NASNetMobile` cannot be made with
Keras's torch backend (Keras 3.15.1), which PyTorch's exporter needs; timm's `nasnetalarge` is among the networks above.
`InceptionResNetV2`, which is in `<dsl/models.hpp>` as [`keras::inception_resnet_v2`](keras_models.md), is exported and
converted, and its header compiles, but with 55,982,040 trainable weights instead of Keras's 55,813,192: Keras computes
each batch normalisation with a multiplication and an addition, which become a `channel_scale` and a convolution.
"""
CHECK = """#include "model.hpp"
static_assert(imported::model::trainable_parameter_count == WEIGHTS);
"""


def listed():
    """Returns the module of each network."""
    lines = (HERE / "timm_networks.txt").read_text().splitlines()
    rows = [line.split(": ") for line in lines if line and not line.startswith("#")]
    return {name: module for module, names in rows for name in names.split()}


def compiler():
    return shlex.split(os.environ.get("TYPENET_GCC") or "g++")


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def first_error(text):
    """Returns the first error of a compiler, without the name of the file."""
    for line in text.splitlines():
        if found := re.search(r"error: (.*)", line):
            return found[1][:300]
    return (text.strip().splitlines() or ["no message"])[-1][:300]


def made(name, compares):
    """Returns a network with random weights, and an input. If `compares`, batch normalisations get the statistics of a
    batch, so that the output depends on the input."""
    import timm
    import torch
    from onnx_import_test import calibrate

    torch.manual_seed(7)
    torch.set_num_threads(1)
    model = timm.create_model(name, pretrained=False, exportable=True).eval()
    size = model.pretrained_cfg.get("input_size", (3, 224, 224))
    x = torch.randn(1, *size, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        for value in model.parameters():  # nothing may be equal by its initial value
            if value.dim() == 1:
                value.add_(torch.empty_like(value).uniform_(-0.1, 0.1))
            elif not value.any():
                value.normal_(0, 0.02)
    if any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in model.modules()) and compares:
        calibrate(model, torch.randn(4, *size, generator=torch.Generator().manual_seed(4)))
    return model, x


def attempt(a, name, folder):
    """Returns the result for one network: weights in PyTorch, and "built", "refused", "other weights" and so on."""
    import torch

    try:
        model, x = made(name, bool(a.program))
    except Exception as e:  # noqa: BLE001, a library may raise anything
        return {"state": "not made", "why": (str(e).strip().splitlines() or [type(e).__name__])[0][:300]}
    result = {"weights": sum(p.numel() for p in model.parameters()), "input": list(x.shape[1:])}
    path = folder / f"{name}.onnx"
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(model, (x,), str(path), dynamo=False, do_constant_folding=False, opset_version=17,
                              training=torch.onnx.TrainingMode.PRESERVE)
    except Exception as e:  # noqa: BLE001, an exporter may raise anything
        return result | {"state": "not exported", "why": (str(e).strip().splitlines() or [type(e).__name__])[0][:300]}
    done = run(a.tool, path, folder / "w.safetensors", "--namespace", "imported")
    if done.returncode != 0:
        why = done.stderr.strip().removeprefix("error: ").removeprefix(f"onnx: {path}: ")
        why = why.partition("; change the network and export it again")[0]  # the advice is the same in all rows
        return result | {"state": "refused", "why": why[:400]}
    (folder / "model.hpp").write_text(done.stdout)
    (folder / "main.cpp").write_text(CHECK.replace("WEIGHTS", str(result["weights"])))
    done = run(*compiler(), "-std=c++20", "-fsyntax-only", f"-I{ROOT}/include", "main.cpp", cwd=folder)
    if done.returncode != 0:
        if found := re.search(r"comparison reduces to .\((\d+) == (\d+)\)", done.stderr):
            return result | {"state": "other weights", "why": f"{int(found[1]):,} trainable weights"}
        return result | {"state": "not compiled", "why": first_error(done.stderr)}
    result["state"] = "built"
    if a.program:
        result["error"], result["small"] = difference(a, path, x, folder, model)
    return result


def difference(a, path, x, folder, model):
    """Returns the largest difference of the predictions from onnxruntime's, relative to the largest output; and whether
    it is small enough."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    theirs = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0].ravel()
    x.numpy().tofile(folder / "input")
    done = run(a.program, path, folder / "input", folder / "output")
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    ours = np.fromfile(folder / "output", np.float32)

    def apart(a, b):
        return float(np.abs(a - b).max() / np.abs(b).max())

    if apart(ours, theirs) < 1e-4:
        return apart(ours, theirs), True
    import torch
    with torch.no_grad():
        exact = model.double()(x.double()).numpy().ravel()
    return apart(ours, theirs), apart(ours, exact) <= 3 * apart(theirs, exact)


def in_child(a, name):
    """Tries one network in a process of its own, so that its memory is given back and its time is limited."""

    def child(sender):
        with tempfile.TemporaryDirectory() as folder:
            try:
                sender.send(attempt(a, name, Path(folder)))
            except Exception as e:  # noqa: BLE001
                sender.send({"state": "failed", "why": (str(e).strip().splitlines() or [type(e).__name__])[0][:300]})

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    sender.close()
    try:
        result = receiver.recv() if receiver.poll(a.limit) else {"state": "not tried", "why": f"over {a.limit} s"}
    except EOFError:
        result = {"state": "failed", "why": "the process ended without a result"}
    process.kill()
    process.join()
    return {"name": name} | result


def expected():
    """Returns what docs/timm_networks.md says of each network: whether it is built."""
    text = PAGE.read_text() if PAGE.exists() else ""
    built, _, refused = text.partition("| Network |")
    return ({name: True for name in re.findall(r"`(\w+)`", built.partition("Built: ")[2])} |
            {name: False for name in re.findall(r"^\| `(\w+)` \|", refused, re.M)})


def shown(result):
    """Returns a result as one cell of the table."""
    state, why = result["state"], result.get("why", "").replace("|", "\\|")
    if state == "built":
        return f"built, {result['error']:.1e}" if "error" in result else "built"
    why = re.split(r"\. Please|  \[Caused", why)[0]
    return why if state == "refused" else f"{state}: {why}"


def page(results, note):
    """Returns the text of docs/timm_networks.md."""
    import importlib.metadata as installed

    names = listed()
    of = {name: results.get(name, {"state": "not tried", "why": "not in this run"}) for name in names}
    built = [name for name in names if of[name]["state"] == "built"]
    compared = sum("error" in r for r in of.values())
    versions = ", ".join(f"{p} {installed.version(p).split('+')[0]}" for p in ("torch", "timm", "onnxruntime"))
    return render([(name, of[name].get("error")) for name in built],
                  [(name, shown(of[name])) for name in names if name not in built], compared, versions, note)


def render(built, refused, compared, versions, note):
    """Returns the page for networks that are built, with their differences, and for others, with the reasons."""
    words = ", ".join(f"`{name}`" + (f" ({error:.1e})" if error is not None else "") for name, error in built)
    head = (f"{len(built)} of {len(built) + len(refused)} networks are built; {compared} of these are compared with "
            f"onnxruntime.{' ' + note if note else ''}")
    table = "".join(f"| `{name}` | {why} |\n" for name, why in refused)
    lines = [textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) for text in (head, f"Built: {words}.")]
    return (INTRO + "\n\n".join(lines) + f"\n\n| Network | Why it is not built |\n|---|---|\n{table}\nVersions: {versions}.\n" + KERAS)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tool")
    p.add_argument("--networks", default="sample")
    p.add_argument("--program")
    p.add_argument("--results", type=Path)
    p.add_argument("--table", action="store_true")
    p.add_argument("--note", help="a sentence on these results, for the page")
    p.add_argument("--limit", type=int, default=900)
    a = p.parse_args()
    a.tool, a.program = Path(a.tool).resolve(), a.program and Path(a.program).resolve()
    results = Results(a.results, "name")
    if a.table:
        PAGE.write_text(page(results, a.note))
        return 0
    try:
        import onnxruntime  # noqa: F401
        import timm  # noqa: F401
        import torch  # noqa: F401
    except ImportError as e:
        print(f"skipped: {e}")
        return 77
    all_names = list(listed())
    chosen = {"all": all_names, "sample": SAMPLE.split(",")}.get(a.networks) or a.networks.split(",")
    wanted, bad = expected(), 0
    for name in chosen:
        if name in results:
            continue
        result = in_child(a, name)
        built = result["state"] == "built"
        fine = result.get("small", True) and wanted.get(name, built) == built
        bad += not fine
        print(f"{name}: {shown(result)}{'' if fine else '  OTHER THAN EXPECTED'}", flush=True)
        results.add(result)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
