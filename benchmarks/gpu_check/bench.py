# SPDX-License-Identifier: MIT
"""bench: the time, launches and memory of a step, by batch and precision."""
import statistics

import measuring
import programs
from stage import Failure, Late, Skip

PRECISIONS = ("bf16", "tf32", "fp32_strict")
# the most informative cases first, because there may not be time for all
ORDER = ("train 64", "infer 1", "train 1024", "infer 64", "train 256", "infer 1024", "train 64 host",
         "train 64 resident one_queue", "train 128", "train 512")
OTHER_PRECISIONS = 6  # the number of these that are measured in all precisions before the others
# the largest relative difference of the first step's loss, with the same weights and images, from fp32_strict
LOSS_APART = {"bf16": 0.03, "tf32": 0.01}
MOST_CALLS = 3
LIMIT = 240  # seconds per case; the first one, which has to time all plans, may take all the time that is left


def cases(options):
    """Returns a list of (mode, batch, precision, source of the batches)."""
    precisions = options.precision or PRECISIONS
    if options.batch:
        order = [f"{mode} {b}" for b in options.batch for mode in ("train", "infer")]
    else:
        order = ORDER
    split = [x.split() for x in order]
    found = [(x[0], int(x[1]), p, "host" if x[0] == "infer" else " ".join(x[2:]) or "resident")
             for part in (split[:OTHER_PRECISIONS], split[OTHER_PRECISIONS:]) for p in precisions for x in part]
    # the cost of a batch from the host, and the effect of a second stream, are measured in one precision only
    return [c for c in found if c[0] == "infer" or c[3] == "resident" or c[2] == precisions[0]]


def steps_for(batch):
    """Returns the number of steps in a block, which then takes some hundredths of a second."""
    return max(20, min(400, 40_000 // batch))


def name_of(case):
    return " ".join(str(x) for x in case)


def case_of(name):
    mode, batch, precision, source = name.split(" ", 3)
    return mode, int(batch), precision, source


def measure(stage, program, case, rounds):
    mode, batch, precision, source = case
    steps = steps_for(batch)
    done = stage.must([program, mode, batch, precision, steps, max(5, steps // 4), *source.split()],
                      LIMIT if rounds else max(LIMIT, stage.left()))
    said = programs.last_json(done)
    rounds.setdefault(name_of(case), []).append(said)
    if said["allocates"]:
        raise Failure("a step allocates")
    if said["calls_a_step"] > MOST_CALLS:
        raise Failure(f"a step makes {said['calls_a_step']} calls; it must make at most {MOST_CALLS}")
    if mode == "train" and not 0.5 < said["loss"] < 10:
        raise Failure(f"the first step's loss is {said['loss']}")
    return (f"{1e3 * said['step_s']:.3f} ms a step, {said['images_per_s']:.0f} images/s, "
            f"ready in {said['prepare_s']:.1f} s")


def losses_agree(rounds):
    """Compares the losses in different precisions, with the same weights, images and dropped units."""
    told = []
    for name, all_said in rounds.items():
        mode, batch, precision, source = case_of(name)
        strict = rounds.get(name_of((mode, batch, "fp32_strict", source)))
        if mode != "train" or precision == "fp32_strict" or not strict:
            continue
        apart = abs(all_said[0]["loss"] / strict[0]["loss"] - 1)
        told.append(f"{precision} at {batch}: {apart:.2g}")
        if not apart < LOSS_APART[precision]:
            raise Failure(f"batch {batch}: the loss in {precision} differs from that in fp32_strict by {apart:.2g}: "
                          f"{all_said[0]['loss']} and {strict[0]['loss']}")
    if not told:
        raise Skip("fp32_strict and another precision are needed")
    return ", ".join(told)


def run(stage):
    program = programs.build_all(stage, ["cuda_step"]).get("cuda_step")
    if program is None:
        return
    stage.part("device", programs.step_on_device, stage, program)
    if not stage.has_device:
        return
    rounds, broken, late = stage.results.setdefault("rounds", {}), set(), set()
    for number in range(stage.options.rounds):
        last = number + 1 == stage.options.rounds
        for case in cases(stage.options):
            again = name_of(case) in rounds or case in late
            if case in broken or number > 0 and (stage.left() < 30 or not again):
                continue
            name = name_of(case) + (f", round {number + 1}" if number else "")
            late.discard(case)
            if stage.part(name, timed, stage, program, case, rounds, None if last else late) is None:
                broken.add(case)
        broken -= late
    if not rounds:
        raise Failure("no step was measured")
    stage.part("losses of the first step", losses_agree, rounds)


def tables(stage):
    rows, rounds, stage.results["cases"] = [], stage.results.pop("rounds", {}), []
    for name, said in rounds.items():
        case = case_of(name)
        median = {k: statistics.median(s[k] for s in said) for k in ("step_s", "latency_s", "replay_s")}
        stage.results["cases"].append({**said[-1], **median, "prepare_s": said[0]["prepare_s"], "rounds": said})
        ms = [f"{1e3 * median[k]:.3f}" for k in ("replay_s", "step_s", "latency_s")]
        spread = max(s["step_s"] for s in said) / min(s["step_s"] for s in said) - 1
        s = said[-1]
        rows.append([f"{case[0]} {case[1]}, {case[2]}, {case[3]}", *ms, f"{case[1] / median['step_s']:.0f}",
                     f"{100 * spread:.0f} %" if len(said) > 1 else "-", s["kernel_nodes"],
                     f"{s['own_kernels']}+{s['convolutions']}", f"{s['arena_mib']:.0f}+{s['executor_mib']:.0f}",
                     f"{s['device_mib']:.0f}", f"{said[0]['prepare_s']:.1f}"])
    return [measuring.table(["step, ms", "graph alone", "block", "each waited for", "images/s", "spread", "kernels",
                             "ours+convolutions", "arena+rest, MiB", "device, MiB", "ready, s"], rows)] if rows else []


def timed(stage, program, case, rounds, late):
    """Measures a case. A case that takes too long is added to `late`, to be tried again with the plans timed so far."""
    stage.need(20, "a case")
    try:
        return measure(stage, program, case, rounds)
    except Late as e:
        if late is None:
            raise
        late.add(case)
        raise Skip(f"{e}; the next round tries it again with the plans timed so far") from None
