# SPDX-License-Identifier: MIT
"""A program that answers each line with a line of JSON and keeps its prepared networks between requests."""
import json
import os
import queue
import subprocess
import threading

import measuring
from stage import OWN_GROUP, STILL_THERE, Failure, Late, is_gone, kill

MOST_ERRORS = 8192  # the bytes of a program's standard error that the log contains


class Worker:
    """A worker process. It is started by the first request, and again by the next request after it has ended."""

    def __init__(self, stage, command, environment=None):
        self.stage, self.command, self.environment = stage, [str(c) for c in command], environment
        self.process = self.errors = None
        self.kept = ""

    def start(self):
        """Starts the process. Call it early: interpreters take seconds to start."""
        self.keep_errors()  # of the previous process
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
        """Returns the answer. Throws Failure if the answer is an error, and Late after the time limit, having killed
        the process."""
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
            raise Failure(f"its answer is not JSON: {answer[:200]}") from None
        if "error" in found:
            raise Failure(found["error"])
        return found

    def last_errors(self):
        """Returns the end of its standard error without moving the file's position, which it shares."""
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), MOST_ERRORS, max(0, size - MOST_ERRORS)).decode(errors="replace").strip()

    def said(self):
        """Returns the last line of its standard error."""
        lines = (self.last_errors() if self.errors else self.kept).splitlines()
        return (lines or [f"exit code {self.process.returncode}, no message"])[-1][:300]

    def keep_errors(self):
        """Copies its standard error, such as tracebacks, to the log once it has ended."""
        if self.errors is None:
            return
        self.kept = self.last_errors()
        self.errors.close()
        self.errors = None
        if self.kept:
            self.stage.log(f"[the standard error of {' '.join(self.command[-2:])}, "
                           f"exit code {self.process and self.process.returncode}]", self.kept, "")

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def end(self):
        """Kills it, and returns a text if it still exists."""
        kill(self.process)
        gone = is_gone(self.process)
        self.stage.running.discard(self.process)
        self.keep_errors()
        return "" if gone else STILL_THERE

    def close(self):
        """Lets it end by itself, and kills it only if it does not: a killed process may keep a device busy for a
        while."""
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
