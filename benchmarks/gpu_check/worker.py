# SPDX-License-Identifier: MIT
"""A program that answers each line with one of JSON, and keeps what it has made ready between two questions."""
import json
import os
import queue
import subprocess
import threading

import measuring
from stage import OWN_GROUP, STILL_THERE, Failure, Late, is_gone, kill

MOST_ERRORS = 8192  # bytes of what a program wrote to its standard error, in the log


class Worker:
    """Started at the first question, and again at the next one after it has ended."""

    def __init__(self, stage, command, environment=None):
        self.stage, self.command, self.environment = stage, [str(c) for c in command], environment
        self.process = self.errors = None
        self.kept = ""

    def start(self):
        """Long before the first answer is wanted: interpreters take seconds to come up."""
        self.keep_errors()  # of the one before
        self.stage.log("$ " + " ".join(self.command))
        self.answers = queue.Queue()
        self.errors = open(f"{self.stage.scratch.name}/{id(self)}.err", "w+b")
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, env=self.environment, cwd=measuring.ROOT, text=True,
                                            errors="replace", **OWN_GROUP)
        except OSError as e:
            raise Failure(f"{self.command[0]}: {e.strerror}") from None
        self.stage.running.add(self.process)
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def listen(process, answers):
        for line in process.stdout:
            if line.startswith("{"):
                answers.put(line)
        answers.put(None)

    def ask(self, words, seconds):
        """The answer. Failure where it has an error, Late where it comes too late (the program is ended)."""
        if not self.alive():
            self.start()
        line, limit = " ".join(str(w) for w in words), max(1.0, min(seconds, self.stage.left()))
        self.stage.log(f"> {line}")
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.answers.get(timeout=limit)
        except queue.Empty:
            raise Late(f"no answer within {limit:.0f} s{self.end()}") from None
        except OSError:
            answer = None
        if answer is None:
            self.close()
            raise Failure(f"it ended: {self.said()}")
        self.stage.log(f"< {answer.strip()}")
        try:
            found = json.loads(answer)
        except ValueError:
            raise Failure(f"its answer is no JSON: {answer[:200]}") from None
        if "error" in found:
            raise Failure(found["error"])
        return found

    def last_errors(self):
        """The end of what it wrote to its standard error, read without moving the file's position, which it shares."""
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), MOST_ERRORS, max(0, size - MOST_ERRORS)).decode(errors="replace").strip()

    def said(self):
        """The last line of its errors."""
        lines = (self.last_errors() if self.errors else self.kept).splitlines()
        return (lines or [f"exit code {self.process.returncode}, no message"])[-1][:300]

    def keep_errors(self):
        """They go into the log once, when it has ended: tracebacks above all."""
        if self.errors is None:
            return
        self.kept = self.last_errors()
        self.errors.close()
        self.errors = None
        if self.kept:
            self.stage.log(f"[what {' '.join(self.command[-2:])} wrote to its standard error, "
                           f"exit code {self.process and self.process.returncode}]", self.kept, "")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def end(self):
        """Kills it; in words, whether it is still there."""
        kill(self.process)
        gone = is_gone(self.process)
        self.stage.running.discard(self.process)
        self.keep_errors()
        return "" if gone else STILL_THERE

    def close(self):
        """By its own will first: a killed process may leave a device busy for a while."""
        if self.process is None:
            return
        if self.alive():
            try:
                self.process.stdin.close()
                self.process.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                self.end()
        self.stage.running.discard(self.process)
        self.keep_errors()
