// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>
#include <dsl/io/saved_network.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/checks.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns a line such as "0.weight 16x3x3x3" for each parameter. Returns an empty text if named<> gives two parameters
/// the same name.
TYPENET_INLINE std::string lines_of_parameters(graph_view const& g) {
  std::vector<std::string> names;
  try {
    names = weight_names(g);
  } catch (option_error const&) {
    return {};
  }
  std::string lines;
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    std::string const& name = names[static_cast<std::size_t>(k)];
    lines += name.empty() ? "constant" : name;
    for (int axis = 0; axis < p.rank; ++axis) lines += (axis > 0 ? "x" : " ") + std::to_string(p.axis(axis));
    lines += "\n";
  }
  return lines;
}

TYPENET_INLINE std::string state_of_network(engine& e) {
  callback_state own;
  if (auto const known = e.normalization()) {
    callback_state inputs;
    int count = static_cast<int>(known->inputs.size());
    inputs("inputs", count);
    for (int i = 0; i < count; ++i) {
      input_moments m = known->inputs[static_cast<std::size_t>(i)];
      auto const numbers = [&](char const* kind, auto const& from) {
        std::vector<float> copy = from ? *from : std::vector<float>{};
        inputs(message({kind, " ", i}).c_str(), copy);
      };
      inputs(message({"name ", i}).c_str(), m.input);
      numbers("mean", m.mean);
      numbers("deviation", m.deviation);
    }
    std::string bytes = inputs.bytes();
    own(normalization_key, bytes);
  }
  if (std::string lines = lines_of_parameters(e.graph()); !lines.empty()) own(parameters_key, lines);
  return own.bytes();
}

TYPENET_INLINE std::shared_ptr<normalization const> saved_normalization(graph_view const& g,
                                                                        std::string const& callbacks,
                                                                        std::string const& file,
                                                                        char const* otherwise) {
  callback_state all(callbacks, message({"checkpoint: ", file}), otherwise);
  std::string bytes;
  all(normalization_key, bytes);
  if (bytes.empty()) return nullptr;
  callback_state inputs(std::move(bytes), message({"checkpoint: ", file, "'s normalisation"}), otherwise);
  int count = -1;
  inputs("inputs", count, 0, 1 + further_inputs(g, g.size.nodes));
  auto const need = [&](bool holds, char const* what) {
    if (!holds)
      throw file_error(
          message({"checkpoint: ", file, "'s normalisation must ", what, "; the file is damaged; ", otherwise}));
  };
  need(count >= 0, "state its number of inputs; found none");
  auto n = std::make_shared<normalization>();
  for (int i = 0; i < count; ++i) {
    input_moments m;
    auto const numbers = [&](char const* kind, auto& to) {
      std::vector<float> read;
      inputs(message({kind, " ", i}).c_str(), read);
      if (!read.empty()) to = std::make_shared<std::vector<float> const>(std::move(read));
    };
    inputs(message({"name ", i}).c_str(), m.input);
    numbers("mean", m.mean);
    numbers("deviation", m.deviation);
    need(!n->find(m.input), "have each input once; found one twice");
    n->inputs.push_back(std::move(m));
  }
  try {
    require_moments_fit(g, *n);
  } catch (data_error const& e) {
    throw file_error(message({"checkpoint: ", file, " is damaged: ", printable(e.what())}));
  }
  return n;
}

TYPENET_INLINE std::string differing_parameter(graph_view const& g, std::string const& callbacks,
                                               std::string const& file, char const* otherwise) {
  callback_state all(callbacks, message({"checkpoint: ", file}), otherwise);
  std::string saved;
  all(parameters_key, saved);
  std::string const own = lines_of_parameters(g);
  if (saved.empty() || own.empty()) return {};
  auto const next = [](std::string_view& lines) {
    std::size_t const end = lines.find('\n');
    std::string_view const line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    return line;
  };
  auto const words = [](std::string_view line) {
    std::size_t const space = line.rfind(' ');
    return space == line.npos ? excerpt(line)
                              : message({excerpt(line.substr(0, space)), " of ", excerpt(line.substr(space + 1))});
  };
  std::string_view theirs = saved, ours = own;
  while (!theirs.empty() && !ours.empty()) {
    std::string_view const there = next(theirs), here = next(ours);
    if (there == here) continue;
    return message(
        {"the first parameter that differs is ", words(there), " in the file and ", words(here), " in the network"});
  }
  if (!theirs.empty())
    return message({"the file also has the parameter ", words(next(theirs)), ", which the network lacks"});
  if (!ours.empty()) return message({"the file lacks the parameter ", words(next(ours))});
  return "all parameters have the same names and shapes, so other properties of the layers differ, such as a stride";
}

}  // namespace dsl::detail::TYPENET_MODE
