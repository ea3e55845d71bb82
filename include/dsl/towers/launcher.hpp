// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>

#include <dirent.h>

namespace dsl::TYPENET_MODE {

/// The data that a launcher such as mpirun passes to each process in the environment.
struct launch {
  int rank = -1;                   // -1: started without a launcher
  int size = 0;                    // number of processes; 0: not given
  char const* variable = nullptr;  // the name of the variable with the rank
};

/// Returns the data that mpirun, or srun with PMIx, PMI or neither, has set for this process. Call this function before
/// MPI_Init, which changes the environment. The function does not use MPI, so that a program that runs alone need not
/// initialise MPI.
launch launched();

/// Returns the rank that the launcher has given to this process, or -1 without a launcher.
inline int launched_rank() { return launched().rank; }

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the reason why a process must not continue, or an empty text if MPI and the launcher agree. If they
/// disagree, each process would train alone. `before` is the result of launched() before MPI_Init.
std::string why_alone(launch const& before, int processes);

std::string text_of_process(char const* process, char const* file);
/// Returns "1" if the environment has the entry "NAME=1". The environment has the format of /proc: each entry ends with
/// a zero byte.
std::string entry_of(std::string const& environment, char const* name);

/// Returns a text such as "rank 2 (process 4711 of this machine) is stopped". It names the job's ranks on this machine
/// that are not running, according to /proc and the launcher's environment. It thereby gives the cause of a timeout,
/// which MPI does not.
std::string halted_ranks();

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/launcher_inl.hpp>
#endif
