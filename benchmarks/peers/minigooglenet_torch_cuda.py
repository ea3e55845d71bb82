#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one step of MiniGoogLeNet in PyTorch on a GPU, and prints one JSON line, as benchmarks/cuda_step does.

    minigooglenet_torch_cuda.py train|infer BATCH bf16|tf32|fp32 STEPS WARMUP resident|fixed|host [eager|graph|compile]
    minigooglenet_torch_cuda.py serve      reads the same words line by line from standard input

The network is that of dsl::minigooglenet<10>, channels last. With train, a step is forward, cross-entropy, backward and
fused SGD with momentum, for bf16 under autocast. With infer, a step is the forward pass, for bf16 with the whole model
in bf16, and with batch normalisation folded into the convolutions, as in cuda_step. Batches are gathered and augmented
on the device, as in cuda_step (resident); or one batch stays on the device (fixed); or each batch is copied from pinned
memory (host). With graph, the step is captured as one CUDA graph. With compile, torch.compile with mode="max-autotune",
which captures graphs itself, compiles the forward and backward pass and the gathering before them. In all variants,
cuDNN times all of its algorithms.
The answer to a request that fails is {"error": ...}. The exit code is 77 if there is no device. "--device cpu" after
the words runs it on the CPU, to try it out.
"""
import contextlib
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import serving
import torch
from minigooglenet_torch import minigooglenet
from torch.nn.utils.fusion import fuse_conv_bn_eval

VARIANTS = ("eager", "graph", "compile")


def folded(net):
    """Returns the network for inference: each batch_norm is folded into the convolution before it."""
    for layer in list(net.modules()):
        if isinstance(layer, torch.nn.Sequential) and len(layer) > 1 and isinstance(layer[1], torch.nn.BatchNorm2d):
            layer[0], layer[1] = fuse_conv_bn_eval(layer[0], layer[1]), torch.nn.Identity()
    return net


class Resident(torch.nn.Module):
    """Gathers batches of a data set on the device: shifted by up to a tenth, flipped and mean-subtracted. The position
    in the epoch's order is on the device, too, so that replaying a captured step advances it. This is a module, so that
    torch.compile treats the position as state."""

    def __init__(self, batch, longest, device):
        super().__init__()
        n = max(serving.PICTURES, batch * longest)
        pictures = torch.randint(0, 256, (n, 32, 32, 3), dtype=torch.uint8, device=device)
        for name, tensor in (("pictures", pictures), ("labels", torch.randint(0, 10, (n,), device=device)),
                             ("mean", pictures[:1000].float().mean(0)), ("order", torch.randperm(n, device=device)),
                             ("at", torch.arange(batch, device=device)), ("line", torch.arange(32, device=device))):
            self.register_buffer(name, tensor)
        self.batch, self.size, self.device = batch, n // batch * batch, device

    def forward(self):
        which = self.order[self.at]
        self.at.add_(self.batch).remainder_(self.size)
        shift = torch.empty(2, self.batch, 1, device=self.device).uniform_(-3.2, 3.2).add_(0.5).floor_().long()
        flip = torch.rand(self.batch, 1, device=self.device) < 0.5
        columns = torch.where(flip, 31 - self.line, self.line)
        rows, columns = (self.line + shift[0]).clamp_(0, 31), (columns + shift[1]).clamp_(0, 31)
        place = (rows[:, :, None], columns[:, None, :])
        # the mean is subtracted before the shift, so that it is shifted together with the image
        x = self.pictures[which[:, None, None], place[0], place[1]].float() - self.mean[place[0], place[1]]
        return x.permute(0, 3, 1, 2), self.labels[which]  # NHWC in memory, that is, channels last


class Whole(torch.nn.Module):
    """The part of a training step that torch.compile compiles: gathering the batch, and its loss."""

    def __init__(self, source, net):
        super().__init__()
        self.source, self.net, self.loss_of = source, net, torch.nn.CrossEntropyLoss()

    def forward(self, *batch):
        """Returns the loss of a batch. Without a batch, gathers the next one, which must be in the device's memory."""
        pictures, wanted = batch or self.source()
        return self.loss_of(self.net(pictures), wanted)


class Step:
    """A request that has been prepared; run() enqueues a step."""

    def __init__(self, request, device):
        self.mode, self.batch, self.precision, self.steps, self.warmup, self.input, self.variant = request
        self.cuda = device == "cuda"
        torch.manual_seed(1)
        torch.backends.cudnn.benchmark, torch.backends.cudnn.benchmark_limit = True, 0  # 0: it times all plans
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.precision == "tf32"
        train, bf16 = self.mode == "train", self.precision == "bf16"
        net = minigooglenet().to(device).to(memory_format=torch.channels_last).train(train)
        assert sum(p.numel() for p in net.parameters()) == 1_652_826
        dtype = torch.bfloat16 if bf16 and not train else torch.float32
        net = (net if train else folded(net)).to(dtype)
        forward = net
        x = torch.empty(self.batch, 3, 32, 32).uniform_(-1.7, 1.7)
        labels = torch.randint(0, 10, (self.batch,)).to(device)
        if self.input == "host":
            pinned = x.pin_memory() if self.cuda else x
            there = torch.empty_like(x, device=device)
            # copied first without converting: a copy that also converts would convert on the CPU
            ready = torch.empty_like(there, dtype=dtype, memory_format=torch.channels_last)
            source = lambda: (there.copy_(pinned, non_blocking=True), (ready.copy_(there), labels))[1]
        elif self.input == "fixed":
            ready = x.to(device, dtype).to(memory_format=torch.channels_last)
            source = lambda: (ready, labels)
        else:
            source = Resident(self.batch, max(self.steps, self.warmup), device)
        if train:
            forward = Whole(source, net)
        if self.variant == "compile":
            torch._dynamo.reset()
            forward = torch.compile(forward, mode="max-autotune")
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, fused=self.cuda)
        autocast = lambda: torch.autocast(device, torch.bfloat16) if bf16 and train else contextlib.nullcontext()

        def step():
            if self.variant == "compile":
                torch.compiler.cudagraph_mark_step_begin()
            if not train:
                with torch.inference_mode(self.variant != "compile"), torch.no_grad():
                    forward(source()[0])
                return
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = forward(*source()) if self.input == "host" else forward()
            loss.backward()
            optimizer.step()
            self.loss = loss.detach()

        begin = time.perf_counter()
        self.loss = None
        step()
        first = self.loss.item() if train else 0.0
        self.step = step  # keeps the network and the images alive, whose addresses a captured step contains
        self.run = self.captured(step) if self.variant == "graph" else step
        for _ in range(3):
            self.run()
        self.wait()
        self.prepared = {"prepare_s": time.perf_counter() - begin, "loss": first}

    def captured(self, step):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def measure(self):
        times = serving.timed(self.run, self.wait, self.steps, self.warmup)
        memory = torch.cuda.max_memory_reserved() / 2**20 if self.cuda else 0
        return {"peer": f"torch {torch.__version__}, cudnn {torch.backends.cudnn.version()}", "mode": self.mode,
                "batch": self.batch, "precision": self.precision, "input": self.input, "variant": self.variant,
                **times, "images_per_s": self.batch / times["step_s"], "reserved_mib": round(memory, 1),
                **self.prepared}


def make(request, device):
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return Step(request, device)


if __name__ == "__main__":
    sys.exit(serving.answer_all(__doc__, VARIANTS, torch.__version__, torch.cuda.is_available, make))
