// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

/// Returns the name of a parameter of PyTorch's nn.LSTM or nn.GRU.
inline char const* torch_recurrent_name(role r) {
  switch (r) {
    case role::kernel: return "weight_ih_l0";
    case role::recurrent_kernel: return "weight_hh_l0";
    case role::bias: return "bias_ih_l0";
    default: return "bias_hh_l0";
  }
}

[[noreturn]] inline keras_channels::order recurrent_order(keras_channels const& all, node const& n) {
  all.refuse(n, "has different biases from Keras's, and its gates are in a different order");
}

template <>
inline constexpr row row_for<op::lstm>{
    .keras_class = "lstm", .order = recurrent_order, .torch_name = torch_recurrent_name};
template <>
inline constexpr row row_for<op::gru>{
    .keras_class = "gru", .order = recurrent_order, .torch_name = torch_recurrent_name};

}  // namespace dsl::formats::TYPENET_MODE
