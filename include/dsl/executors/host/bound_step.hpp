// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/task.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// Where a max pool keeps which place of each window was the largest: one byte a window, or two for windows of more
/// than 256 places. Neither: nobody wants to know.
struct argmax_view {
  view<std::uint8_t> narrow{};
  view<std::uint16_t> wide{};

  void set(int n, int c, long long pixel, int place) const {
    if (narrow.data) narrow(n, c, pixel) = static_cast<std::uint8_t>(place);
    if (wide.data) wide(n, c, pixel) = static_cast<std::uint16_t>(place);
  }
  int get(int n, int c, long long pixel) const { return narrow.data ? narrow(n, c, pixel) : wide(n, c, pixel); }
};

/// A step of a plan with its operands found, once: what it has not stays null.
template <class T>
struct bound_step {
  dsl::step const* step = nullptr;
  dsl::node const* node = nullptr;     // none for load and update
  view<T const> x{};                   // the first activation it reads
  view<T const> x2{};                  // and the second
  detail::list<view<T const>> more{};  // of a forward step: the third activation and those after it
  view<T const> dy{};
  view<T> to{};  // y, or dx
  bool accumulate = false;
  bool ends_block = false;  // whoever writes a buffer's last channels also fills their block up with zeros
  T* statistics = nullptr;
  std::int32_t* labels = nullptr;
  float* values = nullptr;  // or these: (samples, outputs), NCHW
  double* metrics = nullptr;
  argmax_view argmax{};
  task faster{};  // what an executor has in place of the plain loops

  T* parameter(role r) const { return parameters[static_cast<int>(r)]; }
  T* gradient(role r) const { return gradients[static_cast<int>(r)]; }

  T* parameters[6] = {};  // by role
  T* gradients[6] = {};
};

}  // namespace dsl::host::TYPENET_MODE
