#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `conan create .` without a remote, with Debian's own libraries, in a Conan home of its own: the recipe, the package and
# test_package. With TYPENET_TESTS=all again with every option whose library is there, then shared libraries without other
# ones, and static libraries with every option: these must be four packages. All of it without optimization.
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
  echo "nlohmann_json/$(system_version nlohmann_json 3.11.2)"
  echo "hdf5/${TYPENET_HDF5:-1.10.8}"
  echo "libpng/$(system_version libpng 1.6.39)"
  echo "libjpeg-turbo/$(system_version libjpeg 2.1.5)"
} >"$scratch/profile"

root=$here/../../..
create() { # FILE OPTION...: creates, tests, keeps the package id in FILE; nothing is written into the source tree
  "$conan" create "$root" -pr:a "$scratch/profile" --no-remote -c tools.cmake.cmaketoolchain:user_presets= \
    -c "tools.cmake.cmaketoolchain:extra_variables={'CMAKE_CXX_FLAGS_RELEASE': '-O0'}" \
    -c tools.cmake.cmake_layout:test_folder="$1.test" -c tools.cmake.cmaketoolchain:generator="$CMAKE_GENERATOR" \
    "${@:2}" 2>&1 | tee "$scratch/log"
  grep -oE "Package '[0-9a-f]+' created" "$scratch/log" >"$1"
}
if [ "${TYPENET_TESTS:-}" != all ]; then
  create "$scratch/plain"
  exit 0
fi
create "$scratch/plain" --test-folder=  # consumer.conan tests it
more=()
said=()  # what test_package prints of each part
with() { # PART SENTENCE
  more+=(-o "typenet/*:with_$1=True")
  said+=("$2")
}
# The other parts are required where their option is on: find_package fails without them.
if pkg-config --exists nlohmann_json; then with safetensors '^safetensors: '; fi
[ -z "${TYPENET_HDF5:-}" ] || with keras_h5 'no.weights.h5'
[ -z "${TYPENET_ONNX:-}" ] || with onnx '^onnx: '
[ -z "${TYPENET_ONEDNN:-}" ] || with onednn '^onednn: loss'
[ -z "${TYPENET_PICTURES:-}" ] || with pictures '^pictures: picture: cannot read none.png'
check() { for sentence in ${said[@]+"${said[@]}"}; do grep -q "$sentence" "$scratch/log"; done; }
create "$scratch/with_more" ${more[@]+"${more[@]}"}
check
create "$scratch/shared" -o 'typenet/*:header_only=False' -o 'typenet/*:shared=True' -o 'typenet/*:with_text=False'
create "$scratch/compiled" -o 'typenet/*:header_only=False' ${more[@]+"${more[@]}"}
check
[ "$(cat "$scratch"/{plain,with_more,shared,compiled} | sort -u | wc -l)" = $((3 + (${#more[@]} > 0))) ] ||
  { echo "header_only=False and shared=True must give other packages"; exit 1; }
