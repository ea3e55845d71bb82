// SPDX-License-Identifier: MIT
// The lists of options agree. A structured binding does not compile if a class has another number of members.
#include <dsl/dsl.hpp>

namespace {

template <dsl::broken::field... Options>
consteval int options_in(dsl::broken::has_only_these_options<Options...> const*) {
  return int{sizeof...(Options)};
}
template <class Names>
using any_options = dsl::detail::any_options<Names, true>;
namespace options_of = dsl::broken::options_of;

[[maybe_unused]] void fit(dsl::fit_options const& known, any_options<options_of::fit> const& any) {
  [[maybe_unused]] auto const& [epochs, batch_size, validation, metrics, augment, callbacks, average, shuffle, prefetch,
                                loader_threads, cache, initial_epoch] = known;
  static_assert(options_in(static_cast<options_of::fit const*>(nullptr)) == 12);
  [[maybe_unused]] auto const& [a, b, c, d, e, f, g, h, i, j, k, l, of_others_1, of_others_2, of_others_3, of_others_4,
                                of_others_5, of_others_6, of_others_7, of_others_8, of_others_9] = any;
}

[[maybe_unused]] void compile(dsl::compile_options const& known, any_options<options_of::compile> const& any) {
  [[maybe_unused]] auto const& [loss, losses, seed, batch_norm_momentum, unbiased_running_variance, label_smoothing,
                                class_weights, loss_weights, verify] = known;
  static_assert(options_in(static_cast<options_of::compile const*>(nullptr)) == 9);
  [[maybe_unused]] auto const& [a, b, c, d, e, f, g, h, i, of_others_1, of_others_2, of_others_3, of_others_4,
                                of_others_5, of_others_6, of_others_7] = any;
}

}  // namespace
