#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one step of MiniGoogLeNet in JAX on a GPU, and prints one JSON line, as benchmarks/cuda_step does.

    minigooglenet_jax_cuda.py train|infer BATCH bf16|tf32|fp32 STEPS WARMUP resident|fixed|host [jit]
    minigooglenet_jax_cuda.py serve      reads the same words line by line from standard input

The network is that of dsl::minigooglenet<10>, channels last, in plain JAX. A step is one jitted function that donates
the memory of its arguments. With train, a step is the forward pass, cross-entropy, the backward pass and SGD with
momentum. With bf16, tensors and factors are in bf16; parameters, statistics and loss are always in float. With infer, a
step is the forward pass, with batch normalisation folded into the convolutions, as in cuda_step. Batches are gathered
and augmented on the device, as in cuda_step (resident); or one batch stays on the device (fixed); or each batch is
copied from the host's memory (host), pinned or pageable, whichever is faster, which "copied_from" states.
The answer to a request that fails is {"error": ...}. The exit code is 77 if there is no device. "--device cpu" after
the words runs it on the CPU, to try it out.
"""
import functools
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if sys.argv[-2:] == ["--device", "cpu"]:
    os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other programs measure on the same device
import jax
import jax.numpy as jnp
import numpy
import serving
from jax import lax
from jax.sharding import SingleDeviceSharding

# (1x1 filters, 3x3 filters) of an inception module, or the number of filters of a downsample module
BLOCKS = ((32, 32), (32, 48), 80, (112, 48), (96, 64), (80, 80), (48, 96), 96, (176, 160), (176, 160))
CLASSES, EPSILON, MOMENTUM = 10, 1e-3, 0.99


def convolutions():
    """Returns (inputs, filters, size) of each convolution, in the order in which forward() uses them."""
    found, channels = [(3, 96, 3)], 96
    for block in BLOCKS:
        if isinstance(block, tuple):
            found += [(channels, block[0], 1), (channels, block[1], 3)]
            channels = sum(block)
        else:
            found.append((channels, block, 3))
            channels += block
    return found, channels


def initial(key):
    """Returns (parameters, running statistics). Kernels are (height, width, inputs, filters), by He's method."""
    shapes, channels = convolutions()
    parameters, statistics = [], []
    for inputs, filters, size in shapes:
        key, own = jax.random.split(key)
        parameters.append({"kernel": jax.random.normal(own, (size, size, inputs, filters))
                           * (2 / (size * size * inputs)) ** 0.5,
                           "bias": jnp.zeros(filters), "gamma": jnp.ones(filters), "beta": jnp.zeros(filters)})
        statistics.append({"mean": jnp.zeros(filters), "variance": jnp.ones(filters)})
    key, own = jax.random.split(key)
    parameters.append({"kernel": jax.random.normal(own, (channels, CLASSES)) * channels ** -0.5,
                       "bias": jnp.zeros(CLASSES)})
    return parameters, statistics


def forward(parameters, statistics, x, dtype, key=None):
    """Returns (logits, new statistics). x is (batch, 32, 32, 3). A key means training; dropout is drawn from it."""
    layers, new = iter(zip(parameters, statistics)), []

    def conv(x, stride=1, padding="SAME"):
        p, s = next(layers)
        y = lax.conv_general_dilated(x, p["kernel"].astype(dtype), (stride, stride), padding,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["bias"].astype(dtype)
        if s is None:  # it has been folded into the kernel and the bias
            return jax.nn.relu(y)
        wide = y.astype(jnp.float32)
        if key is None:
            mean, variance = s["mean"], s["variance"]
        else:
            mean = wide.mean((0, 1, 2))
            variance = jnp.square(wide - mean).mean((0, 1, 2))
            new.append({"mean": MOMENTUM * s["mean"] + (1 - MOMENTUM) * mean,
                        "variance": MOMENTUM * s["variance"] + (1 - MOMENTUM) * variance})
        scale = p["gamma"] * lax.rsqrt(variance + EPSILON)
        return jax.nn.relu((wide - mean) * scale + p["beta"]).astype(dtype)

    x = conv(x.astype(dtype))
    for block in BLOCKS:
        if isinstance(block, tuple):
            x = jnp.concatenate([conv(x), conv(x)], axis=3)
        else:
            pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")
            x = jnp.concatenate([conv(x, 2, "VALID"), pooled], axis=3)
    x = x.mean((1, 2))  # the window of the pool is the whole image, 7 x 7
    if key is not None:
        x = jnp.where(jax.random.bernoulli(key, 0.5, x.shape), 2 * x, 0)
    return (x @ parameters[-1]["kernel"].astype(dtype) + parameters[-1]["bias"].astype(dtype)).astype(jnp.float32), new


def folded(parameters, statistics):
    """Returns (parameters, statistics) for inference, with each batch_norm folded into a kernel and a bias."""
    convolutions = []
    for p, s in zip(parameters, statistics):
        scale = p["gamma"] * lax.rsqrt(s["variance"] + EPSILON)
        convolutions.append({"kernel": p["kernel"] * scale, "bias": (p["bias"] - s["mean"]) * scale + p["beta"]})
    return convolutions + parameters[-1:], [None] * len(statistics)


def on_its_way(pictures):
    """Returns the name of the fastest way to copy the images to the device, and a function that copies them."""
    ways = {"pageable": functools.partial(jax.device_put, pictures)}
    try:
        there = SingleDeviceSharding(jax.devices()[0])
        pinned = jax.device_put(pictures, there.with_memory_kind("pinned_host"))
        ways["pinned"] = functools.partial(jax.device_put, pinned, there.with_memory_kind("device"))
        ways["pinned"]().block_until_ready()
    except Exception:  # not every version and device supports it
        ways.pop("pinned", None)
    seconds = {}
    for name, bring in ways.items():
        for _ in range(20):
            begin = time.perf_counter()
            bring().block_until_ready()
            seconds[name] = min(seconds.get(name, 1e9), time.perf_counter() - begin)
    best = min(ways, key=seconds.get)
    return best, ways[best]


def trained(state, images, labels, dtype):
    """Returns (the new state, the loss) after one step of SGD with momentum."""
    state["key"], key = jax.random.split(state["key"])

    def loss_of(parameters):
        logits, new = forward(parameters, state["statistics"], images, dtype, key)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean(), new

    (loss, new), gradients = jax.value_and_grad(loss_of, has_aux=True)(state["parameters"])
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, state["velocity"], gradients)
    parameters = jax.tree.map(lambda p, v: p - 1e-3 * v, state["parameters"], velocity)
    return {**state, "parameters": parameters, "velocity": velocity, "statistics": new}, loss


def gathered(data, state, batch):
    """Returns the next batch of a data set on the device, shifted by up to a tenth, flipped and mean-subtracted."""
    n = data["labels"].shape[0] // batch * batch
    which = lax.dynamic_slice(data["order"], (state["at"],), (batch,))
    state["at"] = (state["at"] + batch) % n
    state["key"], shifts, flips = jax.random.split(state["key"], 3)
    shift = jnp.floor(jax.random.uniform(shifts, (2, batch, 1), minval=-3.2, maxval=3.2) + 0.5).astype(jnp.int32)
    line = jnp.arange(32)
    columns = jnp.where(jax.random.bernoulli(flips, 0.5, (batch, 1)), 31 - line, line)
    rows, columns = jnp.clip(line + shift[0], 0, 31), jnp.clip(columns + shift[1], 0, 31)
    place = rows[:, :, None], columns[:, None, :]
    # the mean is subtracted before the shift, so that it is shifted together with the image
    images = data["pictures"][which[:, None, None], place[0], place[1]].astype(jnp.float32) - data["mean"][place]
    return images, data["labels"][which]


class Step:
    """A request that has been prepared; run() enqueues a step."""

    def __init__(self, request, device):
        self.mode, self.batch, self.precision, self.steps, self.warmup, self.input, self.variant = request
        dtype = jnp.bfloat16 if self.precision == "bf16" else jnp.float32
        random = numpy.random.default_rng(1)
        images = random.uniform(-1.7, 1.7, (self.batch, 32, 32, 3)).astype(numpy.float32)
        labels = random.integers(0, CLASSES, self.batch, dtype=numpy.int32)
        parameters, statistics = initial(jax.random.key(1))
        assert sum(p.size for p in jax.tree.leaves(parameters)) == 1_652_826
        begin = time.perf_counter()
        self.out, loss = None, 0.0
        # how float factors are rounded; set permanently, since a change causes another compilation
        jax.config.update("jax_default_matmul_precision", {"bf16": None, "tf32": "tensorfloat32",
                                                           "fp32": "float32"}[self.precision])
        self.copied_from = None
        if self.mode == "infer":
            parameters, statistics = folded(parameters, statistics)
            self.prepare_inference(jax.tree.map(lambda p: p.astype(dtype), parameters), statistics, images, dtype)
        else:
            loss = self.prepare_training(parameters, statistics, images, labels, dtype, random)
        for _ in range(3):
            self.run()
        self.wait()
        self.prepared = {"prepare_s": time.perf_counter() - begin, "loss": loss}

    def prepare_inference(self, parameters, statistics, images, dtype):
        step = jax.jit(lambda p, s, x: forward(p, s, x, dtype)[0])
        if self.input == "fixed":
            ready = jax.device_put(images)
            bring = lambda: ready
        else:
            self.copied_from, bring = on_its_way(images)

        def run():
            self.out = step(parameters, statistics, bring())
        self.run = run

    def prepare_training(self, parameters, statistics, images, labels, dtype, random):
        state = {"parameters": parameters, "statistics": statistics, "key": jax.random.key(2), "at": jnp.int32(0),
                 "velocity": jax.tree.map(jnp.zeros_like, parameters)}
        if self.input == "resident":
            n = max(serving.PICTURES, self.batch * max(self.steps, self.warmup))
            pictures = random.integers(0, 256, (n, 32, 32, 3), dtype=numpy.uint8)
            data = jax.device_put({"pictures": pictures, "mean": pictures[:1000].astype(numpy.float32).mean(0),
                                   "labels": random.integers(0, CLASSES, n, dtype=numpy.int32),
                                   "order": random.permutation(n).astype(numpy.int32)})
            batch = functools.partial(gathered, batch=self.batch)
        else:
            data = jax.device_put((images, labels)) if self.input == "fixed" else (images, labels)
            batch = lambda data, state: data

        @functools.partial(jax.jit, donate_argnums=0)
        def step(state, data):
            state = dict(state)
            return trained(state, *batch(data, state), dtype)

        def run():
            self.state, self.out = step(self.state, data)
        self.state, self.run = state, run
        run()
        return float(self.out)

    def wait(self):
        jax.block_until_ready(self.out)  # all results of a function become ready at the same time

    def measure(self):
        times = serving.timed(self.run, self.wait, self.steps, self.warmup)
        on = jax.devices()[0]
        memory = ((on.memory_stats() or {}).get("peak_bytes_in_use", 0)) / 2**20
        return {"peer": f"jax {jax.__version__} on {on.device_kind}", "mode": self.mode, "batch": self.batch,
                "precision": self.precision, "input": self.input, "variant": self.variant, **times,
                "copied_from": self.copied_from, "images_per_s": self.batch / times["step_s"],
                "reserved_mib": round(memory, 1), **self.prepared}


def has_device():
    return any(d.platform == "gpu" for d in jax.devices())


if __name__ == "__main__":
    sys.exit(serving.answer_all(__doc__, ("jit",), jax.__version__, has_device, Step))
