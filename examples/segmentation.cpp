// SPDX-License-Identifier: MIT
// Classifies each pixel of a noisy image as part of a disc, a square, a triangle or none, with a small U-Net
// (Ronneberger et al. 2015): segmentation [SEED]. The shapes in the test set have other sizes than those in the
// training set. The seed, 1 by default, is that of the images and of the weights.
#include <cstdlib>
#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include <dsl/data/pixel_classes.hpp>
#include <dsl/dsl.hpp>
#include <dsl/training/confusion_matrix.hpp>

namespace {
template <int Filters, class Lower>
struct unet
    : dsl::sequential<dsl::conv_module<Filters, 3, 3>,
                      dsl::concat<dsl::identity, dsl::sequential<dsl::max_pool2d<2>, Lower, dsl::upsample2d<2>>>,
                      dsl::conv_module<Filters, 3, 3>> {};

using model = dsl::network<dsl::image<1, 32, 32>, unet<8, unet<16, unet<32, dsl::conv_module<32, 3, 3>>>>,
                           dsl::conv2d<4, 1>, dsl::softmax2d>;
/// Returns images with one shape each, whose size in pixels is first, first + 2, first + 4, ...
dsl::dataset draw(int count, int first, unsigned sizes, unsigned seed) {
  std::mt19937 random(seed);
  auto const below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < count; ++n) {
    int const kind = 1 + below(3), size = first + 2 * below(sizes), y = 8 + below(16), x = 8 + below(16);
    for (int i = 0; i < 32 * 32; ++i) {
      int const dy = i / 32 - y, dx = std::abs(i % 32 - x);
      bool const inside = kind == 1   ? dy * dy + dx * dx <= size * size
                          : kind == 2 ? std::abs(dy) <= size && dx <= size
                                      : dy <= size && 2 * dx <= size + dy;
      labels.push_back(inside ? kind : 0);
      pixels.push_back((inside ? 0.5F : 0.0F) + static_cast<float>(below(600)) / 1000);
    }
  }
  return dsl::in_memory_pixel_classes({1, 32, 32}, std::move(pixels), 4, std::move(labels));
}
}  // namespace

int main(int argc, char** argv) try {
  unsigned const seed = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
  dsl::dataset const train = draw(400, 4, 4, 2 * seed - 1), test = draw(200, 5, 3, 2 * seed);
  auto trainer = dsl::compile<model>(dsl::adam{.learning_rate = 5e-3}, {.seed = seed, .batch_norm_momentum = 0.9});
  trainer.fit(
      train,
      {.epochs = 8, .batch_size = 10, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{5e-3, 8, 1.0}}}});
  dsl::confusion_matrix pixels;
  double const right = trainer.evaluate(test, 50, &pixels).acc;
  std::printf("%.2f %% of the pixels classified correctly, mean IoU %.3f\n", 100 * right, pixels.mean_iou());
  return pixels.mean_iou() >= 0.9 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
