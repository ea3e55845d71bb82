// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/training/callback.hpp>

#include <cstdlib>
#include <cstring>
#include <string>
#include <typeinfo>
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
