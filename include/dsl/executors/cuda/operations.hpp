// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/operation.hpp>
#include <dsl/operations/merge_pixels/cuda.hpp>
#include <dsl/operations/table.hpp>
#include <dsl/operations/transpose_tokens/cuda.hpp>

#include <utility>

namespace dsl::cu::TYPENET_MODE {

/// What `records` says about an operation; all members are null for an operation without a specialisation.
struct record_row {
  void (*forward)(recording&, step const&) = nullptr;
  void (*backward)(recording&, step const&) = nullptr;
  char const* forward_kernel = nullptr;
  char const* backward_kernel = nullptr;
};

template <op Kind>
constexpr record_row record_for() {
  if constexpr (requires { records<Kind>::forward_kernel; })
    return {records<Kind>::forward, records<Kind>::backward, records<Kind>::forward_kernel,
            records<Kind>::backward_kernel};
  else
    return {};
}
template <int... Kinds>
record_row const& record_in(std::integer_sequence<int, Kinds...>, op kind) {
  static constexpr record_row rows[] = {record_for<static_cast<op>(Kinds)>()...};
  return rows[static_cast<int>(kind)];
}
/// Returns the row of an operation.
inline record_row const& record_of(op kind) {
  return record_in(std::make_integer_sequence<int, sizeof operations::table / sizeof(operations::row)>{}, kind);
}

}  // namespace dsl::cu::TYPENET_MODE
