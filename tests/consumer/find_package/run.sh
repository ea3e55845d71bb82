#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs to a prefix, moves it (an installed package must not remember where it was built), and builds a user's
# project with find_package. Without optimization: what is tested is that it builds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$TYPENET_BUILD_DIR" --prefix "$scratch/built" >"$scratch/install.log"
mv "$scratch/built" "$scratch/prefix"
configure() {
  cmake -S "$here" -B "$1" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_CXX_FLAGS=-O0 "${@:2}"
}

configure "$scratch/build" | tee "$scratch/said"
grep -q '^-- Found typenet [0-9.]*: core' "$scratch/said"
cmake --build "$scratch/build"
"$scratch/build/train_core"
"$scratch/build/train_everything" | tee "$scratch/said"
if [ -n "${TYPENET_ONEDNN:-}" ] && [ -f "$scratch/prefix/include/dsl/executors/onednn.hpp" ]; then
  grep -q '^onednn: loss' "$scratch/said"
fi
if [ -n "${TYPENET_ONNX:-}" ]; then
  grep -q '^onnx: ' "$scratch/said"
fi
# The flags are Open MPI's.
if [ -n "${TYPENET_MPI:-}" ] && "${TYPENET_MPIRUN:=mpirun}" --version 2>&1 | grep -qE 'Open ?(MPI|RTE)'; then
  mpirun=("$TYPENET_MPIRUN" --oversubscribe -n 2)
  [ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)
  "${mpirun[@]}" "$scratch/build/train_processes" | tee "$scratch/said"
  [ "$(grep -c '^processes: loss' "$scratch/said")" = 2 ]
fi
if [ -n "${TYPENET_PICTURES:-}" ]; then
  "$scratch/build/read_picture" | grep -q '^pictures: picture: cannot read none.png: '
fi

# Parts that nobody named are not looked for; asked for later, typenet::typenet has them.
configure "$scratch/some" "-DTYPENET_COMPONENTS=COMPONENTS;core" \
  "-DTYPENET_MUST_NOT_HAVE=text;safetensors;keras_h5;onnx;onednn;cuda;nccl;mpi;pictures" >"$scratch/some.log"
grep -m 1 '^-- Found typenet' "$scratch/some.log" | grep -qE ': core(, compiled)?$'
[ -z "${TYPENET_ONEDNN:-}" ] || grep -q '^-- Found typenet.* onednn' "$scratch/some.log"

# A required component that can't be had says what is missing.
fails() { # SENTENCE COMPONENT OPTION...
  if said=$(configure "$scratch/without" "-DTYPENET_COMPONENTS=COMPONENTS;$2" "${@:3}" 2>&1); then
    echo "find_package(typenet REQUIRED COMPONENTS $2) must fail: $1"
    exit 1
  fi
  tr -s '[:space:]' ' ' <<<"$said" | grep -qF "$1" || { echo "unclear error: $said"; exit 1; }
  rm -r "$scratch/without"
}
fails 'component text needs fmt' text -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
fails 'there is no component txt' txt
rm -f "$scratch"/prefix/share/cmake/typenet/typenet-compiled*
fails 'component compiled needs a typenet that was installed with -DTYPENET_COMPILED=ON' compiled
