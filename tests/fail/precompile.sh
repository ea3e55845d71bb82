#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# precompile.sh gcc|clang COMPILER FOLDER: compiles the two headers that most files of tests/fail begin with into
# FOLDER/<kind>, once for all of them: check_fail.sh uses them, and takes a fifth of the time.
set -euo pipefail
case "$2" in *NOTFOUND | "") exit 0 ;; esac  # the tests say that it was not found
. "$(dirname "$0")/../compilers.sh"
declarations_only=1
kind=$1 folder=$3/$1
use_compiler "$kind" "$2"
rm -rf "$folder"
mkdir -p "$folder/dsl"
root=$(cd "$(dirname "$0")/../.." && pwd)
for header in language dsl; do
  case "$kind" in
    gcc) to=$folder/dsl/$header.hpp.gch ;;  # found in place of the header
    clang) to=$folder/dsl/$header.hpp.pch ;;
  esac
  "${check[@]/-fsyntax-only/-c}" -x c++-header "$root/include/dsl/$header.hpp" -o "$to"
done
