// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

namespace dsl_test {

/// Returns whether f() ends its process, by a bad access, an abort or a report of ASan. It runs in a copy of this
/// process.
template <class F>
bool kills(F f) {
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    for (int const fatal : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(fatal, SIG_DFL);  // Catch2 would write a report
    if (!std::freopen("/dev/null", "w", stderr)) ::_exit(0);
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace dsl_test
