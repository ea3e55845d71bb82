// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <unistd.h>

namespace dsl {

/// Which of its processes a launcher says that this one is: mpirun, or srun with PMIx or PMI. -1: nobody started it
/// with others. Needs no MPI, so that a program can leave that alone where it runs by itself.
[[gnu::cold]] inline int launched_rank() {
  for (char const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (char const* const rank = std::getenv(name); rank && *rank) return std::atoi(rank);
  return -1;
}

namespace detail {

[[gnu::cold]] inline std::string text_of_process(char const* process, char const* file) {
  std::string text;
  if (std::FILE* const in = std::fopen(message({"/proc/", process, "/", file}).c_str(), "rb")) {
    char part[4096];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, in)) > 0;) text.append(part, n);
    std::fclose(in);
  }
  return text;
}
/// "1" of "NAME=1" in an environment as /proc has it: entries that end with a zero.
[[gnu::cold]] inline std::string entry_of(std::string const& environment, char const* name) {
  std::string const key = std::string(1, '\0') + name + "=";
  std::size_t const at = (std::string(1, '\0') + environment).find(key);
  return at == std::string::npos ? std::string() : environment.c_str() + at + key.size() - 1;
}

/// "rank 2 (process 4711 of this machine) is stopped": of the job's ranks on this machine those that don't run, as far
/// as /proc and the launcher's environment tell. To name who keeps the others waiting where MPI itself does not.
[[gnu::cold]] inline std::string halted_ranks() {
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

}  // namespace detail
}  // namespace dsl
