# SPDX-License-Identifier: MIT
# typenet-warnings: for our own tests, examples and benchmarks; never reaches a user of the headers.
add_library(typenet-warnings INTERFACE)

# Understood by GCC and Clang alike; tests/static/check_static.sh is given this list for the compilers that CMake doesn't drive.
set(TYPENET_WARNINGS
    -Wall
    -Wextra
    -Wpedantic # the headers must build with -std=c++20, not only gnu++20
    -Wconversion # an int that silently loses bits is a wrong offset into the arena
    -Wno-sign-conversion # Clang counts it to -Wconversion; std::size_t indices from int shapes would bury the rest
    -Wshadow # a layer's `shape` hidden by a local `shape` compiles and is wrong
    -Wnon-virtual-dtor # callbacks and layers are deleted through a base
    -Woverloaded-virtual # an override that isn't one
    -Wold-style-cast # a C cast also drops const
    -Wcast-align # a float view of unaligned file bytes traps on other CPUs
    -Wunused # an unused result is usually a forgotten gradient
    -Wnull-dereference
    -Wformat=2
    -Wimplicit-fallthrough # a step kind that falls into the next
    -Wextra-semi # MSVC and -Wpedantic users see ours
)
# GCC only: each found real mistakes and has no false alarm in -O2 template code.
set(TYPENET_WARNINGS_GCC -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wuseless-cast)
# GCC 12 reasons about inlined std::vector and std::string code and is wrong; later releases are not.
set(TYPENET_WARNINGS_GCC_OFF -Wno-null-dereference -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                             -Wno-stringop-overread)

target_compile_options(
  typenet-warnings
  INTERFACE
    ${TYPENET_WARNINGS}
    $<$<CXX_COMPILER_ID:GNU>:${TYPENET_WARNINGS_GCC}>
    $<$<CXX_COMPILER_ID:GNU>:${TYPENET_WARNINGS_GCC_OFF}>
    -Werror)
