// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/process_sums.hpp>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE process_sums::process_sums(process_group* world, int own) : world_(world) {
  counts_ = list<int>(processes());
  out_ = in_ = list<process_message>(processes());
  if (world)
    world->gather("the number of towers", own, counts_.begin());
  else
    counts_[0] = own;
  for (int q = 0; q < processes(); ++q) {
    if (q == process()) first_ = all_;
    all_ += counts_[q];
  }
}

TYPENET_INLINE void process_sums::fold(void* const* data, double const* heads, long long count, rank_fold const& f) {
  long long const begin = begin_of(process(), count), size = begin_of(process() + 1, count) - begin;
  double const* const arrived = exchange_parts<double>("fold", data, heads, count);
  list<double> said(all_), values(all_);
  for (int r = 0; r < all_; ++r) said[r] = arrived[r * (size + 1)];
  for (long long i = 0; i < size; ++i) {
    for (int r = 0; r < all_; ++r) values[r] = arrived[r * (size + 1) + 1 + i];
    static_cast<double*>(data[0])[begin + i] = f(begin + i, said.begin(), values.begin());
  }
  share_results<double>("fold, its results", data[0], count);
}

TYPENET_INLINE void process_sums::gather(double* all, long long count) {
  double* at = all;
  for (int q = 0; q < processes(); ++q) {
    out_[q] = {all + first_ * count, 8 * count * own()};
    in_[q] = {at, 8 * count * counts_[q]};
    at += count * counts_[q];
  }
  world_->exchange("all_gather", out_.begin(), in_.begin());
}

}  // namespace dsl::detail::TYPENET_MODE
