// SPDX-License-Identifier: MIT
// Whole networks: MiniGoogLeNet's constants, custom layers, and verdicts on broken networks.
#include "support/static_graph.hpp"

using namespace dsl::literals;
using dsl::op;
using dsl::rule;
using dsl::shape;
using dsl::verdict;
using test::on;
using test::verdict_of;

// ---- MiniGoogLeNet -----------------------------------------------------------------------------------------------
using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::input == shape{3, 32, 32});
static_assert(model::output == shape{10});
static_assert(model::parameter_count == 1'656'250);  // what Keras reports
static_assert(model::trainable_parameter_count == 1'652'826);
static_assert(model::forward_macs == 234'597'920);
static_assert(model::training_bytes(64) < 256_MiB);
static_assert(model::training_bytes(32) < model::training_bytes(64));
static_assert(model::inference_bytes(64) < model::training_bytes(64));
static_assert(model::training_bytes(1) > 3 * 4 * model::trainable_parameter_count);  // values, gradients, one slot
static_assert(model::training_bytes(1, {}, 2) > model::training_bytes(1));           // Adam keeps two slots
static_assert(test::count(model::view(), op::conv2d) == 19 && test::count(model::view(), op::batch_norm) == 19);
static_assert(test::count(model::view(), op::concat) == 10 && test::count(model::view(), op::dense) == 1);

using classes_100 = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<100>>;
static_assert(classes_100::output == shape{100});
static_assert(classes_100::parameter_count - model::parameter_count == 90 * (336 + 1));

// Every layer may be written out, named, or nested: the same graph.
template <class A, class B>
inline constexpr bool equal = A::output == B::output && A::parameter_count == B::parameter_count &&
                              A::forward_macs == B::forward_macs && A::view().size.nodes == B::view().size.nodes;
struct stem : dsl::sequential<dsl::conv2d<8, 3>, dsl::relu> {};
static_assert(equal<on<3, 8, 8, stem, dsl::flatten>, on<3, 8, 8, dsl::conv2d<8, 3>, dsl::relu, dsl::flatten>>);
static_assert(equal<on<3, 8, 8, stem, stem>, on<3, 8, 8, dsl::sequential<stem, dsl::sequential<stem>>>>);

// ---- custom layers ------------------------------------------------------------------------------------------------
namespace mine {

struct twice {  // x -> x + x
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const both[] = {in, in};
    return b.append({.kind = op::add}, both, 2, in.shape);
  }
};

template <int Filters>
struct residual
    : dsl::sequential<dsl::add<dsl::identity, dsl::sequential<dsl::conv2d<Filters, 3>, dsl::batch_norm<>>>, dsl::relu> {
};

/// A block of another library: children chosen by a number, lowered without a combinator.
template <int Depth>
struct stack {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    for (int i = 0; i < Depth; ++i) in = residual<16>::lower(b, in);
    return in;
  }
};

struct even_channels {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    b.require(in.shape.channels % 2 == 0,
              {.broken = rule::own_rule, .first = in.shape, .wanted = 2, .found = in.shape.channels});
    return dsl::relu::lower(b, in);
  }
};

}  // namespace mine

static_assert(on<3, 8, 8, mine::twice>::output == shape{3, 8, 8});
static_assert(on<3, 8, 8, mine::twice>::view().nodes[1].inputs == 2);
static_assert(on<3, 8, 8, dsl::concat<mine::twice, mine::twice>>::output == shape{6, 8, 8});
static_assert(on<16, 8, 8, mine::residual<16>>::output == shape{16, 8, 8});
static_assert(on<16, 8, 8, mine::residual<16>>::parameter_count == (9 * 16 * 16 + 16) + 4 * 16);
static_assert(on<16, 8, 8, mine::stack<5>>::parameter_count == 5 * on<16, 8, 8, mine::residual<16>>::parameter_count);
static_assert(on<16, 8, 8, mine::stack<5>>::training_bytes(4) > 0);
static_assert(on<16, 8, 8, mine::even_channels>::output == shape{16, 8, 8});

// ---- verdicts ----------------------------------------------------------------------------------------------------
using picture = dsl::image<3, 8, 8>;

// 16x16 is too small for the last pool
static_assert(verdict_of<dsl::image<3, 16, 16>, dsl::minigooglenet<10>>().broken == rule::pool_window_fits_input);
static_assert(verdict_of<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>().holds());
static_assert(verdict{}.holds());

template <class Layer>
inline constexpr verdict of = verdict_of<picture, dsl::relu, Layer>();
static_assert(verdict_of<dsl::image<3, 0, 8>, dsl::relu>().broken == rule::image_has_positive_size);

// intended<...> turns off the rules about likely mistakes, and no others.
template <class Input, class... Layers>
inline constexpr verdict of_network = dsl::detail::checked<Input, Layers...>::why;
template <class Input, class... Layers>
constexpr bool only_if_intended(rule broken) {
  return of_network<Input, Layers...>.broken == broken && of_network<dsl::intended<Input>, Layers...>.holds();
}
static_assert(only_if_intended<dsl::image<28, 28, 1>, dsl::relu>(rule::channels_come_first));
static_assert(only_if_intended<dsl::image<3, 8, 8>, dsl::conv2d<3, 64, 3>>(rule::kernel_meets_its_input));
static_assert(only_if_intended<dsl::features<4>, dsl::batch_norm<1e-3, 0.99>>(rule::epsilon_is_small));
static_assert(only_if_intended<dsl::features<4>, dsl::dense<1>, dsl::softmax>(rule::softmax_has_classes));
static_assert(only_if_intended<dsl::features<4>, dsl::relu, dsl::softmax>(rule::softmax_takes_logits));
static_assert(only_if_intended<dsl::features<4>, dsl::hard_sigmoid, dsl::softmax>(rule::softmax_takes_logits));
static_assert(of_network<dsl::features<4>, dsl::tanh, dsl::softmax>.holds());
static_assert(of_network<dsl::intended<dsl::image<3, 8, 8>>, dsl::dense<4>>.broken == rule::dense_takes_a_flat_input);
static_assert(verdict_of<dsl::image<3, 0, 8>, dsl::relu>().first == shape{3, 0, 8});
static_assert(of<int>.broken == rule::children_are_layers && of<int>.depth == 1 && of<int>.path[0] == 1);
static_assert(of<dsl::conv2d<0, 3>>.broken == rule::filters_are_positive && of<dsl::conv2d<0, 3>>.found == 0);
static_assert(of<dsl::conv2d<-4, 3>>.found == -4);
static_assert(of<dsl::conv2d<4, 3, 0>>.broken == rule::kernel_is_positive);
static_assert(of<dsl::conv2d<4, 3, 0>>.second == shape{1, 3, 0});
static_assert(of<dsl::conv2d<4, 3, 3, 0>>.broken == rule::stride_is_positive);
static_assert(of<dsl::max_pool2d<2, -1>>.broken == rule::stride_is_positive && of<dsl::max_pool2d<2, -1>>.found == -1);
static_assert(of<dsl::conv2d<4, 9, 9, 1, dsl::padding::valid>>.broken == rule::kernel_fits_padded_input);
static_assert(of<dsl::conv2d<4, 9, 1, 1, dsl::padding::valid>>.first == shape{3, 8, 8});
static_assert(of<dsl::conv2d<4, 9, 9>>.holds());  // same padding makes room
static_assert(of<dsl::conv2d<4, 8, 8, 1, dsl::padding::valid>>.holds());
// A square kernel, or a line, may be almost twice as large as its input, and 3x3 is right for any.
static_assert(of<dsl::conv2d<4, 15, 15>>.holds() && of<dsl::conv2d<4, 16, 16>>.broken == rule::kernel_meets_its_input);
static_assert(of<dsl::conv2d<4, 8, 3>>.holds() && of<dsl::conv2d<4, 9, 3>>.broken == rule::kernel_meets_its_input);
static_assert(of<dsl::conv2d<4, 3, 9>>.second == shape{4, 3, 9} && of<dsl::conv2d<4, 1, 9>>.holds());
static_assert(of_network<dsl::image<3, 8, 8>, dsl::global_avg_pool2d, dsl::relu, dsl::conv2d<4, 3>>.holds());
static_assert(of_network<dsl::image<3, 8, 8>, dsl::flatten, dsl::conv2d<4, 1>>.holds());
static_assert(of_network<dsl::image<3, 8, 8>, dsl::flatten, dsl::batch_norm<>, dsl::conv2d<4, 1, 3>>.broken ==
              rule::convolutions_see_images);
static_assert(only_if_intended<dsl::features<3>, dsl::conv2d<4, 3>>(rule::convolutions_see_images));
// In PyTorch's order, the input's channels come first. A size by name is meant, and so are lines of up to 15 rows.
using large = dsl::image<3, 128, 128>;
static_assert(only_if_intended<large, dsl::conv2d<3, 64, 3>>(rule::filters_come_first));
static_assert(only_if_intended<large, dsl::conv2d<3, 6, 5, 1, dsl::padding::valid>>(rule::filters_come_first));
static_assert(of_network<large, dsl::conv2d<8, 1>, dsl::conv2d<8, 64, 3, 2>>.second == shape{8, 64, 3});
static_assert(of_network<large, dsl::conv2d<3, 64, 1>>.broken == rule::filters_come_first);
static_assert(of_network<large, dsl::conv2d_transpose<3, 64, 2, 2>>.broken == rule::filters_come_first);
static_assert(of_network<large, dsl::conv2d<4, 64, 3>, dsl::conv2d<4, dsl::kernel<64, 3>>>.holds());
static_assert(of_network<large, dsl::conv2d<3, 3, 1>, dsl::conv2d<3, 15, 1>, dsl::conv2d<3, 3, 64>>.holds());
static_assert(of_network<large, dsl::conv2d<32, 3>, dsl::conv2d<32, 21, 11>, dsl::conv2d<32, 9, 9>>.holds());
static_assert(only_if_intended<dsl::sequence<3, 128>, dsl::conv1d<3, 64, 5>>(rule::filters_come_first));
static_assert(of_network<dsl::sequence<3, 128>, dsl::conv1d<3, 64>, dsl::conv1d<3, 8, 2>>.holds());
static_assert(of_network<dsl::sequence<3, 128>, dsl::conv1d<3, dsl::kernel<64>, dsl::stride<5>>>.holds());
// Sequences: the numbers of an option are for rows and columns, of which there is one.
template <class Layer>
constexpr rule along_20() {
  return of_network<dsl::sequence<3, 20>, Layer>.broken;
}
static_assert(along_20<dsl::conv1d<4, 39>>() == rule::holds);
static_assert(along_20<dsl::conv1d<4, 40>>() == rule::kernel_meets_its_sequence);
static_assert(along_20<dsl::conv1d<4, 40, dsl::causal>>() == rule::holds);
static_assert(along_20<dsl::conv1d<4, 3, dsl::dilation<20>>>() == rule::kernel_meets_its_sequence);
static_assert(only_if_intended<dsl::sequence<3, 20>, dsl::conv1d<4, 40>>(rule::kernel_meets_its_sequence));
static_assert(only_if_intended<dsl::features<3>, dsl::conv1d<4, 3>>(rule::kernel_meets_its_sequence));
static_assert(only_if_intended<dsl::features<3>, dsl::conv1d<4, 3, dsl::pad<1>>>(rule::kernel_meets_its_sequence));
static_assert(of_network<dsl::features<3>, dsl::conv1d<4, 1>>.holds());
static_assert(along_20<dsl::conv1d<4, 21, dsl::padding::valid>>() == rule::window_fits_the_sequence);
static_assert(along_20<dsl::conv1d<4, 20, dsl::padding::valid>>() == rule::holds);
static_assert(along_20<dsl::conv1d<4, 0>>() == rule::window_has_a_length);
static_assert(along_20<dsl::conv1d<0, 3>>() == rule::filters_are_positive);
static_assert(along_20<dsl::conv1d<4, 3, 0>>() == rule::stride_is_positive);
static_assert(along_20<dsl::conv1d<4, 3, dsl::dilation<0>>>() == rule::dilation_is_positive);
static_assert(along_20<dsl::conv1d<4, 3, dsl::groups<2>>>() == rule::groups_divide_the_channels);
static_assert(along_20<dsl::conv1d<4, 3, dsl::pad<3>>>() == rule::pad_is_less_than_the_window);
static_assert(along_20<dsl::conv1d<4, dsl::kernel<3, 1>>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, dsl::stride<1, 2>>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, dsl::pad<1, 0>>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, dsl::dilation<1, 2>>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, dsl::causal, dsl::pad<1>>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, 1, dsl::padding::same, dsl::causal>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::conv1d<4, 3, 1, 2>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::max_pool1d<0>>() == rule::window_has_a_length);
static_assert(along_20<dsl::max_pool1d<21>>() == rule::window_fits_the_sequence);
static_assert(along_20<dsl::avg_pool1d<2, dsl::pad<2>>>() == rule::pad_is_less_than_the_window);
static_assert(along_20<dsl::avg_pool1d<2, dsl::ceil_mode>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::max_pool1d<2, dsl::count_padding<false>>>() == rule::options_belong_to_the_layer);
static_assert(of_network<dsl::image<3, 8, 8>, dsl::conv1d<4, 3>>.broken == rule::sequences_have_one_row);
static_assert(of_network<dsl::image<3, 8, 8>, dsl::max_pool1d<2>>.broken == rule::sequences_have_one_row);
static_assert(of_network<dsl::image<3, 8, 8>, dsl::global_avg_pool1d>.broken == rule::sequences_have_one_row);
static_assert(along_20<dsl::lstm<0>>() == rule::units_are_positive);
static_assert(along_20<dsl::gru<4, 3>>() == rule::options_belong_to_the_layer);
static_assert(along_20<dsl::gru<4, dsl::last_step, dsl::last_step>>() == rule::options_belong_to_the_layer);
static_assert(of_network<dsl::image<3, 8, 8>, dsl::lstm<4>>.broken == rule::sequences_have_one_row);
static_assert(of_network<dsl::sequence<70'000, 1>, dsl::global_avg_pool1d>.holds());
static_assert(of_network<dsl::sequence<1, 70'000>, dsl::max_pool1d<70'000>>.broken == rule::pool_window_fits_16_bits);
static_assert(verdict_of<dsl::image<3, 1, 1>, dsl::conv2d<4, 5>>().broken == rule::kernel_meets_its_input);
static_assert(of<dsl::batch_norm<0.75, 0.25>>.holds() && of<dsl::batch_norm<0.25, 0.75>>.number == 0.75);
static_assert(of<dsl::batch_norm<0.0, 0.1>>.holds());
static_assert(verdict_of<dsl::image<8, 8, 3>, dsl::relu>().broken == rule::channels_come_first);
static_assert(verdict_of<dsl::image<8, 8, 1>, dsl::relu>().holds());  // a signal of eight channels
static_assert(verdict_of<dsl::image<4, 4, 4>, dsl::relu>().holds() &&
              verdict_of<dsl::image<8, 9, 3>, dsl::relu>().holds());
static_assert(verdict_of<dsl::features<4>, dsl::dropout<0.5>, dsl::dense<2>, dsl::softmax>().holds());
static_assert(verdict_of<dsl::features<4>, dsl::leaky_relu<>, dsl::softmax>().holds());
static_assert(verdict_of<dsl::features<4>, dsl::dense<1>, dsl::sigmoid>().holds());
static_assert(of<dsl::avg_pool2d<0, 1>>.broken == rule::pool_window_is_positive);
static_assert(of<dsl::avg_pool2d<9>>.broken == rule::pool_window_fits_input);
static_assert(of<dsl::avg_pool2d<8>>.holds());
static_assert(verdict_of<dsl::image<1, 300, 300>, dsl::max_pool2d<257>>().broken == rule::pool_window_fits_16_bits);
static_assert(verdict_of<dsl::image<1, 300, 300>, dsl::avg_pool2d<257>>().holds());
static_assert(of<dsl::batch_norm<0.99, 0.0>>.broken == rule::epsilon_is_positive);
static_assert(of<dsl::batch_norm<0.99, 1e-50>>.broken == rule::epsilon_is_positive);  // 0 in float
static_assert(of<dsl::batch_norm<0.99, 1e300>>.broken == rule::epsilon_is_positive);
static_assert(of<dsl::batch_norm<1.0>>.broken == rule::momentum_keeps_less_than_all &&
              of<dsl::batch_norm<1.0>>.number == 1);
static_assert(of<dsl::batch_norm<-0.1>>.broken == rule::momentum_keeps_less_than_all);
static_assert(of<dsl::batch_norm<0.0>>.holds());
static_assert(of<dsl::dropout<1.0>>.broken == rule::dropout_rate_is_a_probability);
static_assert(of<dsl::dropout<0.999999999>>.broken == rule::dropout_rate_is_a_probability);  // 1 in float
static_assert(of<dsl::dropout<1e300>>.broken == rule::dropout_rate_is_a_probability);
static_assert(of<dsl::dropout<-0.5>>.number == -0.5 && of<dsl::dropout<0.0>>.holds());
static_assert(of<dsl::dense<10>>.broken == rule::dense_takes_a_flat_input &&
              of<dsl::dense<10>>.first == shape{3, 8, 8});
static_assert(verdict_of<dsl::features<4>, dsl::dense<0>>().broken == rule::units_are_positive);
static_assert(of<dsl::softmax>.broken == rule::softmax_takes_a_flat_input);
static_assert(verdict_of<picture, dsl::softmax2d>().holds());
static_assert(of<dsl::concat<>>.broken == rule::concat_joins_two_or_more && of<dsl::concat<>>.found == 0);
static_assert(of<dsl::concat<dsl::relu>>.found == 1);
static_assert(of<dsl::concat<dsl::relu, dsl::conv2d<4, 3, 3, 2>>>.broken == rule::branches_share_height_and_width);
static_assert(of<dsl::concat<dsl::relu, dsl::conv2d<4, 3, 3, 2>>>.second == shape{4, 4, 4});
static_assert(of<dsl::add<>>.broken == rule::add_joins_two_or_more && of<dsl::add<dsl::relu>>.found == 1);
static_assert(of<dsl::add<dsl::relu, dsl::identity, dsl::conv2d<4, 3>>>.broken == rule::branches_share_their_shape);
static_assert(of<dsl::add<dsl::relu, dsl::identity, dsl::conv2d<4, 3>>>.found == 2);  // the third branch
static_assert(of<dsl::leaky_relu<1e300>>.broken == rule::slope_is_not_negative);
static_assert(verdict_of<dsl::image<1, 1'024, 1'024>, dsl::conv2d<2'048, 1>>().found == 2'147'483'648);
static_assert(verdict_of<dsl::image<1, 1'024, 1'024>, dsl::conv2d<2'047, 1>>().holds());
static_assert(of<mine::even_channels>.broken == rule::own_rule && of<mine::even_channels>.found == 3);

// Only the first fault is reported, wherever it is; the others are its consequences.
struct deep
    : dsl::sequential<dsl::relu, dsl::concat<dsl::relu, dsl::sequential<dsl::relu, dsl::dense<4>>>, dsl::dense<0>> {};
constexpr verdict first = verdict_of<picture, dsl::relu, dsl::relu, deep, dsl::concat<>>();
static_assert(first.broken == rule::dense_takes_a_flat_input && first.depth == 4);
static_assert(first.path[0] == 2 && first.path[1] == 1 && first.path[2] == 1 && first.path[3] == 1);

// require() on its own
constexpr bool require_keeps_the_first() {
  dsl::builder b;
  bool good = b.require(true, {.broken = rule::own_rule}) && b.first_fault().holds();
  int const parent = b.enter(7, {"layer", 5});
  good = good && !b.require(false, {.broken = rule::own_rule, .found = 1});
  b.leave(parent);
  good = good && !b.require(false, {.broken = rule::stride_is_positive, .found = 2});
  verdict const& v = b.first_fault();
  return good && v.broken == rule::own_rule && v.found == 1 && v.depth == 1 && v.path[0] == 7;
}
static_assert(require_keeps_the_first());

// Deeper than a verdict's path: the position ends where the path does, and the rule is still right.
template <int Depth>
struct nested : dsl::sequential<nested<Depth - 1>> {};
template <>
struct nested<0> : dsl::dense<0> {};
static_assert(verdict_of<dsl::features<4>, nested<40>>().broken == rule::units_are_positive);
static_assert(verdict_of<dsl::features<4>, nested<40>>().depth == dsl::deepest_layer);
