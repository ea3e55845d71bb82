// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

using numbers_of_input = std::shared_ptr<std::vector<float> const>;

TYPENET_INLINE bool same_numbers(numbers_of_input const& a, numbers_of_input const& b) {
  return a == b || (a && b && *a == *b);
}

TYPENET_INLINE std::string name_for_message(std::string const& input) {
  return input.empty() ? "the first input" : "input \"" + input + "\"";
}

/// Describes the first difference between two arrays of means, or between two arrays of deviations; `kind` says which.
TYPENET_INLINE std::string difference(char const* kind, numbers_of_input const& found, numbers_of_input const& wanted,
                                      std::string const& input) {
  std::string const of = " of " + name_for_message(input);
  if (!found) return message({"no ", kind, of});
  if (!wanted) return message({"a ", kind, of, " instead of none"});
  if (found->size() != wanted->size())
    return message({"a ", kind, of, " with ", found->size(), " numbers instead of ", wanted->size()});
  std::size_t i = 0;
  while ((*found)[i] == (*wanted)[i]) ++i;
  return message({"the ", kind, " ", static_cast<double>((*found)[i]), " instead of ",
                  static_cast<double>((*wanted)[i]), " for number ", i, of});
}

TYPENET_INLINE std::string difference(normalization const& found, normalization const& wanted) {
  for (normalization const* const all : {&wanted, &found})
    for (input_moments const& one : all->inputs) {
      static input_moments const none{};
      input_moments const *const f = found.find(one.input), *const w = wanted.find(one.input);
      input_moments const &ours = f ? *f : none, &theirs = w ? *w : none;
      if (!same_numbers(ours.mean, theirs.mean)) return difference("mean", ours.mean, theirs.mean, one.input);
      if (!same_numbers(ours.deviation, theirs.deviation))
        return difference("deviation", ours.deviation, theirs.deviation, one.input);
    }
  return {};
}

/// Throws data_error unless the mean and the deviation of an input have `count` numbers each.
TYPENET_INLINE void require_moments(input_moments const& m, long long count) {
  for (numbers_of_input const& numbers : {m.mean, m.deviation})
    if (numbers && static_cast<long long>(numbers->size()) != count)
      throw_error<data_error>({"normalize_as: mean and deviation of ", name_for_message(m.input), " must have ",
                               counted(count, "number"), " each, as many as a sample of the data set; found ",
                               numbers->size(), "; use those of data of the same shape"});
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE input_moments const* normalization::find(std::string const& input) const {
  for (input_moments const& one : inputs)
    if (one.input == input) return &one;
  return nullptr;
}

TYPENET_INLINE bool operator==(normalization const& a, normalization const& b) {
  if (a.inputs.size() != b.inputs.size()) return false;
  for (input_moments const& one : a.inputs) {
    input_moments const* const other = b.find(one.input);
    if (!other || !detail::same_numbers(one.mean, other->mean) ||
        !detail::same_numbers(one.deviation, other->deviation))
      return false;
  }
  return true;
}

TYPENET_INLINE normalization normalization_of(dataset const& data) {
  normalization all;
  if (data.mean || data.deviation) all.inputs.push_back({"", data.mean, data.deviation});
  for (int k = 0; k < data.further_inputs(); ++k)
    if (further_input const& f = (*data.further)[static_cast<std::size_t>(k)]; f.mean || f.deviation)
      all.inputs.push_back({f.name, f.mean, f.deviation});
  return all;
}

TYPENET_INLINE dataset normalize_as(dataset data, normalization const& n) {
  std::size_t used = 0;
  auto const take = [&](std::string const& input, long long count, auto& to) {
    input_moments const* const m = n.find(input);
    if (m) detail::require_moments(*m, count), ++used;
    to.mean = m ? m->mean : nullptr;
    to.deviation = m ? m->deviation : nullptr;
  };
  take("", data.sample.size(), data);
  if (data.further) {
    auto further = std::make_shared<std::vector<further_input>>(*data.further);
    for (further_input& f : *further) take(f.name, f.sample.size(), f);
    data.further = std::move(further);
  }
  if (used == n.inputs.size()) return data;
  for (input_moments const& m : n.inputs) {
    bool there = m.input.empty();
    for (int k = 0; k < data.further_inputs(); ++k)
      there = there || (*data.further)[static_cast<std::size_t>(k)].name == m.input;
    if (!there)
      detail::throw_error<data_error>({"normalize_as: the data set must have the input \"", m.input,
                                       "\", which the normalisation has; found none; add it with with_input()"});
  }
  return data;
}

}  // namespace dsl::TYPENET_MODE
