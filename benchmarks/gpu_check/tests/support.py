# SPDX-License-Identifier: MIT
"""Common parts of the tests of gpu_check: stages whose programs are small scripts, so that no device is needed."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "benchmarks/gpu_check"), str(ROOT / "benchmarks"), str(ROOT / "benchmarks/peers")]


def load(path):
    """Returns a script whose name does not end with .py as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module


gpu_check = load(ROOT / "scripts/gpu_check")
from stage import Stage
from toolkit import Toolkit


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu_check_test_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.stages, self.said = [], io.StringIO()
        quiet = contextlib.ExitStack()
        self.addCleanup(quiet.close)
        quiet.enter_context(contextlib.redirect_stdout(self.said))
        quiet.enter_context(contextlib.redirect_stderr(self.said))  # the warning that the machine is busy

    def tearDown(self):
        for s in self.stages:
            s.log_file.close()
            s.scratch.cleanup()

    def options(self, *words):
        return gpu_check.arguments([*words, "--output", str(self.folder / "results")])

    def stage(self, *words):
        s = Stage(words[0], self.options(*words), Toolkit(only=[]))
        self.stages.append(s)
        return s

    def program(self, name, text):
        """Writes an executable that runs the Python text."""
        path = self.folder / name
        path.write_text(f"#!{sys.executable} -BS\nimport json, os, sys, time\n{text}\n")
        path.chmod(0o755)
        return path

    def status(self, s):
        """Returns {name: status} of the stage's parts."""
        return {p["name"]: p["status"] for p in s.parts}

    def detail(self, s, name):
        return next(p["detail"] for p in s.parts if p["name"] == name)

    def result(self, name):
        return json.loads((self.folder / "results" / f"{name}.json").read_text())
