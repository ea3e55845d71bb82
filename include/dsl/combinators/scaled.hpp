// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/setting.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// The factors that scaled<...> accepts. Each of them multiplies one setting of the optimizer.
namespace factor {

/// Multiplies the learning rate of the layers. The factor must be at least 0.
template <number Factor>
struct learning_rate {
  static_assert(static_cast<double>(Factor) >= 0 && static_cast<double>(Factor) < 1e30,
                "learning_rate: a factor must be a number of at least 0; to train nothing, use frozen<...>");
  static constexpr update_factors value{.learning_rate = static_cast<double>(Factor)};
};
/// Multiplies the weight decay of the layers. With 0.0 they have no weight decay.
template <number Factor>
struct weight_decay {
  static_assert(static_cast<double>(Factor) >= 0 && static_cast<double>(Factor) < 1e30,
                "weight_decay: a factor must be a number of at least 0; 0.0 means no weight decay");
  static constexpr update_factors value{.weight_decay = static_cast<double>(Factor)};
};

}  // namespace factor

namespace detail {

template <class How>
struct scaling {
  static constexpr update_factors enter(builder& b)
    requires requires(update_factors f) { f = How::value; }
  {
    return b.scale_updates(How::value);
  }
  static constexpr void leave(builder& b, update_factors const& outside) { b.set_factors(outside); }
};

}  // namespace detail

/// Layers in sequence whose learning rate or weight decay is multiplied by a constant, after schedules have been
/// applied. If several scaled<...> are nested, their factors are multiplied. The weights keep their names:
///   scaled<factor::learning_rate<0.1>, body>, scaled<factor::weight_decay<0.0>, dense<10>>
template <class How, class... Layers>
struct scaled : detail::with_setting<detail::scaling<How>, Layers...> {};
// scaled<factor::learning_rate<0.1>, conv2d<64, 3>> on 3x32x32 -> 64x32x32

namespace detail {

template <>
inline constexpr bool is_of_each_layer<dsl::scaled> = true;

}  // namespace detail

}  // namespace dsl
