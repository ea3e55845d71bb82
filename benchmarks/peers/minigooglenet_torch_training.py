#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MiniGoogLeNet trained on CIFAR-10 in PyTorch, on the CPU, with the recipe that minigooglenet_cifar has by default.

Pixels from 0 to 255 minus their mean over the training set; shifts of up to a tenth and flips, by the nearest pixel;
Glorot's uniform weights; SGD with momentum 0.9, its rate inside the velocity as in Keras, from 5e-3 in a straight line
to 0, an epoch a step. Batches of 64, the rest of an epoch's pictures left out. It writes the columns that
minigooglenet_cifar's history has. Different only: random numbers, and that PyTorch's running variance is the unbiased
one, greater by a factor of 1.0003 at most.
"""
import argparse
import csv
import pathlib
import time

import numpy
import torch
from torch import nn

from minigooglenet_torch import minigooglenet

SIDE, PICTURE = 32, 1 + 3 * 32 * 32  # bytes of a record: a label, then three planes


def records(files):
    """Labels (n) and pictures (n, 3, 32, 32) of CIFAR-10's .bin files."""
    everything = numpy.concatenate([numpy.fromfile(f, numpy.uint8) for f in files]).reshape(-1, PICTURE)
    return torch.from_numpy(everything[:, 0].astype(numpy.int64)), everything[:, 1:].reshape(-1, 3, SIDE, SIDE)


def shifted_and_flipped(pictures, random):
    """Each picture by its own two shifts, in U(-0.1, 0.1) of a side, borders repeated; every second one mirrored."""
    n, here = len(pictures), numpy.arange(SIDE)
    rows, columns = (numpy.clip(numpy.rint(here + random.uniform(-0.1, 0.1, (n, 1)) * SIDE).astype(int), 0, SIDE - 1)
                     for _ in range(2))
    columns = numpy.where(random.random((n, 1)) < 0.5, columns[:, ::-1], columns)
    return pictures[numpy.arange(n)[:, None, None, None], numpy.arange(3)[:, None, None],
                    rows[:, None, :, None], columns[:, None, None, :]]


class Training:
    def __init__(self, o):
        self.o, self.random = o, numpy.random.default_rng(o.seed)
        torch.manual_seed(o.seed)
        torch.set_num_threads(o.threads)
        self.labels, self.pictures = records([o.data / f"data_batch_{i}.bin" for i in range(1, 6)])
        self.test_labels, self.test_pictures = records([o.data / "test_batch.bin"])
        self.mean = self.pictures.mean(0, dtype=numpy.float64).astype(numpy.float32)
        self.net = minigooglenet().to(memory_format=torch.channels_last)
        for layer in self.net.modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=o.learning_rate, momentum=0.9)
        self.loss_of = nn.CrossEntropyLoss()

    def inputs(self, pictures):
        """Channels-last, as the network is: for PyTorch the faster of its two layouts here."""
        return torch.from_numpy(pictures - self.mean).contiguous(memory_format=torch.channels_last)

    def set_rate(self, rate):
        """PyTorch multiplies the velocity by today's rate; Keras's velocity has each step's own rate in it."""
        group = self.optimizer.param_groups[0]
        for state in self.optimizer.state.values():
            state["momentum_buffer"].mul_(group["lr"] / rate)
        group["lr"] = rate

    def epoch(self):
        """(mean loss, accuracy) over the training pictures, as they were met."""
        self.net.train()
        loss_sum, right, batch = 0.0, 0, self.o.batch_size
        order = self.random.permutation(len(self.pictures))
        steps = len(order) // batch
        for chosen in order[:steps * batch].reshape(steps, batch):
            x, y = self.inputs(shifted_and_flipped(self.pictures[chosen], self.random)), self.labels[chosen]
            self.optimizer.zero_grad(set_to_none=True)
            scores = self.net(x)
            loss = self.loss_of(scores, y)
            loss.backward()
            self.optimizer.step()
            loss_sum += float(loss.detach())
            right += int((scores.detach().argmax(1) == y).sum())
        return loss_sum / steps, right / (steps * batch)

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        loss_sum, right = 0.0, 0
        for first in range(0, len(self.test_pictures), self.o.batch_size):
            y = self.test_labels[first:first + self.o.batch_size]
            scores = self.net(self.inputs(self.test_pictures[first:first + self.o.batch_size]))
            loss_sum += float(self.loss_of(scores, y)) * len(y)
            right += int((scores.argmax(1) == y).sum())
        return loss_sum / len(self.test_pictures), right / len(self.test_pictures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the directory of CIFAR-10's .bin files")
    parser.add_argument("--history", type=pathlib.Path, required=True, help="where the .csv goes, a row an epoch")
    parser.add_argument("--epochs", type=int, default=70)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    o = parser.parse_args()

    training = Training(o)
    with open(o.history, "w", newline="", encoding="utf-8") as file:
        history = csv.writer(file, lineterminator="\n")
        history.writerow("epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second".split(","))
        print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {o.threads} threads", flush=True)
        for epoch in range(o.epochs):
            begin, rate = time.perf_counter(), o.learning_rate * (1 - epoch / o.epochs)
            training.set_rate(rate)
            loss, acc = training.epoch()
            trained = time.perf_counter() - begin
            val_loss, val_acc = training.evaluate()
            seconds = time.perf_counter() - begin
            seen = len(training.pictures) // o.batch_size * o.batch_size
            history.writerow([epoch + 1, loss, acc, val_loss, val_acc, rate, seconds, seen / trained])
            file.flush()
            print(f"Epoch {epoch + 1}/{o.epochs}\n - {seconds:.0f}s - loss: {loss:.4f} - acc: {acc:.4f} - "
                  f"val_loss: {val_loss:.4f} - val_acc: {val_acc:.4f}", flush=True)


if __name__ == "__main__":
    main()
