// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/batch_part.hpp>

namespace dsl::TYPENET_MODE {

/// Combines the numbers that all ranks have for an index: values[r] is rank r's i-th number, and heads[r] is the one
/// number that rank r passed to fold() besides them.
struct rank_fold {
  /// Returns the combination of the numbers at index i.
  virtual double operator()(long long i, double const* heads, double const* values) const = 0;

 protected:
  ~rank_fold() = default;
};

/// The interface by which engines that train one network together communicate: one engine per rank, each on its own
/// device. All ranks make the same calls with the same counts in the same order; a call returns when this rank's
/// numbers are final. Sums are added in rank order, ((0 + 1) + 2) + ..., so that all ranks get the same bits in every
/// run. Throws executor_error if another rank has failed or makes another call.
class communicator {
 public:
  virtual ~communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// Return the rank of the caller, from 0, and the number of ranks.
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Replaces data[0 ... count) by the sums over all ranks.
  virtual void all_reduce(float* data, long long count) = 0;
  virtual void all_reduce(double* data, long long count) = 0;

  /// Returns the number of pieces into which an engine should split its gradients so that they are summed while it
  /// computes others; 1 if that gains nothing.
  virtual int buckets() const { return 1; }
  /// Does all_reduce, but may return before the numbers are final: they must not be read or written before
  /// finish_all_reduces(). Every other call of this interface also finishes them.
  virtual void start_all_reduce(float* data, long long count) { all_reduce(data, count); }
  virtual void start_all_reduce(double* data, long long count) { all_reduce(data, count); }
  /// Waits until all sums that this rank has started are final.
  virtual void finish_all_reduces() {}

  /// Sets all[0 ... ranks * count) to rank 0's numbers, rank 1's, and so on.
  virtual void all_gather(double const* data, long long count, double* all) = 0;
  /// Replaces data[i] by f of all ranks' data[i], the same on every rank. Each number is computed by one rank with that
  /// rank's f, so the f of all ranks must be equivalent.
  virtual void fold(double head, double* data, long long count, rank_fold const& f) = 0;
  /// Reports that this rank cannot continue. A rank with several threads must call it, to release the threads that wait
  /// here for other ranks.
  virtual void give_up(char const* /*why*/) {}

  /// Whether a rank is known to have given up; then every call throws. Any thread may call it, and often.
  virtual bool broken() { return false; }

 protected:
  communicator() = default;
};

}  // namespace dsl::TYPENET_MODE
