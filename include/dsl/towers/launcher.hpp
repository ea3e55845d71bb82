// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>

#include <dirent.h>

namespace dsl::TYPENET_MODE {

/// The data that a launcher passes to each process in its environment.
struct launch {
  int rank = -1;                   // -1: started without a launcher
  int size = 0;                    // number of processes; 0: not given
  char const* variable = nullptr;  // the name of the variable with the rank
};

/// Returns the data that mpirun, or srun with PMIx, PMI or neither, has set for this process. Call it before MPI_Init,
/// which changes the environment. It does not need MPI, so that a program that runs alone need not initialise MPI.
[[gnu::cold]] launch launched();

/// Returns the rank that the launcher has given to this process, or -1 without a launcher.
[[gnu::cold]] inline int launched_rank() { return launched().rank; }

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the reason why a process must not continue: it would train alone, like each of the other processes. Empty if
/// MPI and the launcher agree. `before` is launched() before MPI_Init.
[[gnu::cold]] std::string why_alone(launch const& before, int processes);

[[gnu::cold]] std::string text_of_process(char const* process, char const* file);
/// Returns "1" for the entry "NAME=1" of an environment in the format of /proc: entries that end with a zero byte.
[[gnu::cold]] std::string entry_of(std::string const& environment, char const* name);

/// Returns "rank 2 (process 4711 of this machine) is stopped" for ranks of the job on this machine that do not run,
/// according to /proc and the launcher's environment. It names the cause of a timeout, which MPI does not.
[[gnu::cold]] std::string halted_ranks();

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/launcher_inl.hpp>
#endif
