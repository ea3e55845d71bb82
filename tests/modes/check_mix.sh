#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_mix.sh COMPILER LIBRARY: one program of a file that uses the headers alone and one that uses the compiled
# library. Both give the same bits; what both define is the language's; and a trainer of the one that is handed to the
# other is an undefined reference that names the mode.
set -euo pipefail
compiler=$1
library=$2
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
build() { "$compiler" -std=c++20 -O0 -pthread "-I$here/../../include" "$@"; }

build -c "$here/header_only.cpp" -o "$scratch/header_only.o"
build -DTYPENET_COMPILED -c "$here/compiled.cpp" -o "$scratch/compiled.o"
build "$scratch/compiled.o" "$scratch/header_only.o" "$library" -o "$scratch/program"
"$scratch/program"
build "$scratch/header_only.o" "$scratch/compiled.o" "$library" -o "$scratch/program"
"$scratch/program"

symbols() { nm -C --defined-only "$1" | cut -d' ' -f3-; }
! symbols "$scratch/header_only.o" | grep -q 'dsl::.*compiled::' || { echo "header_only.o has what is compiled"; exit 1; }
! symbols "$scratch/compiled.o" | grep -q 'dsl::.*header_only::' || { echo "compiled.o has what is header_only"; exit 1; }
! symbols "$library" | grep -q 'dsl::.*header_only::' || { echo "the library has what is header_only"; exit 1; }

build -DTYPENET_COMPILED -DHAND_OVER -c "$here/compiled.cpp" -o "$scratch/hand_over.o"
if build "$scratch/hand_over.o" "$scratch/header_only.o" "$library" -o "$scratch/program" 2>"$scratch/said"; then
  echo "a trainer of one mode must not link with a function of the other"
  exit 1
fi
grep -q 'undefined reference to .learning_rate_of(dsl::compiled::trainer const&)' "$scratch/said" ||
  { cat "$scratch/said"; exit 1; }
