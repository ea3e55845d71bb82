// SPDX-License-Identifier: MIT
#include <dsl/dsl.hpp>
#include <dsl/io/safetensors.hpp>

#include <stdexcept>
#include <vector>

#include "fuzz/targets.hpp"

// Reads the numbers of every tensor too, and checks that their bytes are within the file.
bool dsl::fuzz::safetensors(std::string_view bytes) {
  try {
    namespace st = dsl::safetensors;
    st::contents const c = st::read_contents(bytes, "a file");
    for (st::tensor const& t : c.tensors) {
      if (c.data_begin > bytes.size() || t.begin > t.end || t.end > bytes.size() - c.data_begin)
        throw std::logic_error("safetensors: a tensor of an accepted file lies outside it");
      if (c.find(t.name) == nullptr) throw std::logic_error("safetensors: a tensor is not found by its name");
      std::string_view const numbers = bytes.substr(c.data_begin + t.begin, t.end - t.begin);
      std::vector<float> floats(numbers.size());
      static_cast<void>(st::read_floats(t.type, numbers, floats.data()));
    }
    return true;
  } catch (dsl::error const&) {
    return false;
  }
}
