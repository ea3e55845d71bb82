// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/towers/process_group.hpp>

#include <mutex>
#include <string>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // the C++ bindings were removed from the standard, and warn
#endif
#include <mpi.h>

namespace dsl::detail::TYPENET_MODE {

/// The messages in transit between this process and others. Only one thread at a time may post messages or test them.
/// The mutex `calls` keeps other threads from calling MPI at the same time.
class mpi_requests {
 public:
  std::mutex calls;

  /// Post a message in pieces of at most `piece` bytes, since MPI counts with an int; both sides must use the same
  /// `piece`. Like all functions of this class, these return MPI's error code.
  int receive(int q, process_message const& m, long long piece);
  int send(int q, process_message const& m, long long piece);
  /// Tests whether all posted messages are complete. If they are, removes them from this object.
  int test(bool& done);
  /// Cancels the messages that are still in transit, if MPI can do so, because their memory is about to be freed.
  /// Returns the processes whose messages are incomplete: "0, 3".
  std::string cancel();

 private:
  template <class F>
  int cut(process_message const& m, long long piece, F post) {
    std::scoped_lock const held(calls);
    int result = MPI_SUCCESS;
    for (long long at = 0; at < m.bytes && result == MPI_SUCCESS; at += piece)
      result = post(static_cast<char*>(m.data) + at, static_cast<int>(m.bytes - at < piece ? m.bytes - at : piece));
    return result;
  }
  MPI_Request* next(int q);

  list<MPI_Request> requests_;
  list<int> with_;  // the process of each request
};

std::string text_of_mpi_error(int result);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/mpi_requests_inl.hpp>
#endif
