// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/transform.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/shape.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace dsl::detail::TYPENET_MODE {
inline constexpr int largest_augmentation = 1 << 20;  // pixels; sums of such numbers stay far from int's limits
}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Describes an augmentation in plain numbers, from which a GPU kernel draws the same transforms as draw() does: at
/// most one operation that moves an image, then at most one more flip, then at most one hole. The default does nothing.
struct augmentation_numbers {
  bool shifts = false;  // shift_and_flip: shifts by fractions of the image, and may flip it
  bool shift_flips = false;
  dsl::interpolation interpolation = dsl::interpolation::nearest;
  double shift_height = 0;
  double shift_width = 0;
  bool crops = false;  // random_crop
  int padding = 0;
  dsl::outside outside = dsl::outside::edge;
  bool flips = false;  // random_flip
  float flip_probability = 0;
  int hole = 0;         // side of cutout's square; 0: none
  int hole_epochs = 0;  // the number of epochs, from the first, that cut holes; 0: all
  friend bool operator==(augmentation_numbers const&, augmentation_numbers const&) = default;
};

/// Shifts and flips images like Keras's ImageDataGenerator(width_shift_range, height_shift_range, horizontal_flip,
/// fill_mode="nearest"). Shifts are fractions of the image's size: with height 0.1 and an image of 32 rows, dy is drawn
/// uniformly from [-3.2, 3.2) pixels. `nearest` interpolates as Keras 2.0.9 does, `bilinear` as Keras 2.1.4 and later
/// do.
struct shift_and_flip {
  double width = 0.1;
  double height = 0.1;
  bool horizontal_flip = true;
  dsl::interpolation interpolation = dsl::interpolation::nearest;

  /// Draws a transform from one Philox block with key = seed and counter = (epoch, augment, sample), whose words give
  /// dy, dx and flip. Each shift is the float product of a factor with an exact number in [-1, 1), so a GPU that draws
  /// the transform itself gets the same bits.
  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const;
  /// Adds this policy to the augmentation that `all` describes. Returns false if the two cannot be combined.
  bool describe(augmentation_numbers& all) const;
  /// Throws option_error for invalid options. `augmentation` calls check() of every policy that has one.
  void check() const;
  friend bool operator==(shift_and_flip const&, shift_and_flip const&) = default;
};

/// Satisfied by a class with a function draw() that several threads may call at once and whose result depends only on
/// its arguments. It is called for more epochs than fit trains, up to 10,000, because a state of a run identifies the
/// policy by what it draws; for an epoch that it does not know, it may throw.
template <class T>
concept augmentation_policy = requires(T const& policy, dsl::shape const& picture) {
  { policy.draw(std::uint64_t{}, int{}, std::int64_t{}, picture) } -> std::same_as<transform>;
};
/// Whether T itself declares describe(). An inherited describe() is not used, because it does not know T's draw().
template <class T>
concept describes_itself = std::same_as<decltype(&T::describe), bool (T::*)(augmentation_numbers&) const> ||
                           std::same_as<decltype(&T::describe), bool (T::*)(augmentation_numbers&) const noexcept>;

/// Holds any policy with a draw() like that of shift_and_flip, or no policy: `augmentation{}`. Copies share the policy.
/// If the policy also has a describe() like that of shift_and_flip, a device can draw its transforms; otherwise the
/// loader's threads draw them.
class augmentation {
 public:
  augmentation() = default;
  template <augmentation_policy Policy>  // NOLINTNEXTLINE(google-explicit-constructor): a policy is an augmentation
  augmentation(Policy policy) : policy_(std::make_shared<holder<Policy> const>(std::move(policy))) {
    if constexpr (requires(Policy const& p) { p.check(); }) static_cast<holder<Policy> const&>(*policy_).policy.check();
  }

  /// Whether there is a policy.
  explicit operator bool() const { return policy_ != nullptr; }
  /// Returns the transform that the policy draws for a sample in an epoch.
  transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const;
  /// Describes the policy in plain numbers; returns false if the policy cannot be described in this way. Two
  /// augmentations with the same numbers draw the same transforms.
  bool describe(augmentation_numbers& numbers) const;

 private:
  struct drawer {
    virtual ~drawer() = default;
    virtual transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const = 0;
    virtual bool describe(augmentation_numbers&) const = 0;
  };
  template <class Policy>
  struct holder final : drawer {
    explicit holder(Policy p) : policy(std::move(p)) {}
    transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const override {
      return policy.draw(seed, epoch, sample, picture);
    }
    bool describe(augmentation_numbers& numbers) const override {
      if constexpr (describes_itself<Policy>)
        return policy.describe(numbers);
      else
        return false;
    }
    Policy policy;
  };
  std::shared_ptr<drawer const> policy_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/augment_inl.hpp>
#endif
