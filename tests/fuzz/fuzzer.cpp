// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdint>

// libFuzzer's entry for the target that the build names.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  dsl::fuzz::TYPENET_FUZZ({reinterpret_cast<char const*>(data), size});
  return 0;
}
