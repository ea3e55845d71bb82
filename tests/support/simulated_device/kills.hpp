// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

namespace dsl_test {

/// True if f() ends its process: a bad access, an abort, a report of ASan. It runs in a copy of this one.
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
