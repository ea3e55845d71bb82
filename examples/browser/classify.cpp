// SPDX-License-Identifier: MIT
// Runs the network of ../embedded in a browser: this file is compiled to WebAssembly, with 128-bit vectors and without
// any library. The page writes the model and the pixels of an image to the addresses that these functions return, and
// reads the probabilities.
#include <dsl/embedded.hpp>

#include "../embedded/network.hpp"

namespace {

constexpr dsl::shape input = model::input;

using network_type = dsl::embedded_network<model, (1 << 20)>;
network_type network;

// The file that browser_train writes: the weights, then the mean that is subtracted from an image.
struct file {
  alignas(64) unsigned char weights[network_type::weights_bytes];
  float mean[input.size()];
};
file trained;

unsigned char pixels[4 * input.area()];  // red, green, blue and opacity of each pixel, in a canvas's order
float picture[input.size()];
float probabilities[dsl::shape{model::output}.size()];

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* model_at() { return &trained; }
[[gnu::visibility("default")]] int model_bytes() { return network_type::weights_bytes + int{sizeof trained.mean}; }
[[gnu::visibility("default")]] void* pixels_at() { return pixels; }
[[gnu::visibility("default")]] void* probabilities_at() { return probabilities; }

/// Prepares the network once the model is at model_at().
[[gnu::visibility("default")]] bool start() { return network.start(trained.weights, sizeof trained.weights); }

/// Classifies the pixels at pixels_at().
[[gnu::visibility("default")]] void classify() {
  for (int c = 0; c < input.channels; ++c)
    for (int i = 0; i < input.area(); ++i)
      picture[c * input.area() + i] = static_cast<float>(pixels[4 * i + c]) - trained.mean[c * input.area() + i];
  network.predict(picture, probabilities);
}
}
