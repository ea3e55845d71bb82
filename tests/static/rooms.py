#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no header of include/dsl includes one of a higher room.

The rooms are the rows of the table "Rooms" in docs/README.md, from the ground up: folders, single headers, and patterns
of headers: `operations/*/host.hpp` is one file of every folder there. A header may include headers of its own room and
of earlier rows; definitions, trainer_inl.hpp and trainer_fit_inl.hpp, are in the room of trainer.hpp. Headers that
include each other in a circle are refused in any room. Namespaces name the mode in all headers but those of the
language. `rooms.py --self-test` shows that each fault is found.
"""
import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_rooms(page):
    """Returns {folder or header: row} of the table between the markers; a folder ends with a slash."""
    table = re.search(r"<!-- rooms: begin -->\n(.*?)<!-- rooms: end -->", page.read_text(), re.S)
    if not table:
        raise SystemExit(f"{page}: the table of rooms must stand between <!-- rooms: begin --> and <!-- rooms: end -->")
    rows = re.findall(r"^\| (`[^|]*) \|", table[1], re.M)
    return {path: row for row, cell in enumerate(rows) for path in re.findall(r"`([^`]+)`", cell)}


def declared_in(header, headers):
    """Returns the header that `header` has the definitions of, or itself: trainer.hpp for trainer_inl.hpp, and also for
    trainer_fit_inl.hpp if there is no trainer_fit.hpp."""
    if not header.endswith("_inl.hpp"):
        return header
    own = name = header.removesuffix("_inl.hpp")
    while f"{name}.hpp" not in headers and "_" in pathlib.PurePath(name).name:
        name = name.rpartition("_")[0]
    return f"{name if f'{name}.hpp' in headers else own}.hpp"


def room_of(header, rooms, headers):
    """Returns the longest entry that is the header itself, its pattern or a folder above it, or None. Definitions are in
    the room of what they define."""
    header = declared_in(header, headers)
    fitting = [p for p in rooms if fnmatch.fnmatchcase(header, p) or (p.endswith("/") and header.startswith(p))]
    return max(fitting, key=len, default=None)


def faults_of(include, rooms):
    """Returns a sentence for each header without a room, entry without a header, upward include and circle."""
    headers = sorted(str(p.relative_to(include)) for p in include.rglob("*") if p.suffix in (".hpp", ".cuh"))
    graph = {h: re.findall(r"^\s*#\s*include\s*[<\"]dsl/([^>\"]+)[>\"]", (include / h).read_text(), re.M) for h in headers}
    for header in headers:  # in a header-only program a header ends with its definitions
        graph[header] = [i for i in graph[header] if declared_in(i, headers) != header or i == header]
    home = {h: room_of(h, rooms, headers) for h in headers}
    faults = [f"{h} is in no room; add its folder to the table" for h in headers if home[h] is None]
    faults += [f"{entry} is in the table of rooms, but no header is in it" for entry in rooms if entry not in home.values()]
    for header, included in graph.items():
        for other in included:
            if other not in graph:
                faults.append(f"{header} includes {other}, which does not exist")
            elif home[header] and home[other] and rooms[home[other]] > rooms[home[header]]:
                faults.append(f"{header} ({home[header]}) includes {other}, which is in a higher room ({home[other]})")
    return faults + modes_of(include, graph) + circles_of(graph)


# What is the same in both modes of detail/mode.hpp: these headers and folders, and all that they include.
LANGUAGE = ("language.hpp", "placement.hpp", "error.hpp", "version.hpp", "graph/", "models/", "plan/", "rules/",
            "towers/replicate.hpp")


def modes_of(include, graph):
    """Returns a sentence for each header of the language whose names are a mode's, and each other whose are not."""
    language, found = [h for h in graph if h.startswith(LANGUAGE)], []
    for header in language:
        language += [i for i in graph[header] if i in graph and i not in language]
    for header in graph:
        opened = re.findall(r"^namespace (dsl\b[\w:]*) \{", (include / header).read_text(), re.M)
        of_mode = [n for n in opened if n.endswith("::TYPENET_MODE")]
        if of_mode and "detail/mode.hpp" not in graph[header]:
            found.append(f"{header} must include detail/mode.hpp, which says what TYPENET_MODE is")
        if header not in language and header.endswith(".hpp") and len(of_mode) < len(opened):
            found.append(f"{header} is none of the language's: its namespaces must end in ::TYPENET_MODE, as "
                         "detail/mode.hpp says")
        elif header in language and of_mode and len(of_mode) == len(opened):
            found.append(f"{header} is the language's, which is the same in both modes: no ::TYPENET_MODE")
    return found


def circles_of(graph):
    done, path, found = set(), [], []

    def visit(header):
        if header in path:
            found.append("headers include each other: " + " -> ".join(path[path.index(header):] + [header]))
        elif header not in done and header in graph:
            path.append(header)
            for other in graph[header]:
                visit(other)
            done.add(path.pop())

    for header in graph:
        visit(header)
    return found


class SelfTest(unittest.TestCase):
    table = """<!-- rooms: begin -->
| Room | What |
|---|---|
| `detail/` | tools |
| `graph/`, `shape.hpp` | values |
| `graph/rules/` | on top of them |
<!-- rooms: end -->
"""

    def faults(self, changed=(), **files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            tree = {"detail/list.hpp": [], "shape.hpp": ["detail/list.hpp"], "graph/node.hpp": ["shape.hpp"],
                    "graph/rules/verdict.hpp": ["graph/node.hpp", "detail/list.hpp"], **dict(changed)}
            for name, included in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("#pragma once\n" + "".join(f"#include <dsl/{i}>\n" for i in included))
            (root / "README.md").write_text(files.get("table", self.table))
            return faults_of(root, read_rooms(root / "README.md"))

    def test_downward_includes_are_fine(self):
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.faults({"shape.hpp": ["graph/edge.hpp"], "graph/edge.hpp": []}), [])  # one room

    def test_an_upward_include_is_found(self):
        for header, other in [("detail/list.hpp", "shape.hpp"), ("graph/node.hpp", "graph/rules/top.hpp")]:
            found = self.faults({header: [other], "graph/rules/top.hpp": [], "shape.hpp": []})
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{header} (", found[0])
            self.assertIn(f"includes {other}, which is in a higher room", found[0])

    def test_a_pattern_is_a_room_of_its_own(self):
        table = self.table.replace("<!-- rooms: end", "| `detail/*/loops.hpp` | code |\n<!-- rooms: end")
        loops = {"detail/add/facts.hpp": [], "detail/add/loops.hpp": ["detail/add/facts.hpp", "graph/rules/verdict.hpp"]}
        self.assertEqual(self.faults(loops, table=table), [])
        found = self.faults({**loops, "detail/add/facts.hpp": ["detail/mul/loops.hpp"], "detail/mul/loops.hpp": []},
                            table=table)
        self.assertEqual(len(found), 1, found)
        self.assertIn("detail/add/facts.hpp (detail/) includes detail/mul/loops.hpp, which is in a higher room", found[0])

    def test_a_circle_within_a_room_is_found(self):
        found = self.faults({"graph/node.hpp": ["graph/edge.hpp"], "graph/edge.hpp": ["graph/node.hpp"]})
        self.assertEqual(found, ["headers include each other: graph/edge.hpp -> graph/node.hpp -> graph/edge.hpp"])

    def test_definitions_are_in_the_room_of_their_header(self):
        pair = {"shape.hpp": ["shape_inl.hpp"], "shape_inl.hpp": ["shape.hpp", "graph/edge.hpp"], "graph/edge.hpp": []}
        self.assertEqual(self.faults(pair), [])
        parts = {"shape.hpp": ["shape_size_inl.hpp"], "shape_size_inl.hpp": ["shape.hpp"], "graph/edge.hpp": []}
        self.assertEqual(self.faults(parts), [])
        found = self.faults({**pair, "shape_inl.hpp": ["shape.hpp", "graph/rules/top.hpp"], "graph/rules/top.hpp": []})
        self.assertEqual(len(found), 1, found)
        self.assertIn("shape_inl.hpp (shape.hpp) includes graph/rules/top.hpp", found[0])

    def test_a_mode_is_named_by_all_but_the_language(self):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder)
            texts = {"language.hpp": "namespace dsl::detail {", "trainer.hpp": "namespace dsl::TYPENET_MODE {"}
            mode = ["detail/mode.hpp"]
            graph = {"language.hpp": mode, "trainer.hpp": mode}
            for first, second in [texts.values(), reversed(texts.values())]:
                (include / "language.hpp").write_text(first)
                (include / "trainer.hpp").write_text(second)
                found = modes_of(include, graph)
                self.assertEqual([f.split()[0] for f in found], [] if first == texts["language.hpp"] else list(graph))
            found = modes_of(include, {"trainer.hpp": []})
            self.assertIn("trainer.hpp is none of the language's", found[0])
            (include / "trainer.hpp").write_text(texts["trainer.hpp"])
            self.assertIn("trainer.hpp must include detail/mode.hpp", modes_of(include, {"trainer.hpp": []})[0])

    def test_a_header_without_a_room_and_a_room_without_a_header_are_found(self):
        self.assertEqual(self.faults({"new/thing.hpp": []}), ["new/thing.hpp is in no room; add its folder to the table"])
        found = self.faults(table=self.table.replace("`detail/`", "`detail/`, `tools/`"))
        self.assertEqual(found, ["tools/ is in the table of rooms, but no header is in it"])

    def test_a_header_that_does_not_exist_is_found(self):
        self.assertEqual(self.faults({"shape.hpp": ["no.hpp"]}), ["shape.hpp includes no.hpp, which does not exist"])

    def test_the_tree_with_its_rows_upside_down_is_full_of_faults(self):
        rooms = read_rooms(ROOT / "docs/README.md")
        upward = [f for f in faults_of(ROOT / "include/dsl", {p: -row for p, row in rooms.items()}) if "higher room" in f]
        self.assertGreater(len(upward), len(rooms))


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.argv.remove("--self-test")
        unittest.main()
    problems = faults_of(ROOT / "include/dsl", read_rooms(ROOT / "docs/README.md"))
    print("\n".join(problems) or "no include points upwards")
    sys.exit(bool(problems))
