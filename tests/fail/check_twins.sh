#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_twins.sh gcc|clang|nvcc COMPILER FILE...: with -DFIXED each FILE compiles, so that a missing header or a typo can't
# pass for a broken rule. All together, each in a namespace of its own behind all their headers, since the headers take
# longer than the twins.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
kind=$1
use_compiler "$kind" "$2"
shift 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
all=$scratch/twins.cpp
grep -hE '^ *# *include' "$@" | sort -u >"$all"
for file; do
  printf 'namespace twin_of_%s {\n#include "%s"\n}\n' "$(basename "$file" .cpp)" "$(realpath "$file")" >>"$all"
done
"${check[@]}" -DFIXED "$all"
