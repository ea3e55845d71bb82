// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/cuda/operation.hpp>
#include <dsl/plan/plan.hpp>

#include <algorithm>

namespace dsl::cu::kernels::TYPENET_MODE {

/// Exchanges channels and pixels. For the gradient, exchange `from` and `to`.
inline auto transpose_tokens(storage t, int batch, shape const& from, shape const& to, slice x, slice y,
                             bool accumulate) -> kernel_spec<element const*, element*> {
  int const pixels = detail::checked_count("transpose_tokens", to.area());
  detail::checked_count("transpose_tokens", batch * std::max(from.area(), to.area()));
  any_kernel s{.function = "transpose_tokens", .storage = t};
  s.constants = detail::constants_of(batch, pixels, to.channels, x, y, accumulate);
  s.threads = 256;
  s.blocks_x = static_cast<unsigned>(
      detail::checked_count(s.function, batch * detail::ceil_div(to.channels, 32) * detail::ceil_div(pixels, 32)));
  return s;
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

template <>
struct own_kernels<op::transpose_tokens> {
  static constexpr char const* text =
#include <dsl/operations/transpose_tokens/kernels.cuh>
      ;
  static constexpr char const* forward_kernel = "transpose_tokens";
  static constexpr char const* backward_kernel = "transpose_tokens";

  template <class Recording>
  static void forward(Recording& r, step const& x) {
    copy(r, r.at.read(x, content::activation), r.at.written(x, content::activation), false);
  }
  template <class Recording>
  static void backward(Recording& r, step const& x) {
    copy(r, r.at.read(x, content::gradient), r.at.written(x, content::gradient), r.at.accumulates(x));
  }

 private:
  template <class Recording, class Tensor>
  static void copy(Recording& r, Tensor const& from, Tensor const& to, bool more) {
    r.launch(kernels::transpose_tokens(r.type, r.batch(), from.shape, to.shape, from.at, to.at, more), from.data,
             to.data);
  }
};

}  // namespace dsl::cu::TYPENET_MODE
