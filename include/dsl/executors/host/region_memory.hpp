// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>

#include <cstddef>

namespace dsl::host::TYPENET_MODE {

/// The addresses of a plan's memory regions on the host; null for regions that do not exist.
struct region_memory {
  std::byte* begin[regions] = {};

  std::byte*& operator[](region r) { return begin[static_cast<int>(r)]; }
  std::byte* operator[](region r) const { return begin[static_cast<int>(r)]; }
  std::byte* address(buffer const& b) const { return (*this)[b.where] + b.offset; }
};

}  // namespace dsl::host::TYPENET_MODE
