#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a fuzzer for a bounded time, from the committed corpus and what earlier runs have found beside the program.
#   tests/fuzz/run.sh build/asan/tests/fuzz_csv [SECONDS [OPTION...]]   by default TYPENET_FUZZ_SECONDS, or 60; libFuzzer's options
# A finding fails; its input is left beside the program, as finding_csv_*. To mend it: put the file into the corpus.
set -euo pipefail
program=$1
seconds=${2:-${TYPENET_FUZZ_SECONDS:-60}}
shift $(($# < 2 ? $# : 2))
name=$(basename "$program")
name=${name#fuzz_}
found=$(dirname "$program")/corpus/$name
mkdir -p "$found"
# Memory that a hostile size asks for is refused as on a full machine, and an allocation above 2 GB is a finding.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1${TYPENET_FUZZ_ASAN:+:$TYPENET_FUZZ_ASAN}
exec "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 -verbosity=1 \
  -artifact_prefix="$(dirname "$program")/finding_${name}_" "$@" "$found" "$(dirname "$0")/corpus/$name"
