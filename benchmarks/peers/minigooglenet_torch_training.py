#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains MiniGoogLeNet on CIFAR-10 in PyTorch, on the CPU, with the default recipe of minigooglenet_cifar.

Pixels are from 0 to 255, minus their mean over the training set. Images are shifted by up to a tenth and flipped, with
the nearest pixel. Weights are Glorot's uniform numbers. The optimizer is SGD with momentum 0.9, with the learning rate
inside the velocity, as in Keras; the rate decreases linearly from 5e-3 to 0, once per epoch. Batches have 64 images;
the images that do not fill a batch are omitted. The output has the columns of minigooglenet_cifar's history. There are
two differences: the random numbers, and PyTorch's running variance, which is unbiased and therefore larger by a factor
of at most 1.0003.
"""
import argparse
import csv
import pathlib
import time

import numpy
import torch
from torch import nn

from minigooglenet_torch import minigooglenet

SIDE, PICTURE = 32, 1 + 3 * 32 * 32  # the bytes of a record: a label, then three planes


def records(files):
    """Returns the labels (n) and the images (n, 3, 32, 32) of CIFAR-10's .bin files."""
    everything = numpy.concatenate([numpy.fromfile(f, numpy.uint8) for f in files]).reshape(-1, PICTURE)
    return torch.from_numpy(everything[:, 0].astype(numpy.int64)), everything[:, 1:].reshape(-1, 3, SIDE, SIDE)


def shifted_and_flipped(pictures, random):
    """Shifts each image by random parts U(-0.1, 0.1) of its sides, repeating its border, and flips half of them."""
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
        """Returns images in channels-last order, like the network: the faster of PyTorch's two layouts here."""
        return torch.from_numpy(pictures - self.mean).contiguous(memory_format=torch.channels_last)

    def set_rate(self, rate):
        """Sets the learning rate, and scales the velocity, since PyTorch multiplies the velocity by the rate."""
        group = self.optimizer.param_groups[0]
        for state in self.optimizer.state.values():
            state["momentum_buffer"].mul_(group["lr"] / rate)
        group["lr"] = rate

    def epoch(self):
        """Returns (mean loss, accuracy) over the training images, measured while training."""
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
    parser.add_argument("--history", type=pathlib.Path, required=True, help="write the .csv here, one row per epoch")
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
