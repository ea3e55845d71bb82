// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/normalization.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/training/checks.hpp>

#include <charconv>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

inline constexpr std::string_view mean_name = "typenet.mean", deviation_name = "typenet.deviation";

/// If all numbers in each channel are equal, returns how many numbers a channel has; otherwise returns 1. The reader
/// accepts either all numbers or one number per channel, and nothing else.
TYPENET_INLINE std::size_t equal_run(std::vector<float> const& all, shape const& of) {
  std::size_t const run = all.size() / static_cast<std::size_t>(of.channels);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!(all[i] == all[i / run * run])) return 1;
  return run;
}

TYPENET_INLINE void put_normalization(graph_view const& g, normalization const& n,
                                      safetensors::text_by_name& metadata) {
  auto const shape_of = [&](std::string const& input) -> shape const& {
    int node = 0;
    for (int k = 1; k < g.size.nodes; ++k)
      if (is_further_input(g, k) && name_of_input(g, k) == input) node = k;
    return g.output_shape(g.nodes[node]);
  };
  auto const put = [&](std::string_view kind, std::string const& input, auto const& numbers) {
    std::string text;
    std::size_t const run = numbers && !numbers->empty() ? equal_run(*numbers, shape_of(input)) : 1;
    for (std::size_t i = 0; numbers && i < numbers->size(); i += run) {
      char digits[32];
      auto const end = std::to_chars(digits, digits + sizeof digits, (*numbers)[i]).ptr;
      text.append(i > 0 ? " " : "").append(digits, end);
    }
    metadata.emplace_back(std::string(kind) + (input.empty() ? "" : "." + input), std::move(text));
  };
  for (input_moments const& m : n.inputs) put(mean_name, m.input, m.mean), put(deviation_name, m.input, m.deviation);
  if (!n.find("")) put(mean_name, "", std::shared_ptr<std::vector<float> const>());
}

/// Parses at most `count` numbers. If there are fewer, repeats each of them: for an input of 3x32x32, three numbers are
/// one per channel. Throws format_error.
TYPENET_INLINE std::shared_ptr<std::vector<float> const> numbers_in(std::string_view text, shape const& of,
                                                                    std::string const& what,
                                                                    safetensors::file const& f) {
  if (text.empty()) return nullptr;
  auto const fail = [&](std::string const& found) {
    throw safetensors::format_error(safetensors::fault::unsuitable_tensor,
                                    "safetensors: " + f.path() + " must have " + std::to_string(of.size()) +
                                        " numbers in " + safetensors::detail::shown(what) + ", or one per channel; " +
                                        found + "; load it with .normalization = false");
  };
  auto const count = static_cast<std::size_t>(of.size());
  auto all = std::make_shared<std::vector<float>>();
  char const *at = text.data(), *const end = at + text.size();
  for (; at < end && all->size() <= count; at += at < end ? 1 : 0) {
    float number = 0;
    auto const [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next < end && *next != ' ')) fail("found other text");
    all->push_back(number);
    at = next;
  }
  if (all->size() == count) return all;
  if (all->size() != static_cast<std::size_t>(of.channels))
    fail("found " + (all->size() > count ? "more" : std::to_string(all->size())));
  std::size_t const area = count / all->size();
  auto repeated = std::make_shared<std::vector<float>>(count);
  for (std::size_t i = 0; i < count; ++i) (*repeated)[i] = (*all)[i / area];
  return repeated;
}

TYPENET_INLINE std::shared_ptr<normalization const> saved_normalization(graph_view const& g,
                                                                        safetensors::file const& f) {
  auto n = std::make_shared<normalization>();
  bool says = false;
  for (int k = 0; k < g.size.nodes; ++k) {
    if (k > 0 && !is_further_input(g, k)) continue;
    input_moments m{k == 0 ? "" : name_of_input(g, k)};
    auto const read = [&](std::string_view kind, auto& to) {
      std::string const name = std::string(kind) + (k == 0 ? "" : "." + m.input);
      for (auto const& [key, text] : f.metadata())
        if (key == name) says = true, to = numbers_in(text, g.output_shape(g.nodes[k]), name, f);
    };
    read(mean_name, m.mean);
    read(deviation_name, m.deviation);
    if (m.mean || m.deviation) n->inputs.push_back(std::move(m));
  }
  if (!says) return nullptr;
  try {
    require_moments_fit(g, *n);
  } catch (data_error const& e) {
    throw safetensors::format_error(safetensors::fault::unsuitable_tensor,
                                    "safetensors: " + f.path() + ": " + e.what());
  }
  return n;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE safetensors::text_by_name normalization_metadata(graph_view const& g, normalization const& n) {
  safetensors::text_by_name metadata;
  detail::put_normalization(g, n, metadata);
  return metadata;
}

}  // namespace dsl::TYPENET_MODE
