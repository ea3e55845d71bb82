// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>

namespace dsl::host::TYPENET_MODE {

/// Copies channels to other places: channel_slice, channel_shuffle, and copies of tensors that begin or end within a
/// channel block. An item is a channel block of the result, of which only the channels of this tensor are written.
/// vector_tasks.hpp explains Device.
template <class Device>
class channel_copy {
 public:
  channel_copy(Device& at, bound_step<float> const& s)
      : at_(&at), step_(&s), from_(s.step->what == action::backward ? &s.dy : &s.x), lanes_(at.lanes()) {}

  /// Whether both tensors are in channel blocks.
  bool fits() const {
    return (lanes_ == 4 || lanes_ == 8 || lanes_ == 16) && from_->block == lanes_ &&
           (!step_->to.data || step_->to.block == lanes_);
  }

  void run() const {
    view<float> const& to = step_->to;
    if (!to.data) return;
    int const shift = to.channel % lanes_, blocks = blocks_of(shift + to.shape.channels, lanes_);
    at_->run(to.batch * blocks, [&](int i) {
      int const first = i % blocks * lanes_ - shift, end = least(first + lanes_, to.shape.channels);
      fill(i / blocks, first < 0 ? 0 : first, end);
    });
  }

 private:
  static constexpr int most_lanes = 16;

  /// Returns the channel that is copied to channel c, or a number that is not a channel if there is none.
  int source_of(int c) const {
    if (!step_->node || (step_->step->what != action::forward && step_->step->what != action::backward)) return c;
    bool const forward = step_->step->what == action::forward;
    if (step_->node->kind == op::channel_slice) return c + (forward ? 1 : -1) * step_->node->first_channel;
    int const all = step_->to.shape.channels, groups = step_->node->groups;
    return shuffled_from(c, forward ? groups : all / groups, all);
  }

  /// Writes the channels [first, end) of a sample, which are in one block. Channels without a source become 0, or stay
  /// as they are if the step adds to the result.
  void fill(int n, int first, int end) const {
    float const* from[most_lanes] = {};
    int before = 0, count = 0;  // the channels with a source are neighbours
    for (int c = first; c < end; ++c) {
      int const source = source_of(c);
      if (source >= 0 && source < from_->shape.channels)
        from[count++] = from_->pixels(n, source).first;
      else if (count == 0)
        ++before;
    }
    view<float> const& to = step_->to;
    bool const clears = step_->ends_block && end == to.shape.channels;
    int const last = clears ? first + lanes_ - (to.channel + first) % lanes_ : end;
    float* y = to.pixels(n, first).first;
    if (count == lanes_) {
      long long const all = to.shape.area() * lanes_;
      return step_->accumulate ? copy_block<true>(y, from, count, all) : copy_block<false>(y, from, count, all);
    }
    for (long long p = 0; p < to.shape.area(); ++p, y += lanes_) {
      long long const at = p * lanes_;
      if (step_->accumulate) {
        for (int k = 0; k < count; ++k) y[before + k] += from[k][at];
      } else {
        for (int k = 0; k < before; ++k) y[k] = 0;
        for (int k = 0; k < count; ++k) y[before + k] = from[k][at];
        for (int k = before + count; k < last - first; ++k) y[k] = 0;
      }
    }
  }

  template <bool Adds, int L>
  static void copy_lanes(float* y, float const* const (&from)[most_lanes], long long all) {
    for (long long at = 0; at < all; at += L)
      for (int k = 0; k < L; ++k) y[at + k] = Adds ? y[at + k] + from[k][at] : from[k][at];
  }
  /// Copies all channels of a block, or adds them.
  template <bool Adds>
  static void copy_block(float* y, float const* const (&from)[most_lanes], int lanes, long long all) {
    if (lanes == 16) return copy_lanes<Adds, 16>(y, from, all);
    if (lanes == 8) return copy_lanes<Adds, 8>(y, from, all);
    if (lanes == 4) return copy_lanes<Adds, 4>(y, from, all);
  }

  Device* at_;
  bound_step<float> const* step_;
  view<float const> const* from_;
  int lanes_;
};

/// Returns the task of a step that copies channels to other places, or an empty task for tensors that are not in
/// channel blocks.
template <class Device>
task channel_task(Device& at, bound_step<float> const& s) {
  channel_copy<Device> const made(at, s);
  if (!made.fits()) return {};
  return [made] { made.run(); };
}

}  // namespace dsl::host::TYPENET_MODE
