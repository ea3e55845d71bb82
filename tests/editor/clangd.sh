#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clangd.sh CLANGD: that clangd marks nothing in working.cpp and headers.cpp, and in broken.cpp and mistakes.cpp the lines
# below comments "MARKED: text" alone, each with the text of its comment.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
clangd=$1
command -v "$clangd" >/dev/null || { echo "skipped: $clangd was not found"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$here"/*.cpp "$scratch"
printf '%s\n' -std=c++20 -ferror-limit=0 "-I$here/../../include" >"$scratch/compile_flags.txt"

bad=0
# marks FILE: compares what clangd marks in FILE with the comments. clangd would also try its features at every token;
# that is no part of the test, and the first line is enough of it.
marks() {
  local said marked wanted line text
  said=$( (cd "$scratch" && "$clangd" --check="$1" --check-lines=1 2>&1 || true) | sed -nE 's/^E\[[^]]*\] \[[a-z0-9_]+\] Line ([0-9]+): (.*)/\1:\2/p')
  marked=$(sed -E 's/:.*//' <<<"$said" | sort -nu)
  wanted=$(sed -n '\|// MARKED: |=' "$here/$1" | while read -r line; do echo $((line + 1)); done)
  if [ "$marked" != "$wanted" ]; then
    printf '%s: %s marks other lines than the comments say:\n%s\n' "$1" "$clangd" "$(diff <(echo "$wanted") <(echo "$marked") || true)"
    bad=1
  fi
  while IFS=: read -r line text; do
    if ! grep "^$((line + 1)):" <<<"$said" | grep -qF -- "$text"; then
      printf '%s, line %s: %s does not say: %s\n' "$1" $((line + 1)) "$clangd" "$text"
      bad=1
    fi
  done < <(sed -nE '/\/\/ MARKED: /{=;s|^.*// MARKED: (.*)$|\1|p}' "$here/$1" | paste -d: - -)
  [ "$bad" -eq 0 ] || printf -- '---- what %s marks in %s:\n%s\n' "$clangd" "$1" "$said"
}

for file in working.cpp headers.cpp broken.cpp mistakes.cpp; do marks "$file"; done
[ "$(grep -c '// MARKED: ' "$here/mistakes.cpp")" -ge 20 ] || { echo "mistakes.cpp has fewer than twenty mistakes"; bad=1; }
exit "$bad"
