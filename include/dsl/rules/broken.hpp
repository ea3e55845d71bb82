// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/image.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// The place of a layer in the network. Places are counted from 0: at<3, 0, 1> is child 1 of child 0 of the network's
/// layer 3. at<3, 0, 1>::in<inception_module<32, 48>, ...> also names the modules around the layer, beginning with the
/// outermost.
template <int... Path>
struct at {
  template <class... Modules>
  struct in {};
};

/// Has one class template for each rule. If a network breaks the rule, its class template is instantiated, which is the
/// compile error. The name of the class template is the rule. The arguments are the place, the layer as the user wrote
/// it, and the numbers; compilers always print these. The static_assert contains the sentence. It compares only numbers
/// that show the reason.
namespace broken {

template <class First>
struct network_starts_with_an_input {
  static_assert(network_input<First>,
                "network: the first type must be the input; put an input such as image<3, 32, 32> there");
};

template <class Network, int Layers>
struct network_has_a_layer {
  static_assert(Layers > 0, "network: there is no layer after the input; add one");
};

template <class At, class Layer>
struct children_are_layers {
  static_assert(layer<Layer>,
                "layer: this type is not a layer; a layer has a public static constexpr value lower(builder&, value); "
                "if the compiler reports an error in its base class first, fix that one");
};

template <class At, class Layer, bool Ends = false>
struct modules_end {
  static_assert(Ends,
                "layer: its modules are nested endlessly, or more than 100 deep; end the recursion with a "
                "specialization or if constexpr");
};

template <class At, class Layer, bool IsConstant = false>
struct lower_is_constant {
  static_assert(IsConstant,
                "layer: the compiler cannot evaluate its lower(); declare it constexpr, and call b.require() where it "
                "would throw or divide by 0; if every lower() is constexpr, the network may exceed a limit of the "
                "compiler: raise -fconstexpr-ops-limit (GCC) or -fconstexpr-steps (Clang)");
};

template <class At, class Layer, shape In, long long Wanted, long long Found, bool LayerSaysWhich = false>
struct own_rule {
  static_assert(
      LayerSaysWhich,
      "layer: it breaks one of its own rules; to say which, give the layer a member class template named broken");
};

template <class At, class Layer, bool Said>
struct own_rule_is_said {
  static_assert(Said,
                "layer: it breaks its own rule, but its member template 'broken' reports nothing; declare static "
                "constexpr bool holds in it, and static_assert(holds)");
};

template <class Thing, bool IsNetwork>
struct compile_takes_a_network {
  static_assert(IsNetwork,
                "compile: it takes a network in angle brackets; write compile<model>(...), where model is "
                "network<image<3, 32, 32>, ...> with your layers in it");
};

template <class Network, op Last, bool GivesProbabilities>
struct crossentropy_takes_probabilities {
  static_assert(GivesProbabilities,
                "loss: no loss is given, and the default, categorical_crossentropy, takes probabilities; end the "
                "network in softmax, or in softmax2d for a class per pixel, or give compile() another loss, as in "
                "{.loss = loss::mean_squared_error}");
};

template <class Image, shape Size>
struct image_has_positive_size {
  static_assert(Size.channels > 0 && Size.height > 0 && Size.width > 0,
                "image: channels, height and width must be at least 1");
};

/// Reported for images that seem to be in Keras's order: the number of channels equals the number of rows and is larger
/// than the number of columns, which is 1, 3 or 4.
template <class Image, shape Size>
struct channels_come_first {
  static_assert(
      Size.channels < Size.height || Size.width > 4,
      "image: the channels seem to come last; write channels, height, width: image<3, 32, 32> for RGB images of 32x32 "
      "pixels, image<1, 28, 28> for grey images of 28x28; if it is intended, write intended<image<...>>");
};

template <class At, class Layer, shape Output, long long Elements>
struct tensor_fits_32_bits {
  static_assert(
      Elements <= 2147483647LL,
      "layer: its output has more than 2,147,483,647 values per sample; use fewer channels or a smaller image");
};

/// Numbers is how many weights the kernel has; above 2^40, it is given as 2^40 - 1, which is 1,099,511,627,775.
template <class At, class Layer, int Outputs, long long Numbers>
struct parameter_fits_32_bits {
  static_assert(Numbers <= 2147483647LL,
                "layer: its kernel has more than 2,147,483,647 weights; use fewer filters or units, or a smaller "
                "kernel or input");
};

template <class At, class Layer, int Filters>
struct filters_are_positive {
  static_assert(Filters > 0, "convolution: there must be at least one filter");
};

template <class At, class Layer, int KernelH, int KernelW>
struct kernel_is_positive {
  static_assert(KernelH > 0 && KernelW > 0, "convolution: the kernel's height and width must be at least 1");
};

template <class At, class Layer, int Groups, int Filters, shape Input>
struct groups_divide_the_channels {
  static_assert(divides(Groups, Input.channels) && divides(Groups, Filters),
                "convolution: the number of groups must divide the input's channels and the filters; change one of "
                "them");
};

template <class At, class Layer, int Stride>
struct stride_is_positive {
  static_assert(Stride > 0, "stride: it must be at least 1");
};

template <class At, class Layer, int Dilation>
struct dilation_is_positive {
  static_assert(Dilation > 0, "dilation: it must be at least 1; with 1, the kernel reads neighbouring pixels");
};

template <class At, class Layer, int KernelH, int KernelW, shape PaddedInput>
struct kernel_fits_padded_input {
  static_assert(KernelH <= PaddedInput.height && KernelW <= PaddedInput.width,
                "conv2d: the kernel, with its dilation, covers more rows or columns than its padded input has; use a "
                "smaller kernel or dilation, more padding, or padding::same");
};

template <class At, class Layer, int Pad, int Window>
struct pad_is_less_than_the_window {
  static_assert(Pad >= 0 && Pad < Window,
                "pad: the padding on each side must be at least 0 and less than the window's height or width");
};

/// Position counts the layer's template arguments from 1.
template <class At, class Layer, int Position>
struct options_belong_to_the_layer {
  static_assert(Position == 0,
                "options: the layer cannot take one of its arguments: it has no such option, or the option is given "
                "twice, or a number comes after a named option, or an average pool's ceil_mode comes before its "
                "count_padding<false>; the error's last template argument is the position of that argument, counted "
                "from 1");
};

/// Reported for kernels that detail::meets() rejects, all of which are larger than their input.
template <class At, class Layer, int KernelH, int KernelW, shape Input>
struct kernel_meets_its_input {
  static_assert(KernelH <= Input.height && KernelW <= Input.width,
                "conv2d: most of the kernel, with its dilation, would lie in the padding; use a smaller kernel or "
                "dilation, or check the order of the arguments: filters, height, width; if it is intended, put the "
                "network's input in intended<...>");
};

/// Reported for arguments in PyTorch's order: conv2d<3, 64, 3> has 3 filters of 64x3. See detail::filters_lead().
template <class At, class Layer, int Filters, int KernelH, int KernelW, shape Input>
struct filters_come_first {
  static_assert(Filters != Input.channels,
                "convolution: the number of filters comes first, then the kernel's size, without the input's channels; "
                "write conv2d<64, 3> for 64 filters of 3x3, or conv1d<64, 5> for 64 of length 5; if the size is "
                "intended, name it, as in conv2d<3, kernel<64, 3>> and conv1d<3, kernel<64>, stride<5>>");
};

/// Reported for a kernel of more than one pixel whose input comes from flatten, dense or features<N>.
template <class At, class Layer, int KernelH, int KernelW, shape Input>
struct convolutions_see_images {
  static_assert(KernelH <= Input.height && KernelW <= Input.width,
                "conv2d: its input is flat, without rows and columns; put it before flatten and dense, or begin with "
                "image<channels, height, width>; if it is intended, put the network's input in intended<...>");
};

template <class At, class Layer, int PoolH, int PoolW>
struct pool_window_is_positive {
  static_assert(PoolH > 0 && PoolW > 0, "max_pool2d, avg_pool2d: the window's height and width must be at least 1");
};

template <class At, class Layer, int PoolH, int PoolW, shape Input>
struct pool_window_fits_input {
  static_assert(PoolH <= Input.height && PoolW <= Input.width,
                "max_pool2d, avg_pool2d: the window is larger than its padded input; use a smaller window, more "
                "padding, or global_avg_pool2d");
};

template <class At, class Layer, long long WindowSize>
struct pool_window_fits_16_bits {
  static_assert(WindowSize <= 65536,
                "max_pool2d: the window has more than 65,536 values; use two smaller pools, one after the other");
};

/// Reported for conv1d, the pools over sequences, lstm and gru.
template <class At, class Layer, shape Input>
struct sequences_have_one_row {
  static_assert(Input.height == 1,
                "sequence: this layer needs an input of one row; begin with sequence<channels, length>, or use a layer "
                "for images, such as conv2d or max_pool2d");
};

template <class At, class Layer, int Length>
struct window_has_a_length {
  static_assert(Length > 0, "sequence: the length of a kernel or window must be at least 1");
};

template <class At, class Layer, int Length, int PaddedInput>
struct window_fits_the_sequence {
  static_assert(Length <= PaddedInput,
                "sequence: the kernel or window, with its dilation, covers more positions than its padded input has; "
                "use a shorter kernel or window, a smaller dilation or more padding");
};

/// Reported for kernels of a conv1d that read more padding than input, and for a longer sequence written as features.
template <class At, class Layer, int Length, int Input>
struct kernel_meets_its_sequence {
  static_assert(Length <= Input,
                "conv1d: most of the kernel, with its dilation, would lie in the padding; use a shorter kernel or a "
                "smaller dilation, or begin with sequence<channels, length>; if it is intended, put the network's "
                "input in intended<...>");
};

template <class At, class Layer, int Rows>
struct padding_is_not_negative {
  static_assert(Rows >= 0, "zero_pad2d: it can only add rows and columns; each number must be at least 0");
};

template <class At, class Layer, int Factor>
struct factor_is_positive {
  static_assert(Factor > 0, "upsample2d: the factor must be at least 1; 2 is usual");
};

template <class At, class Layer, int First, int Count, int Channels>
struct slice_is_in_the_channels {
  static_assert(First >= 0 && Count > 0 && Count <= Channels && First <= Channels - Count,
                "channel_slice: it must select at least one channel, all of them within the input; change the first "
                "channel or the count");
};

template <class At, class Layer, int Groups, int Channels>
struct shuffle_divides_the_channels {
  static_assert(divides(Groups, Channels),
                "channels in groups: the number of groups, or of pixels that each group becomes, must divide the "
                "input's channels; change one of them");
};

template <class At, class Layer, int Groups, int Channels>
struct norm_groups_divide_the_channels {
  static_assert(divides(Groups, Channels),
                "group_norm: the number of groups must divide the input's channels; change one of them");
};

template <class At, class Layer, int Size>
struct response_size_is_odd {
  static_assert(Size > 0 && Size % 2 == 1,
                "local_response_norm: the size must be odd, so that there are as many neighbours before each channel "
                "as after it; 5 is usual");
};

template <class At, class Layer, number Number>
struct response_numbers_are_positive {
  static_assert(
      Number >= 1e-30 && Number < 1e30,
      "local_response_norm: alpha, beta and k must be at least 1e-30 and less than 1e30; 1e-4, 0.75 and 1 are usual");
};

template <class At, class Layer, int Heads, int Channels>
struct attention_has_whole_heads {
  static_assert(Heads > 0 && Channels % 3 == 0 && divides(Heads, Channels / 3),
                "attention: the number of heads must divide a third of the input's channels, because the channels are "
                "queries, keys and values; change the number of heads, or put pointwise_dense<3 * Width> before it, "
                "where Width is a multiple of the number of heads");
};

template <class At, class Layer, int Window, int Shift, shape Input>
struct windows_fill_the_image {
  static_assert(
      Window > 0 && Shift >= 0 && Shift < Window && Input.height % Window == 0 && Input.width % Window == 0,
      "windows and squares: the input's height and width must be multiples of Window or Side, and Shift must be at "
      "least 0 and less than Window; change these numbers, or the size of the images");
};

template <class At, class Layer, int First, int Count, shape Input>
struct slice_is_in_the_tokens {
  static_assert(First >= 0 && Count > 0 && Count <= Input.area() && First <= Input.area() - Count,
                "token_slice: it must select at least one token, all of them within the input; change the first "
                "token or the count");
};

template <class At, class Layer, int Vocabulary, int Features>
struct embedding_has_a_vocabulary {
  static_assert(Vocabulary > 0 && Vocabulary <= largest_vocabulary && Features > 0,
                "embedding: its vocabulary must have 1 to 16,777,216 tokens, and each token at least one feature; "
                "change these numbers");
};

template <class At, class Layer, int Channels, bool IsInput>
struct embedding_reads_token_numbers {
  static_assert(Channels == 1 && IsInput,
                "embedding: it must directly follow an input of the network that has one channel, such as "
                "token_numbers<...>; move it there");
};

template <class At, class Layer, int Branches, int Channels>
struct split_divides_the_channels {
  static_assert(Branches >= 2 && Channels % (Branches > 0 ? Branches : 1) == 0,
                "channel_split: there must be at least two branches, and their number must divide the input's "
                "channels; change the number of branches");
};

template <class At, class Layer, number Epsilon>
struct epsilon_is_positive {
  static_assert(Epsilon >= 1e-30 && Epsilon < 1e30,
                "epsilon: it must be at least 1e-30, to be above 0 in float, and less than 1e30; 1e-3 is usual for "
                "batch_norm, and 1e-5 for layer_norm and group_norm");
};

/// Reported if epsilon is larger than 0.1 and than momentum, which is an argument of the layer.
template <class At, class Layer, number Epsilon, bool IsSmall = false>
struct epsilon_is_small {
  static_assert(IsSmall,
                "batch_norm: epsilon is larger than momentum, so the arguments seem swapped; write batch_norm<0.99, "
                "1e-3>, momentum first; if it is intended, put the network's input in intended<...>");
};

template <class At, class Layer, number Momentum>
struct momentum_keeps_less_than_all {
  static_assert(Momentum >= 0 && Momentum < 1,
                "batch_norm: momentum must be at least 0 and less than 1; 0.99 is usual");
};

template <class At, class Layer, number Rate>
struct dropout_rate_is_a_probability {
  static_assert(Rate >= 0 && Rate < 1 && static_cast<float>(Rate) < 1,
                "dropout, stochastic_depth: the rate must be at least 0 and less than 1; 0.5 is usual for dropout, and "
                "0.1 for stochastic_depth");
};

template <class At, class Layer, shape Input>
struct dense_takes_a_flat_input {
  static_assert(Input.height == 1 && Input.width == 1,
                "dense: the input still has a height and a width; put flatten before it");
};

template <class At, class Layer, int Units>
struct units_are_positive {
  static_assert(Units > 0, "units: there must be at least one");
};

template <class At, class Layer, int Others>
struct activations_are_layers {
  static_assert(Others == 0,
                "dense: it takes only the number of units; write the activation as the next layer: dense<64>, relu");
};

template <class At, class Layer, bool IsSaid>
struct settings_come_first {
  static_assert(IsSaid,
                "scaled, initialized: the first argument must say what to set; write "
                "scaled<factor::learning_rate<0.1>, ...> or initialized<init::he_normal, ...>");
};

template <class At, class Layer, shape Input>
struct softmax_takes_a_flat_input {
  static_assert(Input.height == 1 && Input.width == 1,
                "softmax: the input still has a height and a width; put flatten and dense before it, or use softmax2d "
                "for one class per pixel");
};

template <class At, class Layer, int Classes>
struct softmax_has_classes {
  static_assert(Classes > 1,
                "softmax: the softmax of one number is always 1; use two or more units, or sigmoid; if it is intended, "
                "put the network's input in intended<...>");
};

template <class At, class Layer, op Before, bool GivesLogits>
struct softmax_takes_logits {
  static_assert(GivesLogits,
                "softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid, dropout, stochastic_depth "
                "or another softmax, not even through flatten; remove that layer, or move a dropout before the last "
                "dense layer; if it is intended, put the network's input in intended<...>");
};

template <class At, class Layer, int Branches>
struct concat_joins_two_or_more {
  static_assert(Branches >= 2, "concat: there must be at least two branches");
};

template <class At, class Layer, int Branch, shape First, shape This>
struct branches_share_height_and_width {
  static_assert(First.height == This.height && First.width == This.width,
                "concat: every branch must have the height and width of the first; change the padding or strides of "
                "the branch that differs");
};

template <class At, class Layer, int Branches>
struct add_joins_two_or_more {
  static_assert(Branches >= 2, "add: there must be at least two branches");
};

template <class At, class Layer, int Branch, shape First, shape This>
struct branches_share_their_shape {
  static_assert(First.channels == This.channels && First.height == This.height && First.width == This.width,
                "add: every branch must have the shape of the first; change the filters, padding or strides of the "
                "branch that differs");
};

template <class At, class Layer, int Branches>
struct multiply_joins_two {
  static_assert(Branches == 2, "multiply: there must be two branches; for more, put one multiply into another");
};

template <class At, class Layer, shape First, shape Second>
struct branches_broadcast {
  static_assert(broadcasts(First, Second),
                "multiply: the branches must have the same number of channels, or one must have a single channel; they "
                "must also have the same height and width, or one must be a single pixel");
};

template <class At, class Layer, bool IsDevice = false>
struct on_names_a_device {
  static_assert(IsDevice, "on: its first argument must be a device; write on<device<1>, ...>");
};

template <class At, class Layer, bool IsThere = false>
struct on_needs_placement {
  static_assert(IsThere, "on: placing layers on devices needs a header; include <dsl/placement.hpp>");
};

template <class At, class Layer, int Device>
struct devices_are_not_negative {
  static_assert(Device >= 0, "on: a device's number must be at least 0");
};

/// Reported if a device has no layers. Devices is the highest device number in the network plus one.
template <class Network, int Devices, int Device, int Layers = 0>
struct devices_have_layers {
  static_assert(Layers > 0,
                "on: a device has no layers; the error's last three template arguments are the number of devices, the "
                "device without layers, and its number of layers; number the devices 0, 1, 2 without gaps");
};

/// Reported for a network without other errors if <dsl/placement.hpp> is not included.
template <class Network, int Devices, bool IsThere = false>
struct moves_need_placement {
  static_assert(IsThere, "move_to: moving values between devices needs a header; include <dsl/placement.hpp>");
};

template <class At, class Layer, number Alpha>
struct slope_is_not_negative {
  static_assert(Alpha >= 0 && Alpha < 1e30, "activation: the slope must be at least 0 and less than 1e30");
};

}  // namespace broken
}  // namespace dsl
