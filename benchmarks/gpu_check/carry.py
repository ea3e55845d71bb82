# SPDX-License-Identifier: MIT
"""carry: copies this machine's headers into an ignored folder, for a machine that has none and no network."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import measuring
import programs
from toolkit import PARTS, Toolkit

# library -> a header that is looked for; the folder of that header is copied
HEADER_ONLY = {"fmt": "fmt/core.h", "CLI11": "CLI/CLI.hpp", "Catch2": "catch2/catch.hpp"}


def dependencies(cxx, headers, flags):
    """Returns every file that these headers include."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write("".join(f"#include <{h}>\n" for h in headers))
        source.flush()
        done = subprocess.run([cxx, "-std=c++20", "-M", *map(str, flags), source.name], capture_output=True, text=True)
    if done.returncode != 0:
        return []
    return [w for w in done.stdout.replace("\\\n", " ").split() if os.path.isabs(w) and not w.endswith(":")]


def copy_folder(source, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to, ignore=shutil.ignore_patterns("*.so*", "*.a"))


def size_of(folder):
    return sum(f.stat().st_size for f in pathlib.Path(folder).rglob("*") if f.is_file())


def note_commit(file, root=measuring.ROOT):
    """Writes the commit to a file, for a machine with a copy of the files but not of the repository. In such a copy it
    leaves the file unchanged."""
    if not (root / ".git").exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(measuring.commit(root, file) + "\n", encoding="utf-8")


def run(options):
    """Writes build/carry: COMMIT is the commit, include has header-only libraries, and cuda/include NVIDIA's headers,
    for machines whose wheels have only libraries. Returns the exit code."""
    folder = programs.CARRIED
    note_commit(folder / "COMMIT")
    cxx, absent = programs.compiler(options.cxx), []
    for name, header in HEADER_ONLY.items():
        top = header.split("/")[0]
        found = dependencies(cxx, [header], []) or (
            dependencies(cxx, ["catch2/catch_all.hpp"], []) if name == "Catch2" else [])
        where = next((f[:f.index(f"/{top}/")] for f in found if f"/{top}/" in f), None)
        if where is None:
            absent.append(name)
            continue
        copy_folder(f"{where}/{top}", folder / "include" / top)
        print(f"{name}: {where}/{top}")
    kit = Toolkit(options.cuda, options.python)
    flags = [f for h in dict.fromkeys(kit.headers.values()) for f in ("-isystem", h) if h != "/usr/include"]
    headers = [h for part, (names, _, _) in PARTS.items() if part in kit.headers for h in names]
    found = [(f, h) for f in (dependencies(cxx, headers, flags) if headers else []) for h in
             [next((h for h in kit.headers.values() if f.startswith(h + "/") and h != "/usr/include"), None)] if h]
    if found:
        shutil.rmtree(folder / "cuda", ignore_errors=True)
        for file, home in found:
            to = folder / "cuda/include" / os.path.relpath(file, home)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
        print(f"NVIDIA's headers: {len(found)} files of {', '.join(dict.fromkeys(h for _, h in found))}")
    else:
        absent.append("NVIDIA's headers")
    print(f"{folder}: {size_of(folder) / 2**20:.1f} MiB; not found here: {', '.join(absent) or 'nothing'}")
    return 0
