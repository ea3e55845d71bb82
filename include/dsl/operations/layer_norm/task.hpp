// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

/// Runs a layer_norm, forward or backward. The gradients of gamma and beta are first summed over each part of the
/// batch; these sums are added in the order of the parts, so the bits do not depend on the number of threads. A frozen
/// layer has no such gradients. memory_tasks.hpp explains Place.
template <class Place>
class layer_norm {
 public:
  layer_norm(Place& at, bound_step<float> const& s)
      : at_(&at),
        step_(&s),
        blocks_(blocks_of(s.x.shape.channels, at.lanes())),
        apart_(s.x.shape.area() * at.lanes()),
        parts_(least(s.x.batch, 16)) {}

  /// Returns the number of floats that this step needs in the shared memory of its place: gamma and beta, then two sums
  /// per part, in double.
  long long floats() const { return 2LL * (2 + 2LL * parts_) * padded(); }

  void forward() const {
    fill();
    constexpr int most_pixels = 64;
    long long const area = step_->x.shape.area();
    int const pieces = static_cast<int>((area + most_pixels - 1) / most_pixels);
    at_->run(step_->x.batch * pieces, [&](int i) {
      long long const first = 1LL * i % pieces * most_pixels;
      run(i / pieces, first, area - first < most_pixels ? area - first : most_pixels, nullptr);
    });
  }
  void backward() const {
    fill();
    at_->run(parts_, [&](int part) {
      double* const sums = doubles() + (2LL + 2LL * part) * padded();
      for (int i = 0; i < 2 * padded(); ++i) sums[i] = 0;
      share const samples(step_->x.batch, part, parts_);
      for (int n = samples.begin; n < samples.end; ++n) run(n, 0, step_->x.shape.area(), sums);
    });
    for (int c = 0; step_->gradient(role::gamma) && c < step_->x.shape.channels; ++c) {
      double product = 0, sum = 0;
      for (int part = 0; part < parts_; ++part) {
        double const* const sums = doubles() + (2LL + 2LL * part) * padded();
        product += sums[c], sum += sums[padded() + c];
      }
      step_->gradient(role::gamma)[c] = static_cast<float>(product);
      step_->gradient(role::beta)[c] = static_cast<float>(sum);
    }
  }

 private:
  int padded() const { return blocks_ * at_->lanes(); }
  double* doubles() const { return reinterpret_cast<double*>(at_->shared()); }
  void fill() const {
    float const *const gamma = step_->parameter(role::gamma), *const beta = step_->parameter(role::beta);
    for (int c = 0; c < padded(); ++c) {
      bool const used = c < step_->x.shape.channels;
      doubles()[c] = used ? static_cast<double>(gamma[c]) : 0;
      doubles()[padded() + c] = used && beta ? static_cast<double>(beta[c]) : 0;
    }
  }
  /// Processes pixels [first, first + count) of sample n. If `sums` is not null, runs the backward pass.
  void run(int n, long long first, long long count, double* sums) const {
    long long const offset = first * at_->lanes();
    at_->memory().layer_norm({.x = sample_of(step_->x, n) + offset,
                              .dy = sums ? sample_of(step_->dy, n) + offset : nullptr,
                              .to = step_->to.data ? sample_of(step_->to, n) + offset : nullptr,
                              .apart = apart_,
                              .pixels = count,
                              .blocks = blocks_,
                              .channels = step_->x.shape.channels,
                              .gamma = doubles(),
                              .beta = doubles() + padded(),
                              .epsilon = step_->node->epsilon,
                              .products = sums,
                              .sums = sums ? sums + padded() : nullptr,
                              .accumulate = step_->accumulate});
  }

  Place* at_;
  bound_step<float> const* step_;
  int blocks_;
  long long apart_;  // floats between channel blocks of a sample
  int parts_;        // number of parts of the batch
};

template <>
struct step_task<op::layer_norm> {
  /// Returns the task of a layer_norm step, or an empty task if a tensor does not consist of whole channel blocks.
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    int const L = at.lanes();
    if (!in_blocks(s.x, L) || !in_blocks(s.dy, L) || !in_blocks(s.to, L)) return {};
    layer_norm<Place> const made(at, s);
    at.need_shared(made.floats());
    if (s.step->what == action::forward) return [made] { made.forward(); };
    return [made] { made.backward(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
