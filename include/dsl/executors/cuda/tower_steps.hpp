// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/batch_norm_steps.hpp>

#include <cstddef>

namespace dsl::cu::TYPENET_MODE {

/// Records the communication of steps if several towers train one network.
class tower_steps {
 public:
  /// `moments` is the memory where this tower's batch_norms store their moments: `arena.statistics_count()` numbers,
  /// and then a count of towers, so that the sum of several such arrays also holds the number of towers in it. It is
  /// null if batch_norms update the running moments themselves.
  tower_steps(recording& r, tower_meetings& towers, float* moments) : r_(r), towers_(towers), moments_(moments) {}

  /// Begins to sum the gradients of a bucket, once they are complete.
  void all_reduce(step const& s) {
    buffer const& first = r_.made.plan.buffer_of(r_.made.plan.operands[s.first_operand]);
    buffer const& last = r_.made.plan.buffer_of(r_.made.plan.operands[s.first_operand + s.operands - 1]);
    long long const begin = first.offset / 4, count = (last.offset + last.bytes - first.offset) / 4;
    cudaStream_t const aside = towers_.fork();
    if (moments_ && !exchanged_) exchange_moments(aside);  // all moments have been computed in the forward pass
    if (r_.made.stage_map) widen(begin, count, aside);
    towers_.sum(r_.parts.arena.gradients() + begin, count, aside);
  }
  /// Makes the update wait for summed gradients, and updates the running moments.
  void before_update() {
    if (moments_ && !exchanged_) exchange_moments(towers_.fork());
    towers_.join();
    if (!moments_) return;
    r_.launch(kernels::move_moments(r_.type, r_.parts.arena.statistics_count(), averages() ? 1 : towers_.towers()),
              exchanged_, r_.parts.keep, r_.parts.arena.statistics());
  }

 private:
  bool averages() const { return r_.parts.options.moments == tower_moments::averaged; }

  void exchange_moments(cudaStream_t aside) {
    long long const count = r_.parts.arena.statistics_count() + 1;
    exchanged_ = r_.numbers(averages() ? count : count * towers_.towers());
    if (!averages()) return towers_.gather(moments_, count, exchanged_, aside);
    r_.copy(exchanged_, moments_, 4 * count, cudaMemcpyDeviceToDevice, aside);
    towers_.sum(exchanged_, count, aside);
  }
  void widen(long long begin, long long count, cudaStream_t aside) {
    cu::arena const& a = r_.parts.arena;
    r_.launch_on(aside, kernels::widen_staged(r_.type, count), behind(a.stage(), r_.type, begin),
                 r_.made.stage_map->as<unsigned char>() + begin / 16, a.gradients() + begin);
  }

  recording& r_;
  tower_meetings& towers_;
  float* moments_;
  float* exchanged_ = nullptr;  // the moments of all towers, or their sum
};

}  // namespace dsl::cu::TYPENET_MODE
