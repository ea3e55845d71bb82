#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_static.sh gcc|clang|nvcc COMPILER FILE...: each FILE compiles, without a warning. With GCC each header does so
# alone, in an otherwise empty source; which includes it lacks does not depend on the compiler, so that the others are
# given all headers together, as is GCC with TYPENET_TOGETHER=1. Further compiler flags come from TYPENET_WARNINGS,
# separated by blanks. With TYPENET_DECLARATIONS_ONLY=1 the files see the headers as users of the compiled library do.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
kind=$1
declarations_only=${TYPENET_DECLARATIONS_ONLY:-}
use_compiler "$kind" "$2"
shift 2
case "$kind" in
  nvcc) check+=(-Werror all-warnings) ;;
  *) read -ra warnings <<<"${TYPENET_WARNINGS:--Wall -Wextra}"; check+=("${warnings[@]}" -Werror) ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
try() { # SOURCE NAME
  local output
  if ! output=$("${check[@]}" "$1" 2>&1); then
    printf '%s does not compile with %s:\n%s\n' "$2" "$kind" "$(head -n 40 <<<"$output")"
    bad=1
  fi
}
for file; do
  case "${TYPENET_TOGETHER:-}$kind,$file" in
    1*.hpp | clang,*.hpp | nvcc,*.hpp) printf '#include "%s"\n' "$file" >>"$scratch/headers.cpp" ;;
    *.hpp) printf '#include "%s"\n' "$file" >"$scratch/header.cpp"; try "$scratch/header.cpp" "$file" ;;
    *) try "$file" "$file" ;;
  esac
done
[ ! -e "$scratch/headers.cpp" ] || try "$scratch/headers.cpp" "one of the headers together"
exit "$bad"
