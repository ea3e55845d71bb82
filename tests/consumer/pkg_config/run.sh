#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs to a prefix and compiles a user's program with pkg-config's flags and no CMake.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
command -v pkg-config >/dev/null || require pkg-config pkg-config
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$TYPENET_BUILD_DIR" --prefix "$scratch/prefix" >"$scratch/install.log"
export PKG_CONFIG_PATH=$scratch/prefix/share/pkgconfig
modules=(typenet)
if pkg-config --exists fmt; then modules+=(typenet-text); fi
if pkg-config --exists nlohmann_json; then modules+=(typenet-safetensors); fi
if [ -n "${TYPENET_HDF5:-}" ]; then modules+=(typenet-keras_h5); fi
if [ -n "${TYPENET_ONNX:-}" ] && pkg-config --exists protobuf; then modules+=(typenet-onnx); fi
if [ -n "${TYPENET_ONEDNN:-}" ]; then modules+=(typenet-onednn); fi
if [ -n "${TYPENET_MPI:-}" ] && pkg-config --exists ompi-c; then modules+=(typenet-mpi); fi
if [ -n "${TYPENET_PICTURES:-}" ]; then
  read -ra flags <<<"$(pkg-config --cflags --libs typenet-pictures)"
  "$TYPENET_CXX" -std=c++20 -O1 "$here/../read_picture.cpp" "${flags[@]}" -o "$scratch/read"
  "$scratch/read" | grep -q '^pictures: picture: none.png must be'
fi
read -ra flags <<<"$(pkg-config --cflags --libs "${modules[@]}")"
"$TYPENET_CXX" -std=c++20 -O1 "$here/../train_one_step.cpp" "${flags[@]}" -o "$scratch/train"
"$scratch/train" | tee "$scratch/said"
if [ -n "${TYPENET_ONNX:-}" ] && pkg-config --exists protobuf; then
  grep -q '^onnx: ' "$scratch/said"
fi
if [ -n "${TYPENET_HDF5:-}" ]; then
  grep -q '^keras_h5: no.weights.h5 must be' "$scratch/said"
fi
if [ -n "${TYPENET_ONEDNN:-}" ]; then
  grep -q '^onednn: loss' "$scratch/said"
fi
