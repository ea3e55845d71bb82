#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_twins.sh gcc|clang|nvcc COMPILER FILE...: with -DFIXED each FILE compiles, so that a missing header or a typo can't
# pass for a broken rule. All together, each in a namespace of its own behind all their headers, since the headers take
# longer than the twins; a file that adds to the namespace dsl is compiled alone.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
declarations_only=1
kind=$1
use_compiler "$kind" "$2"
shift 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
all=$scratch/twins.cpp
together=() alone=()
for file; do
  if grep -qE '^(namespace|struct|class) dsl' "$file"; then alone+=("$file"); else together+=("$file"); fi
done
grep -hE '^ *# *include' "${together[@]}" | sort -u >"$all"
for file in "${together[@]}"; do
  printf 'namespace twin_of_%s {\n#include "%s"\n}\n' "$(basename "$file" .cpp)" "$(realpath "$file")" >>"$all"
done
for file in "$all" ${alone[@]+"${alone[@]}"}; do "${check[@]}" -DFIXED "$file"; done
