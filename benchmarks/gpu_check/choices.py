# SPDX-License-Identifier: MIT
"""options: measures the options that are off by default, so that it is known which of them should be on."""
import statistics

import measuring
import programs
from stage import Failure

# question -> (settings, the first of them the default; the least number of seconds of a run; its time limit; what is
# measured). The most valuable question comes first: a batch from the host concerns every step on data that are not
# kept on the device, a smaller last batch only the first evaluation, and two queues have been measured once.
QUESTIONS = {
    "ahead": (("off", "on"), 20, 240, "ms a step with batches from the host, copy_ahead"),
    "filled": (("off", "on"), 45, 240, "ms of a first evaluation without a cache, fill_batches"),
    "queues": (("2", "1", "0"), 20, 240, "ms a step on so many queues; 0: the faster of both"),
}
LOSS_APART = {"bf16": 0.03, "tf32": 0.01, "fp32_strict": 1e-3}  # of settings that may use different plans


def ask(stage, program, question, batch, precision):
    """Measures all settings of a question in turns, in reverse order in every second round. Returns the ratio of the
    default's time to that of each other setting. There is at least one whole round, or the part is skipped."""
    settings, least, limit, _ = QUESTIONS[question]
    found = stage.results.setdefault("questions", {}).setdefault(question, {s: [] for s in settings})
    for number in range(stage.options.rounds):
        if number > 0 and stage.left() < len(settings) * least:
            break
        stage.need(len(settings) * least, "a round")
        for setting in settings if number % 2 == 0 else settings[::-1]:
            done = stage.must([program, question, setting, batch, precision], limit)
            found[setting].append(programs.last_json(done))
    losses = [said["loss"] for all_said in found.values() for said in all_said]
    if not all(abs(x - losses[0]) <= LOSS_APART[precision] * losses[0] for x in losses):  # NaN is never near
        raise Failure(f"the settings give different losses: {', '.join(f'{x:.6g}' for x in losses)}")
    return ", ".join(f"{s}: {1e3 * seconds_of(all_said):.3f} ms" + (f" ({ratio(found, s):.3f}x)" if i else "")
                     for i, (s, all_said) in enumerate(found.items())) + more(question, found)


def seconds_of(all_said):
    return statistics.median(said["seconds"] for said in all_said)


def ratio(found, setting):
    """Returns how many times as fast as the default a setting is: the median over the rounds."""
    default = next(iter(found.values()))
    return statistics.median(a["seconds"] / b["seconds"] for a, b in zip(default, found[setting]))


def more(question, found):
    if question == "queues":
        return f"; 0 keeps {', '.join(str(said['kept']) for said in found['0'])}"
    if question == "filled":
        later = (f"{s} {1e3 * statistics.median(x['later_s'] for x in all_said):.3f} ms"
                 for s, all_said in found.items())
        return f"; later evaluations: {', '.join(later)}"
    return ""


def run(stage):
    program = programs.build_all(stage, ["cuda_options"]).get("cuda_options")
    if program is None:
        return
    stage.part("device", device, stage, program)
    if not stage.has_device:
        return
    precision, batch = (stage.options.precision or ["bf16"])[0], (stage.options.batch or [64])[0]
    for question in stage.options.question or QUESTIONS:
        stage.part(question, ask, stage, program, question, batch, precision)
    if not any(all_said for q in stage.results.get("questions", {}).values() for all_said in q.values()):
        raise Failure("no option was measured")


def device(stage, program):
    """Runs the smallest measurement and returns the name of the device."""
    return programs.last_json(programs.with_device(stage, program, "queues", 2, 1, "fp32_strict", "infer", 2))["peer"]


def tables(stage):
    rows = []
    for question, found in stage.results.get("questions", {}).items():
        for setting, all_said in found.items():
            if not all_said or not all(found.values()):
                continue
            default = setting == QUESTIONS[question][0][0]
            rows.append([QUESTIONS[question][3], setting + " (default)" * default, f"{1e3 * seconds_of(all_said):.3f}",
                         "" if default else f"{ratio(found, setting):.3f}x", len(all_said)])
    return [measuring.table(["what", "setting", "ms", "as fast", "rounds"], rows)] if rows else []
