# SPDX-License-Identifier: MIT
# Sourced by the tests that drive a compiler themselves. The rules hold on three compilers, whichever one built us.

# require NAME WHAT: ends the test, as skipped (77), or as failed where TYPENET_REQUIRE lists NAME.
require() {
  case ",${TYPENET_REQUIRE:-}," in
    *",$1,"*) echo "TYPENET_REQUIRE names $1, and $2 was not found"; exit 1 ;;
    *) echo "skipped: $2 was not found"; exit 77 ;;
  esac
}

# use_compiler KIND PATH: sets the array `check`, a command that checks a file and writes nothing.
# The source line and caret are left out: a sentence has to be found in what the compiler says, not in what it quotes.
use_compiler() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  case "$2" in *NOTFOUND | "") require "$1" "a compiler that serves as '$1'" ;; esac
  case "$1" in
    gcc) check=("$2" -fsyntax-only -fno-diagnostics-show-caret -fmax-errors=0 -ftemplate-backtrace-limit=0) ;;
    clang) check=("$2" -fsyntax-only -fno-caret-diagnostics -ferror-limit=0 -ftemplate-backtrace-limit=0) ;;
    # Host and device front ends; no code is generated, and no GPU is needed.
    nvcc) check=("$2" -x cu -cuda -fdevice-syntax-only -o /dev/null) ;;
    *) echo "no such compiler: $1"; exit 1 ;;
  esac
  case "$1,${TYPENET_GCC:-}" in nvcc,/*) check+=(-ccbin "$TYPENET_GCC") ;; esac
  check+=(-std=c++20 "-I$root/include" "-I$root/tests")
  # declarations_only: the definitions below the language are not what the test is about, and take most of the time.
  [ -z "${declarations_only:-}" ] || check+=(-DTYPENET_COMPILED)
  local folder
  for folder in ${TYPENET_SYSTEM_INCLUDES:-}; do check+=(-isystem "$folder"); done
  export LC_ALL=C  # plain quotes, untranslated messages
}
