// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/pixel_task.hpp>

#include <cstdint>
#include <cstring>

namespace dsl::host::TYPENET_MODE {

/// Writes to = a * b for one channel block of one sample, or adds it; `b` is one vector for all pixels.
template <class Place>
void multiply_block(Place& at, view<float const> const& a, view<float> const& to, int n, int block, float const* b,
                    bool accumulate) {
  long long const offset = block * at.lanes() * to.shape.area();
  at.memory().multiply({.a = sample_of(a, n) + offset,
                        .b = b,
                        .to = sample_of(to, n) + offset,
                        .count = to.shape.area(),
                        .accumulate = accumulate});
}

/// Returns the task of a channel_scale step, or an empty task if a tensor does not consist of whole channel blocks. The
/// sums for gamma's gradient are computed in double for each sample, and added in the order of the samples.
template <class Place>
task channel_scale_task(Place& at, bound_step<float> const& s) {
  int const L = at.lanes();
  if (!is_blocked(s, L)) return {};
  bool const forward = s.step->what == action::forward;
  view<float const> const& read = forward ? s.x : s.dy;  // a frozen layer's backward step reads nothing else
  int const channels = read.shape.channels, blocks = blocks_of(channels, L);
  at.need_shared(forward ? 0 : 2LL * read.batch * blocks * L);
  return [&at, &s, forward, channels, blocks, L] {
    if (float* const gradient = forward ? nullptr : s.gradient(role::gamma)) {
      auto* const sums = reinterpret_cast<double*>(at.shared());
      long long const each = 1LL * blocks * L, area = s.x.shape.area();
      at.run(s.x.batch * blocks, [&](int i) {
        int const n = i / blocks, b = i % blocks;
        at.memory().product_sums(
            {sample_of(s.x, n) + b * L * area, sample_of(s.dy, n) + b * L * area, area, sums + n * each + 1LL * b * L});
      });
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int n = 0; n < s.x.batch; ++n) sum += sums[n * each + c];
        gradient[c] = static_cast<float>(sum);
      }
    }
    if (!s.to.data) return;
    at.run(s.to.batch * blocks, [&](int i) {
      float gamma[16] = {};
      int const b = i % blocks;
      for (int l = 0; l < L && b * L + l < channels; ++l) gamma[l] = s.parameter(role::gamma)[b * L + l];
      multiply_block(at, forward ? s.x : s.dy, s.to, i / blocks, b, gamma, s.accumulate);
    });
  };
}

/// Returns the task of a stochastic_depth step, or an empty task if a tensor does not consist of whole channel blocks.
/// `draws` returns the random numbers of the current run.
template <class Place, class F>
task stochastic_depth_task(Place& at, bound_step<float> const& s, F draws) {
  view<float const> const x = s.step->what == action::forward ? s.x : s.dy;
  int const L = at.lanes();
  if (!is_blocked(s, L)) return {};
  return [&at, x, to = s.to, accumulate = s.accumulate, draws, L, blocks = blocks_of(x.shape.channels, L)] {
    dropout_draw const draw = draws();
    at.run(to.batch * blocks, [&](int i) {
      int const n = i / blocks, b = i % blocks;
      float scale[16];
      for (float& v : scale) v = 1.0F / (1.0F - draw.rate);
      if (draw.keeps(draw.four(static_cast<std::uint32_t>(n), 0).x[0]))
        return multiply_block(at, x, to, n, b, scale, accumulate);
      long long const count = L * to.shape.area();
      if (!accumulate) std::memset(sample_of(to, n) + b * count, 0, sizeof(float) * static_cast<std::size_t>(count));
    });
  };
}

}  // namespace dsl::host::TYPENET_MODE
