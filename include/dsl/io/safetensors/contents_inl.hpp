// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/contents.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dsl::safetensors::TYPENET_MODE {

TYPENET_INLINE tensor const* contents::find(std::string_view name) const {
  std::size_t from = 0, to = by_name.size();
  while (from < to) {
    std::size_t const middle = from + (to - from) / 2;
    tensor const& t = tensors[by_name[middle]];
    if (t.name == name) return &t;
    (t.name < name ? from : to) = t.name < name ? middle + 1 : middle;
  }
  return nullptr;
}

}  // namespace dsl::safetensors::TYPENET_MODE

namespace dsl::safetensors::detail::TYPENET_MODE {

TYPENET_INLINE size_problem bytes_of(dtype type, std::vector<std::uint64_t> const& shape, std::uint64_t& bytes) {
  std::uint64_t bits = 1;
  for (std::uint64_t d : shape)
    if (__builtin_mul_overflow(bits, d, &bits)) return size_problem::overflow;
  if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(facts_of(type).bits), &bits))
    return size_problem::overflow;
  bytes = bits / 8;
  return bits % 8 != 0 ? size_problem::part_of_a_byte : size_problem::none;
}

}  // namespace dsl::safetensors::detail::TYPENET_MODE
