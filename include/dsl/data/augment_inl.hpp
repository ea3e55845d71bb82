// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/transform.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/error.hpp>
#include <dsl/shape.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE transform shift_and_flip::draw(std::uint64_t seed, int epoch, std::int64_t sample,
                                              dsl::shape const& picture) const {
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

TYPENET_INLINE bool shift_and_flip::describe(augmentation_numbers& all) const {
  if (all != augmentation_numbers{}) return false;
  all.shifts = true;
  all.shift_flips = horizontal_flip;
  all.interpolation = interpolation;
  all.shift_height = height, all.shift_width = width;
  return true;
}

TYPENET_INLINE void shift_and_flip::check() const {
  auto const is_share = [](double x) { return x >= 0 && x <= 1; };
  if (!is_share(width) || !is_share(height))
    detail::throw_error<option_error>(
        {"shift_and_flip: width and height must be fractions of the image, 0 to 1; found ", width, " and ", height,
         "; 0.1 shifts an image of 32 pixels by up to 3.2"});
}

TYPENET_INLINE transform augmentation::draw(std::uint64_t seed, int epoch, std::int64_t sample,
                                            dsl::shape const& picture) const {
  return policy_ ? policy_->draw(seed, epoch, sample, picture) : transform{};
}

TYPENET_INLINE bool augmentation::describe(augmentation_numbers& numbers) const {
  numbers = {};
  if (policy_ && !policy_->describe(numbers)) return false;
  auto const fits = [](int pixels) { return pixels >= 0 && pixels <= detail::largest_augmentation; };
  return fits(numbers.padding) && fits(numbers.hole) && numbers.hole_epochs >= 0 && (!numbers.shifts || !numbers.crops);
}

}  // namespace dsl::TYPENET_MODE
