// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/verdict.hpp>
#include <dsl/layer.hpp>
#include <dsl/rules/broken.hpp>
#include <dsl/rules/broken_nodes.hpp>
#include <dsl/rules/broken_outputs.hpp>
#include <dsl/rules/broken_taps.hpp>
#include <dsl/rules/names_of_taps.hpp>

namespace dsl::rules {

/// Child number I of a layer. Only a broken network pays the compile time of this recursion.
template <int I, class Children>
struct nth {};
template <class First, class... Rest>
struct nth<0, types<First, Rest...>> {
  using type = First;
};
template <int I, class First, class... Rest>
  requires(I > 0)
struct nth<I, types<First, Rest...>> : nth<I - 1, types<Rest...>> {};

template <class Layer, int I>
concept has_child = requires { typename nth<I, typename Layer::children>::type; };

/// Whether a layer has a name other than that of a combinator. False for concat<A, B>, and true for a struct that is
/// derived from it.
template <class Layer>
inline constexpr bool has_own_name = true;
template <template <class...> class Combinator, class... Children>
  requires requires(types<Children...> same) { same = typename Combinator<Children...>::children(); }
inline constexpr bool has_own_name<Combinator<Children...>> = false;

/// A path from the network down to a layer: the child indices so far, and the modules on the way.
template <class Modules, int... Path>
struct way;
template <int... Path>
struct way<types<>, Path...> {
  using place = at<Path...>;
};
template <class... Modules, int... Path>
struct way<types<Modules...>, Path...> {
  using place = typename at<Path...>::template in<Modules...>;
};

template <class Modules, class Layer>
struct enter {
  using type = Modules;
};
template <class... Modules, class Layer>
  requires has_own_name<Layer>
struct enter<types<Modules...>, Layer> {
  using type = types<Modules..., Layer>;
};

/// Finds the layer that a verdict names and the layer's place. It follows the path as far as layers declare `children`.
template <class Layer, verdict Why, class Modules = types<>, int... Path>
struct find {
  using layer = Layer;
  using place = typename way<Modules, Path...>::place;
};
template <class Layer, verdict Why, class Modules, int... Path>
  requires(sizeof...(Path) < Why.depth) && has_child<Layer, Why.path[sizeof...(Path)]>
struct find<Layer, Why, Modules, Path...>
    : find<typename nth<Why.path[sizeof...(Path)], typename Layer::children>::type, Why,
           typename enter<Modules, Layer>::type, Path..., Why.path[sizeof...(Path)]> {};

/// Names a class of namespace broken. The network itself derives from that class: a class in between would be one more
/// line that compilers print before the sentence.
template <class Broken>
struct says {
  using type = Broken;
};
/// The base of a network that breaks no rule.
struct nothing {};

/// Chooses the sentence for a rule. Checked is the network with its verdict `why`.
template <rule Rule, class Checked>
struct explain : says<nothing> {};

template <class J>
struct found_in : find<typename J::whole, J::why> {};

template <class J>
struct explain<rule::network_starts_with_an_input, J> : says<broken::network_starts_with_an_input<typename J::input>> {
};

template <class J>
struct explain<rule::network_has_a_layer, J> : says<broken::network_has_a_layer<typename J::whole, J::why.found>> {};

template <class J>
struct explain<rule::image_has_positive_size, J>
    : says<broken::image_has_positive_size<typename J::input, J::why.first>> {};

template <class J>
struct explain<rule::channels_come_first, J> : says<broken::channels_come_first<typename J::input, J::why.first>> {};

// The other rules differ only in their numbers: At and Layer come first, then the values of `why`.
template <class J>
using at_of = typename found_in<J>::place;
template <class J>
using layer_of = typename found_in<J>::layer;

/// Whether a layer has a sentence for its own rule: a class template `broken`, whose arguments are the place, the input
/// shape and the two numbers of the verdict. A program cannot find out whether a static_assert has failed, so `broken`
/// must also have the asserted condition as a constant with the name `holds`.
template <class J>
concept names_its_rule =
    requires { typename layer_of<J>::template broken<at_of<J>, J::why.first, J::why.wanted, J::why.found>; };
template <class Own>
inline constexpr bool is_said = false;
template <class Own>
  requires requires { Own::holds; }
inline constexpr bool is_said<Own> = !Own::holds;

template <class J>
struct explain<rule::own_rule, J>
    : says<broken::own_rule<at_of<J>, layer_of<J>, J::why.first, J::why.wanted, J::why.found>> {};
template <class J, class Own>
struct own_message : Own, broken::own_rule_is_said<at_of<J>, layer_of<J>, is_said<Own>> {};
template <class J>
  requires names_its_rule<J>
struct explain<rule::own_rule, J>
    : says<own_message<J, typename layer_of<J>::template broken<at_of<J>, J::why.first, J::why.wanted, J::why.found>>> {
};

template <class J>
struct explain<rule::children_are_layers, J> : says<broken::children_are_layers<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::modules_end, J> : says<broken::modules_end<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::lower_is_constant, J> : says<broken::lower_is_constant<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::tensor_fits_32_bits, J>
    : says<broken::tensor_fits_32_bits<at_of<J>, layer_of<J>, J::why.first, J::why.found>> {};
template <class J>
struct explain<rule::parameter_fits_32_bits, J>
    : says<broken::parameter_fits_32_bits<at_of<J>, layer_of<J>, J::why.first.channels, J::why.found>> {};
template <class J>
struct explain<rule::filters_are_positive, J>
    : says<broken::filters_are_positive<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::kernel_is_positive, J>
    : says<broken::kernel_is_positive<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width>> {};
template <class J>
struct explain<rule::groups_divide_the_channels, J>
    : says<broken::groups_divide_the_channels<at_of<J>, layer_of<J>, J::why.wanted, J::why.found, J::why.first>> {};
template <class J>
struct explain<rule::stride_is_positive, J> : says<broken::stride_is_positive<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::dilation_is_positive, J>
    : says<broken::dilation_is_positive<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::kernel_fits_padded_input, J>
    : says<broken::kernel_fits_padded_input<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width,
                                            J::why.first>> {};
template <class J>
struct explain<rule::pad_is_less_than_the_window, J>
    : says<broken::pad_is_less_than_the_window<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::options_belong_to_the_layer, J>
    : says<broken::options_belong_to_the_layer<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::kernel_meets_its_input, J>
    : says<broken::kernel_meets_its_input<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width,
                                          J::why.first>> {};
template <class J>
struct explain<rule::filters_come_first, J>
    : says<broken::filters_come_first<at_of<J>, layer_of<J>, J::why.second.channels, J::why.second.height,
                                      J::why.second.width, J::why.first>> {};
template <class J>
struct explain<rule::convolutions_see_images, J>
    : says<broken::convolutions_see_images<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width,
                                           J::why.first>> {};
template <class J>
struct explain<rule::pool_window_is_positive, J>
    : says<broken::pool_window_is_positive<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width>> {};
template <class J>
struct explain<rule::pool_window_fits_input, J>
    : says<broken::pool_window_fits_input<at_of<J>, layer_of<J>, J::why.second.height, J::why.second.width,
                                          J::why.first>> {};
template <class J>
struct explain<rule::pool_window_fits_16_bits, J>
    : says<broken::pool_window_fits_16_bits<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::sequences_have_one_row, J>
    : says<broken::sequences_have_one_row<at_of<J>, layer_of<J>, J::why.first>> {};
template <class J>
struct explain<rule::window_has_a_length, J> : says<broken::window_has_a_length<at_of<J>, layer_of<J>, J::why.found>> {
};
template <class J>
struct explain<rule::window_fits_the_sequence, J>
    : says<broken::window_fits_the_sequence<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::kernel_meets_its_sequence, J>
    : says<broken::kernel_meets_its_sequence<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::padding_is_not_negative, J>
    : says<broken::padding_is_not_negative<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::factor_is_positive, J> : says<broken::factor_is_positive<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::slice_is_in_the_channels, J>
    : says<
          broken::slice_is_in_the_channels<at_of<J>, layer_of<J>, J::why.found, J::why.wanted, J::why.first.channels>> {
};
template <class J>
struct explain<rule::slice_is_in_the_tokens, J>
    : says<broken::slice_is_in_the_tokens<at_of<J>, layer_of<J>, J::why.found, J::why.wanted, J::why.first>> {};
template <class J>
struct explain<rule::embedding_has_a_vocabulary, J>
    : says<broken::embedding_has_a_vocabulary<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::embedding_reads_token_numbers, J>
    : says<broken::embedding_reads_token_numbers<at_of<J>, layer_of<J>, J::why.first.channels, J::why.found != 0>> {};
template <class J>
struct explain<rule::attention_has_whole_heads, J>
    : says<broken::attention_has_whole_heads<at_of<J>, layer_of<J>, J::why.wanted, J::why.first.channels>> {};
template <class J>
struct explain<rule::windows_fill_the_image, J>
    : says<broken::windows_fill_the_image<at_of<J>, layer_of<J>, J::why.wanted, J::why.found, J::why.first>> {};

template <class J>
struct explain<rule::shuffle_divides_the_channels, J>
    : says<broken::shuffle_divides_the_channels<at_of<J>, layer_of<J>, J::why.wanted, J::why.first.channels>> {};
template <class J>
struct explain<rule::norm_groups_divide_the_channels, J>
    : says<broken::norm_groups_divide_the_channels<at_of<J>, layer_of<J>, J::why.wanted, J::why.first.channels>> {};
template <class J>
struct explain<rule::response_size_is_odd, J>
    : says<broken::response_size_is_odd<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::response_numbers_are_positive, J>
    : says<broken::response_numbers_are_positive<at_of<J>, layer_of<J>, J::why.number>> {};
template <class J>
struct explain<rule::split_divides_the_channels, J>
    : says<broken::split_divides_the_channels<at_of<J>, layer_of<J>, J::why.wanted, J::why.first.channels>> {};
template <class J>
struct explain<rule::epsilon_is_positive, J> : says<broken::epsilon_is_positive<at_of<J>, layer_of<J>, J::why.number>> {
};
template <class J>
struct explain<rule::epsilon_is_small, J> : says<broken::epsilon_is_small<at_of<J>, layer_of<J>, J::why.number>> {};
template <class J>
struct explain<rule::momentum_keeps_less_than_all, J>
    : says<broken::momentum_keeps_less_than_all<at_of<J>, layer_of<J>, J::why.number>> {};
template <class J>
struct explain<rule::dropout_rate_is_a_probability, J>
    : says<broken::dropout_rate_is_a_probability<at_of<J>, layer_of<J>, J::why.number>> {};
template <class J>
struct explain<rule::dense_takes_a_flat_input, J>
    : says<broken::dense_takes_a_flat_input<at_of<J>, layer_of<J>, J::why.first>> {};
template <class J>
struct explain<rule::units_are_positive, J> : says<broken::units_are_positive<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::activations_are_layers, J>
    : says<broken::activations_are_layers<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::settings_come_first, J> : says<broken::settings_come_first<at_of<J>, layer_of<J>, false>> {};
template <class J>
struct explain<rule::softmax_takes_a_flat_input, J>
    : says<broken::softmax_takes_a_flat_input<at_of<J>, layer_of<J>, J::why.first>> {};
template <class J>
struct explain<rule::softmax_has_classes, J>
    : says<broken::softmax_has_classes<at_of<J>, layer_of<J>, J::why.first.channels>> {};
template <class J>
struct explain<rule::softmax_takes_logits, J>
    : says<broken::softmax_takes_logits<at_of<J>, layer_of<J>, static_cast<op>(J::why.found), false>> {};
template <class J>
struct explain<rule::concat_joins_two_or_more, J>
    : says<broken::concat_joins_two_or_more<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::branches_share_height_and_width, J>
    : says<broken::branches_share_height_and_width<at_of<J>, layer_of<J>, J::why.found, J::why.first, J::why.second>> {
};
template <class J>
struct explain<rule::add_joins_two_or_more, J>
    : says<broken::add_joins_two_or_more<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::branches_share_their_shape, J>
    : says<broken::branches_share_their_shape<at_of<J>, layer_of<J>, J::why.found, J::why.first, J::why.second>> {};
template <class J>
struct explain<rule::multiply_joins_two, J> : says<broken::multiply_joins_two<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::branches_broadcast, J>
    : says<broken::branches_broadcast<at_of<J>, layer_of<J>, J::why.first, J::why.second>> {};
template <class J>
struct explain<rule::slope_is_not_negative, J>
    : says<broken::slope_is_not_negative<at_of<J>, layer_of<J>, J::why.number>> {};
template <class J>
struct explain<rule::on_needs_placement, J> : says<broken::on_needs_placement<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::on_names_a_device, J> : says<broken::on_names_a_device<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::devices_are_not_negative, J>
    : says<broken::devices_are_not_negative<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::devices_have_layers, J>
    : says<broken::devices_have_layers<typename J::whole, J::why.wanted, J::why.found>> {};
template <class J>
struct explain<rule::outputs_have_layers, J> : says<broken::outputs_have_layers<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::outputs_have_names_of_their_own, J>
    : says<broken::outputs_have_names_of_their_own<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::output_names_are_not_reserved, J>
    : says<broken::output_names_are_not_reserved<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::outputs_come_before_the_last_layer, J>
    : says<broken::outputs_come_before_the_last_layer<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::outputs_share_a_device, J>
    : says<broken::outputs_share_a_device<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::taps_are_read_before_their_name_is_used_again, J>
    : says<broken::taps_are_read_before_their_name_is_used_again<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::from_reads_an_earlier_tap, J>
    : says<broken::from_reads_an_earlier_tap<at_of<J>, layer_of<J>, typename names_of_taps<J, 0, J::why.found>::type,
                                             typename names_of_taps<J, J::why.found, tap_count<J>>::type>> {};
template <class J>
struct explain<rule::inputs_come_first, J>
    : says<broken::inputs_come_first<at_of<J>, layer_of<J>, J::why.kind, J::why.found>> {};
template <class J>
struct explain<rule::inputs_have_names_of_their_own, J>
    : says<broken::inputs_have_names_of_their_own<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::values_are_in_the_graph, J>
    : says<broken::values_are_in_the_graph<at_of<J>, layer_of<J>, J::why.found, J::why.wanted>> {};
template <class J>
struct explain<rule::values_keep_their_shape, J>
    : says<broken::values_keep_their_shape<at_of<J>, layer_of<J>, J::why.first, J::why.second>> {};
template <class J>
struct explain<rule::values_are_read, J>
    : says<broken::values_are_read<at_of<J>, layer_of<J>, J::why.kind, J::why.first>> {};
template <class J>
struct explain<rule::nodes_take_their_operands, J>
    : says<broken::nodes_take_their_operands<at_of<J>, layer_of<J>, J::why.kind, J::why.wanted, J::why.found>> {};
template <class J>
struct explain<rule::nodes_own_their_parameters, J>
    : says<broken::nodes_own_their_parameters<at_of<J>, layer_of<J>, J::why.kind, J::why.wanted, J::why.found>> {};
template <class J>
struct explain<rule::parameters_come_in_order, J>
    : says<broken::parameters_come_in_order<at_of<J>, layer_of<J>, J::why.kind, J::why.parameter,
                                            static_cast<role>(J::why.found)>> {};
template <class J>
struct explain<rule::parameters_fit_their_node, J>
    : says<broken::parameters_fit_their_node<at_of<J>, layer_of<J>, J::why.kind, J::why.parameter,
                                             J::why.first.channels, J::why.wanted, J::why.found>> {};
template <class J>
struct explain<rule::parameters_have_a_node, J>
    : says<broken::parameters_have_a_node<at_of<J>, layer_of<J>, J::why.found>> {};
template <class J>
struct explain<rule::kernels_have_fans, J>
    : says<broken::kernels_have_fans<at_of<J>, layer_of<J>, J::why.kind, J::why.wanted, J::why.found>> {};
template <class J>
struct explain<rule::outputs_have_a_size, J>
    : says<broken::outputs_have_a_size<at_of<J>, layer_of<J>, J::why.kind, J::why.first>> {};
template <class J>
struct explain<rule::shapes_follow_from_operands, J>
    : says<broken::shapes_follow_from_operands<at_of<J>, layer_of<J>, J::why.kind, J::why.first, J::why.second>> {};
template <class J>
struct explain<rule::windows_lead_to_their_output, J>
    : says<broken::windows_lead_to_their_output<at_of<J>, layer_of<J>, J::why.kind, J::why.window, J::why.first,
                                                J::why.second>> {};
template <class J>
struct explain<rule::pools_are_not_dilated, J>
    : says<broken::pools_are_not_dilated<at_of<J>, layer_of<J>, J::why.kind, J::why.found>> {};
template <class J>
struct explain<rule::custom_operations_are_complete, J>
    : says<broken::custom_operations_are_complete<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::operations_in_place_keep_their_shape, J>
    : says<broken::operations_in_place_keep_their_shape<at_of<J>, layer_of<J>, J::why.first, J::why.second>> {};
template <class J>
struct explain<rule::functions_have_a_derivative, J>
    : says<broken::functions_have_a_derivative<at_of<J>, layer_of<J>>> {};
template <class J>
struct explain<rule::children_are_left, J> : says<broken::children_are_left<at_of<J>, layer_of<J>>> {};

}  // namespace dsl::rules
