// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/batch_part.hpp>

namespace dsl::TYPENET_MODE {

/// Combines the numbers that the ranks have at the same index. values[r] is the number of rank r at index i, and
/// heads[r] is a number that rank r passed to fold() for all indices.
struct rank_fold {
  /// Returns the combination of the ranks' numbers at index i.
  virtual double operator()(long long i, double const* heads, double const* values) const = 0;

 protected:
  ~rank_fold() = default;
};

/// The interface by which engines that train one network together communicate. There is one engine per rank, each on
/// its own device. All ranks must make the same calls with the same counts in the same order; a call returns when the
/// numbers of the calling rank are final. Sums are computed in the order of the ranks, ((0 + 1) + 2) + ..., so that all
/// ranks get the same bits in every run. Throws executor_error if another rank has failed or makes a different call.
class communicator {
 public:
  virtual ~communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// Return the rank of the calling engine, from 0, and the number of ranks.
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Replaces data[0 ... count) by the sums over all ranks.
  virtual void all_reduce(float* data, long long count) = 0;
  virtual void all_reduce(double* data, long long count) = 0;

  /// Returns the number of pieces into which an engine should split its gradients, so that one piece is summed while
  /// the engine computes the next. It is 1 if splitting gains nothing.
  virtual int buckets() const { return 1; }
  /// Starts an all_reduce and may return before the numbers are final. The caller must not read or write the numbers
  /// before finish_all_reduces(). Every other call of this interface also finishes them.
  virtual void start_all_reduce(float* data, long long count) { all_reduce(data, count); }
  virtual void start_all_reduce(double* data, long long count) { all_reduce(data, count); }
  /// Waits until all sums that this rank has started are final.
  virtual void finish_all_reduces() {}

  /// Fills all[0 ... ranks * count) with the numbers of rank 0, rank 1, and so on.
  virtual void all_gather(double const* data, long long count, double* all) = 0;
  /// Replaces data[i] in every rank by f of the data[i] of all ranks. For each index, one rank computes the result with
  /// its own f, so the f of all ranks must be equivalent.
  virtual void fold(double head, double* data, long long count, rank_fold const& f) = 0;
  /// Reports that this rank cannot continue. If a rank has several threads, it must call this function to release those
  /// that wait for other ranks.
  virtual void give_up(char const* /*why*/) {}

  /// Whether a rank is known to have given up; every other call then throws. Any thread may call this function, as
  /// often as it likes.
  virtual bool broken() { return false; }

 protected:
  communicator() = default;
};

}  // namespace dsl::TYPENET_MODE
