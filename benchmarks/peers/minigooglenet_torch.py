#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures one step of MiniGoogLeNet in PyTorch on the CPU, and prints one JSON line, as minigooglenet_step does.

The network is that of dsl::minigooglenet<10>, with biases before batch normalisation and Keras's constants. Training is
forward, cross-entropy, backward and SGD with momentum; inference is the forward pass in inference_mode. The images are
already in the requested layout. Two things that typenet's step does are omitted here: the softmax in inference, and
counting correct predictions.
"""
import argparse
import json
import resource
import time

import torch
from torch import nn


class Concat(nn.ModuleList):
    def forward(self, x):
        return torch.cat([branch(x) for branch in self], dim=1)


def conv(inputs, filters, size, stride=1, padding="same"):
    return nn.Sequential(nn.Conv2d(inputs, filters, size, stride, padding=size // 2 if padding == "same" else 0),
                         nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01), nn.ReLU(inplace=True))


def minigooglenet(classes=10):
    layers, channels = [conv(3, 96, 3)], 96
    # (1x1 filters, 3x3 filters) of an inception module, or the number of filters of a downsample module
    for block in ((32, 32), (32, 48), 80, (112, 48), (96, 64), (80, 80), (48, 96), 96, (176, 160), (176, 160)):
        if isinstance(block, tuple):
            layers.append(Concat([conv(channels, block[0], 1), conv(channels, block[1], 3)]))
            channels = sum(block)
        else:
            layers.append(Concat([conv(channels, block, 3, 2, "valid"), nn.MaxPool2d(3, 2)]))
            channels += block
    return nn.Sequential(*layers, nn.AvgPool2d(7), nn.Dropout(0.5), nn.Flatten(), nn.Linear(channels, classes))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mode", choices=["train", "infer"])
    parser.add_argument("batch", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("warmup", type=int)
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--compile", action="store_true", help="torch.compile with its default mode")
    o = parser.parse_args()

    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # before the network is made
    torch.manual_seed(1)
    torch.set_num_threads(o.threads)
    layout = torch.channels_last if o.layout == "nhwc" else torch.contiguous_format
    net = minigooglenet().to(memory_format=layout).train(o.mode == "train")
    assert sum(p.numel() for p in net.parameters()) == 1_652_826
    images = torch.empty(o.batch, 3, 32, 32).uniform_(-1.7, 1.7).to(memory_format=layout)
    labels = torch.randint(0, 10, (o.batch,))
    optimizer = torch.optim.SGD(net.parameters(), lr=5e-3, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    forward = torch.compile(net) if o.compile else net

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss_of(forward(images), labels).backward()
        optimizer.step()

    def infer():
        with torch.inference_mode():
            forward(images)

    step, times = train if o.mode == "train" else infer, []
    for s in range(o.warmup + o.steps):
        begin = time.perf_counter()
        step()
        if s >= o.warmup:
            times.append(time.perf_counter() - begin)
    median = sorted(times)[len(times) // 2]
    print(json.dumps({"peer": f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", **vars(o),
                      "step_s": median, "images_per_s": o.batch / median, "import_rss_mib": imported}))


if __name__ == "__main__":
    main()
