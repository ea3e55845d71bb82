#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `conan create .` without a remote, with Debian's own fmt, oneDNN and onnx, in a Conan home of its own: the recipe, the
# package and test_package. With TYPENET_TESTS=all again, with oneDNN and onnx asked for: the package must be the same one;
# and compiled: the package must be another one. All of it without optimization.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
conan=${TYPENET_CONAN:-}
case "$conan" in *NOTFOUND | "") require conan "Conan 2" ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CONAN_HOME=$scratch/home CXX=$TYPENET_CXX
unset CC

"$conan" --version
"$conan" profile detect >/dev/null 2>&1
system_version() { pkg-config --modversion "$1" 2>/dev/null || echo "$2"; }
{
  cat "$here/debian.profile"
  echo "fmt/$(system_version fmt 9.1.0)"
  echo "onednn/$(system_version dnnl 2.6.3)"
  echo "onnx/1.12.0"
} >"$scratch/profile"

root=$here/../../..
create() { # FILE OPTION...: creates, tests, keeps the package id in FILE; nothing is written into the source tree
  "$conan" create "$root" -pr:a "$scratch/profile" --no-remote -c tools.cmake.cmaketoolchain:user_presets= \
    -c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_RELEASE': '-O0'}" \
    -c tools.cmake.cmake_layout:test_folder="$scratch/test" -c tools.cmake.cmaketoolchain:generator="$CMAKE_GENERATOR" \
    "${@:2}" 2>&1 | tee "$scratch/log"
  grep -oE "Package '[0-9a-f]+' created" "$scratch/log" >"$1"
}
create "$scratch/plain"
[ "${TYPENET_TESTS:-}" = all ] || exit 0
more=()
[ -z "${TYPENET_ONEDNN:-}" ] || more+=(-o 'typenet/*:with_onednn=True')
[ -z "${TYPENET_ONNX:-}" ] || more+=(-o 'typenet/*:with_onnx=True')
create "$scratch/compiled" -o 'typenet/*:header_only=False' -o 'typenet/*:with_text=False'
if cmp -s "$scratch/plain" "$scratch/compiled"; then
  echo "header_only=False must give another package"
  exit 1
fi
[ "${#more[@]}" -gt 0 ] || exit 0
create "$scratch/with_more" "${more[@]}"
cmp "$scratch/plain" "$scratch/with_more"
if [ -n "${TYPENET_ONNX:-}" ]; then
  grep -q '^onnx: ' "$scratch/log"
fi
