#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes typenet as one header and builds a user's program with nothing else: in two files, without a warning. With
# TYPENET_TESTS=all also with an online compiler's flags, with Clang, and beside a file that includes <dsl/...>; the
# numbers must be those of the program with <dsl/...> alone.
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
runs() { # FOLDER-OF-MAIN FOLDER-OF-TRAINER
  "$TYPENET_CXX" "$1/main.o" "$2/trainer.o" -pthread -o "$scratch/program"
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
flags=(-DTYPENET_COMPILED)
refused "does not work with the compiled library" '#include "typenet.hpp"'

how=(-O0)
if [ "${TYPENET_TESTS:-}" = all ]; then
  how=(-O2 -g)  # as online compilers do it, which print x86's instructions in Intel's syntax
  [ "$(uname -m)" != x86_64 ] || how+=(-masm=intel)
fi
compile "$TYPENET_CXX" "$scratch/single" main "${how[@]}"
compile "$TYPENET_CXX" "$scratch/single" trainer "${how[@]}"
runs "$scratch/single" "$scratch/single" | tee "$scratch/said.single"
[ "${TYPENET_TESTS:-}" = all ] || exit 0

printf '#include <%s>\n' dsl/dsl.hpp dsl/callbacks.hpp dsl/training/predictor.hpp >"$scratch/headers/typenet.hpp"
compile "$TYPENET_CXX" "$scratch/headers" main -O2 "-I$root/include"
compile "$TYPENET_CXX" "$scratch/headers" trainer -O2 "-I$root/include"
runs "$scratch/headers" "$scratch/headers" >"$scratch/said.headers"
cmp "$scratch/said.single" "$scratch/said.headers"
runs "$scratch/headers" "$scratch/single" | cmp - "$scratch/said.headers"
case "${TYPENET_CLANG:-}" in
  *NOTFOUND | "") ;;
  *)
    compile "$TYPENET_CLANG" "$scratch/single" main -O2
    compile "$TYPENET_CLANG" "$scratch/single" trainer -O2
    runs "$scratch/single" "$scratch/single" | cmp - "$scratch/said.headers"
    ;;
esac
