#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_one_definition.sh gcc|clang COMPILER: training_bytes() of no batch is an option_error in each file of a program
# that has one with error.hpp, whichever file the linker takes a function from; where there is none it ends the program.
# The language needs neither exceptions nor RTTI.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
use_compiler "$1" "$2"
here=$(cd "$(dirname "$0")/one_definition" && pwd)
root=$(cd "$here/../../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for level in -O0 -O2; do
  for file in with_errors language_alone only_traps; do
    flags=()
    [ "$file" = with_errors ] || flags=(-fno-exceptions -fno-rtti)
    "$2" -std=c++20 "$level" "-I$root/include" ${flags[@]+"${flags[@]}"} -c "$here/$file.cpp" -o "$scratch/$file.o"
  done
  for order in "with_errors language_alone" "language_alone with_errors"; do
    read -r first second <<<"$order"
    "$2" "$scratch/$first.o" "$scratch/$second.o" -o "$scratch/program"
    "$scratch/program" || { echo "$level: $order: training_bytes(0) must throw an option_error"; exit 1; }
  done
  "$2" "$scratch/language_alone.o" "$scratch/only_traps.o" -o "$scratch/program"
  "$scratch/program" one  # a batch of 1
  result=0
  (ulimit -c 0; "$scratch/program") 2>/dev/null || result=$?
  [ "$result" -gt 128 ] || { echo "$level: the language alone must end the program; it returned $result"; exit 1; }
done
