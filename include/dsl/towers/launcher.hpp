// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>

#include <dirent.h>

namespace dsl::TYPENET_MODE {

/// What a launcher says in the environment of each process that it starts.
struct launch {
  int rank = -1;                   // -1: nobody started it with others
  int size = 0;                    // processes in all; 0: it does not say
  char const* variable = nullptr;  // that has the rank
};

/// mpirun, or srun with PMIx, PMI or neither. Call it before MPI_Init, which changes the environment. Needs no MPI, so
/// that a program can leave that alone where it runs by itself.
[[gnu::cold]] launch launched();

/// Which of its processes the launcher says that this one is. -1: nobody started it with others.
[[gnu::cold]] inline int launched_rank() { return launched().rank; }

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Why a process must not go on: it would train by itself, and the others beside it the same. Empty: it is what its
/// launcher says, as far as that tells. `before`: launched() before MPI_Init.
[[gnu::cold]] std::string why_alone(launch const& before, int processes);

[[gnu::cold]] std::string text_of_process(char const* process, char const* file);
/// "1" of "NAME=1" in an environment as /proc has it: entries that end with a zero.
[[gnu::cold]] std::string entry_of(std::string const& environment, char const* name);

/// "rank 2 (process 4711 of this machine) is stopped": of the job's ranks on this machine those that don't run, as far
/// as /proc and the launcher's environment tell. To name who keeps the others waiting where MPI itself does not.
[[gnu::cold]] std::string halted_ranks();

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/launcher_inl.hpp>
#endif
