// SPDX-License-Identifier: MIT
// For clang-tidy: everything that needs no library and a user may include, and MPI's towers where it is there; once.
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#if __has_include(<mpi.h>)
#include <dsl/towers/mpi.hpp>
#endif
