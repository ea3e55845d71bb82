#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_fail.sh gcc|clang|nvcc COMPILER FILE: FILE must not compile, and must say why, once. With -DFIXED it must compile,
# which check_twins.sh looks at for all files together.
#   1. there is exactly one error, or at most n where `// ERRORS[gcc]: n` says so: GCC's parser reports a type that is
#      none several times, before typenet's headers are looked at;
#   2. every `// EXPECT: text` of FILE is in the first lines of the output, and every `// EXPECT-RE: regex` matches
#      them. White space counts as one blank, `> >` as `>>`. `// EXPECT[gcc]: text` holds for that compiler only.
#      Lines are counted from the first one that is about the error, without the source that nvcc quotes: 4, or as many
#      as `// LINES: n` allows;
#   3. the output has no more characters than `// CHARACTERS: n` allows, and no more lines than `// OUTPUT[gcc]: n`.
# What the compiler said goes to $TYPENET_MESSAGES/<name of FILE>.txt, where that folder is named: for docs.compiler_messages_full.
# $TYPENET_PRECOMPILED is the folder of precompile.sh, if that has run. With a precompiled header the compiler does not say
# which line of FILE includes the header; where characters are counted, it is not used.
set -euo pipefail
. "$(dirname "$0")/../compilers.sh"
declarations_only=1
kind=$1 file=$3
use_compiler "$kind" "$2"
header=$(sed -nE 's|^#include <(dsl/(language\|dsl)\.hpp)>$|\1|p' "$file" | head -n 1)
if [ -n "${TYPENET_PRECOMPILED:-}" ] && [ -n "$header" ] && ! grep -q '^// CHARACTERS:' "$file"; then
  case "$kind" in
    gcc) check=("${check[0]}" -Winvalid-pch "-I$TYPENET_PRECOMPILED/gcc" "${check[@]:1}") ;;
    clang) check+=(-include-pch "$TYPENET_PRECOMPILED/clang/$header.pch") ;;
  esac
fi

normalise() { tr -s '[:space:]' ' ' | sed -e ':again' -e 's/> >/>>/g' -e 't again'; }
say() { printf '%s: %s\n' "$(basename "$file")" "$*"; }

if output=$("${check[@]}" "$file" 2>&1); then
  say "compiles with $kind, and should not"
  exit 1
fi
if [ -n "${TYPENET_MESSAGES:-}" ]; then
  mkdir -p "$TYPENET_MESSAGES"
  printf '%s\n' "$output" >"$TYPENET_MESSAGES/$(basename "$file" .cpp).txt"
fi

bad=0
errors=$(grep -cE '(^|[ :])(fatal )?error( #[0-9A-Z-]+)?:' <<<"$output" || true)
allowed=$(sed -nE "s|^// ERRORS\\[$kind\\]: ([0-9]+)$|\1|p" "$file")
if [ "$errors" -lt 1 ] || [ "$errors" -gt "${allowed:-1}" ]; then
  say "$errors errors from $kind, expected ${allowed:+at most }${allowed:-exactly one}"
  bad=1
fi
most=$(sed -nE "s|^// OUTPUT\\[$kind\\]: ([0-9]+)$|\1|p" "$file")
if [ "$(wc -l <<<"$output")" -gt "${most:-1000000}" ]; then
  say "$(wc -l <<<"$output") lines from $kind, expected no more than $most"
  bad=1
fi
most=$(sed -nE 's|^// CHARACTERS: ([0-9]+)$|\1|p' "$file")
if [ "${#output}" -gt "${most:-1000000}" ]; then
  say "${#output} characters from $kind, expected no more than $most"
  bad=1
fi
lines=$(sed -nE 's|^// LINES: ([0-9]+)$|\1|p' "$file")
case "$kind" in
  nvcc) head=$(sed -E '/error( #[0-9A-Z-]+)?:/,/^ +\^$/{/error( #[0-9A-Z-]+)?:/!d}' <<<"$output") ;;
  *) head=$(grep -vE '^(In file included from| +from )' <<<"$output") ;;
esac
text=$(head -n "${lines:-4}" <<<"$head" | normalise)
expectations=0
while IFS= read -r line; do
  [[ $line =~ ^[[:space:]]*//[[:space:]]*EXPECT(-RE)?(\[([a-z]+)\])?:[[:space:]]*(.*[^[:space:]])[[:space:]]*$ ]] || continue
  regex=${BASH_REMATCH[1]} only=${BASH_REMATCH[3]} wanted=$(normalise <<<"${BASH_REMATCH[4]}")
  wanted=${wanted% }
  expectations=$((expectations + 1))
  [ -z "$only" ] || [ "$only" = "$kind" ] || continue
  match=-F
  [ -z "$regex" ] || match=-E
  if ! grep -q "$match" -- "$wanted" <<<"$text"; then
    say "$kind does not say: $wanted"
    bad=1
  fi
done <"$file"
if grep -nE '^.+EXPECT(-RE)?(\[|:)' "$file" | grep -vE '^[0-9]+:[[:space:]]*//[[:space:]]*EXPECT'; then
  say "an EXPECT that is not at its line's begin"
  bad=1
fi
if [ "$expectations" -eq 0 ]; then
  say "no // EXPECT: line"
  bad=1
fi
[ "$bad" -eq 0 ] || printf -- '---- what %s said:\n%s\n' "$kind" "$output"
exit "$bad"
