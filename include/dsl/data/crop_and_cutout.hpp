// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>

#include <cstdint>
#include <tuple>
#include <utility>

namespace dsl::detail::TYPENET_MODE {

/// Returns the Philox block for a purpose and (seed, epoch, sample).
philox_block augmentation_words(purpose what, std::uint64_t seed, int epoch, std::int64_t sample);
/// Maps one random word to one of 0 .. n-1. The probabilities differ by at most n in 2^32. There is no loop, so that a
/// GPU can do the same.
constexpr int scaled(std::uint32_t word, int n) {
  return static_cast<int>((std::uint64_t{word} * static_cast<std::uint32_t>(n)) >> 32);
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Pads an image on every side by `padding` pixels and crops the padded image to the original size at a random
/// position: dy and dx are uniform in -padding .. padding. The padding is zero, which is the colour of the mean image,
/// since the mean has been subtracted: He et al. 2015, section 4.2 ("4 pixels are padded on each side"). Together with
/// random_flip, random_crop is the usual recipe for CIFAR-10. Philox: key = seed, counter = (epoch, random_crop,
/// sample); words: dy, dx.
struct random_crop {
  int padding = 4;
  dsl::outside outside = dsl::outside::zero;

  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const&) const;
  bool describe(augmentation_numbers& all) const;
  void check() const;
};

/// Flips an image horizontally with the given probability. Philox: counter = (epoch, random_flip, sample); word 0.
struct random_flip {
  double probability = 0.5;

  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const&) const;
  bool describe(augmentation_numbers& all) const;
  void check() const;
};

/// Zeroes a square of `size` pixels a side (DeVries and Taylor 2017). Its centre may be any pixel, so part of the
/// square may lie outside the image: rows centre - size/2 .. centre - size/2 + size-1. The paper's size for CIFAR-10 is
/// 16. Philox: counter = (epoch, cutout, sample); words: the centre's row, its column. `epochs` limits cutout to the
/// first epochs of a run: the last epochs, which have low learning rates, then see whole images, as a test does, and
/// batch_norm's statistics adapt to whole images.
struct cutout {
  int size = 16;
  int epochs = 0;  // 0: all epochs

  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const;
  bool describe(augmentation_numbers& all) const;
  void check() const;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold, noreturn]] void refuse_order(char const* does, char const* has);
/// Combines two transforms into one that applies `before` and then `next`. Every transform
/// shifts, then flips, then cuts.
transform then(transform const& before, transform const& next);

template <class Policy>
constexpr int place_in_order = 0;  // for custom policies: decided by what they draw
template <>
inline constexpr int place_in_order<random_crop> = 1;
template <>
inline constexpr int place_in_order<shift_and_flip> = 1;
template <>
inline constexpr int place_in_order<random_flip> = 2;
template <>
inline constexpr int place_in_order<cutout> = 3;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Several policies, one after the other, which draw independently.
///   .augment = dsl::in_order{dsl::random_crop{.padding = 4}, dsl::random_flip{}, dsl::cutout{.size = 16}}
///   .augment = dsl::in_order{dsl::shift_and_flip{}, dsl::cutout{}}
/// The order must be: at most one policy that shifts the image, then one that flips it, then one that cuts a hole.
/// Another order causes an option_error: immediately for typenet's own policies; for custom policies, which may also
/// add flips, in the first epoch in which they draw it. A second random_flip would draw the same numbers and undo the
/// first.
template <augmentation_policy... Policies>
class in_order {
 public:
  constexpr explicit in_order(Policies... policies) : policies_(std::move(policies)...) {}

  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const {
    transform all;
    std::apply(
        [&](Policies const&... policy) { ((all = detail::then(all, policy.draw(seed, epoch, sample, picture))), ...); },
        policies_);
    return all;
  }
  bool describe(augmentation_numbers& all) const {
    return std::apply([&](Policies const&... policy) { return (describe_one(policy, all) && ...); }, policies_);
  }
  void check() const {
    int place = 0;
    std::apply([&](Policies const&... policy) { (check(policy, place), ...); }, policies_);
  }

 private:
  template <class Policy>
  static bool describe_one(Policy const& policy, augmentation_numbers& all) {
    if constexpr (describes_itself<Policy>)
      return policy.describe(all);
    else
      return false;
  }
  template <class Policy>
  static void check(Policy const& policy, int& place) {
    if constexpr (requires { policy.check(); }) policy.check();
    constexpr int own = detail::place_in_order<Policy>;
    constexpr char const* does[] = {"", "moves", "flips", "cuts"};
    constexpr char const* has[] = {"", "moved", "flipped", "cut"};
    if (own > 0 && own <= place) detail::refuse_order(does[own], has[place]);
    if (own > 0) place = own;
  }

  std::tuple<Policies...> policies_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/crop_and_cutout_inl.hpp>
#endif
