// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/native/direct_weights.hpp>
#include <dsl/executors/native/cpu_device.hpp>
#include <dsl/executors/host/elementwise.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// A dense layer, computed as a 1x1 convolution of one image with a single row of pixels: the samples of the batch.
/// x, (B, features), is copied into channel blocks, and the result is copied back.
class dense {
 public:
  dense(cpu_device& at, host::bound_step<float> const& s)
      : at_(at),
        step_(s),
        what_(s.step->what),
        x_(what_ == action::backward_data ? plain::read_only(s.to) : s.x),
        y_(what_ == action::forward ? plain::read_only(s.to) : s.dy),
        shape_{1, {x_.shape.channels, 1, x_.batch}, {y_.shape.channels, 1, x_.batch}, {}},
        pass_(at.kernels(), shape_, forward_gathering(shape_, false), false, false, at.threads()),
        data_(at.kernels(), shape_, data_gathering(shape_, 0, 0), true, false, at.threads()),
        weights_(at.kernels(), shape_, false, at.threads()) {
    long long const packed = what_ == action::forward         ? pass_.packed() + numbers(y_)
                             : what_ == action::backward_data ? data_.packed()
                                                              : weights_.sums();
    long long const scratch = what_ == action::forward         ? pass_.scratch()
                              : what_ == action::backward_data ? data_.scratch()
                                                               : weights_.scratch();
    at.need(scratch, numbers(x_) + numbers(y_) + packed);
  }

  void operator()() const {
    float *const x = at_.shared(), *const y = x + numbers(x_), *const rest = y + numbers(y_);
    view<float> const bx = blocks(x_, x), by = blocks(y_, y);
    auto& pool = at_.pool();
    if (what_ == action::forward) {
      float* const bias = rest + pass_.packed();  // one vector of y's channels
      for (int u = 0; u < by.buffer_channels; ++u)
        bias[u] = u < y_.shape.channels ? step_.parameter(role::bias)[u] : 0.0F;
      copy_in(x_, x);
      pool.run(pass_.pack_items(), [&](int i, int) { pass_.pack(i, step_.parameter(role::kernel), rest); });
      pool.run(pass_.items(), [&](int i, int thread) {
        pass_.run(i, plain::read_only(bx), rest, bias, by, false, false, at_.scratch(thread), nullptr);
      });
      copy_out(y, step_.to, false);
    } else if (what_ == action::backward_data) {
      copy_in(y_, y);
      pool.run(data_.pack_items(), [&](int i, int) { data_.pack(i, step_.parameter(role::kernel), rest); });
      pool.run(data_.items(), [&](int i, int thread) {
        data_.run(i, plain::read_only(by), rest, nullptr, bx, false, false, at_.scratch(thread), nullptr);
      });
      copy_out(x, step_.to, step_.accumulate);
    } else {
      copy_in(x_, x);
      copy_in(y_, y);
      pool.run(weights_.items(), [&](int i, int thread) {
        weights_.run(i, plain::read_only(bx), plain::read_only(by), rest, at_.scratch(thread));
      });
      pool.run(weights_.finish_items(), [&](int i, int) { weights_.finish(i, rest, step_.gradient(role::kernel)); });
      pool.run(by.buffer_channels / at_.lanes(),
               [&](int i, int) { bias_gradient(i, plain::read_only(by), step_.gradient(role::bias)); });
    }
  }

 private:
  long long numbers(view<float const> const& v) const {
    return cpu_device::rounded(1LL * blocks_of(v.shape.channels, at_.lanes()) * at_.lanes() * v.batch);
  }
  view<float> blocks(view<float const> const& v, float* at) const {
    int const L = at_.lanes();
    return {at, {v.shape.channels, 1, v.batch}, 1, L, blocks_of(v.shape.channels, L) * L, 0};
  }
  void copy_in(view<float const> const& v, float* to) const {
    int const L = at_.lanes();
    at_.pool().run(blocks_of(v.shape.channels, L), [&](int b, int) {
      for (int n = 0; n < v.batch; ++n) {
        float const* const from = v.plane(n, 0);
        for (int c = b * L; c < (b + 1) * L; ++c)
          to[(1LL * b * v.batch + n) * L + c % L] = c < v.shape.channels ? from[c] : 0.0F;
      }
    });
  }
  void copy_out(float const* from, view<float> const& v, bool accumulate) const {
    int const L = at_.lanes();
    at_.pool().run(v.batch, [&](int n, int) {
      float* const to = v.plane(n, 0);
      for (int c = 0; c < v.shape.channels; ++c) {
        float const x = from[(1LL * (c / L) * v.batch + n) * L + c % L];
        to[c] = accumulate ? to[c] + x : x;
      }
    });
  }

  cpu_device& at_;
  host::bound_step<float> const& step_;
  action what_;
  view<float const> x_, y_;
  convolution shape_;
  direct_pass pass_, data_;
  direct_weights weights_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
