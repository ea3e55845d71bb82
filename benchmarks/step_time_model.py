# SPDX-License-Identifier: MIT
"""How long a training step takes on many devices: what benchmarks/scaling predicts with. Seconds and bytes throughout.

A step is what one tower computes for its part of the batch, and whatever of the sums over all towers it has to wait for.
docs/scaling.md explains the terms and says how well they agree with what was measured.
"""
import bisect
import dataclasses
import math

HEADER_BYTES = 56  # towers/mpi.hpp's header, in front of each message


@dataclasses.dataclass
class Compute:
    """One tower's forward pass, backward pass and update, by its samples: a + b * samples."""

    fixed: float
    per_sample: float

    def step(self, samples):
        return self.fixed + self.per_sample * samples


def fitted(samples, seconds):
    """Least squares of the relative errors, so that small batches count as much as large ones."""
    w = [1 / s**2 for s in seconds]
    sw, sx, sy = sum(w), sum(a * x for a, x in zip(w, samples)), sum(a * y for a, y in zip(w, seconds))
    sxx = sum(a * x * x for a, x in zip(w, samples))
    sxy = sum(a * x * y for a, x, y in zip(w, samples, seconds))
    slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
    return Compute((sy - slope * sx) / sw, slope)


@dataclasses.dataclass
class Local:
    """What a core does in memory: towers of one process meet in `meeting`, and add up numbers at `per_byte`."""

    meeting: float
    per_byte: float

    def sum(self, towers, size):
        """Every tower's core adds up its part of the numbers, of all towers."""
        return self.meeting + self.per_byte * size if towers > 1 else 0.0


@dataclasses.dataclass
class Link:
    """Rounds of messages, as measured: every process sends, and gets, one message from each of the others."""

    processes: list  # ascending
    header: list  # seconds of a round of headers
    part_bytes: list  # a part of all gradients
    part: list  # seconds of a round of parts

    def round(self, processes, size):
        """Of messages of `size` bytes: between a header's time and a part's, in proportion to the bytes."""
        if processes < 2:
            return 0.0
        i = min(max(bisect.bisect_left(self.processes, processes), 1), len(self.processes) - 1)
        low, high = self.processes[i - 1], self.processes[i]
        share = (math.log(processes) - math.log(low)) / (math.log(high) - math.log(low))

        def between(a, b):
            return math.exp((1 - share) * math.log(a) + share * math.log(b))

        header, part = between(self.header[i - 1], self.header[i]), between(self.part[i - 1], self.part[i])
        whole = between(self.part_bytes[i - 1], self.part_bytes[i])
        return header + max(0.0, part - header) * max(0.0, size - HEADER_BYTES) / (whole - HEADER_BYTES)


@dataclasses.dataclass
class Host:
    """Towers on processor cores, `towers` in each process, processes connected by `link`."""

    compute: Compute
    local: Local
    link: Link

    def sum(self, processes, towers, size):
        """Of `size` bytes of gradients: each process adds up its part of all towers' and sends the others the sums."""
        if processes == 1:
            return self.local.sum(towers, size)
        part = size / processes
        messages = (2 * self.link.round(processes, HEADER_BYTES) + self.link.round(processes, towers * part)
                    + self.link.round(processes, part))
        in_memory = self.local.per_byte * (towers * size + processes * towers * part)  # packed, then added up
        return self.local.meeting * (towers > 1) + messages + in_memory

    def step(self, processes, towers, samples, buckets, moments_bytes):
        """`samples` a tower. buckets: (bytes, share of the step that is done when it is whole), in that order."""
        compute = self.compute.step(samples)
        over = waited_for(compute, [(self.sum(processes, towers, size), done) for size, done in buckets])
        return compute + over + self.sum(processes, towers, moments_bytes) * (processes * towers > 1)


@dataclasses.dataclass
class Fabric:
    """GPUs with NCCL's algorithms between them: bytes per second and seconds a hop, in a machine and between machines."""

    in_machine: float
    in_machine_hop: float
    between: float
    between_hop: float
    per_machine: int

    def sum(self, devices, size):
        """The faster of a ring and of a tree per machine and one over machines, as the library chooses."""
        if devices == 1:
            return 0.0
        inside = min(devices, self.per_machine)
        machines = math.ceil(devices / self.per_machine)
        speed = self.in_machine if machines == 1 else min(self.in_machine, self.between)
        ring_hop = self.in_machine_hop if machines == 1 else (
            (machines * self.between_hop + (devices - machines) * self.in_machine_hop) / devices)
        ring = 2 * (devices - 1) / devices * size / speed + 2 * (devices - 1) * ring_hop
        hops = 2 * (inside - 1) * self.in_machine_hop + 2 * math.ceil(math.log2(machines)) * self.between_hop
        return min(ring, 2 * size / speed + hops)

    def step(self, devices, compute, buckets):
        return compute + waited_for(compute, [(self.sum(devices, size), done) for size, done in buckets])


def waited_for(compute, sums):
    """Sums (seconds, share of the step when it may begin) one after the other beside the computing: what is left of
    them when that has ended."""
    free = 0.0
    for seconds, done in sums:
        free = max(free, done * compute) + seconds
    return max(0.0, free - compute)
