// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/error.hpp>
#include <dsl/shape.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace dsl {

enum class interpolation { nearest, bilinear };

/// What happens to one picture in one epoch; plain numbers, drawn on the CPU or by a GPU kernel.
/// shifted(i, j) = in(i + dy, j + dx), edges repeated; then, if flip, out(i, j) = shifted(i, W-1 - j).
struct transform {
  float dy = 0;  // pixels
  float dx = 0;
  bool flip = false;
  dsl::interpolation interpolation = dsl::interpolation::nearest;
};

/// Keras's ImageDataGenerator(width_shift_range, height_shift_range, horizontal_flip, fill_mode="nearest"). Shifts are
/// fractions of the picture: height 0.1 of 32 rows draws dy uniformly from [-3.2, 3.2) pixels.
/// Nearest is Keras 2.0.9's interpolation, bilinear that of 2.1.4 and later.
struct shift_and_flip {
  double width = 0.1;
  double height = 0.1;
  bool horizontal_flip = true;
  dsl::interpolation interpolation = dsl::interpolation::nearest;

  /// One Philox block: key = seed, counter = (epoch, augment, sample); words: dy, dx, flip. Each shift is one float
  /// product of an exact number in [-1, 1), so a GPU that draws for itself gets the same bits.
  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const {
    auto const index = static_cast<std::uint64_t>(sample);
    auto const words =
        detail::philox(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                       static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(detail::purpose::augment),
                       static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32));
    auto const centred = [](std::uint32_t word) { return 2.0f * detail::unit_float(word) - 1.0f; };
    return {centred(words.x[0]) * static_cast<float>(height * picture.height),
            centred(words.x[1]) * static_cast<float>(width * picture.width),
            horizontal_flip && detail::unit_float(words.x[2]) < 0.5f, interpolation};
  }
  friend bool operator==(shift_and_flip const&, shift_and_flip const&) = default;
};

template <class T>
concept augmentation_policy = requires(T const& policy, dsl::shape const& picture) {
  { policy.draw(std::uint64_t{}, int{}, std::int64_t{}, picture) } -> std::same_as<transform>;
};

/// Any policy with shift_and_flip's draw(), or none: `augmentation{}`. A copy shares the policy.
class augmentation {
 public:
  augmentation() = default;
  template <augmentation_policy Policy>  // NOLINTNEXTLINE(google-explicit-constructor): a policy is an augmentation
  augmentation(Policy policy) : policy_(std::make_shared<holder<Policy> const>(std::move(policy))) {
    if constexpr (std::same_as<Policy, shift_and_flip>) {
      auto const is_share = [](double x) { return x >= 0 && x <= 1; };
      shift_and_flip const& p = *as<shift_and_flip>();
      if (!is_share(p.width) || !is_share(p.height))
        throw option_error("shift_and_flip: width and height must be shares of the picture, 0 to 1");
    }
  }

  explicit operator bool() const { return policy_ != nullptr; }
  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const {
    return policy_ ? policy_->draw(seed, epoch, sample, picture) : transform{};
  }
  /// The policy, if it is of that type: a device draws shift_and_flip's numbers itself.
  template <augmentation_policy Policy>
  Policy const* as() const {
    return policy_ && policy_->type() == &type_of<Policy> ? &static_cast<holder<Policy> const&>(*policy_).policy
                                                          : nullptr;
  }

 private:
  template <class Policy>
  static constexpr char type_of = 0;  // its address stands for the type
  struct drawer {
    virtual ~drawer() = default;
    virtual char const* type() const = 0;
    virtual transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const = 0;
  };
  template <class Policy>
  struct holder final : drawer {
    explicit holder(Policy p) : policy(std::move(p)) {}
    char const* type() const override { return &type_of<Policy>; }
    transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const override {
      return policy.draw(seed, epoch, sample, picture);
    }
    Policy policy;
  };
  std::shared_ptr<drawer const> policy_;
};

namespace detail {

inline int clamp_index(long long i, int size) { return i < 0 ? 0 : i < size ? static_cast<int>(i) : size - 1; }

/// One clamped source position: value = (1 - fraction) * in[low] + fraction * in[high], as scipy.ndimage's order 1.
struct tap {
  int low, high;
  float fraction;
  tap(int i, float shift, int size) {
    double const at =
        detail::fmin(detail::fmax(static_cast<double>(i) + double{shift}, 0.0), static_cast<double>(size - 1));
    low = static_cast<int>(at);
    high = clamp_index(low + 1LL, size);
    fraction = static_cast<float>(at - static_cast<double>(low));
  }
};

/// A picture's mean-subtracted numbers, by flat C*H*W index.
struct pixel_source {
  std::uint8_t const* bytes = nullptr;
  float const* floats = nullptr;  // or these, subtracted already
  float const* mean = nullptr;
  float operator()(std::ptrdiff_t i) const {
    if (floats) return floats[i];
    return mean ? static_cast<float>(bytes[i]) - mean[i] : static_cast<float>(bytes[i]);
  }
};

inline void transform_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out) {
  int const w = s.width;
  // scipy's order 0 reads floor(i + dy + 0.5), halves up, so a nearest shift is whole: dy = -1.5 moves by -1.
  // Clamped to the picture's own size first: every larger shift repeats the edge anyway.
  auto const whole = [](float shift, double size) {
    return static_cast<int>(detail::fmin(detail::fmax(detail::floor(double{shift} + 0.5), -size), size));
  };
  int const dy = whole(t.dy, s.height);
  int const dx = whole(t.dx, w);
  int const from = dx < 0 ? -dx : 0;  // columns from .. to-1 read inside the row, the others repeat its ends
  int const to = dx > 0 ? w - dx : w;
  for (int c = 0; c < s.channels; ++c)
    for (int i = 0; i < s.height; ++i, out += w) {
      std::ptrdiff_t const plane = std::ptrdiff_t{c} * s.height;
      std::ptrdiff_t const step = t.flip ? -1 : 1;
      float* const first = t.flip ? out + w - 1 : out;
      if (t.interpolation == interpolation::bilinear) {
        tap const y{i, t.dy, s.height};
        auto const top = (plane + y.low) * w, bottom = (plane + y.high) * w;
        for (int j = 0; j < w; ++j) {
          tap const x{j, t.dx, w};
          float const above = pixel(top + x.low) * (1 - x.fraction) + pixel(top + x.high) * x.fraction;
          float const below = pixel(bottom + x.low) * (1 - x.fraction) + pixel(bottom + x.high) * x.fraction;
          first[j * step] = above * (1 - y.fraction) + below * y.fraction;
        }
        continue;
      }
      auto const row = (plane + clamp_index(i + static_cast<long long>(dy), s.height)) * w;
      float const left = pixel(row), right = pixel(row + w - 1);
      for (int j = 0; j < from; ++j) first[j * step] = left;
      for (int j = from; j < to; ++j) first[j * step] = pixel(row + j + dx);
      for (int j = to; j < w; ++j) first[j * step] = right;
    }
}

}  // namespace detail

/// out = the transformed (in - mean), C*H*W floats; mean may be null. The mean goes first: shifted pictures are shifted
/// *mean-subtracted* pictures, as in the recipe, so the mean moves with its picture.
/// {.dx = 1} on one row 1 2 3 -> 2 3 3; with flip -> 3 3 2.
inline void apply(transform const& t, std::uint8_t const* in, float const* mean, float* out,
                  dsl::shape const& picture) {
  detail::transform_picture(t, picture, {.bytes = in, .mean = mean}, out);
}

/// The same for a picture that is mean-subtracted already (the pipeline's cache): the same bits come out.
inline void apply(transform const& t, float const* in, float* out, dsl::shape const& picture) {
  detail::transform_picture(t, picture, {.floats = in}, out);
}

}  // namespace dsl
