// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/process_group.hpp>

#include <string>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1  // the C++ bindings are gone from the standard, and warn
#endif
#include <mpi.h>

namespace dsl::detail {

/// What is on its way between this process and others. One thread at a time posts and tests; that none calls MPI at the
/// same time as another, whatever it does there, is what `calls` is for.
class mpi_requests {
 public:
  mutex calls;

  /// In pieces of at most so many bytes, which both sides must know; MPI counts with an int. Returns MPI's code, as all
  /// others here.
  int receive(int q, process_message const& m, long long piece) {
    return cut(m, piece,
               [&](char* data, int bytes) { return MPI_Irecv(data, bytes, MPI_BYTE, q, 0, MPI_COMM_WORLD, next(q)); });
  }
  int send(int q, process_message const& m, long long piece) {
    return cut(m, piece, [&](char const* data, int bytes) {
      return MPI_Isend(data, bytes, MPI_BYTE, q, 0, MPI_COMM_WORLD, next(q));
    });
  }
  /// Whether all that was posted is done; then it is forgotten.
  int test(bool& done) {
    lock const held(calls);
    int all = 0;
    int const result = MPI_Testall(requests_.size(), requests_.begin(), &all, MPI_STATUSES_IGNORE);
    done = all != 0;
    if (done) requests_.clear(), with_.clear();
    return result;
  }
  /// As far as MPI can, nothing arrives any more where memory is about to go. "0, 3": with whom something was not done.
  [[gnu::cold]] std::string cancel() {
    lock const held(calls);
    std::string missing;
    int last = -1;
    for (int i = 0; i < requests_.size(); ++i) {
      int done = 1;  // of a request that is none
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (!done && with_[i] != last) missing += message({missing.empty() ? "" : ", ", last = with_[i]});
      if (requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
    }
    return missing;
  }

 private:
  template <class F>
  int cut(process_message const& m, long long piece, F post) {
    lock const held(calls);
    int result = MPI_SUCCESS;
    for (long long at = 0; at < m.bytes && result == MPI_SUCCESS; at += piece)
      result = post(static_cast<char*>(m.data) + at, static_cast<int>(m.bytes - at < piece ? m.bytes - at : piece));
    return result;
  }
  MPI_Request* next(int q) {
    with_.push(q);
    return &requests_[requests_.push(MPI_REQUEST_NULL)];
  }

  list<MPI_Request> requests_;
  list<int> with_;  // the process of each
};

[[gnu::cold]] inline std::string text_of_mpi_error(int result) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(result, text, &size);
  return text;
}

}  // namespace dsl::detail
