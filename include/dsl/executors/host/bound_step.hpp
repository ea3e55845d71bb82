// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/target_view.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/task.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// The positions of the maximum in each window of a max pool: one byte per window, or two bytes if windows have more
/// than 256 positions. Both addresses are null if positions are not needed.
struct argmax_view {
  view<std::uint8_t> narrow{};
  view<std::uint16_t> wide{};

  void set(int n, int c, long long pixel, int place) const {
    if (narrow.data) narrow(n, c, pixel) = static_cast<std::uint8_t>(place);
    if (wide.data) wide(n, c, pixel) = static_cast<std::uint16_t>(place);
  }
  int get(int n, int c, long long pixel) const { return narrow.data ? narrow(n, c, pixel) : wide(n, c, pixel); }
};

/// A step of a plan with the addresses of its operands. Operands that the step does not have are null.
template <class T>
struct bound_step {
  dsl::step const* step = nullptr;
  dsl::node const* node = nullptr;     // null for load and update
  view<T const> x{};                   // the first activation that it reads
  view<T const> x2{};                  // the second one
  detail::list<view<T const>> more{};  // the third one and all after it, of a forward step
  view<T const> dy{};
  view<T> to{};  // y, or dx
  bool accumulate = false;
  bool ends_block = false;  // the writer of a buffer's last channels also zeroes the rest of their block
  T* statistics = nullptr;
  T* states = nullptr;           // what a recurrent layer saves
  T* scale_and_shift = nullptr;  // a batch_norm's scale and shift, saved for the step that computes its output again
  std::byte* targets = nullptr;  // where the step that loads the batch puts the labels or values of all outputs
  target_view target{};          // a loss's labels or values there; its other members are the batch's
  double* metrics = nullptr;
  argmax_view argmax{};
  task kernel{};  // replaces the plain loops

  T* parameter(role r) const { return parameters[static_cast<int>(r)]; }
  T* gradient(role r) const { return gradients[static_cast<int>(r)]; }

  T* parameters[role_count] = {};  // by role
  T* gradients[role_count] = {};
};

}  // namespace dsl::host::TYPENET_MODE
