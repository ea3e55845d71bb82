#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs tests/fuzz/campaign with programs in the fuzzers' place: what ends a campaign, and what it writes down.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TYPENET_FUZZ_PROGRAMS=$scratch
fuzzer() { # NAME RESULT
  printf '#!/bin/sh\necho stat::number_of_executed_units: 10000000\nexit %d\n' "$2" >"$scratch/fuzz_$1"
  chmod +x "$scratch/fuzz_$1"
}
check() { # RESULT RECORD TARGET...
  local result=0 wanted=$1 record=$2
  shift 2
  rm -f "$scratch/campaign.txt"
  "$here/campaign" "$@" >"$scratch/said" 2>&1 || result=$?
  [ "$result" -eq "$wanted" ] || { echo "campaign $*: it must end with $wanted; it ended with $result" >&2; exit 1; }
  [ "$(cut -d ' ' -f 1,2,4 "$scratch/campaign.txt")" = "$record" ] ||
    { echo "campaign $*: it wrote" >&2; cat "$scratch/campaign.txt" >&2; exit 1; }
}
fuzzer fine 0
fuzzer broken 77
fuzzer interrupted 72  # what libFuzzer ends with after Ctrl-C
fuzzer unloadable 127
check 0 "fine 10000000 0" fine
check 1 $'broken 10000000 77\nfine 10000000 0' broken fine
check 130 "" interrupted fine
check 2 "" unloadable fine
check 2 "" fine misspelt
check 2 "fine 10000000 0" fine unloadable
