// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset with_input(dataset data, std::string name, dsl::shape sample, std::span<float const> numbers,
                                  std::shared_ptr<void const> owner) {
  detail::require_no_stream(data, "with_input");
  std::vector<further_input> all;
  if (data.further) all = *data.further;
  if (name.empty()) detail::throw_error<data_error>({"with_input: an input must have a name; found an empty one"});
  for (further_input const& f : all)
    if (f.name == name)
      detail::throw_error<data_error>({"with_input: each input must have a name of its own; found ", name, " twice"});
  detail::require_numbers(numbers, data.size, sample.size(), "numbers");
  all.push_back({.name = std::move(name), .sample = sample, .numbers = numbers.data(), .owner = std::move(owner)});
  data.further = std::make_shared<std::vector<further_input> const>(std::move(all));
  return data;
}

TYPENET_INLINE dataset with_input(dataset data, std::string name, dsl::shape sample, std::vector<float> numbers) {
  auto const owner = std::make_shared<std::vector<float> const>(std::move(numbers));
  return with_input(std::move(data), std::move(name), sample, std::span<float const>(*owner), owner);
}

}  // namespace dsl::TYPENET_MODE
