// SPDX-License-Identifier: MIT
#include <dsl/pictures.hpp>

#include <cstdio>

int main() {
  try {
    dsl::read_picture("none.png");
  } catch (dsl::data_error const& e) {
    std::printf("pictures: %s\n", e.what());
  }
}
