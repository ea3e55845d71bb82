// SPDX-License-Identifier: MIT
// Every layer's shape, parameters (Keras's formulae) and multiply-adds, as worked values.
#include "support/static_graph.hpp"

using dsl::op;
using dsl::padding;
using dsl::shape;
using test::on;

// ---- shape -------------------------------------------------------------------------------------------------------
static_assert(shape{10} == shape{10, 1, 1});
static_assert(shape{96, 32, 32}.size() == 98'304 && shape{96, 32, 32}.area() == 1'024);
static_assert(shape{65'536, 65'536, 1}.size() == 4'294'967'296);  // counted in 64 bits
static_assert(shape{10}.is_flat() && !shape{10, 1, 2}.is_flat());

// ---- input -------------------------------------------------------------------------------------------------------
static_assert(on<3, 8, 6, dsl::relu>::input == shape{3, 8, 6});
static_assert(dsl::network<dsl::features<100>, dsl::relu>::input == shape{100});

// ---- conv2d: same ------------------------------------------------------------------------------------------------
template <int C, int H, int W, class Conv>
inline constexpr dsl::window window_of = test::last(on<C, H, W, Conv>::view(), op::conv2d).window;

static_assert(on<3, 8, 8, dsl::conv2d<64, 3, 3>>::output == shape{64, 8, 8});
static_assert(on<3, 8, 8, dsl::conv2d<64, 3>>::output == shape{64, 8, 8});  // a square kernel
static_assert(on<3, 8, 8, dsl::conv2d<64, 1>>::output == shape{64, 8, 8});
static_assert(on<3, 7, 5, dsl::conv2d<4, 3>>::output == shape{4, 7, 5});
static_assert(on<3, 2, 2, dsl::conv2d<4, 3>>::output == shape{4, 2, 2});  // larger than its input, not than its padding
static_assert(on<3, 5, 9, dsl::conv2d<8, 1, 7>>::output == shape{8, 5, 9});
static_assert(on<3, 5, 9, dsl::conv2d<8, 7, 1>>::output == shape{8, 5, 9});
static_assert(on<3, 32, 32, dsl::conv2d<8, 3, 3, 2>>::output == shape{8, 16, 16});
static_assert(on<3, 33, 31, dsl::conv2d<8, 3, 3, 2>>::output == shape{8, 17, 16});
static_assert(on<3, 32, 32, dsl::conv2d<8, 1, 1, 3>>::output == shape{8, 11, 11});  // skips rows: nothing to pad
static_assert(on<3, 224, 224, dsl::conv2d<64, 7, 7, 2>>::output == shape{64, 112, 112});

static_assert(window_of<3, 8, 8, dsl::conv2d<64, 3>>.pad_top == 1);
static_assert(window_of<3, 8, 8, dsl::conv2d<64, 3>>.pad_left == 1);
static_assert(window_of<3, 8, 8, dsl::conv2d<64, 2>>.pad_top == 0);  // an even kernel: one row, after the last
static_assert(window_of<3, 5, 9, dsl::conv2d<8, 1, 7>>.pad_top == 0);
static_assert(window_of<3, 5, 9, dsl::conv2d<8, 1, 7>>.pad_left == 3);
// TensorFlow: (ceil(32 / 2) - 1) * 2 + 3 - 32 = 1 row of zeros, after the last; not PyTorch's padding=1.
static_assert(window_of<3, 32, 32, dsl::conv2d<8, 3, 3, 2>>.pad_top == 0);
static_assert(window_of<3, 33, 31, dsl::conv2d<8, 3, 3, 2>>.pad_top == 1);  // 33: 2 rows, 1 in front
static_assert(window_of<3, 33, 32, dsl::conv2d<8, 3, 3, 2>>.pad_left == 0);
static_assert(window_of<3, 32, 32, dsl::conv2d<8, 5, 5, 2>>.pad_top == 1);     // 3 rows, 1 in front
static_assert(window_of<3, 224, 224, dsl::conv2d<64, 7, 7, 2>>.pad_top == 2);  // 5 rows, 2 in front
static_assert(window_of<3, 32, 32, dsl::conv2d<8, 1, 1, 3>>.pad_top == 0);

// ---- conv2d: valid -----------------------------------------------------------------------------------------------
static_assert(on<80, 32, 32, dsl::conv2d<80, 3, 3, 2, padding::valid>>::output == shape{80, 15, 15});
static_assert(on<3, 32, 32, dsl::conv2d<8, 3, 3, 1, padding::valid>>::output == shape{8, 30, 30});
static_assert(on<3, 33, 31, dsl::conv2d<8, 3, 3, 2, padding::valid>>::output == shape{8, 16, 15});
static_assert(on<3, 5, 9, dsl::conv2d<8, 1, 7, 1, padding::valid>>::output == shape{8, 5, 3});
static_assert(on<3, 5, 9, dsl::conv2d<8, 5, 9, 1, padding::valid>>::output == shape{8, 1, 1});  // the whole picture
static_assert(on<3, 5, 5, dsl::conv2d<8, 3, 3, 7, padding::valid>>::output == shape{8, 1, 1});
static_assert(window_of<3, 32, 32, dsl::conv2d<8, 3, 3, 2, padding::valid>>.pad_top == 0);
static_assert(window_of<3, 32, 32, dsl::conv2d<8, 3, 3, 2, padding::valid>>.stride == 2);

// ---- conv2d: options by name ---------------------------------------------------------------------------------------
using dsl::groups, dsl::kernel, dsl::pad, dsl::stride;
static_assert(on<3, 8, 8, dsl::conv2d<64, kernel<3>>>::output == shape{64, 8, 8});
static_assert(on<3, 5, 9, dsl::conv2d<8, kernel<1, 7>, padding::valid>>::output == shape{8, 5, 3});
static_assert(on<3, 224, 224, dsl::conv2d<64, kernel<7>, stride<2>, pad<3>>>::output == shape{64, 112, 112});
static_assert(on<3, 224, 224, dsl::conv2d<64, 7, 7, 2, pad<3>>>::output == shape{64, 112, 112});  // numbers first
static_assert(on<3, 224, 224, dsl::conv2d<64, pad<2>, stride<4>, kernel<11>>>::output == shape{64, 55, 55});
static_assert(on<3, 8, 8, dsl::conv2d<8, 3, pad<1, 0>>>::output == shape{8, 8, 6});         // rows, columns
static_assert(on<3, 8, 8, dsl::conv2d<8, 3, pad<0, 0, 2, 1>>>::output == shape{8, 8, 7});   // below and right
static_assert(window_of<3, 224, 224, dsl::conv2d<64, 7, stride<2>, pad<3>>>.pad_top == 3);  // `same` has 2 there
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, pad<1, 2, 0, 0>>>.pad_left == 2);
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, pad<0, 0, 2, 2>>>.pad_left == 0);
static_assert(on<3, 8, 8, dsl::conv2d<8, 3, stride<2, 1>>>::output == shape{8, 4, 8});
static_assert(on<3, 8, 9, dsl::conv2d<8, 3, stride<1, 4>, padding::valid>>::output == shape{8, 6, 2});
static_assert(on<3, 8, 9, dsl::conv2d<8, 3, stride<3, 2>, pad<1>>>::output == shape{8, 3, 5});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, stride<2, 1>>>.columns() == dsl::window_side{3, 1, 1, 1});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, stride<2, 1>>>.rows() == dsl::window_side{3, 2, 0, 1});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, stride<2, 2>>> == window_of<3, 8, 8, dsl::conv2d<8, 3, 3, 2>>);
static_assert(on<4, 8, 8, dsl::conv2d<8, 3, groups<4>>>::parameter_count == 8 * 9 + 8);
static_assert(on<4, 8, 8, dsl::conv2d<8, 3, dsl::bias<false>>>::parameter_count == 4 * 8 * 9);
static_assert(on<4, 8, 8, dsl::conv2d<8, 3, dsl::bias<true>>>::parameter_count == 4 * 8 * 9 + 8);
static_assert(on<4, 8, 8, dsl::conv2d<8, 3, groups<4>>>::output == on<4, 8, 8, dsl::conv2d<8, 3>>::output);

// ---- conv2d: dilation ----------------------------------------------------------------------------------------------
using dsl::dilation;
static_assert(on<3, 8, 9, dsl::conv2d<8, 3, dilation<2>>>::output == shape{8, 8, 9});  // same
static_assert(on<3, 8, 9, dsl::conv2d<8, 3, dilation<2>, padding::valid>>::output == shape{8, 4, 5});
static_assert(on<3, 8, 9, dsl::conv2d<8, 3, dilation<1, 4>, padding::valid>>::output == shape{8, 6, 1});
static_assert(on<3, 28, 28, dsl::conv2d<8, 3, pad<36>, dilation<36>>>::output == shape{8, 28, 28});
static_assert(on<3, 28, 28, dsl::conv2d<8, 3, pad<4>, dilation<2>, stride<2>>>::output == shape{8, 16, 16});
static_assert(on<3, 8, 8, dsl::conv2d<8, 2, 3, 2, padding::valid, dilation<7, 2>>>::output == shape{8, 1, 2});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, dilation<2, 1>>>.rows() == dsl::window_side{3, 1, 2, 2});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, dilation<2, 1>>>.columns() == dsl::window_side{3, 1, 1, 1});
static_assert(window_of<3, 8, 8, dsl::conv2d<8, 3, dilation<1>>> == window_of<3, 8, 8, dsl::conv2d<8, 3>>);
static_assert(on<3, 8, 8, dsl::conv2d<8, 3, dilation<2>>>::parameter_count ==
              on<3, 8, 8, dsl::conv2d<8, 3>>::parameter_count);
static_assert(on<3, 8, 8, dsl::conv2d<8, 3, dilation<2>>>::forward_macs ==
              on<3, 8, 8, dsl::conv2d<8, 3>>::forward_macs);
static_assert(dsl::window_side{3, 1, 0, 2'000'000'000}.span() == 2'147'483'647);

// ---- conv2d: parameters and multiply-adds ------------------------------------------------------------------------
static_assert(on<3, 8, 8, dsl::conv2d<64, 3, 3>>::parameter_count == 3 * 3 * 3 * 64 + 64);
static_assert(on<3, 8, 8, dsl::conv2d<64, 3, 3>>::trainable_parameter_count == 1'792);
static_assert(on<3, 5, 9, dsl::conv2d<8, 1, 7>>::parameter_count == 1 * 7 * 3 * 8 + 8);
static_assert(on<3, 8, 8, dsl::conv2d<64, 3, 3>>::forward_macs == 3 * 3 * 3 * 64 * 8 * 8);
static_assert(on<80, 32, 32, dsl::conv2d<80, 3, 3, 2, padding::valid>>::forward_macs == 3 * 3 * 80 * 80 * 15 * 15);
// kernel and bias, with Glorot's fans
constexpr auto conv = on<3, 8, 8, dsl::conv2d<64, 3, 5>>::view();
static_assert(conv.size.parameters == 2 && conv.nodes[1].first_parameter == 0 && conv.nodes[1].parameters == 2);
static_assert(conv.parameters[0].role == dsl::role::kernel && conv.parameters[0].rank == 4);
static_assert(conv.parameters[0].dims[0] == 64 && conv.parameters[0].dims[1] == 3);
static_assert(conv.parameters[0].dims[2] == 3 && conv.parameters[0].dims[3] == 5);
static_assert(conv.parameters[0].fan_in == 3 * 3 * 5 && conv.parameters[0].fan_out == 64 * 3 * 5);
static_assert(conv.parameters[1].role == dsl::role::bias && conv.parameters[1].count() == 64);

// ---- batch_norm --------------------------------------------------------------------------------------------------
using normed = on<64, 8, 8, dsl::batch_norm<>>;
static_assert(normed::output == shape{64, 8, 8});
static_assert(normed::parameter_count == 4 * 64 && normed::trainable_parameter_count == 2 * 64 &&
              normed::forward_macs == 0);
static_assert(test::last(normed::view(), op::batch_norm).momentum == 0.99);
static_assert(test::last(normed::view(), op::batch_norm).epsilon == 1e-3);
static_assert(test::last(on<4, 1, 1, dsl::batch_norm<>>::view(), op::batch_norm).momentum == 0.99);
static_assert(test::last(on<4, 1, 1, dsl::batch_norm<0.9>>::view(), op::batch_norm).epsilon == 1e-3);
static_assert(test::last(on<4, 1, 1, dsl::batch_norm<0.9, 1e-5>>::view(), op::batch_norm).epsilon == 1e-5);

// ---- activations: any shape, nothing to learn --------------------------------------------------------------------
template <class Activation, dsl::function Function>
inline constexpr bool is_elementwise =
    on<3, 4, 5, Activation>::output == shape{3, 4, 5} && on<3, 4, 5, Activation>::parameter_count == 0 &&
    test::last(on<3, 4, 5, Activation>::view(), op::activation).function == Function;
static_assert(is_elementwise<dsl::relu, dsl::function::relu>);
static_assert(is_elementwise<dsl::leaky_relu<>, dsl::function::leaky_relu>);
static_assert(is_elementwise<dsl::elu<>, dsl::function::elu>);
static_assert(is_elementwise<dsl::sigmoid, dsl::function::sigmoid>);
static_assert(is_elementwise<dsl::tanh, dsl::function::tanh>);
static_assert(is_elementwise<dsl::silu, dsl::function::silu>);
static_assert(is_elementwise<dsl::relu6, dsl::function::relu6>);
static_assert(is_elementwise<dsl::hard_sigmoid, dsl::function::hard_sigmoid>);
static_assert(is_elementwise<dsl::hard_swish, dsl::function::hard_swish>);
static_assert(is_elementwise<dsl::gelu, dsl::function::gelu>);
static_assert(is_elementwise<dsl::gelu_tanh, dsl::function::gelu_tanh>);
static_assert(is_elementwise<dsl::mish, dsl::function::mish>);
static_assert(is_elementwise<dsl::softplus, dsl::function::softplus>);
static_assert(test::last(on<3, 4, 5, dsl::leaky_relu<0.1>>::view(), op::activation).rate == 0.1);
static_assert(test::last(on<3, 4, 5, dsl::leaky_relu<>>::view(), op::activation).rate == 0.3);  // Keras's

// ---- pools -------------------------------------------------------------------------------------------------------
static_assert(on<80, 32, 32, dsl::max_pool2d<3, 2>>::output == shape{80, 15, 15});
static_assert(on<80, 33, 31, dsl::max_pool2d<3, 2>>::output == shape{80, 16, 15});
static_assert(on<8, 32, 32, dsl::max_pool2d<2>>::output == shape{8, 16, 16});
static_assert(on<8, 5, 5, dsl::max_pool2d<2>>::output == shape{8, 2, 2});  // the last row and column are left out
static_assert(on<8, 6, 6, dsl::max_pool2d<3, 1>>::output == shape{8, 4, 4});
static_assert(on<1, 256, 256, dsl::max_pool2d<256>>::output == shape{1});  // 65,536 values, the most
static_assert(on<336, 7, 7, dsl::avg_pool2d<7>>::output == shape{336});
static_assert(on<336, 8, 8, dsl::avg_pool2d<7>>::output == shape{336});
static_assert(on<336, 14, 21, dsl::avg_pool2d<7>>::output == shape{336, 2, 3});
static_assert(on<336, 7, 7, dsl::global_avg_pool2d>::output == shape{336});
static_assert(on<336, 5, 9, dsl::global_avg_pool2d>::output == shape{336});
static_assert(on<336, 1, 1, dsl::global_avg_pool2d>::output == shape{336});
static_assert(on<336, 400, 400, dsl::global_avg_pool2d>::output == shape{336});  // only max_pool2d remembers a place
static_assert(on<64, 112, 112, dsl::max_pool2d<3, 2, pad<1>>>::output == shape{64, 56, 56});
static_assert(on<64, 112, 112, dsl::max_pool2d<kernel<3>, stride<2>, pad<1>>>::output == shape{64, 56, 56});
static_assert(on<64, 8, 8, dsl::max_pool2d<3, 1, pad<1>>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::max_pool2d<2, pad<0, 1>>>::output == shape{64, 4, 5});
// PyTorch's ceil_mode: (112 - 3) / 2 rounded up, + 1; but no window begins behind the picture: 7 rows, 1 of padding,
// windows of 2 in steps of 2 begin at -1, 1, 3, 5, and not at 7.
static_assert(on<64, 112, 112, dsl::max_pool2d<3, 2, dsl::ceil_mode>>::output == shape{64, 56, 56});
static_assert(on<64, 113, 113, dsl::max_pool2d<3, 2, dsl::ceil_mode>>::output == shape{64, 56, 56});
static_assert(on<64, 7, 7, dsl::max_pool2d<2, 2, pad<1>, dsl::ceil_mode>>::output == shape{64, 4, 4});
static_assert(on<64, 6, 6, dsl::max_pool2d<3, 3, pad<1>, dsl::ceil_mode>>::output == shape{64, 3, 3});
static_assert(on<64, 5, 5, dsl::avg_pool2d<2, dsl::count_padding<false>, dsl::ceil_mode>>::output == shape{64, 3, 3});
static_assert(on<64, 8, 8, dsl::avg_pool2d<kernel<3, 2>, stride<1>, pad<1, 0>>>::output == shape{64, 8, 7});
static_assert(on<64, 9, 8, dsl::avg_pool2d<kernel<3, 2>>>::output == shape{64, 3, 4});
static_assert(on<64, 9, 8, dsl::max_pool2d<kernel<2, 3>, stride<1, 2>>>::output == shape{64, 8, 3});
static_assert(on<64, 9, 8, dsl::max_pool2d<3, stride<1, 2>, dsl::ceil_mode>>::output == shape{64, 7, 4});
static_assert(on<80, 32, 32, dsl::max_pool2d<3, 2>>::parameter_count == 0);
static_assert(on<80, 32, 32, dsl::max_pool2d<3, 2>>::forward_macs == 0);
static_assert(test::last(on<9, 5, 8, dsl::global_avg_pool2d>::view(), op::avg_pool2d).window.width == 8);

// ---- sequences: images of one row --------------------------------------------------------------------------------
template <class... Layers>
using along = dsl::network<dsl::sequence<3, 100>, Layers...>;
static_assert(along<dsl::relu>::input == shape{3, 1, 100});
static_assert(along<dsl::conv1d<64, 3>>::output == shape{64, 1, 100});
static_assert(along<dsl::conv1d<64, 5, 2, padding::valid>>::output == shape{64, 1, 48});
static_assert(along<dsl::conv1d<64, kernel<7>, stride<2>, pad<3>>>::output == shape{64, 1, 50});
static_assert(along<dsl::conv1d<64, 2, pad<0, 1, 0, 0>>>::output == shape{64, 1, 100});
static_assert(along<dsl::conv1d<64, 3, dsl::causal>>::output == shape{64, 1, 100});
static_assert(along<dsl::conv1d<64, 3, 3, dsl::causal, dsl::dilation<8>>>::output == shape{64, 1, 34});
static_assert(test::last(along<dsl::conv1d<64, 3, dsl::causal, dsl::dilation<8>>>::view(), op::conv2d).window ==
              dsl::window{1, 3, 1, 0, 16, 0, 1, 8});
static_assert(test::last(along<dsl::conv1d<64, 3, 2>>::view(), op::conv2d).window.strides_by(2));
static_assert(along<dsl::conv1d<64, 5>>::parameter_count == 64 * 3 * 5 + 64);
static_assert(along<dsl::conv1d<64, 5, dsl::bias<false>>>::parameter_count == 64 * 3 * 5);
static_assert(along<dsl::conv1d<6, 5, groups<3>>>::parameter_count == 6 * 5 + 6);
static_assert(along<dsl::conv1d<64, 5>>::forward_macs == 64 * 3 * 5 * 100);
constexpr dsl::parameter long_kernel = along<dsl::conv1d<64, 5>>::view().parameters[0];
static_assert(long_kernel.rank == 3 && long_kernel.dims[3] == 5 && long_kernel.axis(2) == 5 &&
              long_kernel.axis(1) == 3);
static_assert(long_kernel.fan_in == 15 && long_kernel.fan_out == 320);
static_assert(along<dsl::max_pool1d<3, 2>>::output == shape{3, 1, 49});
static_assert(along<dsl::max_pool1d<3, 2, pad<1>>>::output == shape{3, 1, 50});
static_assert(along<dsl::max_pool1d<8, dsl::ceil_mode>>::output == shape{3, 1, 13});
static_assert(along<dsl::avg_pool1d<8>>::output == shape{3, 1, 12});
static_assert(along<dsl::avg_pool1d<kernel<8>, dsl::count_padding<false>, dsl::ceil_mode>>::output == shape{3, 1, 13});
static_assert(along<dsl::global_avg_pool1d>::output == shape{3});

static_assert(along<dsl::lstm<32>>::output == shape{32, 1, 100} && along<dsl::gru<32>>::output == shape{32, 1, 100});
static_assert(along<dsl::lstm<32, dsl::last_step>>::output == shape{32});
static_assert(along<dsl::lstm<32>>::parameter_count == 4 * 32 * (3 + 32 + 2));
static_assert(along<dsl::gru<32>>::parameter_count == 3 * 32 * (3 + 32 + 2));
static_assert(along<dsl::lstm<32, dsl::last_step>>::forward_macs == 4 * 32 * (3 + 32) * 100);
static_assert(along<dsl::gru<32>>::forward_macs == 3 * 32 * (3 + 32) * 100);
constexpr auto recurrent = along<dsl::gru<32>>::view();
static_assert(recurrent.parameters[0].rank == 2 && recurrent.parameters[1].rank == 2 &&
              recurrent.parameters[2].rank == 1 && recurrent.parameters[3].rank == 1);
static_assert(recurrent.parameters[1].role == dsl::role::recurrent_kernel && recurrent.parameters[1].trainable());

// ---- dropout, flatten, dense, softmax, identity ------------------------------------------------------------------
static_assert(on<3, 4, 5, dsl::dropout<0.5>>::output == shape{3, 4, 5});
static_assert(test::last(on<3, 4, 5, dsl::dropout<0.25>>::view(), op::dropout).rate == 0.25);
static_assert(on<3, 4, 5, dsl::dropout<0.0>>::parameter_count == 0);
static_assert(on<64, 8, 8, dsl::flatten>::output == shape{4'096});
static_assert(on<10, 1, 1, dsl::flatten>::output == shape{10});
static_assert(dsl::network<dsl::features<336>, dsl::dense<10>>::output == shape{10});
static_assert(dsl::network<dsl::features<336>, dsl::dense<10>>::parameter_count == 336 * 10 + 10);
static_assert(dsl::network<dsl::features<336>, dsl::dense<10>>::forward_macs == 336 * 10);
static_assert(on<3, 8, 8, dsl::flatten, dsl::dense<5>>::parameter_count == 192 * 5 + 5);
constexpr auto dense = dsl::network<dsl::features<336>, dsl::dense<10>>::view();
static_assert(dense.parameters[0].rank == 2 && dense.parameters[0].dims[0] == 10 && dense.parameters[0].dims[1] == 336);
static_assert(dense.parameters[0].fan_in == 336 && dense.parameters[0].fan_out == 10);
static_assert(dsl::network<dsl::features<10>, dsl::softmax>::output == shape{10});
static_assert(on<3, 4, 5, dsl::softmax2d>::output == shape{3, 4, 5});
static_assert(on<3, 4, 5, dsl::identity, dsl::relu>::view().size.nodes == 2);  // the input and the relu

// ---- further inputs ----------------------------------------------------------------------------------------------
using joined =
    dsl::network<dsl::features<3>, dsl::concat<dsl::identity, dsl::named_input<"b", dsl::features<2>>>, dsl::dense<4>>;
static_assert(joined::output == shape{4} && joined::parameter_count == 5 * 4 + 4);
static_assert(dsl::is_further_input(joined::view(), 1) && !dsl::is_further_input(joined::view(), 0));
static_assert(joined::view().scopes[joined::view().nodes[1].scope].name.size == 1);
static_assert(dsl::further_inputs(joined::view(), 1) == 0 && dsl::further_inputs(joined::view(), 2) == 1);

// ---- combinators -------------------------------------------------------------------------------------------------
using two = dsl::concat<dsl::conv2d<32, 1>, dsl::conv2d<48, 3>>;
static_assert(on<64, 32, 32, two>::output == shape{80, 32, 32});
static_assert(on<64, 32, 32, two>::parameter_count == (64 * 32 + 32) + (9 * 64 * 48 + 48));
static_assert(on<64, 32, 32, two>::forward_macs == 1LL * 1'024 * (64 * 32 + 9 * 64 * 48));
static_assert(on<3, 8, 8, dsl::concat<dsl::identity, dsl::identity, dsl::relu>>::output == shape{9, 8, 8});
static_assert(on<64, 8, 8, dsl::add<dsl::identity, dsl::conv2d<64, 3>>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::add<dsl::identity, dsl::conv2d<64, 3>>>::parameter_count == 9 * 64 * 64 + 64);
static_assert(on<3, 8, 8, dsl::sequential<dsl::conv2d<8, 3>, dsl::relu>, dsl::sequential<>>::output == shape{8, 8, 8});
using grouped = dsl::conv2d<32, 3, 3, 1, padding::same, 4>;
static_assert(on<64, 8, 8, grouped>::output == shape{32, 8, 8});
static_assert(on<64, 8, 8, grouped>::parameter_count == 3 * 3 * 16 * 32 + 32);  // each filter sees a quarter
static_assert(on<64, 8, 8, grouped>::forward_macs == 3 * 3 * 16 * 32 * 64);
static_assert(on<64, 8, 8, grouped>::view().parameters[0].fan_in == 3 * 3 * 16);
static_assert(on<64, 8, 8, dsl::conv2d<64, 3, 3, 1, padding::same, 64>>::parameter_count == 3 * 3 * 64 + 64);

using unpooled = dsl::conv2d_transpose<32, 2, dsl::stride<2>>;
static_assert(on<64, 8, 6, unpooled>::output == shape{32, 16, 12});
static_assert(on<64, 8, 6, unpooled>::parameter_count == 64 * 32 * 4 + 32);
static_assert(on<64, 8, 6, unpooled>::forward_macs == 64LL * 32 * 4 * 48);
static_assert(on<64, 8, 6, unpooled>::view().parameters[0].rank == 4);
static_assert(on<64, 8, 6, dsl::conv2d_transpose<32, 3, 5, 2>>::output == shape{32, 17, 15});
static_assert(on<64, 8, 6, dsl::conv2d_transpose<32, 3, dsl::stride<2>, dsl::pad<1, 1, 0, 0>>>::output ==
              shape{32, 16, 12});
static_assert(on<64, 8, 6, dsl::conv2d_transpose<32, 3, dsl::groups<4>, dsl::bias<false>>>::parameter_count ==
              64 * 8 * 9);
static_assert(on<64, 8, 6, dsl::conv2d_transpose<32, 3, stride<2, 1>, dilation<1, 2>>>::output == shape{32, 17, 10});
static_assert(on<64, 8, 6, dsl::conv2d_transpose<32, 3, pad<4>, dilation<3>>>::output == shape{32, 6, 4});

static_assert(on<64, 8, 6, dsl::channel_slice<60, 4>>::output == shape{4, 8, 6});
static_assert(on<64, 8, 6, dsl::channel_shuffle<4>>::output == shape{64, 8, 6});
static_assert(on<48, 8, 6, dsl::attention<4>>::output == shape{16, 8, 6});
static_assert(on<48, 8, 6, dsl::causal_attention<16>>::parameter_count == 0);
static_assert(on<48, 8, 6, dsl::attention<4>>::forward_macs == 2 * 48 * 48 * 16);
static_assert(on<48, 8, 6, dsl::causal_attention<4>>::forward_macs == (48 * 49 / 2) * 2 * 16);
using windows = on<48, 8, 6, dsl::window_attention<4, 2, 1>>;
static_assert(windows::output == shape{16, 8, 6} && windows::trainable_parameter_count == 3 * 3 * 4);
static_assert(windows::forward_macs == 2 * 48 * 4 * 16);
static_assert(windows::view().parameters[0].rank == 2 && windows::view().nodes[1].rate == 4);
static_assert(windows::view().nodes[1].window.pad_top == 1 && windows::view().nodes[1].window.pad_left == 1);
using one_row = on<48, 4, 8, dsl::window_attention<2, 4, 3, 10>>;  // is not shifted along the rows
static_assert(one_row::view().nodes[1].window.pad_top == 0 && one_row::view().nodes[1].window.pad_left == 3);
static_assert(one_row::view().nodes[1].rate == 10);
using grids = on<48, 8, 6, dsl::grid_attention<4, 2>>;
static_assert(grids::output == shape{16, 8, 6} && grids::forward_macs == windows::forward_macs);
static_assert(grids::view().nodes[1].window.row_dilation == 4 && grids::view().nodes[1].window.column_dilation == 3);
using by_cosines = on<48, 8, 6, dsl::bounded_window_attention<4, 2, 1, dsl::pointwise_dense<4>>>;
static_assert(by_cosines::output == shape{16, 8, 6} && by_cosines::trainable_parameter_count == 2 * 4 + 4);
static_assert(by_cosines::forward_macs == 2 * 48 * 4 * 16 + 2 * 4 * 9);
static_assert(on<48, 8, 6, dsl::class_token>::output == shape{48, 1, 49});
static_assert(on<48, 8, 6, dsl::class_token>::trainable_parameter_count == 48);
static_assert(on<48, 8, 6, dsl::position_embedding>::output == shape{48, 8, 6});
static_assert(on<48, 8, 6, dsl::position_embedding>::trainable_parameter_count == 48 * 48);
static_assert(on<48, 8, 6, dsl::position_embedding>::view().parameters[0].rank == 3);
static_assert(on<48, 8, 6, dsl::token_slice<40, 8>>::output == shape{48, 1, 8});
static_assert(on<48, 8, 6, dsl::token_slice<47>>::output == shape{48});
using embedded = dsl::network<dsl::token_numbers<24>, dsl::embedding<100, 12>>;
static_assert(embedded::input == shape{1, 1, 24} && embedded::output == shape{12, 1, 24});
static_assert(embedded::trainable_parameter_count == 1'200 && embedded::forward_macs == 0);
static_assert(embedded::view().parameters[0].rank == 2 && embedded::view().parameters[0].dims[1] == 12);
static_assert(on<1, 8, 6, dsl::embedding<1, 5>>::output == shape{5, 8, 6});
static_assert(dsl::vocabulary_of(embedded::view(), 0) == 100 &&
              dsl::vocabulary_of(on<3, 8, 8, dsl::relu>::view(), 0) == 0);
using twice_embedded = dsl::network<dsl::token_numbers<4>, dsl::concat<dsl::embedding<9, 2>, dsl::embedding<7, 3>>>;
static_assert(dsl::vocabulary_of(twice_embedded::view(), 0) == 7);
using pointwise = on<48, 8, 6, dsl::pointwise_dense<20>>;
static_assert(pointwise::output == shape{20, 8, 6} && pointwise::parameter_count == 48 * 20 + 20);
static_assert(pointwise::forward_macs == on<48, 8, 6, dsl::conv2d<20, 1>>::forward_macs);
static_assert(on<48, 8, 6, dsl::pointwise_dense<20, dsl::bias<false>>>::parameter_count == 48 * 20);
static_assert(pointwise::view().parameters[0].rank == 2 && pointwise::view().parameters[1].rank == 1);
// At 4,096 tokens, a plan is smaller than a byte a pair of tokens, and grows as the tokens do.
template <int Side>
using attending = on<24, Side, Side, dsl::conv2d<24, 1>, dsl::attention<2>, dsl::conv2d<24, 1>,
                     dsl::causal_attention<2>, dsl::conv2d<2, 1>>;
static_assert(attending<64>::training_bytes(1) < 4096LL * 4096);
static_assert(attending<64>::training_bytes(1) < 5 * attending<32>::training_bytes(1));
static_assert(on<64, 8, 6, dsl::channel_split<dsl::identity, dsl::conv2d<5, 1>>>::output == shape{37, 8, 6});
static_assert(on<64, 8, 6, dsl::channel_split<dsl::identity, dsl::conv2d<5, 1>>>::parameter_count == 32 * 5 + 5);

static_assert(on<64, 8, 6, dsl::channel_scale>::output == shape{64, 8, 6});
static_assert(on<64, 8, 6, dsl::channel_scale>::trainable_parameter_count == 64);
static_assert(on<64, 8, 6, dsl::constant_scale<0.5>>::output == shape{64, 8, 6});
static_assert(on<64, 8, 6, dsl::constant_scale<0.5>>::parameter_count == 0);
static_assert(on<64, 8, 6, dsl::unscaled_batch_norm<>>::parameter_count == 192);
static_assert(on<64, 8, 6, dsl::unscaled_batch_norm<0.9, 1e-5>>::trainable_parameter_count == 64);
static_assert(on<64, 8, 6, dsl::stochastic_depth<0.25>>::output == shape{64, 8, 6});
static_assert(test::last(on<64, 8, 6, dsl::stochastic_depth<0.25>>::view(), op::stochastic_depth).rate == 0.25);

static_assert(on<64, 8, 6, dsl::upsample2d<2>>::output == shape{64, 16, 12});
static_assert(on<64, 8, 6, dsl::zero_pad2d<1>>::output == shape{64, 10, 8});
static_assert(on<64, 8, 6, dsl::zero_pad2d<1, 2>>::output == shape{64, 10, 10});
static_assert(on<64, 8, 6, dsl::zero_pad2d<0, 1, 2, 3>>::output == shape{64, 10, 10});
static_assert(on<64, 8, 6, dsl::upsample2d<3, dsl::interpolation::bilinear>>::output == shape{64, 24, 18});
static_assert(on<64, 8, 6, dsl::upsample2d<2>>::parameter_count == 0);

static_assert(on<64, 8, 8, dsl::layer_norm<>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::group_norm<32>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::group_norm<32>>::trainable_parameter_count == 2 * 64);
static_assert(on<64, 8, 8, dsl::group_norm<32>>::view().nodes[1].epsilon == 1e-5);
static_assert(on<64, 8, 8, dsl::local_response_norm<5>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::local_response_norm<5>>::parameter_count == 0);
static_assert(on<64, 8, 8, dsl::local_response_norm<5, 5e-4, 0.5, 2.0>>::view().nodes[1].power == 0.5);
static_assert(on<64, 8, 8, dsl::local_response_norm<5, 5e-4, 0.5, 2.0>>::view().nodes[1].epsilon == 2);
static_assert(on<64, 8, 8, dsl::layer_norm<>>::parameter_count == 2 * 64);
static_assert(on<64, 8, 8, dsl::layer_norm<>>::trainable_parameter_count == 2 * 64);
static_assert(on<64, 8, 8, dsl::multiply<dsl::identity, dsl::global_avg_pool2d>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::multiply<dsl::conv2d<1, 1>, dsl::identity>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::multiply<dsl::conv2d<1, 1>, dsl::global_avg_pool2d>>::output == shape{64, 8, 8});
static_assert(on<64, 8, 8, dsl::multiply<dsl::identity, dsl::relu>>::parameter_count == 0);

// nested: an add of concats of adds
using inner = dsl::add<dsl::identity, dsl::conv2d<4, 3>>;
using middle = dsl::concat<inner, dsl::sequential<dsl::conv2d<6, 1>, dsl::relu>, dsl::concat<dsl::identity, inner>>;
static_assert(on<4, 8, 8, middle>::output == shape{4 + 6 + (4 + 4), 8, 8});
static_assert(on<4, 8, 8, dsl::add<middle, dsl::conv2d<18, 3>>>::output == shape{18, 8, 8});
static_assert(test::count(on<4, 8, 8, dsl::add<middle, dsl::conv2d<18, 3>>>::view(), op::add) == 3);
static_assert(test::count(on<4, 8, 8, dsl::add<middle, dsl::conv2d<18, 3>>>::view(), op::concat) == 2);

// ---- modules -----------------------------------------------------------------------------------------------------
static_assert(on<3, 32, 32, dsl::conv_module<96, 3, 3>>::parameter_count == (27 * 96 + 96) + 4 * 96);
static_assert(on<64, 32, 32, dsl::inception_module<32, 48>>::output == shape{80, 32, 32});
static_assert(on<80, 32, 32, dsl::downsample_module<80>>::output == shape{160, 15, 15});

// ---- what is a layer, and what is not ----------------------------------------------------------------------------
struct no_lower {};
struct lowers_a_number {
  static constexpr int lower(dsl::builder&, dsl::value) { return 0; }
};
struct lowers_as_a_member {
  constexpr dsl::value lower(dsl::builder&, dsl::value in) const { return in; }
};
struct lowers_without_a_builder {
  static constexpr dsl::value lower(dsl::value in) { return in; }
};
class lowers_in_private {
  static constexpr dsl::value lower(dsl::builder&, dsl::value in) { return in; }
};
struct named : dsl::sequential<dsl::relu> {};
struct lowers_as_a_template {
  template <class Builder>
  static constexpr dsl::value lower(Builder&, dsl::value in) {
    return in;
  }
};
static_assert(dsl::layer<dsl::relu> && dsl::layer<dsl::sequential<>> && dsl::layer<dsl::concat<>> && dsl::layer<named>);
static_assert(dsl::layer<lowers_as_a_template>);
static_assert(!dsl::layer<int> && !dsl::layer<no_lower> && !dsl::layer<lowers_a_number> &&
              !dsl::layer<lowers_as_a_member>);
static_assert(!dsl::layer<lowers_without_a_builder> && !dsl::layer<lowers_in_private>);
static_assert(!dsl::layer<dsl::image<3, 8, 8>>);  // an input stands first and nowhere else
static_assert(dsl::network_input<dsl::image<3, 8, 8>> && dsl::network_input<dsl::features<4>>);
static_assert(!dsl::network_input<dsl::relu> && !dsl::network_input<int>);
