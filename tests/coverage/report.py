#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what part of each room's lines and branches ran: tests/coverage/report.py build/coverage [PART].

With PART, only the files whose path contains it count.

A template is compiled once for each use: a line or a branch of it counts once, and has run if it ran in any of them.
Fails if a room does not reach the goal, or if code of a file in AT_COMPILE_TIME has run.
"""
import collections
import json
import os
import pathlib
import sys

ROOMS = ("io", "data", "rules", "plan")
LINES, BRANCHES = 95.0, 85.0  # the goal, in percent
# Files whose code only compilers run, in constants, and why. Their lines and branches do not count.
AT_COMPILE_TIME = {
    "plan/stored.hpp": "makes constants of the plans of networks that are types",
    "rules/lowering.hpp": "lowers layers that are types; an import lowers its layers in io/onnx/import_lower_inl.hpp",
}


def add_lines(lcov, counts):
    """Adds how often each line ran, by file."""
    for line in lcov.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            file = counts[value]
        elif key == "DA":
            number, count = map(int, value.split(",")[:2])
            file[number] = max(file[number], count)


def add_branches(report, counts):
    """Adds how often each branch ran, by file: a condition's position has one branch for true and one for false."""
    for file in report["data"][0]["files"]:
        found = counts[file["filename"]]
        for line, column, _, _, if_true, if_false, *_ in file["branches"]:
            found[line, column, True] = max(found[line, column, True], if_true)
            found[line, column, False] = max(found[line, column, False], if_false)


def share(counts):
    """Returns how many ran, of how many, and the percentage."""
    ran = sum(n > 0 for n in counts)
    return ran, len(counts), 100.0 * ran / max(len(counts), 1)


def main(build, part=""):
    lines, branches = (collections.defaultdict(lambda: collections.defaultdict(int)) for _ in range(2))
    for path in (build / "reports").glob("*.lcov"):
        add_lines(path.read_text(), lines)
    for path in (build / "reports").glob("*.text"):
        add_branches(json.loads(path.read_text()), branches)
    excluded = {f: name for f in lines for name in AT_COMPILE_TIME if f.endswith("/dsl/" + name) and part in f}
    ran = sorted({name for f, name in excluded.items() if any(lines[f].values())})
    limit = os.environ.get("TYPENET_COVERAGE_BELOW")
    line_limit, branch_limit = (float(limit), float(limit)) if limit else (LINES, BRANCHES)
    reached = True
    rows = []
    print("| room | lines | branches |\n|---|---|---|")
    for room in ROOMS:
        files = sorted(f for f in lines if f"/dsl/{room}/" in f and part in f and f not in excluded)
        if not files:
            continue  # none of its files is part of the tests that ran
        of_lines = share([n for f in files for n in lines[f].values()])
        of_branches = share([n for f in files for n in branches.get(f, {}).values()])
        reached = reached and of_lines[2] >= LINES and of_branches[2] >= BRANCHES
        print(f"| `{room}` | {of_lines[2]:.1f} % of {of_lines[1]:,} | {of_branches[2]:.1f} % of {of_branches[1]:,} |")
        rows += [(f, share(lines[f].values()), share(branches.get(f, {}).values())) for f in files]
    for name in sorted(set(excluded.values())):
        print(f"not counted: {name}, which {AT_COMPILE_TIME[name]}")
    for name in ran:
        print(f"error: lines of {name} have run; remove it from AT_COMPILE_TIME in tests/coverage/report.py")
    print(f"\nbelow {line_limit:g} % of lines or {branch_limit:g} % of branches:")
    for file, of_lines, of_branches in rows:
        if of_lines[2] < line_limit or (of_branches[1] and of_branches[2] < branch_limit):
            print(f"  {file.split('/include/')[-1]}: {of_lines[0]} of {of_lines[1]} lines, "
                  f"{of_branches[0]} of {of_branches[1]} branches")
    with open(build / "not_covered.txt", "w", encoding="utf-8") as out:
        for file, *_ in rows:
            for number, count in sorted(lines[file].items()):
                if count == 0:
                    print(f"{file}:{number}", file=out)
            for (number, column, value), count in sorted(branches.get(file, {}).items()):
                if count == 0:
                    print(f"{file}:{number}:{column}: never {str(value).lower()}", file=out)
    return 0 if reached and rows and not ran else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
