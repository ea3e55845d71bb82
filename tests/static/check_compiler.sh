#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_compiler.sh COMPILER FLAG...: the headers of tests/tidy.cpp, and every static test, compile with these flags and
# without a warning of -Wall -Wextra.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
shift
flags=(-fsyntax-only -Wall -Wextra -Werror -Iinclude -Itests -isystem /usr/include/hdf5/serial)
for folder in $(mpicxx --showme:incdirs 2>/dev/null || true); do flags+=(-isystem "$folder"); done
case "$compiler" in *nvcc) flags=(-x cu -cuda -fdevice-syntax-only -o /dev/null -Werror all-warnings -Iinclude -Itests) ;; esac
bad=0 found=0
for file in tests/tidy.cpp tests/static/*.cpp; do
  # Libc++ 19 has no std::from_chars of a double, which CSV files need; nvcc reads what a network's file includes.
  case "$compiler $*,$file" in *nvcc*,tests/tidy.cpp | *libc++*,tests/tidy.cpp) continue ;; esac
  found=$((found + 1))
  "$compiler" "${flags[@]}" "$@" "$file" || { echo "$compiler $*: $file does not compile"; bad=1; }
done
[ "$found" -gt 1 ] || { echo "no tests in tests/static"; bad=1; }
exit "$bad"
