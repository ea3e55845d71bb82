#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures typenet where no library can be found: TYPENET_WITH_<part>=ON must fail and name the library that is missing,
# AUTO and OFF must go without it. Who names no build type gets optimized libraries. TYPENET_WITHOUT knows its parts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

configure() { # OPTION...
  cmake -S "$here/../../.." -B "$scratch/build" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DTYPENET_BUILD_TESTS=OFF \
    -DTYPENET_BUILD_EXAMPLES=OFF -DTYPENET_BUILD_BENCHMARKS=OFF -DCMAKE_FIND_ROOT_PATH="$scratch/empty" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@" >"$scratch/said" 2>&1
}
fails_without() { # PART LIBRARY
  if configure "-DTYPENET_WITH_$1=ON"; then
    echo "TYPENET_WITH_$1=ON must fail without $2"
    exit 1
  fi
  tr -s '[:space:]' ' ' <"$scratch/said" | grep -q "TYPENET_WITH_$1=ON needs .*$2" || {
    cat "$scratch/said"
    exit 1
  }
  configure "-DTYPENET_WITH_$1=OFF"
}

mkdir "$scratch/empty"
unset CMAKE_BUILD_TYPE CMAKE_CONFIGURATION_TYPES
configure
grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' "$scratch/build/CMakeCache.txt"
grep -Eq '^-- typenet [0-9.]+: core$' "$scratch/said" || {
  cat "$scratch/said"
  exit 1
}
fails_without ONEDNN "oneDNN's"
fails_without CUDA "CUDA"
fails_without PICTURES libpng
fails_without KERAS_H5 HDF5
fails_without ONNX onnx
fails_without MPI "MPI 3"
if configure -DTYPENET_WITHOUT=text,txt; then
  echo "TYPENET_WITHOUT must refuse a part that does not exist"
  exit 1
fi
grep -q "TYPENET_WITHOUT: there is no part 'txt'" "$scratch/said"
