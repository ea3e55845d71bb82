// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/towers/mpi_requests.hpp>
#include <dsl/towers/process_group.hpp>

#include <mutex>
#include <string>
#include <mpi.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE int mpi_requests::receive(int q, process_message const& m, long long piece) {
  return cut(m, piece,
             [&](char* data, int bytes) { return MPI_Irecv(data, bytes, MPI_BYTE, q, 0, MPI_COMM_WORLD, next(q)); });
}

TYPENET_INLINE int mpi_requests::send(int q, process_message const& m, long long piece) {
  return cut(m, piece, [&](char const* data, int bytes) {
    return MPI_Isend(data, bytes, MPI_BYTE, q, 0, MPI_COMM_WORLD, next(q));
  });
}

TYPENET_INLINE int mpi_requests::test(bool& done) {
  std::scoped_lock const held(calls);
  int all = 0;
  int const result = MPI_Testall(requests_.size(), requests_.begin(), &all, MPI_STATUSES_IGNORE);
  done = all != 0;
  if (done) requests_.clear(), with_.clear();
  return result;
}

TYPENET_INLINE std::string mpi_requests::cancel() {
  std::scoped_lock const held(calls);
  std::string missing;
  int last = -1;
  for (int i = 0; i < requests_.size(); ++i) {
    int done = 1;  // for a request that is none
    MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
    if (!done && with_[i] != last) missing += message({missing.empty() ? "" : ", ", last = with_[i]});
    if (requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
  }
  return missing;
}

TYPENET_INLINE MPI_Request* mpi_requests::next(int q) {
  with_.push(q);
  return &requests_[requests_.push(MPI_REQUEST_NULL)];
}

TYPENET_INLINE std::string text_of_mpi_error(int result) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(result, text, &size);
  return text;
}

}  // namespace dsl::detail::TYPENET_MODE
