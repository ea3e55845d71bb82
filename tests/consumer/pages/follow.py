# SPDX-License-Identifier: MIT
"""follow.py [WAY...]: follows docs/installing.md and docs/compiled.md as a new user does, each way from an empty folder.

The files and the commands are those of the pages. Only what a page leaves to its reader is filled in: the program, which
is train_one_step.cpp, and the places <in angle brackets>. A compiler in front of the PATH compiles without optimization,
since what is tested is that each way works. Conan gets no remote and the system's libraries, as the page says. CPM is
tried if the environment's TYPENET_CPM names CPM.cmake.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = (ROOT / "tests/consumer/train_one_step.cpp").read_text()
PLACES = {"<typenet>": "$HOME/typenet", "<where this repository is>": "file://$HOME/typenet", "<a commit>": "HEAD"}


def blocks(page, heading):
    """Returns the texts of the code blocks below a heading, as {"sh": [...], "cmake": [...], ...}."""
    text = (ROOT / "docs" / page).read_text()
    section = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", re.sub(
        r"^```.*?^```", lambda m: re.sub(r"^#", "\0", m[0], flags=re.M), text, flags=re.S | re.M), re.S | re.M)
    if not section:
        sys.exit(f"docs/{page} must have the heading '{heading}'")
    found = {}
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", section[2].replace("\0", "#"), re.S | re.M):
        found.setdefault(language, []).append(block)
    return found


class user:
    """A new user: a home folder with typenet's sources, and for each way a project in an empty folder."""

    def __init__(self, home):
        self.home = home
        self.tree = home / "typenet"
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns("build", ".git", "fixtures", "corpus", "results"))
        (home / "bin").mkdir()
        for name in ("g++", "c++"):  # CMake looks for c++
            compiler = home / "bin" / name
            compiler.write_text(f'#!/bin/sh\nexec {shutil.which(os.environ.get("TYPENET_CXX", "g++"))} "$@" -O0\n')
            compiler.chmod(0o755)
        self.environment = {k: v for k, v in os.environ.items() if k not in (
            "CC", "CXX", "CXXFLAGS", "CMAKE_PREFIX_PATH", "CMAKE_BUILD_TYPE", "PKG_CONFIG_PATH", "TYPENET_BUILD_DIR",
            "CMAKE_GENERATOR" if shutil.which("make") else "")}  # a new user's generator is CMake's own choice
        self.environment |= {"HOME": str(home), "CONAN_HOME": str(home / ".conan2"),
                             "PATH": f"{home}/bin:{os.environ['PATH']}"}
        git = ["git", "-C", str(self.tree), "-c", "user.name=user", "-c", "user.email=user@localhost"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all of it"]):
            subprocess.run([*git, *words], check=True, env=self.environment)

    def fill_in(self, text):
        for place, what in PLACES.items():
            text = text.replace(place, what.replace("$HOME", str(self.home)))
        if left := re.search(r"<[a-z][a-z ]*>|--parallel *$", text, re.M):  # without a number, make starts all jobs at once
            sys.exit(f"a command must not have '{left[0]}'")
        return text

    def project(self, name, files):
        folder = self.home / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(self.fill_in(text) if file == "CMakeLists.txt" else text)
        return folder

    def run(self, folder, commands):
        """Runs the commands of a block in one shell, which ends at the first that fails; returns what they print."""
        commands = self.fill_in(commands)
        print(f"-- in {folder.relative_to(self.home)}:\n{commands}", flush=True)
        ran = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", commands], cwd=folder, env=self.environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode:
            sys.exit(f"{ran.stdout}\nthis failed:\n{commands}")
        return ran.stdout

    def trains(self, said, parts=()):
        """Requires that the program has trained a step, and that it has the parts."""
        for sentence in (r"^reference: loss ", *parts):
            if not re.search(sentence, said, re.M):
                sys.exit(f"{said}\nno line of this is like '{sentence}'")


INSTALLING = blocks("installing.md", "Installing and linking"), blocks("installing.md", "CMake")
COMPILED = blocks("compiled.md", "The compiled library")


def installed(someone):
    """Installs the headers, once."""
    if not (someone.home / ".local/include/dsl").exists():
        said = someone.run(someone.tree, INSTALLING[0]["sh"][1])
        if "Building CXX" in said:
            sys.exit("installing the headers must compile nothing")


def cmake(someone):
    installed(someone)
    lists, commands = INSTALLING[1]["cmake"][0], INSTALLING[1]["sh"][0]
    said = someone.run(someone.project("cmake", {"CMakeLists.txt": lists, "my_program.cpp": PROGRAM}), commands)
    someone.trains(said, [r"^-- Found typenet \d+\.\d+\.\d+: core, text"])


def instead_of_find_package(someone, name, block, files=None):
    lists = re.sub(r"^find_package\(typenet .*\n", lambda _: block, INSTALLING[1]["cmake"][0], flags=re.M)
    folder = someone.project(name, {"CMakeLists.txt": lists, "my_program.cpp": PROGRAM})
    for target, source in (files or {}).items():
        (folder / target).parent.mkdir(parents=True)
        (folder / target).symlink_to(source)
    someone.trains(someone.run(folder, INSTALLING[1]["sh"][0]))


def subdirectory(someone):
    instead_of_find_package(someone, "subdirectory", INSTALLING[1]["cmake"][1], {"third_party/typenet": someone.tree})


def fetch_content(someone):
    instead_of_find_package(someone, "fetch_content", INSTALLING[1]["cmake"][2])


def cpm(someone):
    file = os.environ.get("TYPENET_CPM")
    if not file:
        print("not tried: CPM, since TYPENET_CPM does not name CPM.cmake")
        return
    instead_of_find_package(someone, "cpm", INSTALLING[1]["cmake"][3], {"cmake/CPM.cmake": pathlib.Path(file).resolve()})


def pkg_config(someone):
    installed(someone)
    folder = someone.project("pkg_config", {"my_program.cpp": PROGRAM})
    said = someone.run(folder, blocks("installing.md", "pkg-config")["sh"][0] + "./my_program\n")
    someone.trains(said, ["parameters"])


def conan(someone):
    program = os.environ.get("TYPENET_CONAN", "")
    if not os.access(program, os.X_OK):
        print("not tried: Conan, since there is none")
        return
    (someone.home / "bin/conan").symlink_to(program)
    page = blocks("installing.md", "Conan")
    once, mine = (re.sub(r"^conan (create|install) (.*)$", r"conan \1 \2 --no-remote", text, flags=re.M) for text in page["sh"])
    someone.run(someone.tree, once.splitlines()[0])
    profile, libraries = someone.run(someone.tree, "conan profile path default").strip(), page["ini"][1]
    for name in ("fmt", "nlohmann_json"):  # the page has Debian's versions
        version = subprocess.run(["pkg-config", "--modversion", name], text=True, capture_output=True).stdout.strip()
        libraries = re.sub(rf"^{name}/.*$", f"{name}/{version}", libraries, flags=re.M)
    with open(profile, "a") as end:
        end.write(libraries)
    someone.run(someone.tree, "\n".join(once.splitlines()[1:]))
    files = {"conanfile.txt": page["ini"][0], "my_program.cpp": PROGRAM}
    said = someone.run(someone.project("conan", {**files, "CMakeLists.txt": INSTALLING[1]["cmake"][0]}), mine)
    someone.trains(said)
    option = re.search(r'`(-o "typenet/\*:header_only=False")`', (ROOT / "docs/installing.md").read_text())[1]
    once, mine = (re.sub(r"^(conan (?:create|install) .*)$", rf"\1 {option}", text, flags=re.M) for text in (once, mine))
    for more in re.findall(r"^typenet/\*:\w+=\w+$", page["ini"][0], re.M):
        once = re.sub(r"^(conan create .*)$", rf'\1 -o "{more}"', once, flags=re.M)
    someone.run(someone.tree, "\n".join(once.splitlines()[1:]))
    someone.trains(someone.run(someone.project("conan_compiled", {**files, "CMakeLists.txt": COMPILED["cmake"][0]}), mine))


def compiled(someone, name="compiled", option="", start="./my_program"):
    someone.run(someone.tree, "rm -rf build/install ~/.local\n" + re.sub(
        "-DTYPENET_COMPILED=ON", f"-DTYPENET_COMPILED=ON {option}", COMPILED["sh"][0]))
    files = {"CMakeLists.txt": COMPILED["cmake"][0], "my_program.cpp": PROGRAM}
    said = someone.run(someone.project(name, files), COMPILED["sh"][1])
    someone.trains(said, [r"^-- Found typenet \d+\.\d+\.\d+: core, text, compiled"])
    said = someone.run(someone.project(name + "_pkg_config", files), COMPILED["sh"][2] + start + "\n")
    someone.trains(said, ["parameters"])


def compiled_shared(someone):
    page = (ROOT / "docs/compiled.md").read_text()
    compiled(someone, "compiled_shared", re.search("`(-DBUILD_SHARED_LIBS=ON)`", page)[1],
             re.search("`(LD_LIBRARY_PATH=.* ./my_program)`", page)[1])


def single_header(someone):
    page = blocks("installing.md", "One header")
    said = someone.run(someone.project("single_header", {"my_program.cpp": page["cpp"][0]}), page["sh"][0])
    if not re.search(r"^[01]\.\d\d of the test images", said, re.M):
        sys.exit(f"the program with a single header prints: {said}")


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


WAYS = [cmake, subdirectory, fetch_content, cpm, pkg_config, single_header, conan, compiled, compiled_shared]


def main():
    names = {way.__name__: way for way in WAYS}
    for name in sys.argv[1:]:
        name in names or sys.exit(f"there is no way '{name}'; there are {', '.join(names)}")
    with tempfile.TemporaryDirectory() as home:
        someone = user(pathlib.Path(home).resolve())
        for way in [names[name] for name in sys.argv[1:]] or WAYS:
            begin, worked = time.monotonic(), processor_seconds()
            way(someone)
            print(f"== {way.__name__}: {time.monotonic() - begin:.0f} s, {processor_seconds() - worked:.0f} s of processor time",
                  flush=True)


if __name__ == "__main__":
    main()
