# SPDX-License-Identifier: MIT
"""What the stages share: parts that may fail without ending the run, a limit on time, programs, result files."""
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
MOST_ROWS = 20  # of the printed list of parts; with more, those that passed are left out
# Of its own, so that it can be ended with what it started; not a session of its own, since whoever ends this script
# without letting it tidy up looks for what is left in its session.
OWN_GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}


class Failure(Exception):
    """This part went wrong; the next ones go on."""


class Skip(Exception):
    """This part could not be done, and that is no fault of ours."""


class Late(Failure):
    """It took longer than it may."""


class Done:
    """A program that has ended. timed_out: it was ended; stage_over: because the stage's own time was up; stuck: it
    was killed, and is still there."""

    def __init__(self, returncode, out, seconds, timed_out=False, stage_over=False, stuck=False):
        self.returncode, self.out, self.seconds = returncode, out, seconds
        self.timed_out, self.stage_over, self.stuck = timed_out, stage_over, stuck

    def last(self, lines=1):
        return " | ".join([x for x in self.out.strip().splitlines() if x.strip()][-lines:]) or "no output"

    def late(self):
        """What to raise about a program that was ended."""
        there = STILL_THERE * self.stuck
        if self.stage_over:
            return Skip(f"the stage's time was up after {self.seconds:.0f} s of it; a run of its own, or --minutes"
                        f"{there}")
        return Late(f"not done after {self.seconds:.0f} s: {self.last()}{there}")


STILL_THERE = "; it was killed, but is still there"


def kill(process):
    """A program that we started and that nobody has waited for yet, and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def is_gone(process, seconds=10):
    """Whether a killed program has ended: one that hangs in a driver may not, and nobody waits for it."""
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
        """of: the program that says it. Several run side by side, so its name stands before what it goes on with."""
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
            raise Skip(f"{max(0, self.left()):.0f} s are left, {what} may take {seconds:.0f}; a run of its own, or "
                       "--minutes")

    # ---- programs ----
    def environment(self):
        """Plans that were timed while other checks kept the device busy must not be what is measured later."""
        cache = measuring.ROOT / "build/gpu_check/cache" / ("checked" if self.name == "correct" else "measured")
        return {**os.environ, **self.toolkit.environment(), "TYPENET_CACHE": str(cache)}

    def run(self, command, seconds=600.0, environment=None):
        """Runs to its end or its time; both outputs together, in the log as they come."""
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
        self.log(f"[exit code {done.returncode}, {done.seconds:.1f} s{', its time was up' * timed_out}"
                 f"{STILL_THERE * stuck}]\n", of=of)
        return done

    def follow(self, out, told, of, to_the_end=False):
        """Brings whole lines after the first `told` bytes of a program's output into the log; how many are there
        now. Read without moving the file's position, which is the program's, too."""
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
        """Ends whatever still runs, and begins nothing new."""
        self.stopped = True
        for process in list(self.running):
            if process.returncode is None:
                kill(process)

    # ---- parts ----
    def part(self, name, function, *arguments):
        """Does one part; its result is kept under its name. Returns it, or None where it failed."""
        start, status, detail, result = time.monotonic(), PASSED, "", None
        print(f"== {self.name}: {name}", flush=True)
        try:
            result = function(*arguments)
            detail = result if isinstance(result, str) else ""
        except Skip as e:
            status, detail = SKIPPED, str(e)
        except Failure as e:
            status, detail = FAILED, str(e)
        except Exception as e:  # a mistake of this script's own must not lose the other parts either
            status, detail = FAILED, f"{type(e).__name__}: {e}"
        self.parts.append({"name": name, "status": status, "seconds": round(time.monotonic() - start, 1),
                           "detail": detail[:2000]})
        print(f"   {status}{': ' * bool(detail)}{detail[:300]}", flush=True)
        self.log(f"== {name}: {status}: {detail}\n")
        self.save("not done yet", None)
        return result

    def give_up(self, why):
        """Something ended the stage between its parts."""
        self.parts.append({"name": "the whole", "status": FAILED, "seconds": round(time.monotonic() - self.begin, 1),
                           "detail": why})
        print(f"   {FAILED}: {why}", flush=True)
        self.log(f"== the whole: {FAILED}: {why}\n")

    def verdict(self):
        """(in words, the exit code): 1 where something is wrong, 77 where there is no device."""
        count = {s: sum(p["status"] == s for p in self.parts) for s in (FAILED, SKIPPED)}
        if count[FAILED]:
            return f"{count[FAILED]} of {len(self.parts)} parts went WRONG", 1
        if self.has_device is False:
            return "there is NO DEVICE; what needs none was done", NO_DEVICE
        if not self.parts or count[SKIPPED] == len(self.parts):
            return "NOTHING was done", 1
        return (f"nothing is wrong, but {count[SKIPPED]} parts were left out" if count[SKIPPED] else "all well"), 0

    def save(self, verdict, code):
        """Writes STAGE.json: after each part, since whoever ends this script may not let it write anything more.
        Returns the session's circumstances."""
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
    """In one piece: whoever reads it, or ends this script, meets the old text or the new one."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def parts_table(rows):
    return measuring.table(["part", "", "s"], rows)


def first_line(command, seconds=30):
    """The first line that a program prints, or None where it can't be run, fails or takes longer."""
    try:
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def gpu():
    """What nvidia-smi says, or None; nothing is changed."""
    fields = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.sm", "temperature.gpu", "power.draw",
              "power.limit", "utilization.gpu", "memory.used")
    line = first_line(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    return dict(zip(fields, (x.strip() for x in line.split(",")))) if line else None


def describe_gpu(found):
    return "GPU: " + ", ".join(f"{k} {v}" for k, v in found.items()) if found else ""
