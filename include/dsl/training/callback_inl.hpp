// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/training/callback.hpp>

#include <cstdlib>
#include <cstring>
#include <string>
#include <typeinfo>
#include <vector>
#include <cxxabi.h>

namespace dsl::detail::TYPENET_MODE {

[[gnu::noinline]] TYPENET_INLINE std::string dynamic_name(std::type_info const& type) {
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr);
  char const* const all = text ? text : type.name();
  name const n = identifier_of(all, 0, static_cast<int>(std::strlen(all)));
  std::string copy(n.data, static_cast<std::size_t>(n.size));
  std::free(text);
  return copy;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE scores mean_scores(double loss, double correct, double samples, bool has_acc,
                                  std::vector<std::string> const& outputs, std::vector<double> const& sums) {
  scores all = mean_scores(loss, correct, samples, has_acc);
  for (std::size_t k = 0; k < outputs.size() && 2 * k + 1 < sums.size(); ++k) {
    all.outputs.push_back({outputs[k], sums[2 * k] / samples, sums[2 * k + 1] / samples});
  }
  return all;
}

}  // namespace dsl::TYPENET_MODE
