#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/test refuses a stage that does not exist, and its help explains each that does.
set -euo pipefail
script=$(cd "$(dirname "$0")" && pwd)/../scripts/test
code=0
said=$("$script" no_such_stage 2>&1) || code=$?
[ "$code" -eq 2 ] || { echo "an unknown stage gives exit code $code: $said"; exit 1; }
stages=${said##*: }
help=$("$script" --help)
missing=0
for stage in ${stages//,/}; do
  [ "$stage" != or ] || continue
  grep -qE "^( *scripts/test \[?)?$stage(\]|  )" <<<"$help" || { echo "--help does not explain $stage"; missing=1; }
done
exit "$missing"
