#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clangd.sh CLANGD: that clangd marks nothing in working.cpp, and in broken.cpp the line of the network's use alone, with
# the sentence of the broken rule.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
clangd=$1
command -v "$clangd" >/dev/null || { echo "skipped: $clangd was not found"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$here"/*.cpp "$scratch"
printf '%s\n' -std=c++20 "-I$here/../../include" >"$scratch/compile_flags.txt"

# Its errors, one a line: [name] Line N: text
errors() { (cd "$scratch" && "$clangd" --check="$1" 2>&1 || true) | sed -nE 's/^E\[[^]]*\] (\[[a-z0-9_]+\] Line .*)/\1/p'; }

working=$(errors working.cpp)
[ -z "$working" ] || { printf '%s marks in working.cpp:\n%s\n' "$clangd" "$working"; exit 1; }
broken=$(errors broken.cpp)
[ "$(grep -c . <<<"$broken")" -eq 1 ] &&
  grep -q 'Line 9: .*dense: the input still has a height and a width; put flatten before it' <<<"$broken" ||
  { printf '%s marks in broken.cpp:\n%s\n' "$clangd" "$broken"; exit 1; }
