#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs to a prefix, moves it, and compiles a user's program with pkg-config's flags and no CMake: with the headers
# alone and, where they were built, with the compiled libraries.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
command -v pkg-config >/dev/null || require pkg-config pkg-config
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$TYPENET_BUILD_DIR" --prefix "$scratch/built" >"$scratch/install.log"
mv "$scratch/built" "$scratch/prefix"
PKG_CONFIG_PATH=$scratch/prefix/share/pkgconfig:$(dirname "$(find "$scratch/prefix" -name typenet-compiled.pc -print -quit)")
export PKG_CONFIG_PATH
parts=()
if pkg-config --exists fmt; then parts+=(text); fi
if pkg-config --exists nlohmann_json; then parts+=(safetensors); fi
if [ -n "${TYPENET_HDF5:-}" ]; then parts+=(keras_h5); fi
if [ -n "${TYPENET_ONNX:-}" ] && pkg-config --exists protobuf; then parts+=(onnx); fi
if [ -n "${TYPENET_ONEDNN:-}" ]; then parts+=(onednn); fi
if [ -n "${TYPENET_MPI:-}" ] && pkg-config --exists ompi-c; then parts+=(mpi); fi

compile_and_run() { # MODULE PREFIX-OF-PARTS
  local modules=("$1" "${parts[@]/#/$2}")
  if [ -n "${TYPENET_PICTURES:-}" ]; then
    read -ra flags <<<"$(pkg-config --cflags --libs "${2}pictures")"
    "$TYPENET_CXX" -std=c++20 -O0 "$here/../read_picture.cpp" "${flags[@]}" -o "$scratch/read"
    "$scratch/read" | grep -q '^pictures: picture: cannot read none.png: '
  fi
  read -ra flags <<<"$(pkg-config --cflags --libs "${modules[@]}")"
  "$TYPENET_CXX" -std=c++20 -O0 "$here/../train_one_step.cpp" "${flags[@]}" -o "$scratch/train"
  "$scratch/train" | tee "$scratch/said"
  for part in onnx keras_h5 onednn; do
    case " ${parts[*]} " in
      *" $part "*) grep -q "^$part: " "$scratch/said" ;;
    esac
  done
}
compile_and_run typenet typenet-
if pkg-config --exists typenet-compiled; then compile_and_run typenet-compiled typenet-compiled_; fi
