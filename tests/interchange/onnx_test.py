#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests typenet's ONNX files with onnx's checker and with onnxruntime, if these are installed.

    onnx_test.py ONNX_MODELS_PROGRAM

Every file must pass the checker with shape inference, keep its batch dimension open, and give what typenet predicts,
for each batch size: to 1e-5, Winograd's transforms to 1e-4; of values above 1, that share of them. Exit 77: one of the
two is missing.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

BOUNDS = {"reference": 1e-5, "direct": 1e-5, "winograd": 1e-4}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_file(path):
    """Returns the faults of a file other than wrong numbers."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path))
    wrong = []
    ends = (*model.graph.input, *model.graph.output)
    for value in (*ends, *model.graph.value_info):
        dims = value.type.tensor_type.shape.dim
        # Masks, positions and shapes, which are the same for every batch, are the only values without a batch.
        fixed = value not in ends and all(d.dim_value > 0 for d in dims)
        if not fixed and (dims[0].dim_param != "batch" or not all(d.dim_value > 0 for d in dims[1:])):
            wrong.append(f"{value.name} has the shape {dims}")
    known = {i.name for i in model.graph.initializer} | {i.name for i in model.graph.input}
    if len(known) != len(model.graph.initializer) + 1:
        wrong.append("a name is there twice")
    if (model.producer_name, model.ir_version, model.opset_import[0].version) != ("typenet", 8, 17):
        wrong.append("it is of another version")
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    a = p.parse_args()
    bad, worst, sessions = 0, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        lines = subprocess.run([a.program, folder], check=True, capture_output=True, text=True).stdout.splitlines()
        for name, batch, executor in map(str.split, lines):
            if name not in sessions:
                for wrong in check_file(folder / f"{name}.onnx"):
                    print(f"{name}: {wrong}")
                    bad += 1
                sessions[name] = session(folder / f"{name}.onnx")
            s = sessions[name]
            (i,), (o,) = s.get_inputs(), s.get_outputs()
            x = np.fromfile(folder / f"{name}.{batch}.input", np.float32).reshape(int(batch), *i.shape[1:])
            ours = np.fromfile(folder / f"{name}.{batch}.{executor}", np.float32).reshape(int(batch), *o.shape[1:])
            (theirs,) = s.run([o.name], {i.name: x})
            assert theirs.shape == ours.shape and np.ptp(ours) > 0.05, "numbers that show nothing"
            error = float((np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))).max())
            worst[name, executor] = max(worst.get((name, executor), 0), error)
            if not error <= BOUNDS[executor]:
                print(f"{name}, batch {batch}, on {executor}: {error:.1e} apart: FAILED")
                bad += 1
    for (name, executor), error in worst.items():
        print(f"{name} on {executor}: {error:.1e}")
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}: {len(sessions)} files, {bad} bad")
    sys.exit(1 if bad or len(sessions) < 30 else 0)


if __name__ == "__main__":
    main()
