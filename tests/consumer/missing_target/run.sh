#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program that includes the header of a part without linking it gets an error that names the part's target, whether its
# flags come from CMake or from pkg-config; one whose flags come from neither is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The parts, their headers and what they need, as docs/installing.md has them.
parts=$(sed -nE 's/^\| `typenet::([a-z0-9_]+)` \| (.*) \| .*`<(dsl\/[^>]+)>` \|$/\1 \3 \2/p' "$root/docs/installing.md" | grep -v '^core ')
[ "$(wc -l <<<"$parts")" = 9 ] || { echo "docs/installing.md must list nine parts and their headers; found: $parts"; exit 1; }

# The preprocessor alone: whether the other libraries are there does not matter.
objects() { # HEADER FLAG...: prints the header's own error, if it has one
  "$TYPENET_CXX" -std=c++20 "-I$root/include" "${@:2}" -E -x c++ "$root/include/$1" -o /dev/null 2>&1 |
    grep -E "error: #error" | head -n 1 || true
}
while read -r part header needs; do
  said=$(objects "$header" -DTYPENET_TARGETS=1)
  libraries=$(sed -nE "s|.*#error *\"$part: <$header> needs (.+); link typenet::$part or typenet::compiled_$part\"\$|\1|p" <<<"$said")
  [ -n "$libraries" ] || { echo "<$header> must name what it needs, and the targets; it says '$said'"; exit 1; }
  for library in ${libraries// and / }; do
    grep -qwF -- "$library" <<<"$needs" || { echo "docs/installing.md must say that typenet::$part needs $library"; exit 1; }
  done
  # nccl is on top of cuda
  for flags in "-DTYPENET_TARGETS=1 -DTYPENET_HAS_${part^^}=1 -DTYPENET_HAS_CUDA=1" ""; do
    said=$(objects "$header" $flags)
    [ -z "$said" ] || { echo "<$header> with '$flags' must be accepted; it says '$said'"; exit 1; }
  done
  grep -q -- "-DTYPENET_HAS_${part^^}=1" "$root/cmake/typenet-$part.pc.in" || { echo "typenet-$part.pc must define it"; exit 1; }
done <<<"$parts"
grep -q -- -DTYPENET_TARGETS=1 "$root/cmake/typenet.pc.in"

# From CMake, the first error names the target, and CMake's own flags do not hide it.
cmake -S "$here" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_CXX_FLAGS=-O0 >"$scratch/configure.log"
if cmake --build "$scratch/build" --target without >"$scratch/said" 2>&1; then
  echo "a program with <dsl/pictures.hpp> must not compile with typenet::typenet alone"
  exit 1
fi
grep -m1 -E 'error:' "$scratch/said" | grep -qF "needs libpng and libjpeg; link typenet::pictures" || { cat "$scratch/said"; exit 1; }
