// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/cpu_device.hpp>
#include <dsl/executors/host/elementwise.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// A copy, in channel blocks and in the cpu_device's shared memory, of a tensor that the plan does not keep in blocks,
/// such as one with a single pixel. A tensor in blocks needs no copy.
class blocked_copy {
 public:
  blocked_copy() = default;
  /// If v needs a copy, reserves room for it at the offset `end` of the shared memory, and advances `end` past it.
  blocked_copy(cpu_device const& at, view<float const> const& v, long long& end) {
    if (v.block == at.lanes()) return;
    at_ = end;
    end += cpu_device::rounded(v.batch * padded(at, v) * v.shape.area());
  }
  explicit operator bool() const { return at_ >= 0; }

  /// Returns the copy's memory as a view. Call it only if there is a copy.
  view<float> memory(cpu_device const& at, view<float const> const& v) const {
    return {at.shared() + at_, v.shape, v.batch, at.lanes(), static_cast<int>(padded(at, v)), 0};
  }
  /// Returns the tensor itself, or makes its copy and returns that.
  view<float const> read(cpu_device& at, view<float const> const& v) const {
    if (at_ < 0) return v;
    view<float> const to = memory(at, v);
    at.run(v.batch, [&](int n) {
      for (int k = 0; k < to.buffer_channels; ++k)
        for (long long i = 0; i < v.shape.area(); ++i) to(n, k, i) = k < v.shape.channels ? v(n, k, i) : 0.0F;
    });
    return plain::read_only(to);
  }
  /// Writes the copy to the tensor.
  void write(cpu_device const& at, view<float> const& v, bool accumulate) const {
    plain::copy(plain::read_only(memory(at, plain::read_only(v))), v, accumulate);
  }

 private:
  static long long padded(cpu_device const& at, view<float const> const& v) {
    return 1LL * blocks_of(v.shape.channels, at.lanes()) * at.lanes();
  }

  long long at_ = -1;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
