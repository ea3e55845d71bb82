// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/process_group.hpp>

#include <string>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // the C++ bindings are gone from the standard, and warn
#endif
#include <mpi.h>

namespace dsl::detail::TYPENET_MODE {

/// What is on its way between this process and others. One thread at a time posts and tests; that none calls MPI at the
/// same time as another, whatever it does there, is what `calls` is for.
class mpi_requests {
 public:
  mutex calls;

  /// In pieces of at most so many bytes, which both sides must know; MPI counts with an int. Returns MPI's code, as all
  /// others here.
  int receive(int q, process_message const& m, long long piece);
  int send(int q, process_message const& m, long long piece);
  /// Whether all that was posted is done; then it is forgotten.
  int test(bool& done);
  /// As far as MPI can, nothing arrives any more where memory is about to go. "0, 3": with whom something was not done.
  [[gnu::cold]] std::string cancel();

 private:
  template <class F>
  int cut(process_message const& m, long long piece, F post) {
    lock const held(calls);
    int result = MPI_SUCCESS;
    for (long long at = 0; at < m.bytes && result == MPI_SUCCESS; at += piece)
      result = post(static_cast<char*>(m.data) + at, static_cast<int>(m.bytes - at < piece ? m.bytes - at : piece));
    return result;
  }
  MPI_Request* next(int q);

  list<MPI_Request> requests_;
  list<int> with_;  // the process of each
};

[[gnu::cold]] std::string text_of_mpi_error(int result);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/mpi_requests_inl.hpp>
#endif
