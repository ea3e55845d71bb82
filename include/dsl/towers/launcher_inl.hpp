// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/towers/launcher.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <dirent.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE launch launched() {
  struct {
    char const *rank, *size;
  } const launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI's mpirun
                         {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},             // srun --mpi=pmix; PMIx has no size
                         {"PMI_RANK", "PMI_SIZE"},  // MPICH's and Intel's mpirun, srun --mpi=pmi2
                         // srun --mpi=none. Not SLURM_NTASKS, which the job's own script also has.
                         {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (auto const& names : launchers) {
    char const* const rank = std::getenv(names.rank);
    char const* const size = std::getenv(names.size);
    launch const found{rank && *rank ? std::atoi(rank) : -1, size ? std::atoi(size) : 0, names.rank};
    bool const slurm_alone = names.rank[0] == 'S' && found.size < 2;  // the only task, or no step at all
    if (found.rank >= 0 && !slurm_alone) return found;
  }
  return {};
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string why_alone(launch const& before, int processes) {
  if (processes > 1 || (before.size < 2 && before.rank < 1)) return {};
  std::string const of = before.size > 1 ? message({" of ", before.size}) : std::string();
  return message({"mpi: the launcher says that this is rank ", before.rank, of, ", but MPI knows of no others; ",
                  "use the mpirun that belongs to this MPI, or srun --mpi=pmix; ",
                  "to run it as a single process, unset ", before.variable});
}

TYPENET_INLINE std::string text_of_process(char const* process, char const* file) {
  std::string text;
  if (std::FILE* const in = std::fopen(message({"/proc/", process, "/", file}).c_str(), "rb")) {
    char part[4096];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, in)) > 0;) text.append(part, n);
    std::fclose(in);
  }
  return text;
}

TYPENET_INLINE std::string entry_of(std::string const& environment, char const* name) {
  std::string const key = std::string(1, '\0') + name + "=";
  std::size_t const at = (std::string(1, '\0') + environment).find(key);
  return at == std::string::npos ? std::string() : environment.c_str() + at + key.size() - 1;
}

TYPENET_INLINE std::string halted_ranks() {
  char const* const job = std::getenv("PMIX_NAMESPACE");
  DIR* const all = job ? opendir("/proc") : nullptr;
  std::string found;
  while (dirent const* const entry = all ? readdir(all) : nullptr) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    std::string const stat = text_of_process(entry->d_name, "stat");  // "4711 (name) T ..."
    std::size_t const name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= stat.size()) continue;
    char const state = stat[name_end + 2];
    if (state != 'T' && state != 't') continue;
    std::string const environment = text_of_process(entry->d_name, "environ");
    if (entry_of(environment, "PMIX_NAMESPACE") != job) continue;
    found += message({found.empty() ? "" : ", ", "rank ", entry_of(environment, "PMIX_RANK"), " (process ",
                      entry->d_name, " of this machine) is stopped"});
  }
  if (all) closedir(all);
  return found;
}

}  // namespace dsl::detail::TYPENET_MODE
