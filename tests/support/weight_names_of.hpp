// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/io/weight_names.hpp>
#include <dsl/language.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace dsl::test {

using names = std::vector<std::string>;

template <class... Layers>
names names_of() {
  return weight_names(network<image<3, 224, 224>, Layers...>::view());
}
template <class Model>
bool has(std::string const& name) {
  names const all = names_of<Model>();
  return std::find(all.begin(), all.end(), name) != all.end();
}

inline void add_norm(names& to, std::string const& name) {
  for (char const* part : {".weight", ".bias", ".running_mean", ".running_var"}) to.push_back(name + part);
}

}  // namespace dsl::test
