#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether programs and scripts leave files that they did not write as they are.

    keeps_files_test.py FOLDER_OF_PROGRAMS

Each one is run where its outputs exist already, with other content. None may change them; those with --force say so.
onnx_to_typenet, export_onnx and download_cifar10 are in onnx_program_test.cpp and data_test.cpp, accuracy_curves in
accuracy_curves_test.py; minigooglenet_cifar's outputs have tests of their own.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FORCE = "or --force"
# What is run, the outputs that exist, and words of the message.
CASES = [
    ("tabular_classification", ["tabular_classification.csv"], "csv: tabular_classification.csv must"),
    ("tabular_regression", ["tabular_regression.csv"], "csv: tabular_regression.csv must"),
    ("transfer_learning", ["transfer_learning.safetensors"], "transfer_learning.safetensors: it must not exist"),
    ("embedded_train .", ["expected_8.bin", "expected_16.bin"], FORCE),
    ("embedded_train .", ["weights.bin", "pictures.bin"], FORCE),
    ("browser_train . 10 1", ["samples.bin", "expected.bin"], FORCE),
    ("browser_train . 10 1", ["model.bin", "classes.txt"], FORCE),
    ("scripts/single_header -o typenet.hpp", ["typenet.hpp"], FORCE),
    ("docs/build_reference --source there -o reference.html", ["reference.html"], FORCE),
    ("examples/browser/build_page -o page.html", ["page.html"], FORCE),
    ("benchmarks/tabular --known known.json --output table.md", ["known.json", "table.md"], FORCE),
    ("benchmarks/two_trainings --output both.json", ["both.json"], FORCE),
    ("benchmarks/run --output step.json", ["step.md"], FORCE),
    ("benchmarks/compiler_messages/run programs.md --json all.json", ["all.json"], FORCE),
]
MINE = b"column,other\nmine,not yours\n"


def check(command, outputs, words, programs, folder):
    """Returns what is wrong; None if nothing is."""
    for output in outputs:
        (folder / output).write_bytes(MINE)
    program, *arguments = command.split()
    path = ROOT / program if "/" in program else programs / program
    if not path.exists():
        return None if "/" not in program else "there is no such script"
    kind = [sys.executable, "-B"] if "/" in program else []
    done = subprocess.run([*kind, path, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    changed = [o for o in outputs if (folder / o).read_bytes() != MINE]
    others = sorted(p.name for p in folder.iterdir() if p.name not in outputs)
    if changed or others:
        return f"it changed {changed} and wrote {others}"
    said = done.stdout + done.stderr
    if done.returncode == 0 or words not in said:
        return f"it must say {words!r}; found exit code {done.returncode} and {said!r}"
    return None


def main():
    wrong = 0
    for command, outputs, words in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = check(command, outputs, words, pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        if found:
            wrong += 1
            print(f"{command}: {found}")
    with tempfile.TemporaryDirectory() as name:  # what a script wrote itself, it may write again
        header = pathlib.Path(name) / "typenet.hpp"
        for _ in range(2):
            subprocess.run([sys.executable, "-B", ROOT / "scripts/single_header", "-o", header], check=True)
        header.write_bytes(MINE)
        subprocess.run([sys.executable, "-B", ROOT / "scripts/single_header", "-o", header, "--force"], check=True)
        if header.read_bytes() == MINE:
            wrong += 1
            print("single_header --force replaced nothing")
    print(f"{len(CASES) + 1 - wrong} of {len(CASES) + 1} keep the files of others")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
