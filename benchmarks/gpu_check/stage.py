# SPDX-License-Identifier: MIT
"""What the stages share: parts that may fail without ending the run, a limit on time, programs, result files."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import measuring

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"
NO_DEVICE = 77
MOST_ROWS = 20  # of the printed list of parts; with more, those that passed are left out


class Failure(Exception):
    """This part went wrong; the next ones go on."""


class Skip(Exception):
    """This part could not be done, and that is no fault of ours."""


class Done:
    """A program that has ended. timed_out: it was ended; stage_over: because the stage's own time was up."""

    def __init__(self, returncode, out, seconds, timed_out=False, stage_over=False):
        self.returncode, self.out, self.seconds = returncode, out, seconds
        self.timed_out, self.stage_over = timed_out, stage_over

    def last(self, lines=1):
        return " | ".join([x for x in self.out.strip().splitlines() if x.strip()][-lines:]) or "no output"

    def late(self):
        """What to raise about a program that was ended."""
        if self.stage_over:
            return Skip(f"the stage's time was up after {self.seconds:.0f} s of it; a run of its own, or --minutes")
        return Failure(f"not done after {self.seconds:.0f} s: {self.last()}")


def kill(process):
    """A program that we started and that nobody has waited for yet, and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class Stage:
    def __init__(self, name, options, toolkit):
        self.name, self.options, self.toolkit = name, options, toolkit
        self.begin, self.parts, self.results = time.monotonic(), [], {}
        self.session = measuring.Session()
        self.folder = pathlib.Path(options.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_file, self.log_lock = open(self.folder / f"{name}.log", "w", encoding="utf-8"), threading.Lock()
        self.scratch = tempfile.TemporaryDirectory(prefix="gpu_check_")
        self.running, self.stopped = set(), False
        self.has_device = None  # not known yet

    def log(self, *lines):
        """Programs run side by side; each one's lines stay together."""
        with self.log_lock:
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
        """Runs to its end or its time; both outputs together, kept in the log."""
        if self.stopped:
            raise Skip("the run was interrupted")
        limit = max(1.0, min(seconds, self.left()))
        command, start, timed_out = [str(c) for c in command], time.monotonic(), False
        with tempfile.TemporaryFile() as out:
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                           env=environment or self.environment(), cwd=measuring.ROOT,
                                           start_new_session=True)
            except OSError as e:
                self.log(f"$ {' '.join(command)}", f"[{e.strerror}]\n")
                return Done(127, f"{command[0]}: {e.strerror}", 0)
            self.running.add(process)
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                timed_out = True
                kill(process)
                process.wait()
            except BaseException:
                kill(process)
                raise
            finally:
                self.running.discard(process)
            out.seek(0)
            text = out.read().decode(errors="replace")
        done = Done(process.returncode, text, time.monotonic() - start, timed_out, timed_out and limit < seconds)
        self.log(f"$ {' '.join(command)}", text, f"[exit code {done.returncode}, {done.seconds:.1f} s"
                 f"{', its time was up' * timed_out}]\n")
        return done

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
        return result

    def give_up(self, why):
        """Something ended the stage between its parts."""
        self.parts.append({"name": "the whole", "status": FAILED, "seconds": round(time.monotonic() - self.begin, 1),
                           "detail": why})
        print(f"   {FAILED}: {why}", flush=True)

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

    def finish(self, tables):
        """Writes STAGE.json and STAGE.md, prints the tables that are short, and returns the exit code."""
        verdict, code = self.verdict()
        rows = [[p["name"], p["status"], f"{p['seconds']:.1f}"] for p in self.parts]
        details = [f"- {p['name']}: {p['detail']}" for p in self.parts if p["detail"]]
        session = self.session.finish()
        head, end = f"# gpu_check {self.name}: {verdict}", "\n\n".join(x for x in (
            measuring.circumstances(session), describe_gpu(self.results.get("gpu")),
            "Libraries: " + (", ".join(f"{k} {v}" for k, v in self.toolkit.versions.items()) or "none")) if x)
        results = {"stage": self.name, "verdict": verdict, "exit_code": code, "session": session,
                   "toolkit": self.toolkit.summary(), "parts": self.parts, **self.results}
        file = self.folder / f"{self.name}.json"
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        file.with_suffix(".md").write_text("\n\n".join(x for x in (
            head, parts_table(rows), "\n".join(details), *tables, end) if x) + "\n", encoding="utf-8")
        short = rows if len(rows) <= MOST_ROWS else [r for r in rows if r[1] != PASSED]
        print("\n\n".join(x for x in ("\n" + head, short and parts_table(short), *tables[:1], end,
                                      f"written: {file}, .md and .log") if x))
        self.log_file.close()
        self.scratch.cleanup()
        return code


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
