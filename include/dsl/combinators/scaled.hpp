// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/setting.hpp>
#include <dsl/number.hpp>

namespace dsl {

namespace detail {

template <number Factor>
struct learning_rate_factor {
  static_assert(
      static_cast<double>(Factor) >= 0 && static_cast<double>(Factor) < 1e30,
      "learning_rate: a factor must be at least 0 and less than 1e30; to keep layers unchanged, use frozen<...>");
  static constexpr update_factors value{.learning_rate = static_cast<double>(Factor)};
};
template <number Factor>
struct weight_decay_factor {
  static_assert(static_cast<double>(Factor) >= 0 && static_cast<double>(Factor) < 1e30,
                "weight_decay: a factor must be at least 0 and less than 1e30; 0.0 means no weight decay");
  static constexpr update_factors value{.weight_decay = static_cast<double>(Factor)};
};

}  // namespace detail

/// The factors that scaled<...> accepts. Each of them multiplies one setting of the optimizer. They are values, not
/// types, so that a plain number in their place, scaled<0.1, ...>, breaks a rule instead of ending the declaration.
namespace factor {

/// Multiplies the learning rate of the layers. The factor must be at least 0.
template <number Factor>
inline constexpr update_factors learning_rate = detail::learning_rate_factor<Factor>::value;
/// Multiplies the weight decay of the layers. With 0.0 they have no weight decay.
template <number Factor>
inline constexpr update_factors weight_decay = detail::weight_decay_factor<Factor>::value;

}  // namespace factor

template <auto How, class... Layers>
struct scaled;

namespace detail {

template <auto How>
concept is_factor = requires(update_factors f) { f = How; };

template <auto How>
struct scaling {
  static constexpr update_factors enter(builder& b)
    requires is_factor<How>
  {
    return b.scale_updates(How);
  }
  static constexpr void leave(builder& b, update_factors const& outside) { b.set_factors(outside); }
};

// A function of the data sets is also called scaled, hence dsl::.
template <auto How, class List>
struct scaled_each;
template <auto How, class... Layers>
struct scaled_each<How, types<Layers...>> {
  using type = types<dsl::scaled<How, Layers>...>;
};

/// Whether scaled<How, A, B> in a list of layers stands for scaled<How, A>, scaled<How, B>; see is_of_each_layer.
template <auto How, class First, class Second, class... Rest>
  requires is_factor<How>
inline constexpr bool stands_for_several<dsl::scaled<How, First, Second, Rest...>> = true;
template <auto How, class First, class Second, class... Rest>
  requires is_factor<How>
struct spread<dsl::scaled<How, First, Second, Rest...>>
    : scaled_each<How, typename flattened<First, Second, Rest...>::type> {};
template <auto How, int Count, class... Layers>
  requires is_factor<How>
inline constexpr bool stands_for_several<dsl::scaled<How, repeat<Count, Layers...>>> = true;
template <auto How, int Count, class... Layers>
  requires is_factor<How>
struct spread<dsl::scaled<How, repeat<Count, Layers...>>>
    : scaled_each<How, typename spread<repeat<Count, Layers...>>::type> {};

}  // namespace detail

/// Layers in sequence whose learning rate or weight decay is multiplied by a constant, after schedules have been
/// applied. If several scaled<...> are nested, their factors are multiplied. The weights keep their names:
///   scaled<factor::learning_rate<0.1>, body>, scaled<factor::weight_decay<0.0>, dense<10>>
template <auto How, class... Layers>
struct scaled : detail::with_setting<detail::scaling<How>, Layers...> {};
// scaled<factor::learning_rate<0.1>, conv2d<64, 3>> on 3x32x32 -> 64x32x32

}  // namespace dsl
