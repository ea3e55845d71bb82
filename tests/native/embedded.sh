#!/bin/bash
# SPDX-License-Identifier: MIT
# embedded.sh <embedded_train> <clang++ or nothing>: examples/embedded gives the bits of `native` for each instruction set of this processor, in
# an empty root directory, without heap, exceptions and threads, and in at most 300 KB. GCC is $TYPENET_GCC. Tests the
# narrowest and the widest set; with TYPENET_TESTS=all in the environment, all sets and also Clang.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
gcc=${TYPENET_GCC:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() { echo "$*"; exit 1; }

# Linked as C: nothing of the C++ library is there.
link() { "$gcc" -x none -static -nodefaultlibs -Wl,--gc-sections "$@" -lm -Wl,--start-group -lgcc -lgcc_eh -lc -Wl,--end-group; }
bytes() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }
# In an empty root directory, which the program, open already, is executed in.
in_empty_root() {
  mkdir -p empty
  python3 -c '
import os, sys
program = os.open(sys.argv[1], os.O_RDONLY)
os.chroot("empty")
os.chdir("/")
assert os.listdir("/") == []
os.execve(program, ["embedded"], {})' "$1"
}

"$1" . 2> messages || fail "embedded_train: $(cat messages)"
echo 'int main(void) { return 0; }' > none.c
"$gcc" -x c -O2 -c none.c -o none.o && link none.o -o none || { echo "skipped: there is no static C library"; exit 77; }
"$gcc" -c "$root/examples/embedded/weights.cpp" -o weights.o || exit 1

tested=0
compilers=("$gcc")
if [ "${TYPENET_TESTS:-}" = all ]; then
  compilers+=(${2:+"$2"})
elif [ -e expected_16.bin ]; then
  rm expected_8.bin
fi
for compiler in "${compilers[@]}"; do for width in "4" "8 -mavx2 -mfma" "16 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma"; do
  read -r lanes flags <<< "$width"
  [ -e "expected_$lanes.bin" ] || continue
  if [ "$lanes" = 4 ] && [ "$(uname -m)" = x86_64 ]; then flags=-march=x86-64; fi
  # shellcheck disable=SC2086
  "$compiler" -std=c++20 -O2 -fno-exceptions -fno-rtti -ffunction-sections -Wall -Wextra -Werror $flags -I"$root/include" \
    -c "$root/examples/embedded/embedded.cpp" -o embedded.o || exit 1
  link embedded.o weights.o -o embedded || fail "it needs more than the C library"
  ./embedded < pictures.bin > found.bin || fail "it failed"
  cmp found.bin "expected_$lanes.bin" || fail "other bits than native with vectors of $lanes"
  [ "$(wc -c < found.bin)" = 160 ] || fail "expected 4 x 10 floats"
  if echo | in_empty_root ./embedded 2> /dev/null; then
    in_empty_root ./embedded < pictures.bin | cmp - expected_"$lanes".bin || fail "other bits in an empty root directory"
    where="also in an empty root directory"
  else
    where="not tried in an empty root directory: chroot is not permitted"
  fi
  own=$(($(bytes embedded) - $(bytes none) - $(wc -c < weights.bin)))
  echo "${compiler##*/}, vectors of $lanes: $(bytes embedded) bytes of text and data; an empty program has $(bytes none), the weights" \
    "$(wc -c < weights.bin): $own; $where"
  [ "$own" -le 300000 ] || fail "more than 300,000 bytes"
  nm embedded | awk '{ print $NF }' | sort -u > symbols
  nm none | awk '{ print $NF }' | sort -u | comm -23 symbols - > added
  grep -q '^_ZN.*dsl' added || fail "nm finds no function of typenet"
  if grep -E 'malloc|calloc|realloc|aligned_alloc|^_Zn[wa]|^_Zd[la]|__cxa|_Unwind|pthread|^f?printf$|^fopen' added |
    grep -v '^__cxa_pure_virtual$'; then
    fail "it has these symbols, which an empty program lacks"
  fi
  tested=$((tested + 1))
done; done
[ "$tested" -gt 0 ] || fail "no instruction set was tested"

# Weights of another size are refused.
head -c 1000 weights.bin > shorter && mv shorter weights.bin
"$gcc" -c "$root/examples/embedded/weights.cpp" -o weights.o && link embedded.o weights.o -o other || exit 1
./other < pictures.bin > found.bin
[ $? = 1 ] && [ ! -s found.bin ] || fail "weights of another size were taken"

# Memory is taken piece by piece; a program that runs out of it ends.
cat > memory.cpp << 'END'
#include <dsl/detail/static_memory.hpp>
alignas(64) static std::byte bytes[100];
int main(int arguments, char**) {
  using memory = dsl::detail::static_memory;
  memory::use(bytes, sizeof bytes);
  if (memory::take(3, 1) != bytes || memory::take(8, 8) != bytes + 8 || memory::take(36, 64) != bytes + 64) return 2;
  if (memory::left() != 0) return 3;
  return arguments > 1 && memory::take(1, 1) ? 4 : 0;
}
END
"$gcc" -std=c++20 -I"$root/include" memory.cpp -o memory && ./memory || fail "static_memory: $?"
(ulimit -c 0; exec ./memory more) 2> /dev/null
[ $? -gt 128 ] || fail "a program without memory goes on"
