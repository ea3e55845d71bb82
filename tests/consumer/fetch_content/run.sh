#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds a user's project that fetches typenet with FetchContent, here from the local tree; without optimization, as
# find_package does.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake -S "$here" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_CXX_FLAGS=-O0
cmake --build "$scratch/build"
"$scratch/build/train_core"
"$scratch/build/train_everything" | tee "$scratch/said"
if [ -n "${TYPENET_ONNX:-}" ]; then
  grep -q '^onnx: ' "$scratch/said"
fi
