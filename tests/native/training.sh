#!/bin/bash
# SPDX-License-Identifier: MIT
# training.sh flags <program> <clang++ or nothing>: training.cpp prints the same lines with other flags and compilers as
#   <program>, which uses the compiled library.
# training.sh avx2: with TYPENET_MAX_ISA=avx2 it prints what it prints on a processor with AVX2 and without AVX-512.
# training.sh oldest: the same with the oldest x86-64 processor and TYPENET_MAX_ISA=baseline.
# training.sh aarch64: it runs on AArch64, whose bits are compared with no other build.
# The last three run it in qemu's user mode. GCC is $TYPENET_GCC.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../compilers.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
gcc=${TYPENET_GCC:-g++}
kind=$1

build() { "$@" -std=c++20 -I"$here/../../include" "$here/training.cpp" -o training -pthread || exit 1; }
# find_emulator NAME: sets `emulator` to that of the architecture, or ends the test.
find_emulator() { emulator=$(command -v "qemu-$1-static" || command -v "qemu-$1") || require cross "qemu-$1"; }
# emulate ARGUMENT...: runs them in the emulator.
emulate() {
  "$emulator" "$@" 2> messages || { cat messages; echo "failed in $emulator"; exit 1; }
}
require_x86() { [ "$(uname -m)" = x86_64 ] || { echo "skipped: this is no x86-64"; exit 77; }; }

case $kind in
  flags)
    lines() { for set in avx512 avx2 baseline; do TYPENET_MAX_ISA=$set "$1" 1 2 3 4 7 16 || exit 1; done; }
    expected=$(lines "$2") || { echo "$expected"; exit 1; }
    echo "$expected"
    for compiler in "$gcc" ${3:+"$3"}; do
      for flags in "-O1" "-O2 -march=native" "-O3 -ffp-contract=fast"; do
        # shellcheck disable=SC2086
        build "$compiler" $flags
        found=$(lines ./training) || { echo "$found"; exit 1; }
        [ "$found" = "$expected" ] || { printf '%s %s gives other bits:\n%s\n' "$compiler" "$flags" "$found"; exit 1; }
      done
    done
    ;;
  avx2)
    require_x86
    find_emulator x86_64
    build "$gcc" -O1 -static
    found=$(emulate -cpu Haswell ./training 2) || { echo "$found"; exit 1; }
    echo "$found"
    grep -qw avx2 /proc/cpuinfo || { echo "skipped: this processor has no AVX2"; exit 77; }
    own=$(TYPENET_MAX_ISA=avx2 ./training 1 2 3 4 7 16) || { echo "$own"; exit 1; }
    case $found in AVX2*) ;; *) echo "the emulator's processor has no AVX2"; exit 1 ;; esac
    [ "$found" = "$own" ] || { echo "here, other bits: $own"; exit 1; }
    ;;
  oldest)
    require_x86
    find_emulator x86_64
    build "$gcc" -O1 -static
    found=$(emulate -cpu Opteron_G1 ./training 1 2) || { echo "$found"; exit 1; }
    echo "$found"
    case $found in "128 bits"*) ;; *) echo "an old processor has no wide vectors"; exit 1 ;; esac
    own=$(TYPENET_MAX_ISA=baseline ./training 1 2) || { echo "$own"; exit 1; }
    [ "$found" = "$own" ] || { echo "here, other bits: $own"; exit 1; }
    ;;
  aarch64)
    command -v aarch64-linux-gnu-g++ > /dev/null || require cross aarch64-linux-gnu-g++
    find_emulator aarch64
    build aarch64-linux-gnu-g++ -O1 -static
    found=$(emulate ./training 1 2) || { echo "$found"; exit 1; }
    echo "$found"
    ;;
esac
