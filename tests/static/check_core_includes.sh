#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_core_includes.sh COMPILER HEADER...: the core needs no library, and what most programs include no standard
# header that costs every user's file more than it gives.
set -euo pipefail
compiler=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
bad=0
reached=$(printf '#include "%s"\n' "$@" | "$compiler" -std=c++20 "-I$root/include" -x c++ -M - | tr -d '\\' | tr -s ' ' '\n')
if libraries=$(grep -E '/(fmt|dnnl|oneapi|CLI|nlohmann|google|catch2|boost)[./]' <<<"$reached"); then
  printf 'the core includes a library:\n%s\n' "$libraries"
  bad=1
fi
# 50-400 ms each (g++ 12). A user's file does not read the definitions where they are compiled once.
declared=$(printf '#include <dsl/%s>\n' dsl.hpp towers.hpp callbacks.hpp | "$compiler" -std=c++20 -DTYPENET_COMPILED "-I$root/include" -x c++ -M - |
  tr -d '\\' | tr -s ' ' '\n' | grep '/dsl/')
costly=$(xargs grep -nE \
  '^ *# *include *<(filesystem|iostream|regex|random|functional|thread|mutex|condition_variable|chrono|algorithm|ranges)>' \
  <<<"$declared" || true)
if [ -n "$costly" ]; then
  printf 'costs every including file more than it gives:\n%s\n' "$costly"
  bad=1
fi
exit "$bad"
