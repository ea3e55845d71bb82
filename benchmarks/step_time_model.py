# SPDX-License-Identifier: MIT
"""The model with which benchmarks/scaling predicts the time of a training step on many devices, in seconds and bytes.

The time of a step is the time in which a tower computes its part of the batch, and the time for which it waits for sums
over all towers. docs/scaling.md explains the terms and compares the predictions with measurements.
"""
import bisect
import dataclasses
import math

HEADER_BYTES = 56  # the header that towers/mpi.hpp sends before each message


@dataclasses.dataclass
class Compute:
    """The time of a tower's forward pass, backward pass and update: fixed + per_sample * samples."""

    fixed: float
    per_sample: float

    def step(self, samples):
        return self.fixed + self.per_sample * samples


def fitted(samples, seconds):
    """Returns the Compute with the least squares of relative errors; so small batches count as much as large ones."""
    w = [1 / s**2 for s in seconds]
    sw, sx, sy = sum(w), sum(a * x for a, x in zip(w, samples)), sum(a * y for a, y in zip(w, seconds))
    sxx = sum(a * x * x for a, x in zip(w, samples))
    sxy = sum(a * x * y for a, x, y in zip(w, samples, seconds))
    slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
    return Compute((sy - slope * sx) / sw, slope)


@dataclasses.dataclass
class Local:
    """The seconds in which the towers of one process synchronise, and the seconds in which a core adds up a byte."""

    meeting: float
    per_byte: float

    def sum(self, towers, size):
        """Returns the time of a sum: the core of each tower adds up its part of the numbers over all towers."""
        return self.meeting + self.per_byte * size if towers > 1 else 0.0


@dataclasses.dataclass
class Link:
    """Measured rounds of messages: in a round each process sends one message to each of the others."""

    processes: list  # the numbers of processes that were measured, ascending
    header: list  # seconds of a round of headers
    part_bytes: list  # the bytes of one part of all gradients
    part: list  # seconds of a round of parts

    def round(self, processes, size):
        """Returns the time of a round of messages of `size` bytes, interpolated between headers and parts."""
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
    """Towers on processor cores; each process has the same number of towers, and `link` connects the processes."""

    compute: Compute
    local: Local
    link: Link

    def sum(self, processes, towers, size):
        """Returns the time to sum `size` bytes of gradients: each process sums a part and sends it to the others."""
        if processes == 1:
            return self.local.sum(towers, size)
        part = size / processes
        messages = (2 * self.link.round(processes, HEADER_BYTES) + self.link.round(processes, towers * part)
                    + self.link.round(processes, part))
        in_memory = self.local.per_byte * (towers * size + processes * towers * part)  # for packing, then adding up
        return self.local.meeting * (towers > 1) + messages + in_memory

    def step(self, processes, towers, samples, buckets, moments_bytes):
        """Returns the time of a step with `samples` per tower. buckets: (bytes, share of the step when complete)."""
        compute = self.compute.step(samples)
        over = waited_for(compute, [(self.sum(processes, towers, size), done) for size, done in buckets])
        return compute + over + self.sum(processes, towers, moments_bytes) * (processes * towers > 1)


@dataclasses.dataclass
class Fabric:
    """GPUs that NCCL connects: bytes per second and seconds per hop, within a machine and between machines."""

    in_machine: float
    in_machine_hop: float
    between: float
    between_hop: float
    per_machine: int

    def sum(self, devices, size):
        """Returns the time of a sum with a ring, or with trees within and between machines, whichever is faster."""
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
    """Returns the time that sums take after the computation has ended. Each sum is (seconds, share of the step after
    which it can begin). Sums run one after the other, at the same time as the computation."""
    free = 0.0
    for seconds, done in sums:
        free = max(free, done * compute) + seconds
    return max(0.0, free - compute)
