# SPDX-License-Identifier: MIT
"""correct: checks that the GPU executor computes correct results on this device."""
import concurrent.futures
import json
import pathlib
import re
import shutil

import measuring
import programs
from stage import Failure, Skip

# group of gpu_conformance -> its time limit in seconds. The most informative groups come first, because there may not
# be time for all. The slow groups wait for the reference on the CPU, so they run at the same time as the others.
SLOW = {"minigooglenet": 400, "batch64": 400, "timed64": 400}
QUICK = {"refusals": 60, "calls": 300, "small_convolutions": 120, "convolutions": 300, "gradients": 100, "layers": 200,
         "norms": 100, "products": 100, "movement": 100, "small": 200, "resident": 150, "deterministic": 240,
         "trajectories": 200}
OTHERS = 200  # for every other group
# compute-sanitizer's tools; True: findings in kernels of other libraries are reported, but are not errors
TOOLS = (("memcheck", 240, False), ("racecheck", 240, True), ("synccheck", 120, True), ("initcheck", 120, True))

FOUND = 99  # the exit code of a tool that found something


def conformance(stage, program, group, seconds, *more):
    """Runs one group in its own process, so that a crash affects only this group."""
    file = pathlib.Path(stage.scratch.name) / f"{group}.json"
    done = stage.run([program, "--only", group, "--json", file, "--fixtures", measuring.ROOT / "tests/fixtures",
                      "--runs", stage.options.runs, *more], seconds)
    found = json.loads(file.read_text()) if file.is_file() else []
    stage.results.setdefault("findings", []).extend(found)
    if done.timed_out:
        told = [x for x in done.out.splitlines() if x.startswith("BAD")]  # each is printed when it is found
        raise Failure(f"{len(told)} bad before its time limit: {told[0]}") if told else done.late()
    bad = [f for f in found if f["verdict"] == "BAD"]
    if bad:
        f = bad[0]
        raise Failure(f"{len(bad)} of {len(found)} bad: {f['what']}: {f['measured']} (bound {f['bound']}) {f['note']}")
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {done.last(2)}")
    compared = [f for f in found if f["bound"]]
    empty = [f["what"] for f in compared if f["values"] < 1]
    if empty or all(f["verdict"] == "told" for f in found):
        raise Failure(f"nothing was compared: {empty[0] if empty else 'no finding'}")
    values = sum(f["values"] for f in compared)
    near = max((f["measured"] / f["bound"] for f in compared), default=0)
    of = f" from {values} values; the largest difference is {near:.2f} of its bound" if values else ""
    return f"{len(found)} findings{of}"


def sanitize(stage, program, tool, seconds, others_tolerated):
    path = stage.toolkit.tool("compute-sanitizer")
    if path is None:
        raise Skip("compute-sanitizer is not installed")
    stage.need(60, tool)
    # API errors are not reported: libraries try calls that may fail, and continue
    done = stage.run([path, "--tool", tool, "--error-exitcode", FOUND, "--report-api-errors", "no", program, "--only",
                      "exercise", "--cache", ""], seconds)
    summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", done.out)
    ours = len(re.findall(r"(?:at|in) k\d+\b", done.out))
    if done.timed_out and ours == 0:
        raise Skip(f"not done after {done.seconds:.0f} s; until then it found nothing in typenet's kernels")
    if not done.timed_out and (not summary or "Device not supported" in done.out):
        raise Skip(f"the tool does not work on this machine: {done.last(2)}")
    bad = re.findall(r"^BAD .*", done.out, re.MULTILINE)
    if bad:
        raise Failure(f"with this tool, results are wrong: {bad[0]}")
    if done.returncode == 0:
        return summary[-1]
    summary = summary or ["it did not finish"]
    if others_tolerated and ours == 0 and done.returncode == FOUND:
        return f"{summary[-1]}, none of them in typenet's kernels"
    raise Failure(f"exit code {done.returncode}: {summary[-1]}; {ours} lines of the log name typenet's kernels")


def cmake_finds(stage):
    """Checks that CMake defines typenet::cuda with these libraries, without fmt, oneDNN or Catch2."""
    version = re.search(r"cmake version (\d+)\.(\d+)", stage.run(["cmake", "--version"], 60).out)
    if not version or (int(version[1]), int(version[2])) < (3, 25):
        raise Skip(f"CMake 3.25 or later was not found{': ' + version[0] if version else ''}")
    # the default generator may need Make, which may be missing
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    folder = programs.FOLDER / "cmake"
    done = stage.must(["cmake", "-S", ".", "-B", folder, "--fresh", *generator, "-DTYPENET_WITH_CUDA=ON",
                       "-DTYPENET_WITH_ONEDNN=OFF", "-DTYPENET_BUILD_TESTS=OFF", "-DTYPENET_BUILD_EXAMPLES=OFF",
                       "-DTYPENET_BUILD_BENCHMARKS=OFF",
                       f"-DCMAKE_CXX_COMPILER={programs.compiler(stage.options.cxx)}",
                       *stage.toolkit.cmake_flags()], 120)
    line = re.search(r"typenet \d.*", done.out)
    if not line or "cuda" not in line.group(0):
        raise Failure(f"CMake did not define typenet::cuda: {done.last(2)}")
    return line.group(0)


def core_alone(stage):
    stage.must([programs.compiler(stage.options.cxx), "-std=c++20", "-fsyntax-only", "-I", "include", "tests/tidy.cpp"])
    return "the core and the reference need no library"


def wanted(stage, group):
    return not stage.options.only or group in stage.options.only


def groups_of(stage, program):
    """Returns the slow and the quick groups of the program, without those that run only by name. Groups of --only that
    do not exist are kept, so that the program reports them."""
    done = stage.run([program, "--list"], 60)
    there = [x.split()[0] for x in done.out.splitlines() if x.strip() and "(by name only)" not in x]
    if done.returncode != 0 or not there:
        return SLOW, QUICK
    there += stage.options.only
    more = {g: OTHERS for g in there if g != "device" and g not in (*SLOW, *QUICK, *(t[0] for t in TOOLS))}
    return {g: s for g, s in SLOW.items() if g in there}, {**{g: s for g, s in QUICK.items() if g in there}, **more}


def checks(stage, program):
    slow, quick = groups_of(stage, program)
    with concurrent.futures.ThreadPoolExecutor(max(1, len(slow))) as pool:
        beside = {g: pool.submit(conformance, stage, program, g, s) for g, s in slow.items() if wanted(stage, g)}

        def told():
            for group in [g for g, future in beside.items() if future.done()]:
                stage.part(group, beside.pop(group).result)
        for group, seconds in quick.items():
            if wanted(stage, group):
                stage.part(group, conformance, stage, program, group, seconds)
                told()
        for group, future in beside.items():
            stage.part(group, future.result)
    if not stage.results.get("findings") and any(wanted(stage, g) for g in (*slow, *quick)):
        raise Failure("nothing was compared")
    for tool, seconds, tolerated in TOOLS:
        if wanted(stage, tool):
            stage.part(f"compute-sanitizer {tool}", sanitize, stage, program, tool, seconds, tolerated)


def run(stage):
    program = programs.build_all(stage, ["gpu_conformance"]).get("gpu_conformance")
    if program is not None:
        stage.part("device", device, stage, program)
        if stage.has_device:
            checks(stage, program)
    if stage.options.only:
        return
    stage.part("the core alone", core_alone, stage)
    if not stage.toolkit.missing:
        stage.part("cmake", cmake_finds, stage)


def device(stage, program):
    """Returns the name of the device. The results get its cuDNN properties, with which plans can be made without it."""
    properties = pathlib.Path(stage.scratch.name) / "device_properties.json"
    done = programs.with_device(stage, program, "--only", "device", "--device-properties", properties)
    if properties.is_file():
        stage.results["device_properties"] = properties.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    return next((x.split("the device: ")[1] for x in done.out.splitlines() if "the device: " in x), done.last())


def tables(stage):
    """Returns two tables: the findings that are bad or near their bound, and all findings."""
    found = stage.results.get("findings", [])
    near = [f for f in found if f["verdict"] == "BAD" or f["bound"] and (f["measured"] or 0) > 0.5 * f["bound"]]
    return [x for x in (listed("bad, or over half of the bound", near), listed("finding", found)) if x]


def listed(head, findings):
    rows = []
    for f in findings:
        value = f["note"] if f["note"] else "-" if f["measured"] is None else f"{f['measured']:.3g}"
        rows.append([f"{f['group']}: {f['what']}", value[:100].replace("|", "/"),
                     f"{f['bound']:.3g}" if f["bound"] else "", f["values"] or "", f["verdict"]])
    return measuring.table([head, "measured", "less than", "of values", ""], rows) if rows else ""
