#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds a user's project with the compiled libraries: the static ones that are installed, and shared ones that it builds
# itself. Its own symbols are hidden.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$TYPENET_BUILD_DIR" --prefix "$scratch/built" >"$scratch/install.log"
mv "$scratch/built" "$scratch/prefix"
configure() { # FOLDER OPTION...
  cmake -S "$here" -B "$1" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON "${@:2}"
}
check() { # FOLDER
  "$1/train_core" | tee "$scratch/said"
  grep -q '^reference: loss' "$scratch/said"
  "$1/one_object" | grep -q 'micro-batches have a single sample'
  "$1/train_everything" | tee "$scratch/said"
  [ -z "${TYPENET_ONEDNN:-}" ] || grep -q '^onednn: loss' "$scratch/said"
}

configure "$scratch/static" -DCMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/static"
check "$scratch/static"
[ -z "${TYPENET_ONNX:-}" ] || grep -q '^onnx: ' "$scratch/said"
# What nobody asked for is not linked: the plain library needs no other one.
if ldd "$scratch/static/train_core" | grep -E 'dnnl|hdf5|onnx|protobuf|mpi|fmt'; then
  echo "typenet::compiled must need no library"
  exit 1
fi

configure "$scratch/shared" -DFETCHED=ON -DBUILD_SHARED_LIBS=ON
cmake --build "$scratch/shared"
check "$scratch/shared"
ldd "$scratch/shared/train_core" | grep -q libtypenet.so
