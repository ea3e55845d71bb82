// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/batch_part.hpp>

namespace dsl::TYPENET_MODE {

/// What becomes of numbers that every rank has one of: values[r] is rank r's i-th, heads[r] what that rank has said of
/// all of its own.
struct rank_fold {
  virtual double operator()(long long i, double const* heads, double const* values) const = 0;

 protected:
  ~rank_fold() = default;
};

/// How engines that train one network together meet: one engine a rank, on one device each. All ranks make the same
/// calls with the same counts, in the same order; a call returns when this rank's numbers are final. Every sum is added
/// up in rank order, ((0 + 1) + 2) + ..., so that all ranks get the same bits, in every run. Throws executor_error
/// where another rank has failed, or calls something else.
class communicator {
 public:
  virtual ~communicator() = default;
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// data[0 ... count) become the sums over all ranks.
  virtual void all_reduce(float* data, long long count) = 0;
  virtual void all_reduce(double* data, long long count) = 0;

  /// Into how many pieces an engine should cut its gradients, that they are summed up while it computes others. 1: that
  /// gains nothing.
  virtual int buckets() const { return 1; }
  /// As all_reduce, but may return before the numbers are final: nobody may read or write them until
  /// finish_all_reduces(). Any other call here finishes them, too.
  virtual void start_all_reduce(float* data, long long count) { all_reduce(data, count); }
  virtual void start_all_reduce(double* data, long long count) { all_reduce(data, count); }
  /// Returns when all sums that this rank has started are final.
  virtual void finish_all_reduces() {}

  /// all[0 ... ranks * count) become rank 0's numbers, rank 1's, and so on.
  virtual void all_gather(double const* data, long long count, double* all) = 0;
  /// data[i] becomes what f makes of all ranks' data[i], the same on every rank. Each number is computed by one of the
  /// ranks, with its own f: all of them must do the same.
  virtual void fold(double head, double* data, long long count, rank_fold const& f) = 0;
  /// This rank can't go on. A rank of several threads must say so: those of them that wait for other ranks here end.
  virtual void give_up(char const* /*why*/) {}

  /// Whether some rank is known to have given up; then every call throws. Any thread may ask, often.
  virtual bool broken() { return false; }

 protected:
  communicator() = default;
};

}  // namespace dsl::TYPENET_MODE
