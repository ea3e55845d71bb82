#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds a user's program of two files without CMake: one has the implementation of the parts that the program uses, the
# other is compiled with TYPENET_COMPILED. Each part is built with g++ and links no library but its own; the core is also
# built with Clang, and its program with nvcc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../compilers.sh"
root=$here/../../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
common=(-std=c++20 "-I$root/include" -Wall -Wextra -Werror)

# implementation NAME HEADER...: writes the file with the definitions.
implementation() {
  printf '#define TYPENET_IMPLEMENTATION\n' >"$scratch/$1.cpp"
  printf '#include <%s>\n' "${@:2}" >>"$scratch/$1.cpp"
}
# build NAME PROGRAM FLAG... -- LIBRARY...: compiles both files and links them.
build() {
  local name=$1 program=$2 flags=()
  shift 2
  while [ "$1" != -- ]; do flags+=("$1") && shift; done
  shift
  "${compiler[@]}" "${common[@]}" -O0 "${flags[@]}" -c "$scratch/$name.cpp" -o "$scratch/$name.o"
  "${compiler[@]}" "${common[@]}" -O0 "${flags[@]}" -DTYPENET_COMPILED -c "$here/../$program.cpp" -o "$scratch/$name.main.o"
  "$TYPENET_CXX" "$scratch/$name.main.o" "$scratch/$name.o" "$@" -pthread -o "$scratch/$name"
}
says() { # NAME SENTENCE: runs the program
  "$scratch/$1" >"$scratch/said" || { cat "$scratch/said"; exit 1; }
  grep -q "$2" "$scratch/said" || { cat "$scratch/said"; exit 1; }
}
part() { # NAME VERSION: whether the part's library was found
  [ -n "$2" ] || echo "not there: $1"
  [ -n "$2" ]
}
read -ra folders <<<"$(pkg-config --cflags-only-I fmt 2>/dev/null | sed 's/-I/-isystem/g')"

compiler=("$TYPENET_CXX")
implementation core dsl/dsl.hpp
build core train_one_step --
says core '^reference: loss'
cp "$scratch/said" "$scratch/said.core"
if ldd "$scratch/core" | grep -E 'dnnl|hdf5|onnx|protobuf|mpi|fmt'; then
  echo "the core must need no library"
  exit 1
fi

implementation text dsl/dsl.hpp dsl/text.hpp
build text train_one_step "${folders[@]}" -DTYPENET_HAS_TEXT -- -lfmt
says text '1,*[0-9]* *parameters\|conv2d'
implementation safetensors dsl/dsl.hpp dsl/io/safetensors.hpp
build safetensors train_one_step -DTYPENET_HAS_SAFETENSORS --
says safetensors '^safetensors: '
if part keras_h5 "${TYPENET_HDF5:-}"; then
  implementation keras_h5 dsl/dsl.hpp dsl/io/keras_h5.hpp
  build keras_h5 train_one_step -DTYPENET_HAS_KERAS_H5 -isystem "$TYPENET_HDF5_INCLUDE_DIR" -- "$TYPENET_HDF5_LIBRARY"
  says keras_h5 'no.weights.h5'
fi
if part onnx "${TYPENET_ONNX:-}"; then
  implementation onnx dsl/dsl.hpp dsl/io/onnx.hpp
  build onnx train_one_step -DTYPENET_HAS_ONNX -DONNX_NAMESPACE=onnx -DONNX_ML=1 -- -lonnx_proto -lprotobuf
  says onnx '^onnx: '
fi
if part onednn "${TYPENET_ONEDNN:-}"; then
  implementation onednn dsl/dsl.hpp dsl/executors/onednn.hpp
  build onednn train_one_step -DTYPENET_HAS_ONEDNN -- -ldnnl -lgomp
  says onednn '^onednn: loss'
fi
if part mpi "${TYPENET_MPI:-}"; then
  implementation mpi dsl/dsl.hpp dsl/towers.hpp dsl/towers/mpi.hpp
  read -ra mpi_flags <<<"$(mpicxx --showme:incdirs | sed 's/^/ /; s/ / -isystem /g')"
  read -ra mpi_libraries <<<"$(mpicxx --showme:link)"
  build mpi train_one_step -DTYPENET_HAS_MPI "${mpi_flags[@]}" -- "${mpi_libraries[@]}"
  says mpi '^processes: loss'
fi
if part cuda "${TYPENET_CUDA:-}"; then
  IFS=';' read -ra cuda_flags <<<"$TYPENET_CUDA_FLAGS"
  IFS=';' read -ra cuda_libraries <<<"$TYPENET_CUDA_LIBRARIES"
  implementation cuda dsl/dsl.hpp dsl/executors/cuda.hpp dsl/towers.hpp
  build cuda implementation/ask_for_gpu "${cuda_flags[@]}" -- "${cuda_libraries[@]}"
  says cuda '^cuda: '
  if part nccl "${TYPENET_NCCL:-}"; then
    implementation nccl dsl/dsl.hpp dsl/executors/cuda.hpp dsl/executors/cuda/nccl.hpp dsl/towers.hpp
    build nccl implementation/ask_for_gpu -DNCCL "${cuda_flags[@]}" -isystem "$TYPENET_NCCL_INCLUDE_DIR" -- \
      "$TYPENET_NCCL_LIBRARY" "${cuda_libraries[@]}"
    says nccl '^cuda: '
  fi
fi
if part pictures "${TYPENET_PICTURES:-}"; then
  implementation pictures dsl/pictures.hpp
  build pictures read_picture -- -lpng -ljpeg
  says pictures 'none.png'
fi

case "${TYPENET_CLANG:-}" in
  *NOTFOUND | "") echo "not there: Clang" ;;
  *)
    compiler=("$TYPENET_CLANG")
    implementation clang dsl/dsl.hpp
    build clang train_one_step --
    says clang '^reference: loss'
    cmp "$scratch/said" "$scratch/said.core"
    ;;
esac
case "${TYPENET_NVCC:-}" in
  *NOTFOUND | "") echo "not there: nvcc" ;;
  *)  # its own front end does not pass the kernels of `native` on to the host's compiler, so that one compiles them
    "$TYPENET_NVCC" -x cu -ccbin "$TYPENET_CXX" -std=c++20 "-I$root/include" -O0 -DTYPENET_COMPILED \
      -c "$here/../train_one_step.cpp" -o "$scratch/nvcc.main.o"
    "$TYPENET_NVCC" -ccbin "$TYPENET_CXX" "$scratch/nvcc.main.o" "$scratch/core.o" -Xcompiler -pthread -o "$scratch/nvcc"
    says nvcc '^reference: loss'
    cmp "$scratch/said" "$scratch/said.core"
    ;;
esac
