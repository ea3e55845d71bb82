#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_old_compiler.sh gcc|clang COMPILER: where C++20 is missing, or the compiler is too old, the first error says so.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
kind=$1
use_compiler "$kind" "$2"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
first_error() { # HEADER FLAG...
  local header=$1
  shift
  printf '#include <dsl/%s>\n' "$header" >"$scratch/user.cpp"
  { "${check[@]}" "$@" "$scratch/user.cpp" 2>&1 || true; } | grep -m1 'error:' || echo "no error"
}
says() { # TEXT FOUND
  case "$2" in *"$1"*) ;; *) echo "expected an error that says: $1; the first one is: $2"; exit 1 ;; esac
}
for header in language.hpp dsl.hpp; do
  says "typenet needs C++20: compile with -std=c++20" "$(first_error "$header" -std=c++17)"
  case "$kind" in
    gcc) older=(-U__GNUC__ -D__GNUC__=11) ;;
    clang) older=(-U__clang_major__ -D__clang_major__=13) ;;
  esac
  says "typenet needs GCC 12 or Clang 19, or later" "$(first_error "$header" "${older[@]}")"
done
