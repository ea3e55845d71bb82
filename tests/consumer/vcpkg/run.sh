#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the port cmake/vcpkg/typenet and a user's project with it. vcpkg itself would download and build all
# dependencies: functions.cmake stands for it, and its libraries are the system's. With TYPENET_TESTS=all also a program
# that trains and, where there is a vcpkg, the core and the compiled core with vcpkg itself, without a warning: neither needs
# a download, since patchelf and ninja are the system's (VCPKG_FORCE_SYSTEM_BINARIES).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
port=$root/cmake/vcpkg/typenet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The port asks for exactly the features of its manifest.
python3 -B - "$port" <<'PYTHON'
import json, pathlib, re, sys
port = pathlib.Path(sys.argv[1])
manifest = json.loads((port / "vcpkg.json").read_text())
asked = set(re.findall(r"^    ([a-z0-9-]+) (?:TYPENET|CMAKE)_\w+", (port / "portfile.cmake").read_text(), re.M))
assert asked == set(manifest["features"]), f"portfile.cmake knows {asked}, vcpkg.json {set(manifest['features'])}"
PYTHON

package=$scratch/packages/typenet
mkdir -p "$package"
cmake "-DFEATURES=core;text" "-DCURRENT_PORT_DIR=$port" "-DCURRENT_PACKAGES_DIR=$package" "-DWORK=$scratch/port" \
  -P "$here/functions.cmake" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
mv "$scratch/packages" "$scratch/installed"
for file in share/typenet/typenetConfig.cmake share/typenet/copyright share/typenet/usage share/pkgconfig/typenet.pc \
  share/pkgconfig/typenet-text.pc include/dsl/dsl.hpp; do
  [ -f "$scratch/installed/typenet/$file" ] || { echo "the package must have $file"; exit 1; }
done
for part in safetensors keras_h5 onnx onednn cuda nccl mpi pictures; do
  file=share/pkgconfig/typenet-$part.pc
  [ ! -e "$scratch/installed/typenet/$file" ] || { echo "the package must not have $file"; exit 1; }
done
if grep -rlF "$root" "$scratch/installed"; then
  echo "a package must not name the tree that it was built from"
  exit 1
fi

cmake -S "$here" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_CXX_FLAGS=-O0 \
  -DCMAKE_PREFIX_PATH="$scratch/installed/typenet" "-DTYPENET_PARTS=core;text"
cmake --build "$scratch/build" --target language
if said=$(cmake -S "$here" -B "$scratch/without" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" \
  -DCMAKE_PREFIX_PATH="$scratch/installed/typenet" "-DTYPENET_COMPONENTS=COMPONENTS;keras_h5" 2>&1); then
  echo "find_package must not find keras_h5, which the package does not have"
  exit 1
fi
tr -s '[:space:]' ' ' <<<"$said" | grep -q 'component keras_h5 needs a package of typenet .* install the feature keras-h5' ||
  { echo "unclear error: $said"; exit 1; }
[ "${TYPENET_TESTS:-}" = all ] || exit 0
cmake --build "$scratch/build" --target train_core
"$scratch/build/train_core" | grep -q '^reference: loss'

vcpkg=$(command -v vcpkg || echo "${VCPKG_ROOT:+$VCPKG_ROOT/vcpkg}")
if [ -z "$vcpkg" ] || [ ! -x "$vcpkg" ]; then
  echo "not tried with vcpkg itself: there is none in PATH or VCPKG_ROOT"
  exit 0
fi
export VCPKG_FORCE_SYSTEM_BINARIES=1
case "$(uname -m)" in x86_64) machine=x64 ;; aarch64) machine=arm64 ;; *) machine=$(uname -m) ;; esac
mkdir "$scratch/project" "$scratch/triplets"
cat >"$scratch/triplets/unoptimized.cmake" <<TRIPLET
set(VCPKG_TARGET_ARCHITECTURE $machine)
set(VCPKG_CRT_LINKAGE dynamic)
set(VCPKG_LIBRARY_LINKAGE static)
set(VCPKG_CMAKE_SYSTEM_NAME Linux)
set(VCPKG_C_FLAGS "")
set(VCPKG_CXX_FLAGS "")
set(VCPKG_C_FLAGS_RELEASE -O0)
set(VCPKG_CXX_FLAGS_RELEASE -O0)
set(VCPKG_C_FLAGS_DEBUG -g0)
set(VCPKG_CXX_FLAGS_DEBUG -g0)
TRIPLET
cd "$scratch/project"  # no manifest above it
for features in core core,compiled; do
  made=$scratch/$features
  "$vcpkg" install "typenet[$features]" --overlay-ports="$root/cmake/vcpkg" --overlay-triplets="$scratch/triplets" \
    --triplet=unoptimized --no-binarycaching --x-buildtrees-root="$made/trees" --x-packages-root="$made/packages" \
    --x-install-root="$made/installed" | tee "$scratch/said"
  if grep -q 'warning: ' "$scratch/said"; then exit 1; fi
  cmake -S "$here" -B "$made/build" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_CXX_FLAGS=-O0 \
    -DCMAKE_TOOLCHAIN_FILE="$(dirname "$(readlink -f "$vcpkg")")/scripts/buildsystems/vcpkg.cmake" \
    -DVCPKG_INSTALLED_DIR="$made/installed" -DVCPKG_MANIFEST_MODE=OFF -DVCPKG_TARGET_TRIPLET=unoptimized \
    -DVCPKG_OVERLAY_TRIPLETS="$scratch/triplets" "-DTYPENET_PARTS=${features/,/;}"
  cmake --build "$made/build" --target language
done
cmake --build "$made/build" --target train_compiled
"$made/build/train_compiled" | grep -q '^reference: loss'
