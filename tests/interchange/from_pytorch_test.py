#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of docs/from_pytorch.md as they are written, and compares what they print with what the page says.

    from_pytorch_test.py

Blocks of Python run in one interpreter, blocks of sh in one folder with a link to include/ and examples/. Each text block
after a command must be part of resnet18.hpp, until the program; the program and PyTorch must print the same numbers.
Exit 77: PyTorch or torchvision is missing.
"""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import torch
    import torchvision  # noqa: F401
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    page = (ROOT / "docs/from_pytorch.md").read_text()
    blocks = re.findall(r"^```(python|sh|text)\n(.*?)^```$", page.split("## What is read")[0], re.M | re.S)
    torch.manual_seed(5)
    warnings.simplefilter("ignore")
    printed, seen, names = [], 0, {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in ("include", "examples"):
            Path(part).symlink_to(ROOT / part)
        for kind, text in blocks:
            if kind == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(text, names)  # the page's own code
                printed.append(out.getvalue())
            elif kind == "sh":
                done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True)
                if done.returncode != 0:
                    print(done.stderr)
                    return 1
                printed.append(done.stdout)
            else:
                seen += 1
                if text not in Path("resnet18.hpp").read_text():
                    print(f"resnet18.hpp has no\n{text}")
                    return 1
    numbers = [[float(n) for n in text.split()] for text in printed if re.fullmatch(r"(-?\d+\.\d+\s+){3}", text)]
    print(seen, "blocks of text;", numbers)
    ours, theirs = numbers
    return 0 if seen == 2 and all(abs(x - y) < 1e-4 * max(1, abs(y)) for x, y in zip(ours, theirs)) else 1


if __name__ == "__main__":
    sys.exit(main())
