# SPDX-License-Identifier: MIT
"""Finds NVIDIA's headers and libraries in a toolkit's folder, the system's folders, or Python's wheels."""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess

# part: (headers, names of the library, whether typenet::cuda needs it)
PARTS = {
    "cudart": (("cuda_runtime_api.h",), ("libcudart.so", "libcudart.so.13", "libcudart_static.a"), True),
    "nvrtc": (("nvrtc.h",), ("libnvrtc.so", "libnvrtc.so.13"), True),
    "cublasLt": (("cublasLt.h",), ("libcublasLt.so", "libcublasLt.so.13"), True),
    "cudnn": (("cudnn.h", "cudnn_backend.h"), ("libcudnn.so", "libcudnn.so.9"), True),
    "nccl": (("nccl.h",), ("libnccl.so", "libnccl.so.2"), False),
}
# the least versions, according to the headers of a folder, of the two packages to which parts belong
LEAST = {"cuda": 13000, "cudnn": 91100}
BOX = {"cudart": "cuda", "nvrtc": "cuda", "cublasLt": "cuda", "cudnn": "cudnn"}
INCLUDES = ("include", "targets/x86_64-linux/include", "targets/sbsa-linux/include")
LIBRARIES = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib/x86_64-linux-gnu",
             "lib/aarch64-linux-gnu")


def module_folders(python):
    """Returns the folders in which the interpreter looks for modules; wheels install nvidia/ there."""
    try:
        done = subprocess.run([python, "-c", "import json, sys; print(json.dumps(sys.path))"], capture_output=True,
                              text=True, timeout=60)
        return [p for p in json.loads(done.stdout) if p] if done.returncode == 0 else []
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return []


def roots(cuda, python):
    """Returns the folders that may have include/ and lib/, the preferred ones first, without duplicates."""
    nvcc = shutil.which("nvcc")
    found = [cuda, os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             nvcc and os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "/usr/local/cuda",
             *sorted(glob.glob("/usr/local/cuda-*"), reverse=True), "/usr"]
    for folder in module_folders(python):
        found += sorted(glob.glob(os.path.join(folder, "nvidia", "*")))
    real = [os.path.realpath(f) for f in found if f and os.path.isdir(f)]
    return list(dict.fromkeys(real))


def first(root, folders, names):
    """Returns the first file root/folder/name that exists, or None."""
    for name in names:
        for folder in folders:
            path = os.path.join(root, folder, name)
            if os.path.isfile(path):
                return path
    return None


def number_in(folder, files, pattern):
    for file in files:
        try:
            found = re.search(pattern, pathlib.Path(folder, file).read_text(errors="replace"))
        except OSError:
            found = None
        if found:
            return int(found.group(1))
    return 0


def cuda_version(folder):
    return number_in(folder, ("cuda_runtime_api.h",), r"#define +CUDART_VERSION +(\d+)")


def cudnn_version(folder):
    numbers = [number_in(folder, ("cudnn_version_v9.h", "cudnn_version.h"), rf"#define +CUDNN_{p} +(\d+)")
               for p in ("MAJOR", "MINOR", "PATCHLEVEL")]
    return numbers[0] * 10000 + numbers[1] * 100 + numbers[2]


VERSIONS = {"cuda": ("cuda_runtime_api.h", cuda_version), "cudnn": ("cudnn.h", cudnn_version)}


def tail(path):
    """Returns a path as result files show it, without the folders of this machine."""
    return "/".join(pathlib.Path(path).parts[-4:]).replace("//", "/")


class Toolkit:
    """Headers (part -> folder) and libraries (part -> file), texts about missing parts, and notes about unusual
    ones."""

    def __init__(self, cuda=None, python="python3", carried=None, only=None):
        self.headers, self.libraries, self.missing, self.notes = {}, {}, [], []
        self.carried = carried if carried and os.path.isdir(carried) else None
        self.roots = roots(cuda, python) if only is None else [os.path.realpath(r) for r in only]
        self.old = {box: {r for r in self.roots if self.is_old(r, box)} for box in LEAST}
        for part, (headers, libraries, needed) in PARTS.items():
            self.find(part, headers, libraries, carried)
            if needed and part not in self.headers:
                self.missing.append(f"{part}: no {headers[-1]}")
            if needed and part not in self.libraries:
                self.missing.append(f"{part}: no {libraries[0]} or {libraries[1]}")
        self.versions = {}
        for box, part in (("cuda", "cudart"), ("cudnn", "cudnn")):
            if part not in self.headers:
                continue
            self.versions[box] = VERSIONS[box][1](self.headers[part])
            if self.versions[box] < LEAST[box]:  # carried ones
                self.missing.append(f"{box} must be {LEAST[box]} or later; its header says {self.versions[box]}")

    def is_old(self, root, box):
        """Whether a folder has this package in a version that is too old; its parts are then ignored."""
        header, version = VERSIONS[box]
        path = first(root, INCLUDES, (header,))
        found = version(os.path.dirname(path)) if path else None
        if found is None or found >= LEAST[box]:
            return False
        self.notes.append(f"{tail(root)} has {box} {found}, which was ignored; it must be {LEAST[box]} or later")
        return True

    def find(self, part, headers, libraries, carried):
        fit = [r for r in self.roots if r not in self.old.get(BOX.get(part), ())]
        whole = {r: first(r, INCLUDES, headers[-1:]) for r in fit}
        files = {r: first(r, LIBRARIES, libraries) for r in fit}
        both = next((r for r in fit if whole[r] and files[r]), None)
        header = both or next((r for r in fit if whole[r]), None)
        library = both or next((r for r in fit if files[r]), None)
        if header:
            self.headers[part] = os.path.dirname(whole[header])
        elif carried and os.path.isfile(os.path.join(carried, headers[-1])):
            self.headers[part] = str(carried)
            self.notes.append(f"{part}'s header is the carried one")
        if library:
            self.libraries[part] = files[library]
        if header and library and header != library:
            self.notes.append(f"{part}: the header is from {tail(header)}, the library from {tail(library)}")

    def include_folders(self):
        needed = [self.headers[p] for p in PARTS if p in self.headers]
        # the compiler's own folders must keep their place: its headers include one another in that order
        return [f for f in dict.fromkeys(needed) if f != "/usr/include"]

    def library_folders(self):
        return list(dict.fromkeys(os.path.dirname(f) for f in self.libraries.values()))

    def compile_flags(self):
        # wheels may lack headers that their own headers include; the carried ones are searched last
        last = ["-idirafter", str(self.carried)] if self.carried else []
        return [flag for f in self.include_folders() for flag in ("-isystem", f)] + last

    def link_flags(self):
        files = [self.libraries[p] for p, (_, _, needed) in PARTS.items() if needed and p in self.libraries]
        # RPATH, not RUNPATH: cuDNN opens its other libraries by name, and they are in the same folders
        paths = [f"-Wl,-rpath,{f}" for f in self.library_folders()]
        return [*files, "-Wl,--disable-new-dtags", *paths, "-pthread", "-ldl", "-lrt"]

    def cmake_flags(self):
        flags = []
        for part in ("cudart", "nvrtc", "cublasLt", "cudnn"):
            name = part.upper()
            flags += [f"-DTYPENET_{name}_INCLUDE_DIR={self.headers.get(part, '')}",
                      f"-DTYPENET_{name}_LIBRARY={self.libraries.get(part, '')}"]
        return flags

    def environment(self):
        """Returns the environment of typenet's programs: NVRTC and cuDNN open libraries in their own folders."""
        before = os.environ.get("LD_LIBRARY_PATH")
        return {"LD_LIBRARY_PATH": os.pathsep.join(self.library_folders() + ([before] if before else []))}

    def tool(self, name):
        """Returns the path of a program of the toolkit, such as compute-sanitizer, or None."""
        for root in self.roots:
            for place in ("bin", "compute-sanitizer", "extras/compute-sanitizer"):
                path = os.path.join(root, place, name)
                if os.access(path, os.X_OK) and os.path.isfile(path):
                    return path
        return shutil.which(name)

    def summary(self):
        return {"versions": self.versions, "libraries": {p: tail(f) for p, f in self.libraries.items()},
                "headers": {p: tail(f) for p, f in self.headers.items()}, "missing": self.missing, "notes": self.notes}
