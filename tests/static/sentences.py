#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the sentences of rules at run time, rules/rule_message.hpp, are those that compilers print.

The compilers' are the texts of the static_asserts in rules/broken*.hpp. `sentences.py --self-test` shows that a
difference is found.
"""
import pathlib
import re
import sys

RULES = pathlib.Path(__file__).resolve().parents[2] / "include/dsl/rules"
AT_RUN_TIME_ONLY = {"holds", "is_reported"}


def joined(text):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def printed():
    """Returns {rule: sentence} of the compile errors. A class of several files has the same sentence in all of them."""
    found = {}
    for path in sorted(RULES.glob("broken*.hpp")):
        for name, text in re.findall(r"struct (\w+)[^{;]*\{\s*static_assert\((.*?)\);\s*\}", path.read_text(), re.S):
            found.setdefault(name, joined(text))
    return found


def differences(source, sentences):
    cases = dict(re.findall(r"case rule::(\w+):\s*return((?:\s*\"(?:[^\"\\]|\\.)*\")+);", source))
    wrong = [f"{name}: {joined(text)!r}, but compilers print {sentences.get(name)!r}" for name, text in cases.items()
             if name not in AT_RUN_TIME_ONLY and joined(text) != sentences.get(name)]
    listed = re.search(r"enum class rule[^{]*\{(.*?)\};", (RULES.parent / "graph/verdict.hpp").read_text(), re.S)[1]
    rules = re.findall(r"(\w+),", re.sub(r"//[^\n]*", "", listed))
    wrong += [f"{name}: there is no sentence for it" for name in rules if name not in cases]
    if len(rules) < 80:
        wrong.append(f"there are only {len(rules)} rules")
    return wrong


def main():
    source = (RULES / "rule_message.hpp").read_text()
    if sys.argv[1:] == ["--self-test"]:
        changed = source.replace("there must be at least one filter", "there must be two filters")
        assert changed != source and len(differences(changed, printed())) == 1
        return 0
    wrong = differences(source, printed())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
