# SPDX-License-Identifier: MIT
"""Loads and saves the weights of a Keras model as .safetensors files with typenet's names ("conv2d_1/kernel"). Needs numpy.

    import keras_safetensors
    keras_safetensors.load(model, "weights.safetensors")   # every weight, or ValueError and nothing changed
    keras_safetensors.save(model, "weights.safetensors")

Each class of layers is counted separately, in the order of the data flow, with the branches of a Concatenate or Add one
after the other, as in typenet. The order in a subclassed model is unknown: pass layers=[model.stem, ...].
"""
import json
import os
import re
import struct
from pathlib import Path
import numpy as np

TYPES = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I64": np.int64}


def read(path):
    """Returns {name: array} and {name: text}. It trusts the file, which typenet should have written; otherwise use the
    safetensors package. A truncated file, or one of another format or type, is a ValueError that names it."""
    data = Path(path).read_bytes()
    try:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length].decode())
        metadata = header.pop("__metadata__", {})

        def array(entry):
            begin, end = entry["data_offsets"]
            kind = TYPES[entry["dtype"]]
            return np.frombuffer(data[8 + length + begin:8 + length + end], kind).reshape(entry["shape"])

        return {name: array(entry) for name, entry in header.items()}, metadata
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as e:
        raise ValueError(f"{path}: not a whole .safetensors file of {', '.join(TYPES)} ({e})") from e


def write(path, arrays, metadata):
    names = {np.dtype(t): name for name, t in TYPES.items()}
    order = ["F16", "F32", "F64", "I64"]
    arrays = {name: np.asarray(a, order="C") for name, a in arrays.items()}
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    sequence = sorted(arrays, key=lambda n: (-order.index(names[arrays[n].dtype]), n))
    for name in sequence:
        a = arrays[name]
        header[name] = {"dtype": names[a.dtype], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    whole = Path(f"{path}.{os.getpid()}.tmp")  # the file is renamed when it is complete
    whole.write_bytes(b"".join([struct.pack("<Q", len(text)), text, *(arrays[n].tobytes() for n in sequence)]))
    whole.replace(path)


def in_order(model):
    """Returns the layers with weights, each after the layers that it reads."""
    if not getattr(model, "outputs", None):
        raise ValueError(f"{model.name}: the order of its layers is not known; give layers=[...]")
    found, seen, waiting = [], set(), [(*t._keras_history[:2], False) for t in reversed(model.outputs)]
    while waiting:
        layer, call, ready = waiting.pop()
        if id(layer) in seen:
            continue
        if not ready:
            waiting.append((layer, call, True))
            # The tensors on which the layer was called; layer.input of a model would be the model's own input.
            inputs = layer._inbound_nodes[call].input_tensors
            waiting += [(*t._keras_history[:2], False) for t in reversed(inputs) if t._keras_history[0] is not layer]
            continue
        seen.add(id(layer))
        found += in_order(layer) if hasattr(layer, "layers") else [layer] if getattr(layer, "weights", None) else []
    return found


def counted(layer, counts):
    """Returns the name of a layer by its number among its class: "conv2d", then "conv2d_1"."""
    kind = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", type(layer).__name__)
    kind = re.sub(r"([a-z])([A-Z])", r"\1_\2", kind).lower()
    number = counts[kind] = counts.get(kind, -1) + 1
    return f"{kind}_{number}" if number else kind


def named_variables(model, layers=None):
    """Returns {typenet's name: variable}."""
    found, counts = {}, {}
    for layer in layers or in_order(model):
        name = counted(layer, counts)
        for variable in layer.weights:
            found[f"{name}/{variable.name}"] = variable
    return found


def h5_groups(model):
    """Returns the groups in which model.save_weights("x.weights.h5") stores the layers with weights, in the network's
    order. Pass them as keras_h5_options::groups for a model that contains models."""
    groups = {}

    def walk(model, above):
        counts = {}
        for layer in model.layers:
            groups[id(layer)] = f"{above}layers/{counted(layer, counts)}"
            if hasattr(layer, "layers"):
                walk(layer, groups[id(layer)] + "/")

    walk(model, "")
    return [groups[id(layer)] for layer in in_order(model)]


def load(model, path, layers=None):
    arrays, _ = read(path)
    variables = named_variables(model, layers)
    if arrays.keys() != variables.keys():
        missing, more = sorted(variables.keys() - arrays.keys()), sorted(arrays.keys() - variables.keys())
        raise ValueError(f"{path}: not the model's weights; missing {missing[:3]}, of no layer {more[:3]}")
    for name, variable in variables.items():
        if tuple(variable.shape) != arrays[name].shape:
            raise ValueError(f"{path}: {name} is {arrays[name].shape}, the model's {tuple(variable.shape)}")
    for name, variable in variables.items():
        variable.assign(arrays[name])


def save(model, path, layers=None):
    variables = named_variables(model, layers)
    write(path, {name: v.numpy() for name, v in variables.items()}, {"format": "keras"})
