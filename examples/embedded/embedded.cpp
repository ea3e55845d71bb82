// SPDX-License-Identifier: MIT
// Runs inference without heap, exceptions, threads, stdio and C++ library. Reads images from standard input, 3x32x32
// floats each, and writes ten probabilities for each to standard output. The weights are part of the program:
//   embedded_train .
//   g++ -c weights.cpp
//   g++ -std=c++20 -O2 -fno-exceptions -fno-rtti -ffunction-sections -I../../include -c embedded.cpp
//   gcc -static -Wl,--gc-sections embedded.o weights.o -lm -o embedded
// With -mavx2 -mfma or -march=native it uses wider vectors. The probabilities have the same bits as those of the
// executor `native` with the same instruction set. If there are layers without kernels, this requires
// -ffp-contract=off.
#include <dsl/embedded.hpp>

#include "network.hpp"

#include <unistd.h>

// Defined in weights.cpp.
extern "C" char const weights[], weights_end[];

namespace {

dsl::embedded_network<model, (1 << 20)> network;

float picture[dsl::shape{model::input}.size()];
float probabilities[dsl::shape{model::output}.size()];

/// Reads a whole image. Returns false at the end of the input.
bool read_picture() {
  char* at = reinterpret_cast<char*>(picture);
  for (unsigned long left = sizeof picture; left > 0;) {
    long const bytes = read(0, at, left);
    if (bytes <= 0) return false;
    at += bytes, left -= static_cast<unsigned long>(bytes);
  }
  return true;
}

}  // namespace

int main() {
  if (!network.start(weights, weights_end - weights)) return 1;  // fails for the weights of another network
  while (read_picture()) {
    network.predict(picture, probabilities);
    if (write(1, probabilities, sizeof probabilities) != sizeof probabilities) return 1;
  }
}
