#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# typenet::hdf5 of a static HDF5 links, where the one that was found has one beside it; and where something that it was
# built with is not there, that is said.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
archive=${TYPENET_HDF5_LIBRARY:-NOTFOUND}
case "$archive" in
  *NOTFOUND) require hdf5 "HDF5" ;;
  *) archive=${archive%.so}.a ;;
esac
[ -f "$archive" ] || require static_hdf5 "a static HDF5"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

configure() {
  cmake -S "$here" -B "$1" -DCMAKE_CXX_COMPILER="$TYPENET_CXX" -DTYPENET_HDF5_INCLUDE_DIR="$TYPENET_HDF5_INCLUDE_DIR" \
    -DTYPENET_HDF5_LIBRARY="$archive" "${@:2}"
}
configure "$scratch/build"
cmake --build "$scratch/build"
"$scratch/build/filters"

if grep -qsE 'H5_HAVE_FILTER_DEFLATE +1' "$TYPENET_HDF5_INCLUDE_DIR"/H5pubconf*.h; then
  "$scratch/build/filters" | grep -q 'deflate 1'
  if said=$(configure "$scratch/without" \
    -DCMAKE_FIND_ROOT_PATH="$scratch" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY 2>&1); then
    echo "a static HDF5 must not be taken without zlib"
    exit 1
  fi
  tr -s '[:space:]' ' ' <<<"$said" | grep -qE 'was built with: z(,|$| )' || { echo "unclear error: $said"; exit 1; }
fi
