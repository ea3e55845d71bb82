# SPDX-License-Identifier: MIT
"""The base of all stages: parts that may fail without ending the run, a time limit, programs, and result files."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import measuring

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"
NO_DEVICE = 77
MOST_ROWS = 20  # of the printed list of parts; if there are more, the parts that passed are omitted
# Each program has its own process group, so that it can be ended together with its children. It stays in this script's
# session, because a caller that kills this script looks for remaining processes in the session.
OWN_GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}


class Failure(Exception):
    """A part has failed; the stage continues with the next one."""


class Skip(Exception):
    """A part cannot be done here, which is not an error of typenet."""


class Late(Failure):
    """A part has exceeded its time limit."""


class Done:
    """A program that has ended. timed_out: it was killed at its time limit; stage_over: at the end of the stage's time;
    stuck: it was killed but still exists."""

    def __init__(self, returncode, out, seconds, timed_out=False, stage_over=False, stuck=False):
        self.returncode, self.out, self.seconds = returncode, out, seconds
        self.timed_out, self.stage_over, self.stuck = timed_out, stage_over, stuck

    def last(self, lines=1):
        return " | ".join([x for x in self.out.strip().splitlines() if x.strip()][-lines:]) or "no output"

    def late(self):
        """Returns the exception for a program that was killed at a time limit."""
        there = STILL_THERE * self.stuck
        if self.stage_over:
            return Skip(f"the time of the stage ended after {self.seconds:.0f} s of it; run it alone or increase "
                        f"--minutes{there}")
        return Late(f"not done after {self.seconds:.0f} s: {self.last()}{there}")


STILL_THERE = "; it was killed, but still exists"


def kill(process):
    """Kills a program that was started here and has not been waited for, with its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def is_gone(process, seconds=10):
    """Whether a killed program has ended. A program that hangs in a driver may not end, so the wait is limited."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


class Stage:
    def __init__(self, name, options, toolkit):
        self.name, self.options, self.toolkit = name, options, toolkit
        self.begin, self.parts, self.results = time.monotonic(), [], {}
        self.session = measuring.Session()
        self.folder, self.file_name = pathlib.Path(options.output), options.name or name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_file = open(self.folder / f"{self.file_name}.log", "w", encoding="utf-8")
        self.log_lock, self.log_of = threading.Lock(), None
        self.scratch = tempfile.TemporaryDirectory(prefix="gpu_check_")
        self.running, self.stopped = set(), False
        self.has_device = None  # not known yet

    def log(self, *lines, of=None):
        """Writes lines to the log. of: the program that printed them; since several run at the same time, its name is
        repeated when its output continues."""
        with self.log_lock:
            if of is not None and of != self.log_of:
                lines = (f"[{of}]", *lines)
            self.log_of = of
            self.log_file.write("\n".join(str(x) for x in lines) + "\n")
            self.log_file.flush()

    # ---- time ----
    def left(self):
        return 60 * self.options.minutes - (time.monotonic() - self.begin)

    def need(self, seconds, what="it"):
        if self.left() < seconds:
            raise Skip(f"{max(0, self.left()):.0f} s are left, {what} may take {seconds:.0f}; run it alone or increase "
                       "--minutes")

    # ---- programs ----
    def environment(self):
        """Returns the environment of programs. The stage correct has its own cache: plans that were timed while other
        checks used the device must not be reused for measurements."""
        cache = measuring.ROOT / "build/gpu_check/cache" / ("checked" if self.name == "correct" else "measured")
        return {**os.environ, **self.toolkit.environment(), "TYPENET_CACHE": str(cache)}

    def run(self, command, seconds=600.0, environment=None):
        """Runs a program to its end or its time limit, and logs its output and errors while it runs."""
        if self.stopped:
            raise Skip("the run was interrupted")
        limit = max(1.0, min(seconds, self.left()))
        command, start, timed_out, stuck = [str(c) for c in command], time.monotonic(), False, False
        of = f"{os.path.basename(command[0])} {' '.join(command[1:])}"[:60].rstrip()
        with tempfile.TemporaryFile() as out:
            self.log(f"$ {' '.join(command)}")
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                           env=environment or self.environment(), cwd=measuring.ROOT, **OWN_GROUP)
            except OSError as e:
                self.log(f"[{e.strerror}]\n")
                return Done(127, f"{command[0]}: {e.strerror}", 0)
            self.running.add(process)
            told, ended = 0, False
            try:
                while not ended and time.monotonic() - start < limit:
                    ended = is_gone(process, min(1.0, max(0.0, start + limit - time.monotonic())))
                    told = self.follow(out, told, of)
                if not ended:
                    timed_out = True
                    kill(process)
                    stuck = not is_gone(process)
            except BaseException:
                kill(process)
                raise
            finally:
                self.running.discard(process)
                self.follow(out, told, of, to_the_end=True)
            text = os.pread(out.fileno(), os.fstat(out.fileno()).st_size, 0).decode(errors="replace")
        code = -signal.SIGKILL if stuck else process.returncode
        done = Done(code, text, time.monotonic() - start, timed_out, timed_out and limit < seconds, stuck)
        self.log(f"[exit code {done.returncode}, {done.seconds:.1f} s{', at its time limit' * timed_out}"
                 f"{STILL_THERE * stuck}]\n", of=of)
        return done

    def follow(self, out, told, of, to_the_end=False):
        """Logs the whole lines after the first `told` bytes of a program's output and returns the number of bytes
        logged so far. It does not move the file's position, which the program shares."""
        new = os.pread(out.fileno(), max(0, os.fstat(out.fileno()).st_size - told), told)
        if not to_the_end:
            new = new[:new.rfind(b"\n") + 1]
        if new:
            self.log(new.decode(errors="replace").rstrip("\n"), of=of)
        return told + len(new)

    def must(self, command, seconds=600.0, environment=None):
        done = self.run(command, seconds, environment)
        if done.timed_out:
            raise done.late()
        if done.returncode == NO_DEVICE:
            raise Skip(done.last())
        if done.returncode != 0:
            raise Failure(f"exit code {done.returncode}: {done.last(3)}")
        return done

    def stop(self):
        """Kills all running programs; no further ones are started."""
        self.stopped = True
        for process in list(self.running):
            if process.returncode is None:
                kill(process)

    # ---- parts ----
    def part(self, name, function, *arguments):
        """Runs one part, records its outcome, and returns its result, or None if it failed."""
        start, status, detail, result = time.monotonic(), PASSED, "", None
        print(f"== {self.name}: {name}", flush=True)
        try:
            result = function(*arguments)
            detail = result if isinstance(result, str) else ""
        except Skip as e:
            status, detail = SKIPPED, str(e)
        except Failure as e:
            status, detail = FAILED, str(e)
        except Exception as e:  # an error of this script must not lose the other parts, either
            status, detail = FAILED, f"{type(e).__name__}: {e}"
        self.parts.append({"name": name, "status": status, "seconds": round(time.monotonic() - start, 1),
                           "detail": detail[:2000]})
        print(f"   {status}{': ' * bool(detail)}{detail[:300]}", flush=True)
        self.log(f"== {name}: {status}: {detail}\n")
        self.save("not done yet", None)
        return result

    def give_up(self, why):
        """Records an error that ended the stage outside of its parts."""
        self.parts.append({"name": "the whole", "status": FAILED, "seconds": round(time.monotonic() - self.begin, 1),
                           "detail": why})
        print(f"   {FAILED}: {why}", flush=True)
        self.log(f"== the whole: {FAILED}: {why}\n")

    def verdict(self):
        """Returns the verdict in words and the exit code: 1 after errors, 77 without a device."""
        count = {s: sum(p["status"] == s for p in self.parts) for s in (FAILED, SKIPPED)}
        if count[FAILED]:
            return f"{count[FAILED]} of {len(self.parts)} parts went WRONG", 1
        if self.has_device is False:
            return "there is NO DEVICE; what needs none was done", NO_DEVICE
        if not self.parts or count[SKIPPED] == len(self.parts):
            return "NOTHING was done", 1
        return (f"nothing is wrong, but {count[SKIPPED]} parts were left out" if count[SKIPPED] else "all well"), 0

    def save(self, verdict, code):
        """Writes STAGE.json and returns the session's circumstances. It is written after each part, because the script
        may be killed."""
        session = self.session.finish()
        results = {"stage": self.name, "verdict": verdict, "exit_code": code, "session": session,
                   "toolkit": self.toolkit.summary(), "parts": self.parts, **self.results}
        write(self.folder / f"{self.file_name}.json", json.dumps(results, indent=1) + "\n")
        return session

    def finish(self, tables):
        """Writes STAGE.json and STAGE.md, prints the tables that are short, and returns the exit code."""
        verdict, code = self.verdict()
        rows = [[p["name"], p["status"], f"{p['seconds']:.1f}"] for p in self.parts]
        details = [f"- {p['name']}: {p['detail']}" for p in self.parts if p["detail"]]
        session = self.save(verdict, code)
        head, end = f"# gpu_check {self.name}: {verdict}", "\n\n".join(x for x in (
            measuring.circumstances(session), describe_gpu(self.results.get("gpu")),
            "Libraries: " + (", ".join(f"{k} {v}" for k, v in self.toolkit.versions.items()) or "none")) if x)
        write(self.folder / f"{self.file_name}.md", "\n\n".join(x for x in (
            head, parts_table(rows), "\n".join(details), *tables, end) if x) + "\n")
        short = rows if len(rows) <= MOST_ROWS else [r for r in rows if r[1] != PASSED]
        print("\n\n".join(x for x in ("\n" + head, short and parts_table(short), *tables[:1], end,
                                      f"written: {self.folder / self.file_name}.json, .md and .log") if x))
        self.log_file.close()
        self.scratch.cleanup()
        return code


def write(file, text):
    """Writes a file atomically: it has the old or the new text at any time."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def parts_table(rows):
    return measuring.table(["part", "", "s"], rows)


def first_line(command, seconds=30):
    """Returns the first line that a program prints, or None if it cannot be run, fails or takes longer."""
    try:
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def gpu():
    """Returns the properties of the GPU according to nvidia-smi, or None. It changes nothing."""
    fields = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.sm", "temperature.gpu", "power.draw",
              "power.limit", "utilization.gpu", "memory.used")
    line = first_line(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    return dict(zip(fields, (x.strip() for x in line.split(",")))) if line else None


def describe_gpu(found):
    return "GPU: " + ", ".join(f"{k} {v}" for k, v in found.items()) if found else ""
