#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every sentence in rules/broken*.hpp has a test here that reads it from the compilers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
missing=0
for file in "$here"/../../include/dsl/rules/broken*.hpp; do
  for rule in $(sed -nE '/^namespace (dsl::)?broken/,$ s/^struct ([a-z0-9_]+) \{$/\1/p' "$file"); do
    [ -f "$here/$rule.cpp" ] || { echo "tests/fail/$rule.cpp is missing"; missing=1; }
  done
done
exit "$missing"
