# SPDX-License-Identifier: MIT
"""Common parts of the peers on a GPU: parses requests, answers them line by line, and times steps."""
import gc
import json
import sys
import time
import traceback

WORDS = (("train", "infer"), int, ("bf16", "tf32", "fp32"), int, int, ("resident", "fixed", "host"))
NO_DEVICE = "no device that this Python can use"
PICTURES = 50_000  # the least number of images of the data set on the device


def parse(words, variants):
    """Returns a list: mode, batch, precision, steps, warmup, the source of the batches, and the variant, by default the
    first one. Raises ValueError for an invalid request."""
    words, allowed = list(words), (*WORDS, tuple(variants))
    if len(words) == len(WORDS):
        words.append(variants[0])
    if len(words) != len(allowed):
        raise ValueError(f"a request has {len(WORDS)} or {len(allowed)} words; found {len(words)}")
    found = []
    for word, choice in zip(words, allowed):
        if not word.isdecimal() if choice is int else word not in choice:
            raise ValueError(f"a word must be {'a number' if choice is int else ' or '.join(choice)}; found {word}")
        found.append(int(word) if choice is int else word)
    if found[0] == "infer" and found[5] == "resident":
        raise ValueError("infer takes its batches from host or fixed")
    if found[1] < 1 or found[3] < 1:
        raise ValueError("batch and steps must be 1 or more")
    return found


def timed(run, wait, steps, warmup):
    """Measures the seconds per step: of a block of steps that ends with a wait, and the median of steps that end so."""
    for _ in range(warmup):
        run()
    wait()
    begin = time.perf_counter()
    for _ in range(steps):
        run()
    wait()
    step_s, times = (time.perf_counter() - begin) / steps, []
    for _ in range(steps):
        begin = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - begin)
    return {"step_s": step_s, "latency_s": sorted(times)[len(times) // 2]}


def answer_all(doc, variants, version, has_device, make):
    """Runs a peer: reads requests from the command line or from standard input, and prints a line of JSON for each. The
    answer to the line "version" also contains whether there is a device. Returns the exit code.

    make(request, device) returns an object whose measure() returns the answer. It is used again if the next request is
    the same.
    """
    words, device = sys.argv[1:], "cuda"
    if words[-2:] == ["--device", "cpu"]:
        words, device = words[:-2], "cpu"
    serve = words == ["serve"]
    try:
        if not serve:
            parse(words, variants)
    except ValueError as e:
        print(f"{e}\n{doc}", file=sys.stderr)
        return 2
    if not serve and device == "cuda" and not has_device():
        print(NO_DEVICE, file=sys.stderr)
        return 77
    last, step, failed = None, None, False
    for line in sys.stdin if serve else [" ".join(words)]:
        try:
            if line.split() == ["version"]:
                print(json.dumps({"version": version, "device": device == "cpu" or bool(has_device())}), flush=True)
                continue
            if serve and device == "cuda" and not has_device():
                raise RuntimeError(NO_DEVICE)
            if line.split() != last:
                step, last = None, None
                gc.collect()
                step, last = make(parse(line.split(), variants), device), line.split()
            print(json.dumps(step.measure()), flush=True)
        except Exception as e:  # any error of a variant: the next request may work
            step, last, failed = None, None, True
            traceback.print_exc()  # the answer contains only one line of it
            print(json.dumps({"error": f"{type(e).__name__}: {e}".strip().splitlines()[0][:500]}), flush=True)
    return 1 if failed and not serve else 0
