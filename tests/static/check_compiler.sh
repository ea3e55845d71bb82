#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_compiler.sh COMPILER FLAG...: every core header, and every static test, compiles with these flags, without a
# warning of -Wall -Wextra. Needs the headers of MPI and HDF5, as tests/tidy.cpp does.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=$1
shift
flags=(-fsyntax-only -Wall -Wextra -Werror -Iinclude -Itests -isystem /usr/include/hdf5/serial)
for folder in $(mpicxx --showme:incdirs 2>/dev/null || true); do flags+=(-isystem "$folder"); done
case "$compiler" in *nvcc) flags=(-x cu -cuda -fdevice-syntax-only -o /dev/null -Werror all-warnings -Iinclude -Itests) ;; esac
bad=0 found=0
for file in tests/tidy.cpp tests/static/*.cpp; do
  case "$compiler,$file" in *nvcc,tests/tidy.cpp) continue ;; esac
  found=$((found + 1))
  "$compiler" "${flags[@]}" "$@" "$file" || { echo "$compiler $*: $file does not compile"; bad=1; }
done
[ "$found" -gt 1 ] || { echo "no tests in tests/static"; bad=1; }
exit "$bad"
