# SPDX-License-Identifier: MIT
"""Common parts of the benchmark scripts: measured processes, a description of the machine, and result files."""
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORCE = "--force" in sys.argv  # of every script with an output
if FORCE:
    sys.argv.remove("--force")


class Finished:
    """Runs a process to its end: returncode, out, err, cpu_s (user + system) and peak_bytes, including its children."""

    def __init__(self, command):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            _, status, usage = os.wait4(process.pid, 0)
            self.returncode = process.returncode = os.waitstatus_to_exitcode(status)
            for f in (out, err):
                f.seek(0)
            self.out = out.read().decode(errors="replace")
            self.err = err.read().decode(errors="replace")
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024


def built(target):
    """Builds a program of benchmarks/ in Release, with -O2 as in benchmarks/CMakeLists.txt, and returns its path."""
    folder = ROOT / "build/benchmarks"
    print(f"building {target}", flush=True)
    for command in (["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DTYPENET_BUILD_TESTS=OFF",
                     "-DTYPENET_BUILD_EXAMPLES=OFF", "-DTYPENET_WITH_ONEDNN=ON"],
                    ["cmake", "--build", folder, "--target", target]):
        done = Finished(command)
        if done.returncode != 0:
            sys.exit(f"{done.out[-3000:]}{done.err[-3000:]}\nbuilding {target} failed")
    return folder / "benchmarks" / target


def first_line(command):
    """Returns the first line that a program prints, or None if it cannot be run."""
    try:
        done = Finished(command)
    except OSError:
        return None
    return done.out.splitlines()[0] if done.returncode == 0 and done.out.strip() else None


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


CARRIED_COMMIT = ROOT / "build/carry/COMMIT"


def commit(root=ROOT, carried=CARRIED_COMMIT):
    """Returns the commit that was built, with "-dirty" if files have been changed. In a copy of the files without their
    repository it is the one that gpu_check carry noted, not that of a repository that contains the copy."""
    found = first_line(["git", "-C", root, "describe", "--always", "--dirty"]) if (root / ".git").exists() else None
    noted = read(carried).strip()
    return found or (f"{noted}, as carried" if noted else "unknown")


def cpu_ticks():
    """Returns the ticks of all cores since the machine started, and those that other guests have stolen."""
    words = read("/proc/stat").split("\n")[0].split()[1:9]
    ticks = [int(w) for w in words]
    return (sum(ticks), ticks[7]) if len(ticks) == 8 else (0, 0)


def machine():
    info = dict(line.split(":", 1) for line in read("/proc/cpuinfo").split("\n\n")[0].splitlines() if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    flags = info.get("flags", "").split()
    isa = [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("amx_tile", "AMX")) if flag in flags]
    governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
    return {"cpu": info.get("model name", platform.processor() or "unknown"), "isa": isa[-1] if isa else "unknown",
            "cores": len(os.sched_getaffinity(0)), "governor": governor or "unknown",
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
            # settings that affect the measurements
            "environment": {k: v for k, v in sorted(os.environ.items())
                            if k.startswith(("OMP_", "KMP_", "GOMP_", "MKL_", "DNNL_", "ONEDNN_", "ATEN_", "MALLOC_",
                                             "TYPENET_"))
                            or k == "LD_PRELOAD"}}


def shown(argument):
    """Returns an argument as result files show it: of a path outside the project, only the last part."""
    path = pathlib.Path(argument)
    if not path.is_absolute():
        return argument
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


class Session:
    """The circumstances of one call. Make it before measuring; finish() returns them as a dictionary. timed: seconds
    are measured, so warn if other programs are running."""

    def __init__(self, timed=True):
        self.begin, self.load, self.ticks, self.commit = time.monotonic(), os.getloadavg(), cpu_ticks(), commit()
        self.warnings = []
        if timed and self.load[0] > 0.5:
            self.warn(f"the load average is {self.load[0]:.2f} before the start: other programs are running, so the "
                      "figures will be inaccurate; wait until it is below 0.5")

    def warn(self, text):
        print(f"warning: {text}", file=sys.stderr)
        self.warnings.append(text)

    def finish(self):
        all_ticks, stolen = (now - then for now, then in zip(cpu_ticks(), self.ticks))
        command = [os.path.relpath(os.path.abspath(sys.argv[0]), ROOT)] + [
            "=".join(shown(part) for part in a.split("=", 1)) for a in sys.argv[1:]]
        return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
                "command": shlex.join(command),
                "commit": self.commit, "machine": machine(), "load_before": self.load[0],
                "load_after": os.getloadavg()[0],
                "stolen_percent": round(100 * stolen / all_ticks, 2) if all_ticks else None,
                "minutes": round((time.monotonic() - self.begin) / 60, 1), "warnings": self.warnings}


def circumstances(s):
    """Returns a session's dictionary as a few lines of Markdown."""
    m = s["machine"]
    lines = [f"{m['cpu']} ({m['isa']}), {m['cores']} cores, {m['memory_gib']} GiB, governor {m['governor']}, "
             f"{m['system']}; load average {s['load_before']:.2f} before and {s['load_after']:.2f} after, "
             f"{s['stolen_percent']} % of the time stolen.",
             f"{s['date']}, commit {s['commit']}, {s['minutes']} min: `{s['command']}`"]
    if m["environment"]:
        lines.append("Environment: " + ", ".join(f"`{k}={v}`" for k, v in m["environment"].items()))
    return "\n\n".join(lines + [f"**Warning:** {w}" for w in s["warnings"]])


def table(head, rows):
    """Returns a Markdown table whose columns are also aligned in a terminal: the first to the left, the others to the
    right."""
    cells = [[str(c) for c in row] for row in [head] + rows]
    width = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, width))) + " |"
             for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(width)) + "|")
    return "\n".join(lines)


def refuse_existing(*paths):
    """Ends the script if it would replace a file, unless the user has given --force."""
    for path in paths:
        if path and os.path.lexists(path) and not FORCE:
            sys.exit(f"{path} must not exist, since it would be replaced; give another name, or --force")


def check_output(path):
    """Checks that the output can be written, before anything is measured."""
    if path and (path.suffix != ".json" or path.is_dir()):
        sys.exit(f"--output: it must name a .json file; found {path}")
    if path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            sys.exit(f"--output: {path.parent} cannot be made: {e.strerror}")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            sys.exit(f"--output: {path} cannot be written")
        refuse_existing(path, path.with_suffix(".md"))


def publish(results, markdown, path):
    """Writes the results to the .json file `path` and the Markdown to the .md file beside it, if given; prints the
    Markdown."""
    if path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(markdown + "\n", encoding="utf-8")
    print("\n" + markdown)
    if path:
        print(f"\nwritten: {path} and {path.with_suffix('.md')}")
