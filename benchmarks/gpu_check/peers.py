# SPDX-License-Identifier: MIT
"""peers: measures the steps of typenet, PyTorch and JAX alternately on the same GPU."""
import contextlib
import os
import statistics

import measuring
import programs
from bench import steps_for
from stage import Failure, Late, Skip
from worker import Worker

FOLDER = measuring.ROOT / "benchmarks/peers"
# variant -> (program, its name for the variant)
VARIANTS = {"eager": ("torch", "eager"), "graph": ("torch", "graph"), "compile": ("torch", "compile"),
            "jax": ("jax", "jit")}
PROGRAMS = {"torch": FOLDER / "minigooglenet_torch_cuda.py", "jax": FOLDER / "minigooglenet_jax_cuda.py"}
# torch.compile takes minutes to start: it is measured if it is requested, or in the time that is left at the end
UNASKED = tuple(v for v in VARIANTS if v != "compile")
CACHE = measuring.ROOT / "build/gpu_check/cache"
# JAX would allocate three quarters of the device's memory, and prints much. Compiled code is cached, as typenet's is
ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2",
               "TORCHINDUCTOR_CACHE_DIR": str(CACHE / "inductor"), "JAX_COMPILATION_CACHE_DIR": str(CACHE / "jax")}
# mode, batch, the target for the ratio; the most informative first, because there may not be time for all
CASES = (("train", 64, 2.0), ("infer", 1, 3.0), ("train", 1024, 1.0), ("infer", 64, 1.0), ("train", 256, 1.0),
         ("infer", 1024, 1.0))
# seconds that must be left to prepare a variant, and its time limit: torch.compile with max-autotune compiles and tries
# many kernels
LEAST = {"compile": 100, "jax": 40}
READY = {"compile": 400}
OTHERS_READY, ANSWER, IMPORT = 200, 60, 120


def request(case, precision, input_of_theirs, variant=None):
    """Returns the request to a program, in words. Without a variant it is for typenet's program."""
    mode, batch, _ = case
    steps = steps_for(batch)
    ours = variant is None
    words = [mode, batch, precision if ours else precision.replace("fp32_strict", "fp32"), steps, max(5, steps // 4)]
    words.append("host" if mode == "infer" else "resident" if ours else input_of_theirs)
    return words if ours else words + [VARIANTS[variant][1]]


class Match:
    """One case: all variants are prepared, then measured alternately."""

    def __init__(self, stage, case, workers):
        self.stage, self.case, self.workers, self.times, self.late = stage, case, workers, {}, []
        o = stage.options
        self.requests = {name: request(case, (o.precision or ["bf16"])[0], o.input, None if name == "typenet" else name)
                         for name in workers}

    def make_ready(self, name):
        limit, least = min(READY.get(name, OTHERS_READY), self.stage.left() - 20), LEAST.get(name, 10)
        if limit < least:
            raise Skip(f"{max(0, limit):.0f} s are left, {name} may take {least}; run it alone with --batch, --mode or "
                       "--variants")
        try:
            first = self.workers[name].ask(self.requests[name], limit)
        except Failure as e:
            if name == "typenet":
                raise
            self.workers[name].close()  # the next case starts a new process: some errors persist within a process
            if isinstance(e, Late):
                self.late.append(name)
                raise Skip(f"{e}; further cases omit it") from None
            raise Skip(f"it does not work here: {e}") from None  # not an error of typenet
        self.times[name] = []
        return f"ready in {first['prepare_s']:.1f} s, {1e3 * first['step_s']:.3f} ms a step"

    def rounds(self):
        if len(self.times) < 2:
            raise Skip("no peer is left to compare with")
        lost = []
        for number in range(self.stage.options.rounds):
            if number > 0 and self.stage.left() < 10:
                lost.append(f"only {number} rounds: the time of the stage ended")
                break
            order = list(self.times)
            for name in order if number % 2 == 0 else order[::-1]:
                try:
                    self.times[name].append(self.workers[name].ask(self.requests[name], ANSWER))
                except Failure as e:
                    if name == "typenet":
                        raise
                    del self.times[name]  # the others continue without it
                    lost.append(f"{name} failed: {e}")
        ratios = {k: v["median"] for k, v in self.result()["ratio"].items()}
        if not ratios:
            raise Failure(", ".join(["no peer is left to compare with"] + lost))
        return ", ".join([f"{k}: {v:.2f}x" for k, v in ratios.items()] + lost)

    def result(self):
        """Returns the times, and the ratio of the fastest peer's time to typenet's in each round."""
        mode, batch, wanted = self.case
        times = {n: t for n, t in self.times.items() if t}
        theirs = [t for n, t in times.items() if n != "typenet"]
        ratio = {}
        for key in ("step_s", "latency_s"):
            turns = [min(t[key] for t in them) / ours[key]
                     for ours, *them in zip(times.get("typenet", []), *theirs)] if theirs else []
            if turns:
                ratio[key] = {"median": statistics.median(turns), "min": min(turns), "max": max(turns),
                              "per_round": turns}
        variants = {n: {"rounds": t, **{k: statistics.median(s[k] for s in t) for k in ("step_s", "latency_s")}}
                    for n, t in times.items()}
        return {"mode": mode, "batch": batch, "wanted_ratio": wanted, "ratio": ratio, "variants": variants}


def installed(stage, framework, worker):
    """Returns the version of a framework, from a worker that is needed anyway: importing takes seconds."""
    try:
        said = worker.ask(["version"], IMPORT)
    except Failure as e:
        raise Skip(f"{measuring.shown(stage.options.python)} has no working {framework} ({str(e)[:200]}); name another "
                   "Python with --python") from None
    stage.results[framework] = said["version"]
    if not said["device"]:
        raise (Failure if stage.has_device else Skip)(f"{framework} {said['version']} cannot use a device")
    return said["version"]


def run(stage):
    wanted = stage.options.variants or UNASKED
    # in each case, the slowest variant comes last
    variants = sorted(wanted if stage.options.variants else VARIANTS, key=lambda v: LEAST.get(v, 0))
    workers = {v: Worker(stage, [stage.options.python, PROGRAMS[VARIANTS[v][0]], "serve"],
                         {**os.environ, **ENVIRONMENT}) for v in variants}
    try:
        for v in wanted:  # interpreters take seconds to start, so they do so while the compiler runs
            with contextlib.suppress(Failure):  # installed() reports it
                workers[v].start()
        compare(stage, workers, wanted)
    finally:
        for worker in workers.values():
            worker.close()


def compare(stage, workers, wanted):
    program = programs.build_all(stage, ["cuda_step"]).get("cuda_step")
    if program is None:
        return
    workers["typenet"] = Worker(stage, [program, "serve"], stage.environment())
    stage.part("device", programs.step_on_device, stage, program)
    first = {}
    for v in wanted:
        first.setdefault(VARIANTS[v][0], workers[v])
    there = [f for f, worker in first.items() if stage.part(f, installed, stage, f, worker) is not None]
    if not stage.has_device:
        return
    if not there:
        raise Failure("there is no peer to compare with; name a Python that has PyTorch or JAX with --python")
    usable = [v for v in workers if v != "typenet" and VARIANTS[v][0] in there]
    matches(stage, workers, ["typenet", *(v for v in usable if v in wanted)])
    for v in usable:
        if v not in wanted and stage.left() > LEAST[v] + 30:
            matches(stage, workers, ["typenet", v], f", {v}")
    if not any(m["ratio"] for m in stage.results.get("cases", [])):
        raise Failure("typenet was compared with no peer")


def matches(stage, workers, names, note=""):
    """Measures each case for which there is time. `note` is appended to the names of the cases."""
    o, found = stage.options, stage.results.setdefault("cases", [])
    for case in CASES:
        if o.batch and case[1] not in o.batch or o.mode and case[0] != o.mode:
            continue
        name, match = f"{case[0]} {case[1]}{note}", Match(stage, case, {n: workers[n] for n in names})
        for variant in list(names):
            stage.part(f"{name}: {variant}", match.make_ready, variant)
            if "typenet" not in match.times:
                break
        names = [n for n in names if n not in match.late]
        if "typenet" in match.times:
            stage.part(f"{name}: rounds", match.rounds)
            found.append({"name": name, **match.result()})
        if names == ["typenet"]:
            break


def tables(stage):
    found = stage.results.get("cases", [])
    names = list(dict.fromkeys(n for m in found for n in m["variants"]))
    rows = []
    for m in found:
        times = [f"{1e3 * m['variants'][n]['step_s']:.3f} / {1e3 * m['variants'][n]['latency_s']:.3f}"
                 if n in m["variants"] else "-" for n in names]
        ratios = [f"**{m['ratio'][k]['median']:.2f}x** ({m['ratio'][k]['min']:.2f}..{m['ratio'][k]['max']:.2f})"
                  if k in m["ratio"] else "-" for k in ("step_s", "latency_s")]
        met = ("-" if "step_s" not in m["ratio"] else
               "met" if m["ratio"]["step_s"]["median"] >= m["wanted_ratio"] else "MISSED")
        rows.append([m["name"], *times, *ratios, f"{m['wanted_ratio']:.1f}x", met])
    return [measuring.table(["ms: a block's step / each waited for", *names, "ratio of blocks", "ratio of waits",
                             "wanted", ""], rows)] if rows else []
