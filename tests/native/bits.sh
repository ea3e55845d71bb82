#!/bin/bash
# SPDX-License-Identifier: MIT
# bits.sh <clang++ or nothing>: the native kernels give the same bits, whatever they are compiled with, and only
# functions for wider vectors use them. GCC is $TYPENET_GCC. With TYPENET_TESTS=all, in the environment, at more levels.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
gcc=${TYPENET_GCC:-g++}
clang=${1:-}
first=

same_bits() {
  local what="$*"
  "$@" -std=c++20 -Wall -Wextra -Werror -I"$here/../../include" "$here/bits.cpp" -o "$folder/bits" || exit 1
  local found
  found=$("$folder/bits") || { echo "$what: the program failed"; exit 1; }
  if [ -z "$first" ]; then
    first=$found
    echo "$first"
  elif [ "$found" != "$first" ]; then
    printf 'other bits from %s:\n%s\n' "$what" "$found"
    exit 1
  fi
}
same_bits "$gcc" -O2
if [ "$(uname -m)" = x86_64 ] && command -v objdump > /dev/null; then
  # A function is a line "<name>:"; its instructions follow. 256 and 512 bits belong to widths::avx2 and widths::avx512.
  objdump -dC --no-show-raw-insn "$folder/bits" | awk '
    /^[0-9a-f]+ <.*>:$/ { name = $0; wide = name ~ /widths::((header_only|compiled)::)?avx(2|512)::run</ }
    /%[yz]mm/ { if (wide) ++inside; else { print "wide vectors in " name ": " $0; ++outside } }
    END { if (!inside) print "found no wide vectors at all"; exit outside > 0 || !inside }' || exit 1
fi
[ "${TYPENET_TESTS:-}" != all ] || same_bits "$gcc" -O1 -ffp-contract=off
# The kernels' own instructions are written in both syntaxes of the assembler.
intel=()
[ "$(uname -m)" != x86_64 ] || intel=(-masm=intel)
same_bits "$gcc" -O3 -march=native -ffp-contract=fast "${intel[@]}"
if [ -n "$clang" ]; then
  [ "${TYPENET_TESTS:-}" != all ] || same_bits "$clang" -O2
  # On processors with AVX10, Clang 19 warns of the features that -march=native itself has chosen.
  same_bits "$clang" -O3 -march=native -Wno-invalid-feature-combination -ffp-contract=fast
fi
# Reassociation would break the promise, so it is refused.
for flag in -ffast-math -Ofast; do
  if "$gcc" -std=c++20 $flag -fsyntax-only -Wfatal-errors -I"$here/../../include" "$here/bits.cpp" 2> "$folder/error"; then
    echo "$flag compiles"
    exit 1
  fi
  grep -q "cannot be compiled with -ffast-math" "$folder/error" || { cat "$folder/error"; exit 1; }
done
