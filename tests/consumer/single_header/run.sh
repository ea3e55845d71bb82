#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes typenet as one header and builds a user's program with nothing else, in three files, one of which has the
# implementation, without a warning. With TYPENET_TESTS=all also with the headers alone, optimized, with Clang, and beside
# files that include <dsl/...>; the numbers must always be the same.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
root=$here/../../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/single" "$scratch/headers"

python3 -B "$root/scripts/single_header" --self-test
"$root/scripts/single_header" -o "$scratch/single/typenet.hpp"
"$root/scripts/single_header" -o "$scratch/single/typenet_language.hpp" dsl/language.hpp
if grep -nE '#\s*include\s*["<]dsl/' "$scratch"/single/*.hpp; then
  echo "a single header must not include one of typenet's"
  exit 1
fi

warnings=(-Wall -Wextra -pedantic -Werror)
compile() { # COMPILER FOLDER-OF-TYPENET.HPP NAME FLAG...: compiles NAME.cpp to FOLDER/NAME.o
  "$1" -std=c++20 "${warnings[@]}" "-I$2" "${@:4}" -c "$here/$3.cpp" -o "$2/$3.o"
}
runs() { # FOLDER-OF-MAIN FOLDER-OF-TRAINER FOLDER-OF-IMPLEMENTATION...
  local folder objects=("$1/main.o" "$2/trainer.o")
  for folder in "${@:3}"; do objects+=("$folder/implementation.o"); done
  "$TYPENET_CXX" "${objects[@]}" -pthread -o "$scratch/program"
  "$scratch/program"
}
refused() { # SENTENCE LINE...: the preprocessor must refuse a file of these lines
  printf '%s\n' "${@:2}" >"$scratch/mixed.cpp"
  if "$TYPENET_CXX" -std=c++20 "-I$root/include" "-I$scratch/single" "${flags[@]}" -E "$scratch/mixed.cpp" -o /dev/null \
    2>"$scratch/said"; then
    echo "this must be refused: ${*:2}"
    exit 1
  fi
  grep -qF "$1" "$scratch/said" || { cat "$scratch/said"; exit 1; }
}

"$TYPENET_CXX" -std=c++20 "${warnings[@]}" "-I$scratch/single" -fno-exceptions -fno-rtti -fsyntax-only "$here/language.cpp"
flags=()
refused "is included already" '#include <dsl/dsl.hpp>' '#include "typenet.hpp"'
refused "is included already" '#include "typenet.hpp"' '#include <dsl/dsl.hpp>'
refused "is included already" '#include "typenet.hpp"' '#include <dsl/training/compile.hpp>'
refused "is included already" '#include "typenet_language.hpp"' '#include "typenet.hpp"'
compile "$TYPENET_CXX" "$scratch/single" main -O0 -DTYPENET_COMPILED
compile "$TYPENET_CXX" "$scratch/single" trainer -O0 -DTYPENET_COMPILED
compile "$TYPENET_CXX" "$scratch/single" implementation -O0
runs "$scratch/single" "$scratch/single" "$scratch/single" | tee "$scratch/said"
"$TYPENET_CXX" -std=c++20 "${warnings[@]}" "-I$scratch/single" -fsyntax-only "$here/main.cpp"  # with the header alone
[ "${TYPENET_TESTS:-}" = all ] || exit 0

how=(-O2 -g)  # as online compilers do it, which print x86's instructions in Intel's syntax
[ "$(uname -m)" != x86_64 ] || how+=(-masm=intel)
printf '#include <%s>\n' dsl/dsl.hpp dsl/callbacks.hpp dsl/training/predictor.hpp >"$scratch/headers/typenet.hpp"
for name in main trainer; do
  compile "$TYPENET_CXX" "$scratch/headers" "$name" -O2 "-I$root/include"
  compile "$TYPENET_CXX" "$scratch/single" "$name" "${how[@]}"
done
for folder in headers single; do
  for other in headers single; do runs "$scratch/$folder" "$scratch/$other" | cmp - "$scratch/said"; done
done
for name in main trainer implementation; do
  compile "$TYPENET_CXX" "$scratch/headers" "$name" -O2 -DTYPENET_COMPILED "-I$root/include"
  compile "$TYPENET_CXX" "$scratch/single" "$name" -O2 -DTYPENET_COMPILED
done
runs "$scratch/headers" "$scratch/headers" "$scratch/headers" | cmp - "$scratch/said"
runs "$scratch/single" "$scratch/headers" "$scratch/single" | cmp - "$scratch/said"
case "${TYPENET_CLANG:-}" in
  *NOTFOUND | "") ;;
  *)
    for name in main trainer implementation; do compile "$TYPENET_CLANG" "$scratch/headers" "$name" -O2 -DTYPENET_COMPILED "-I$root/include"; done
    runs "$scratch/headers" "$scratch/headers" "$scratch/headers" | cmp - "$scratch/said"
    for name in main trainer; do compile "$TYPENET_CLANG" "$scratch/single" "$name" -O2; done
    runs "$scratch/single" "$scratch/single" | cmp - "$scratch/said"
    ;;
esac
