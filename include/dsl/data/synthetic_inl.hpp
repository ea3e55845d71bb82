// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/synthetic.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE float signed_distance(figure f, float x, float y) {
  auto const max = [](float a, float b) { return a < b ? b : a; };
  auto const min = [](float a, float b) { return b < a ? b : a; };
  auto const band = [](float t) { return abs(t - detail::floor(t) - 0.5f) - 0.25f; };  // half on, half off
  switch (f) {
    case figure::disc: return hypot(x, y) - 0.9f;
    case figure::ring: return abs(hypot(x, y) - 0.72f) - 0.22f;
    case figure::square: return max(abs(x), abs(y)) - 0.78f;
    case figure::triangle: return max(y, 0.8660254f * abs(x) - 0.5f * y) - 0.5f;
    case figure::cross: return min(max(abs(x) - 1.0f, abs(y) - 0.28f), max(abs(x) - 0.28f, abs(y) - 1.0f));
    case figure::star: {  // one tenth of a five-pointed star, from the tip (1, 0) to the notch (0.42, 36 degrees)
      constexpr float tenth = 0.6283185f;
      float const angle = abs(detail::remainder(detail::atan2(y, x), 2 * tenth));
      float const radius = hypot(x, y);
      float const notch_x = 0.42f * detail::cos(tenth), notch_y = 0.42f * detail::sin(tenth);
      float const edge = hypot(notch_x - 1.0f, notch_y);
      return ((radius * detail::cos(angle) - 1.0f) * notch_y - radius * detail::sin(angle) * (notch_x - 1.0f)) / edge;
    }
    case figure::horizontal_stripes: return band(y);
    case figure::vertical_stripes: return band(x);
    case figure::checkerboard: {  // exclusive or of both bands
      float const a = band(x), b = band(y);
      return max(min(a, b), -max(a, b));
    }
    case figure::crescent: return max(hypot(x, y) - 0.95f, 0.75f - hypot(x - 0.45f, y));
  }
  return 1.0f;
}

TYPENET_INLINE void draw_synthetic(std::uint64_t seed, std::uint64_t index, std::uint8_t* out) {
  random_stream random{seed, purpose::synthetic, index};
  auto const what = static_cast<figure>(index % 10);
  bool const pattern =
      what == figure::horizontal_stripes || what == figure::vertical_stripes || what == figure::checkerboard;

  // Two colours that differ visibly: by 240 of 765 levels. About one draw in two differs less.
  std::array<float, 3> ground{}, ink{};
  for (float apart = 0; apart < 240;) {
    apart = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      ground[c] = random.uniform(0, 255);
      ink[c] = random.uniform(0, 255);
      apart += detail::abs(ground[c] - ink[c]);
    }
  }
  // Figures have any position that leaves them inside, and any rotation. Patterns have any phase, are nearly upright,
  // and cover the whole image.
  float const scale = pattern ? random.uniform(6, 12) : random.uniform(9, 13.5f);
  float const room = pattern ? scale : 16 - scale;
  float const cx = 15.5f + random.uniform(-room, room), cy = 15.5f + random.uniform(-room, room);
  float const turn = pattern                  ? random.uniform(-0.15f, 0.15f)
                     : what == figure::square ? random.uniform(-0.3f, 0.3f)
                                              : random.uniform(0, 6.2831853f);
  float const cosine = detail::cos(turn) / scale, sine = detail::sin(turn) / scale;
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j) {
      float const dx = static_cast<float>(j) - cx, dy = static_cast<float>(i) - cy;
      float const distance = signed_distance(what, cosine * dx + sine * dy, cosine * dy - sine * dx);
      float const coverage =
          detail::fmin(detail::fmax(0.5f - distance * scale, 0.0f), 1.0f);  // the antialiased edge, one pixel wide
      for (std::size_t c = 0; c < 3; ++c) {
        float const level = ground[c] + (ink[c] - ground[c]) * coverage + random.uniform(-12, 12);
        out[c * 1024 + static_cast<std::size_t>(i * 32 + j)] =
            static_cast<std::uint8_t>(detail::fmin(detail::fmax(level + 0.5f, 0.0f), 255.0f));
      }
    }
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE synthetic synthetic_pictures(std::int64_t train, std::int64_t test, std::uint64_t seed) {
  constexpr std::int64_t most = 10'000'000;  // 29 GiB
  if (train < 1 || test < 0 || train > most || test > most)
    throw option_error(
        "synthetic_pictures: there must be 1 to 10,000,000 training and up to 10,000,000 test images; found " +
        std::to_string(train) + " and " + std::to_string(test) + "; use, for example, 4000 and 1000");
  constexpr dsl::shape sample{3, 32, 32};
  auto const bytes = static_cast<std::size_t>(sample.size());
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(train + test) * bytes);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(train + test));
  for (std::size_t k = 0; k < labels.size(); ++k) {
    detail::draw_synthetic(seed, k, pixels.data() + k * bytes);
    labels[k] = static_cast<std::int32_t>(k % 10);
  }
  auto const all = in_memory_dataset(sample, 10, std::move(pixels), std::move(labels),
                                     {"disc", "ring", "square", "triangle", "cross", "star", "horizontal stripes",
                                      "vertical stripes", "checkerboard", "crescent"});
  synthetic pictures{all.first(train), all.subset(train, test)};
  pictures.train.mean = pictures.test.mean = mean_picture(pictures.train);
  return pictures;
}

}  // namespace dsl::TYPENET_MODE
