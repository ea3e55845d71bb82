// SPDX-License-Identifier: MIT
// Opened by clangd: twenty mistakes that the sets of benchmarks/compiler_messages show most often. Each must be marked
// in the line below a comment "MARKED: text", with this text, and no other line may be marked.
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

using namespace dsl;

using working = network<image<3, 32, 32>, conv_module<8, 3>, global_avg_pool2d, dense<10>, softmax>;

namespace flatten_is_forgotten {
using model = network<image<3, 32, 32>, conv2d<8, 3>, relu, dense<10>, softmax>;
// MARKED: dense: the input still has a height and a width; put flatten before it
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace flatten_is_forgotten

namespace kernel_is_too_large {
using model = network<image<3, 8, 8>, max_pool2d<2>, conv2d<8, 5, 5, 1, padding::valid>, flatten, dense<10>, softmax>;
// MARKED: conv2d: the kernel, with its dilation, covers more rows or columns than its padded input has
static_assert(model::parameter_count == 1'498);
}  // namespace kernel_is_too_large

namespace nothing_is_left_to_pool {
template <int Filters>
struct block : sequential<conv_module<Filters, 3>, max_pool2d<2>> {};
using model = network<image<3, 8, 8>, block<8>, block<16>, block<32>, block<64>, flatten, dense<10>, softmax>;
// MARKED: max_pool2d, avg_pool2d: the window is larger than its padded input
auto t = compile<model>(native{}, sgd{.learning_rate = 0.01});
}  // namespace nothing_is_left_to_pool

namespace branches_differ {
struct inception : concat<conv_module<8, 1>, conv_module<8, 3, 3, 1, padding::valid>> {};
using model = network<image<3, 32, 32>, inception, global_avg_pool2d, dense<10>, softmax>;
// MARKED: concat: every branch must have the height and width of the first
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace branches_differ

namespace shortcut_has_other_channels {
using model = network<image<3, 32, 32>, residual<conv_module<8, 3>>, global_avg_pool2d, dense<10>, softmax>;
// MARKED: add: every branch must have the shape of the first
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace shortcut_has_other_channels

namespace channels_are_last {
using model = network<image<32, 32, 3>, conv_module<8, 3>, global_avg_pool2d, dense<10>, softmax>;
// MARKED: image: the channels seem to come last
constexpr auto parameters = model::parameter_count;
}  // namespace channels_are_last

namespace channels_are_given_to_convolutions {
using model = network<image<3, 32, 32>, conv2d<3, 16, 3>, relu, global_avg_pool2d, dense<10>, softmax>;
// MARKED: convolution: the number of filters comes first
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace channels_are_given_to_convolutions

namespace dense_has_an_activation {
using model = network<features<4>, dense<16, relu>, dense<3>, softmax>;
// MARKED: dense: it takes only the number of units
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace dense_has_an_activation

namespace relu_comes_before_softmax {
using model = network<features<4>, dense<16>, relu, dense<3>, relu, softmax>;
// MARKED: softmax: its input must not come from a relu, relu6, sigmoid, hard_sigmoid
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace relu_comes_before_softmax

namespace network_has_no_input {
using model = network<dense<16>, relu, dense<3>, softmax>;
// MARKED: network: the first type must be the input
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace network_has_no_input

namespace output_is_another {
using model = network<features<4>, dense<16>, relu, dense<3>, softmax>;
// MARKED: gives: the network's output must have the shape that is asserted
static_assert(model::gives<shape{10}>);
}  // namespace output_is_another

namespace layers_are_compiled {
// MARKED: compile: it takes a network
auto t = compile<minigooglenet<10>>(sgd{.learning_rate = 0.01});
}  // namespace layers_are_compiled

namespace optimizer_is_forgotten {
// MARKED: compile: after the executor there must be an optimizer
auto t = compile<working>(native{});
}  // namespace optimizer_is_forgotten

namespace optimizer_comes_first {
// MARKED: compile: the executor must come before the optimizer
auto t = compile<working>(sgd{.learning_rate = 0.01}, native{});
}  // namespace optimizer_comes_first

namespace rate_has_another_name {
// MARKED: field designator 'lr' does not refer to any field in type
auto t = compile<working>(sgd{.lr = 0.01});
}  // namespace rate_has_another_name

namespace loss_is_forgotten {
using model = network<features<4>, dense<16>, relu, dense<1>>;
// MARKED: loss: no loss is given, and the default, categorical_crossentropy, takes probabilities
auto t = compile<model>(sgd{.learning_rate = 0.01});
}  // namespace loss_is_forgotten

struct prints {
  void on_epoch_end(fit_run&) {}
};

void train(trainer& t, dataset const& data, dataset const& test) {
  // MARKED: fit: it does not have this option
  t.fit(data, {.epochs = 3, .verbose = 1});
  // MARKED: fit: .validation takes a pointer to a data set; write .validation = &test
  t.fit(data, {.epochs = 3, .validation = test});
  // MARKED: callback: the metric to watch is a template argument
  t.fit(data, {.epochs = 3, .callbacks = {early_stopping("val_loss")}});
  // MARKED: callbacks: each must be derived from dsl::callback
  t.fit(data, {.epochs = 3, .callbacks = {prints{}}});
}
