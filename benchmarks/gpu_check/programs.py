# SPDX-License-Identifier: MIT
"""Builds the programs of the stages with one call of the compiler each, without CMake."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil

import measuring
from stage import NO_DEVICE, Failure, Skip
from toolkit import tail

ROOT = measuring.ROOT
FOLDER = ROOT / "build/gpu_check/programs"
CARRIED = ROOT / "build/carry"
SOURCES = {
    "gpu_conformance": ["tests/cuda/gpu_conformance.cpp"],
    "cuda_step": ["benchmarks/cuda_step.cpp"],
    "cuda_train": ["benchmarks/cuda_train.cpp"],
    "cuda_options": ["benchmarks/cuda_options.cpp"],
    "minigooglenet_cifar": ["examples/minigooglenet_cifar.cpp"],
}


def compiler(wanted=None):
    """Returns the C++ compiler: --cxx, $CXX, or the first of the usual names that exists."""
    for name in (wanted, os.environ.get("CXX"), "g++", "g++-14", "g++-13", "g++-12", "clang++-19", "clang++", "c++"):
        if name and shutil.which(name):
            return shutil.which(name)
    raise Failure("no C++ compiler; name one with --cxx")


def has_carried(header):
    """Returns the folder of a header-only library, among the carried ones or on the system, or None."""
    for folder in (CARRIED / "include", pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")):
        if (folder / header).is_file():
            return folder
    return None


def flags_of(name):
    flags = ["-I", "include", "-I", "tests"]
    if name == "minigooglenet_cifar":
        flags += ["-DTYPENET_HAS_TEXT=1", "-DTYPENET_HAS_CUDA=1", "-DFMT_HEADER_ONLY=1"]
        for header in ("fmt/core.h", "CLI/CLI.hpp"):
            folder = has_carried(header)
            if folder is None:
                return None
            if folder == CARRIED / "include":
                flags += ["-isystem", folder]
    return flags


def is_new(program, command):
    """Whether a program was built by the same command from files that have not changed since."""
    try:
        if pathlib.Path(f"{program}.command").read_text() != "\n".join(command):
            return False
        made = program.stat().st_mtime
        words = pathlib.Path(f"{program}.d").read_text().replace("\\\n", " ").split()
        return all((ROOT / w).stat().st_mtime < made for w in words if not w.endswith(":"))
    except OSError:
        return False


def build(stage, name):
    """Builds a program and returns its path. A Failure has the compiler's errors."""
    program, kit = FOLDER / name, stage.toolkit
    FOLDER.mkdir(parents=True, exist_ok=True)
    flags = flags_of(name)
    if flags is None:
        raise Failure(f"{name} needs fmt and CLI11, which were found neither on this machine nor among the carried "
                      "headers")
    command = [str(c) for c in (compiler(stage.options.cxx), "-std=c++20", "-O2", *flags, *kit.compile_flags(), "-MMD",
                                "-MF", f"{program}.d", *SOURCES[name], "-o", program, *kit.link_flags())]
    if is_new(program, command):
        return program
    program.unlink(missing_ok=True)
    done = stage.run(command)
    if done.returncode != 0:
        lines = [x for x in done.out.splitlines() if "error" in x or "undefined reference" in x]
        raise Failure(f"{name} could not be built: " + (" | ".join(lines[:4]) or done.last(2)))
    pathlib.Path(f"{program}.command").write_text("\n".join(command))
    return program


def libraries(stage):
    kit = stage.toolkit
    if kit.missing:
        raise Failure("; ".join(["incomplete: " + "; ".join(kit.missing)] + kit.notes) + f"; looked in "
                      f"{', '.join(kit.roots) or 'no folder'}; add folders with --cuda or --python, or headers with "
                      "scripts/gpu_check carry")
    return "; ".join([tail(f) for f in kit.libraries.values()] + kit.notes)


def build_all(stage, names):
    """Builds programs, each as a part of the stage, --jobs at a time. Returns {name: path} of those that were built."""
    if stage.part("NVIDIA's libraries", libraries, stage) is None:
        return {}
    with concurrent.futures.ThreadPoolExecutor(stage.options.jobs) as pool:
        started = {n: pool.submit(build, stage, n) for n in names}
        built = {n: stage.part(f"build {n}", future.result) for n, future in started.items()}
    return {n: path for n, path in built.items() if path}


def json_lines(text):
    """Returns the values of the lines that are JSON, with nan and inf as C++ writes them. Skips other lines, and one
    that is incomplete."""
    found = []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        with contextlib.suppress(ValueError):
            found.append(json.loads(re.sub(r": (-?)inf\b", r": \1Infinity", re.sub(r": -?nan\b", ": NaN", line))))
    return found


def last_json(done):
    """Returns the last line of JSON that a program printed. Libraries may print lines of their own after it."""
    found = json_lines(done.out)
    if not found:
        raise Failure(f"it printed no line of JSON: {done.last()}")
    return found[-1]


def with_device(stage, program, *arguments):
    """Runs a program on the device and sets stage.has_device. Throws Skip without a device, and Failure if nvidia-smi
    finds a device and the program does not."""
    done = stage.run([program, *arguments], 120)
    if done.returncode == NO_DEVICE:
        stage.has_device = False
        if stage.results.get("gpu"):
            raise Failure(f"nvidia-smi lists a GPU, but: {done.last()}")
        raise Skip("there is no device; the parts above do not need one")
    stage.has_device = True
    if done.timed_out:
        raise done.late()
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {done.last(3)}")
    return done


def step_on_device(stage, program):
    """Runs the smallest step and returns the name of the device. It uses floats, for which cuDNN need not compile
    plans, and so that an error in another precision does not prevent the other parts."""
    return last_json(with_device(stage, program, "infer", 1, "fp32_strict", 2, 0, "host", "deterministic"))["peer"]
