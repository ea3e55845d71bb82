#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that public headers read declarations only when typenet is compiled once.

With TYPENET_COMPILED, a header that a program includes (the table in docs/README.md) reads at most as many of typenet's
headers as the table below allows, and no header of another library. The facts of operations are not counted, since there
is a file for each operation. The compiler only preprocesses, and needs no library to be installed.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# The most headers of typenet that public headers may read.
MOST = {
    8: """version.hpp data/sample_source.hpp data/sample_stream.hpp data/normalization.hpp data/with_weights.hpp
          data/pixel_classes.hpp data/with_input.hpp data/with_target.hpp data/tokens.hpp data/vocabulary.hpp
          executors/cuda/nccl.hpp towers/launcher.hpp""",
    18: """training/earlier_files.hpp data/csv.hpp data/npy.hpp data/crop_and_cutout.hpp training/check_derivative.hpp
           training/regression_scores.hpp towers/mpi.hpp pictures.hpp""",
    40: """executors/onednn.hpp executors/cuda.hpp training/confusion_matrix.hpp training/score_metrics.hpp
           training/of_output.hpp text/confusion_table.hpp io/confusion_plot.hpp io/tensorboard.hpp io/safetensors.hpp
           io/keras_h5.hpp io/onnx.hpp io/onnx_import.hpp""",
    70: "callbacks.hpp placement.hpp text/dot.hpp io/embedded_weights.hpp",
    110: "language.hpp models.hpp",
    125: "training/predictor.hpp io/checkpoint.hpp",
    170: "dsl.hpp towers.hpp text.hpp",
}
LIMITS = {header: most for most, headers in MOST.items() for header in headers.split()}

# Public headers that read another library's: members of their classes have its types.
READS = {
    "io/keras_h5.hpp": {"hdf5.h"},
    "towers/mpi.hpp": {"mpi.h"},
}
# Public headers that programs with the compiled library cannot include.
HEADER_ONLY = {"embedded.hpp"}
# Headers of C++ and of POSIX.
SYSTEM = re.compile(r"[a-z_]+|sys/[a-z]+\.h|(dirent|fcntl|pthread|sched|signal|spawn|time|unistd)\.h")


def public_headers(page):
    """Returns the headers in the first column of the table "What a program includes"."""
    table = page.read_text().partition("What a program includes:\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", table, re.M)
    return [header for cell in rows for header in re.findall(r"`([^`]+)`", cell) if header not in HEADER_ONLY]


def read_by(compiler, headers):
    """Returns the headers of typenet that each of `headers` reads."""
    every = {}
    for header in headers:
        made = subprocess.run([compiler, "-std=c++20", "-DTYPENET_COMPILED", f"-I{INCLUDE}", "-M", "-MG", "-x", "c++", "-"],
                              input=f"#include <dsl/{header}>\n", capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit(f"{header}: {made.stderr}")
        every[header] = sorted({p.partition("/dsl/")[2] for p in made.stdout.split() if p.startswith(f"{INCLUDE}/dsl/")})
    return every


def other_libraries(header, files):
    """Returns the headers of other libraries that `files` include."""
    found = set()
    for file in files:
        for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", (INCLUDE / "dsl" / file).read_text(), re.M):
            if not name.startswith("dsl/") and not SYSTEM.fullmatch(name):
                found.add(name)
    return found - READS.get(header, set())


def faults_of(compiler, page):
    headers = public_headers(page)
    faults = [f"{h} is in the table of limits, but not in {page.name}" for h in LIMITS if h not in headers]
    for header, files in read_by(compiler, headers).items():
        count = sum(not f.startswith("operations/") for f in files)
        if count > LIMITS.get(header, 0):
            faults.append(f"{header} must read at most {LIMITS.get(header, 0)} headers if TYPENET_COMPILED is defined; found "
                          f"{count}; include in x_inl.hpp what only definitions need, or move it in the table of limits")
        for name in sorted(other_libraries(header, files)):
            faults.append(f"{header} reads {name} although TYPENET_COMPILED is defined; include it in an _inl.hpp")
    return faults


if __name__ == "__main__":
    found = faults_of(sys.argv[1], ROOT / "docs" / "README.md")
    print("\n".join(found) if found else f"{len(LIMITS)} public headers read declarations only")
    sys.exit(1 if found else 0)
