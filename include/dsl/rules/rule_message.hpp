// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/verdict.hpp>

namespace dsl::rules {

/// Returns the sentence of a rule for messages at run time. It is the sentence that compilers print, except that an
/// own_rule of a layer has a sentence of its own at compile time.
constexpr char const* rule_message(rule r) {
  switch (r) {
    case rule::holds: return "network: it satisfies every rule";
    case rule::network_starts_with_an_input:
      return "network: the first type must be the input; put an input such as image<3, 32, 32> there";
    case rule::network_has_a_layer: return "network: there is no layer after the input; add one";
    case rule::children_are_layers:
      return "layer: this type is not a layer; a layer has a public static constexpr value lower(builder&, value); if "
             "the compiler reports an error in its base class first, fix that one";
    case rule::modules_end:
      return "layer: its modules are nested endlessly, or more than 100 deep; end the recursion with a "
             "specialization or if constexpr";
    case rule::lower_is_constant:
      return "layer: the compiler cannot evaluate its lower(); declare it constexpr, and call b.require() where it "
             "would throw or divide by 0; if every lower() is constexpr, the network may exceed a limit of the "
             "compiler: raise -fconstexpr-ops-limit (GCC) or -fconstexpr-steps (Clang)";
    case rule::image_has_positive_size: return "image: channels, height and width must be at least 1";
    case rule::channels_come_first:
      return "image: the channels seem to come last; write channels, height, width: image<3, 32, 32> for RGB images of "
             "32x32 pixels, image<1, 28, 28> for grey images of 28x28; if it is intended, write intended<image<...>>";
    case rule::tensor_fits_32_bits:
      return "layer: its output has more than 2,147,483,647 values per sample; use fewer channels or a smaller image";
    case rule::parameter_fits_32_bits:
      return "layer: its kernel has more than 2,147,483,647 weights; use fewer filters or units, or a smaller kernel "
             "or input";
    case rule::filters_are_positive: return "convolution: there must be at least one filter";
    case rule::kernel_is_positive: return "convolution: the kernel's height and width must be at least 1";
    case rule::groups_divide_the_channels:
      return "convolution: the number of groups must divide the input's channels and the filters; change one of them";
    case rule::stride_is_positive: return "stride: it must be at least 1";
    case rule::dilation_is_positive:
      return "dilation: it must be at least 1; with 1, the kernel reads neighbouring pixels";
    case rule::kernel_fits_padded_input:
      return "conv2d: the kernel, with its dilation, covers more rows or columns than its padded input has; use a "
             "smaller kernel or dilation, more padding, or padding::same";
    case rule::pad_is_less_than_the_window:
      return "pad: the padding on each side must be at least 0 and less than the window's height or width";
    case rule::options_belong_to_the_layer:
      return "options: the layer cannot take one of its arguments: it has no such option, or the option is given "
             "twice, or a number comes after a named option, or an average pool's ceil_mode comes before its "
             "count_padding<false>; the error's last template argument is the position of that argument, counted "
             "from 1";
    case rule::kernel_meets_its_input:
      return "conv2d: most of the kernel, with its dilation, would lie in the padding; use a smaller kernel or "
             "dilation, or check the order of the arguments: filters, height, width; if it is intended, put the "
             "network's input in intended<...>";
    case rule::filters_come_first:
      return "convolution: the number of filters comes first, then the kernel's size, without the input's channels; "
             "write conv2d<64, 3> for 64 filters of 3x3, or conv1d<64, 5> for 64 of length 5; if the size is intended, "
             "name it, as in conv2d<3, kernel<64, 3>> and conv1d<3, kernel<64>, stride<5>>";
    case rule::convolutions_see_images:
      return "conv2d: its input is flat, without rows and columns; put it before flatten and dense, or begin with "
             "image<channels, height, width>; if it is intended, put the network's input in intended<...>";
    case rule::pool_window_is_positive:
      return "max_pool2d, avg_pool2d: the window's height and width must be at least 1";
    case rule::pool_window_fits_input:
      return "max_pool2d, avg_pool2d: the window is larger than its padded input; use a smaller window, more padding, "
             "or global_avg_pool2d";
    case rule::pool_window_fits_16_bits:
      return "max_pool2d: the window has more than 65,536 values; use two smaller pools, one after the other";
    case rule::sequences_have_one_row:
      return "sequence: this layer needs an input of one row; begin with sequence<channels, length>, or use a layer "
             "for images, such as conv2d or max_pool2d";
    case rule::window_has_a_length: return "sequence: the length of a kernel or window must be at least 1";
    case rule::window_fits_the_sequence:
      return "sequence: the kernel or window, with its dilation, covers more positions than its padded input has; use "
             "a shorter kernel or window, a smaller dilation or more padding";
    case rule::kernel_meets_its_sequence:
      return "conv1d: most of the kernel, with its dilation, would lie in the padding; use a shorter kernel or a "
             "smaller dilation, or begin with sequence<channels, length>; if it is intended, put the network's input "
             "in intended<...>";
    case rule::padding_is_not_negative:
      return "zero_pad2d: it can only add rows and columns; each number must be at least 0";
    case rule::factor_is_positive: return "upsample2d: the factor must be at least 1; 2 is usual";
    case rule::slice_is_in_the_channels:
      return "channel_slice: it must select at least one channel, all of them within the input; change the first "
             "channel or the count";
    case rule::shuffle_divides_the_channels:
      return "channels in groups: the number of groups, or of pixels that each group becomes, must divide the input's "
             "channels; change one of them";
    case rule::norm_groups_divide_the_channels:
      return "group_norm: the number of groups must divide the input's channels; change one of them";
    case rule::response_size_is_odd:
      return "local_response_norm: the size must be odd, so that there are as many neighbours before each channel as "
             "after it; 5 is usual";
    case rule::response_numbers_are_positive:
      return "local_response_norm: alpha, beta and k must be at least 1e-30 and less than 1e30; 1e-4, 0.75 and 1 are "
             "usual";
    case rule::attention_has_whole_heads:
      return "attention: the number of heads must divide a third of the input's channels, because the channels are "
             "queries, keys and values; change the number of heads, or put pointwise_dense<3 * Width> before it, where "
             "Width is a multiple of the number of heads";
    case rule::windows_fill_the_image:
      return "windows and squares: the input's height and width must be multiples of Window or Side, and Shift must be "
             "at "
             "least 0 and less than Window; change these numbers, or the size of the images";
    case rule::slice_is_in_the_tokens:
      return "token_slice: it must select at least one token, all of them within the input; change the first "
             "token or the count";
    case rule::embedding_has_a_vocabulary:
      return "embedding: its vocabulary must have 1 to 16,777,216 tokens, and each token at least one feature; change "
             "these numbers";
    case rule::embedding_reads_token_numbers:
      return "embedding: it must directly follow an input of the network that has one channel, such as "
             "token_numbers<...>; move it there";
    case rule::split_divides_the_channels:
      return "channel_split: there must be at least two branches, and their number must divide the input's channels; "
             "change the number of branches";
    case rule::epsilon_is_positive:
      return "epsilon: it must be at least 1e-30, to be above 0 in float, and less than 1e30; 1e-3 is usual for "
             "batch_norm, and 1e-5 for layer_norm and group_norm";
    case rule::epsilon_is_small:
      return "batch_norm: epsilon is larger than momentum, so the arguments seem swapped; write batch_norm<0.99, "
             "1e-3>, momentum first; if it is intended, put the network's input in intended<...>";
    case rule::momentum_keeps_less_than_all:
      return "batch_norm: momentum must be at least 0 and less than 1; 0.99 is usual";
    case rule::dropout_rate_is_a_probability:
      return "dropout, stochastic_depth: the rate must be at least 0 and less than 1; 0.5 is usual for dropout, and "
             "0.1 for stochastic_depth";
    case rule::dense_takes_a_flat_input:
      return "dense: the input still has a height and a width; put flatten before it";
    case rule::units_are_positive: return "units: there must be at least one";
    case rule::activations_are_layers:
      return "dense: it takes only the number of units; write the activation as the next layer: dense<64>, relu";
    case rule::settings_come_first:
      return "scaled, initialized: the first argument must say what to set; write scaled<factor::learning_rate<0.1>, "
             "...> or initialized<init::he_normal, ...>";
    case rule::softmax_takes_a_flat_input:
      return "softmax: the input still has a height and a width; put flatten and dense before it, or use softmax2d for "
             "one class per pixel";
    case rule::softmax_has_classes:
      return "softmax: the softmax of one number is always 1; use two or more units, or sigmoid; if it is intended, "
             "put the network's input in intended<...>";
    case rule::softmax_takes_logits:
      return "softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth or "
             "another softmax, not even through flatten; remove that layer, or move a dropout before the last dense "
             "layer; if it is intended, put the network's input in intended<...>";
    case rule::concat_joins_two_or_more: return "concat: there must be at least two branches";
    case rule::branches_share_height_and_width:
      return "concat: every branch must have the height and width of the first; change the padding or strides of the "
             "branch that differs";
    case rule::add_joins_two_or_more: return "add: there must be at least two branches";
    case rule::branches_share_their_shape:
      return "add: every branch must have the shape of the first; change the filters, padding or strides of the branch "
             "that differs";
    case rule::multiply_joins_two:
      return "multiply: there must be two branches; for more, put one multiply into another";
    case rule::branches_broadcast:
      return "multiply: the branches must have the same number of channels, or one must have a single channel; they "
             "must also have the same height and width, or one must be a single pixel";
    case rule::slope_is_not_negative: return "activation: the slope must be at least 0 and less than 1e30";
    case rule::on_names_a_device: return "on: its first argument must be a device; write on<device<1>, ...>";
    case rule::on_needs_placement: return "on: placing layers on devices needs a header; include <dsl/placement.hpp>";
    case rule::devices_are_not_negative: return "on: a device's number must be at least 0";
    case rule::devices_have_layers:
      return "on: a device has no layers; the error's last three template arguments are the number of devices, the "
             "device without layers, and its number of layers; number the devices 0, 1, 2 without gaps";
    case rule::outputs_have_layers:
      return "named_output: it must have at least one layer that computes something; add one";
    case rule::outputs_have_names_of_their_own:
      return "named_output: another output has the same name; give one of them another name";
    case rule::output_names_are_not_reserved:
      return "named_output: main, val and names that begin with val_ are reserved; choose another name";
    case rule::outputs_come_before_the_last_layer:
      return "named_output: a layer of the network must follow it; move it before the layers that compute the result";
    case rule::outputs_share_a_device:
      return "named_output: its last layer must be on the device of the network's last layer; put its layers in "
             "on<device<...>, ...>";
    case rule::taps_are_read_before_their_name_is_used_again:
      return "tap: an earlier tap has the same name, and nothing reads its value before this tap replaces it; give one "
             "of the two taps another name, or put a from<...> of this name between them";
    case rule::from_reads_an_earlier_tap:
      return "from: a tap of the same name must run before it; the error's template arguments list the taps before "
             "it, then those after it; use the name of a tap before it, or move one of the two";
    case rule::own_rule:
      return "layer: it breaks one of its own rules; to say which, give the layer a member class template named broken";
    case rule::inputs_come_first:
      return "node: only the first node may be an op::input, and image<...> appends it; for further inputs use "
             "named_input<...>";
    case rule::inputs_have_names_of_their_own:
      return "named_input: another one has the same name; give one of them another name";
    case rule::values_are_in_the_graph:
      return "value: it must be in the graph; pass only values that append() and lower() returned";
    case rule::values_keep_their_shape:
      return "value: it must keep the shape that its node gave it; append a node that produces the other shape";
    case rule::values_are_read: return "value: it must be used; return it, pass it to another node, or remove its node";
    case rule::nodes_take_their_operands:
      return "node: it must have as many operands as its operation takes; pass that many to append()";
    case rule::nodes_own_their_parameters:
      return "node: it must own its operation's parameters; declare all of them before it, and no others";
    case rule::parameters_come_in_order:
      return "parameter: the order is wrong; declare kernel before bias, and for batch_norm gamma, beta, moving_mean, "
             "moving_variance in this order";
    case rule::parameters_fit_their_node:
      return "parameter: its dims must fit its node; the error's last three template arguments are the index of the "
             "wrong dim, the size that the node needs there, and the size found; for example, the kernel of a conv2d "
             "is {out, in / groups, height, width}, and its bias {out, 1, 1, 1}";
    case rule::parameters_have_a_node:
      return "parameter: the append() of its node must follow in the same layer; declare the parameter before the node";
    case rule::kernels_have_fans:
      return "parameter: a kernel's fan_in and fan_out must be at least 1; its initial values depend on them";
    case rule::outputs_have_a_size:
      return "node: its output must have at least one channel, one row and one column; change the shape";
    case rule::shapes_follow_from_operands:
      return "node: its output must have the shape that its operation gives for its operands; pass that shape to "
             "append()";
    case rule::windows_lead_to_their_output:
      return "window: the padding on each side must be less than the window's size, and no further window may fit "
             "after the last one; change the output's shape, the stride or the padding";
    case rule::pools_are_not_dilated:
      return "window: a pool has no dilation; leave its row_dilation and column_dilation at 1";
    case rule::custom_operations_are_complete:
      return "node: op::custom needs a custom_op with all four functions, and facts that declare one input, no "
             "parameters and nothing kept for the backward pass; give the missing function, or correct the facts";
    case rule::operations_in_place_keep_their_shape:
      return "node: the output of an op::custom that works in place must have the shape of its input; pass that shape "
             "to append(), or set the facts forward_in_place, gradient_in_place and gradient_over_input to false";
    case rule::functions_have_a_derivative:
      return "elementwise: its function must have a name, and static functions value(x) and derivative(x) for float "
             "and double";
    case rule::children_are_left:
      return "layer: each enter() needs a leave() with the value that enter() returned; call lower_child() instead";
    case rule::is_reported: return "layer: it is not valid; the compiler says why";
  }
  return "";
}

}  // namespace dsl::rules
