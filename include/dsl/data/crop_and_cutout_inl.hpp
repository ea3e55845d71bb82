// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/error.hpp>

#include <cstdint>
#include <tuple>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE philox_block augmentation_words(purpose what, std::uint64_t seed, int epoch, std::int64_t sample) {
  auto const index = static_cast<std::uint64_t>(sample);
  return philox(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(what), static_cast<std::uint32_t>(index),
                static_cast<std::uint32_t>(index >> 32));
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE transform random_crop::draw(std::uint64_t seed, int epoch, std::int64_t sample,
                                           dsl::shape const&) const {
  auto const words = detail::augmentation_words(detail::purpose::random_crop, seed, epoch, sample);
  auto const offset = [&](std::uint32_t word) {
    return static_cast<float>(detail::scaled(word, 2 * padding + 1) - padding);
  };
  return {.dy = offset(words.x[0]), .dx = offset(words.x[1]), .outside = outside};
}

TYPENET_INLINE bool random_crop::describe(augmentation_numbers& all) const {
  if (all != augmentation_numbers{}) return false;
  all.crops = true;
  all.padding = padding;
  all.outside = outside;
  return true;
}

TYPENET_INLINE void random_crop::check() const {
  if (padding < 0 || padding > detail::largest_augmentation)
    throw option_error(detail::message({"random_crop: padding must be 0 to ", detail::largest_augmentation,
                                        " pixels; found ", padding, "; images of 32x32 usually have 4"}));
}

TYPENET_INLINE transform random_flip::draw(std::uint64_t seed, int epoch, std::int64_t sample,
                                           dsl::shape const&) const {
  auto const words = detail::augmentation_words(detail::purpose::random_flip, seed, epoch, sample);
  return {.flip = detail::unit_float(words.x[0]) < static_cast<float>(probability)};
}

TYPENET_INLINE bool random_flip::describe(augmentation_numbers& all) const {
  if (all.flips || all.hole > 0) return false;
  all.flips = true;
  all.flip_probability = static_cast<float>(probability);
  return true;
}

TYPENET_INLINE void random_flip::check() const {
  bool const holds = probability >= 0 && probability <= 1;
  if (!holds)
    throw option_error(detail::message({"random_flip: probability must be 0 to 1; found ", probability, "; try 0.5"}));
}

TYPENET_INLINE transform cutout::draw(std::uint64_t seed, int epoch, std::int64_t sample,
                                      dsl::shape const& picture) const {
  if (epochs > 0 && epoch >= epochs) return {};
  auto const words = detail::augmentation_words(detail::purpose::cutout, seed, epoch, sample);
  return {.hole = {.top = detail::scaled(words.x[0], picture.height) - size / 2,
                   .left = detail::scaled(words.x[1], picture.width) - size / 2,
                   .height = size,
                   .width = size}};
}

TYPENET_INLINE bool cutout::describe(augmentation_numbers& all) const {
  if (all.hole > 0) return false;
  all.hole = size, all.hole_epochs = epochs;
  return true;
}

TYPENET_INLINE void cutout::check() const {
  if (size < 1 || size > detail::largest_augmentation)
    throw option_error(detail::message(
        {"cutout: size must be 1 to ", detail::largest_augmentation, " pixels; found ", size, "; try 16"}));
  if (epochs < 0) throw option_error(detail::message({"cutout: epochs must be 0 (all) or more; found ", epochs}));
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void refuse_order(char const* does, char const* has) {
  throw option_error(message({"in_order: an augmentation ", does, " an image that an earlier one has ", has,
                              "; give at most one that moves, such as shift_and_flip or random_crop,",
                              " then those that only flip, then at most one cutout"}));
}

TYPENET_INLINE transform then(transform const& before, transform const& next) {
  transform both = before;
  if (next.moves()) {
    if (before.cuts() || before.flip || before.moves())
      refuse_order("moves", before.cuts() ? "cut" : before.flip ? "flipped" : "moved");
    both.dy = next.dy, both.dx = next.dx;
    both.interpolation = next.interpolation, both.outside = next.outside;
  }
  if (next.flip) {
    if (before.cuts()) refuse_order("flips", "cut");
    both.flip = !before.flip;
  }
  if (next.cuts()) {
    if (before.cuts()) refuse_order("cuts", "cut");
    both.hole = next.hole;
  }
  return both;
}

}  // namespace dsl::detail::TYPENET_MODE
