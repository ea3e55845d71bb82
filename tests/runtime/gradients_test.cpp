// SPDX-License-Identifier: MIT
// Compares every layer's gradients, in double, with finite differences of the loss of the forward pass, including
// dropout's mask and the batch's own moments.
#include "operations/all.hpp"
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/larger.hpp"
#include "support/random_network.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/binding.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

using namespace dsl;
using dsl::test::dice;
using test::bump;
using test::random_network;

namespace {

struct question {
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  int batch = 3;
  int numbers = 40;  // numbers checked of each parameter, spread evenly; all if it has fewer
  std::uint64_t seed = 1;
  target_kind targets = target_kind::classes;
};

int checked_numbers = 0;
int skipped_numbers = 0;  // numbers at a kink of relu or max_pool2d, however small the step

/// A network with random parameters and pictures; its loss is a function of any one parameter.
class differentiable {
 public:
  differentiable(graph_view const& g, question const& q)
      : q_(q),
        engine_(reference<double>{}.make_engine(g, {.seed = 7, .loss = q.loss, .verify = &verify})),
        host_(dynamic_cast<host::engine<double>&>(*engine_)),
        program_(engine_->prepare(mode::training, q.batch, q.targets)) {
    dice d(q.seed);
    for (int k = 0; k < g.size.parameters; ++k) {
      parameter const& p = g.parameters[k];
      bool const scale = p.role == role::gamma;
      double const width = p.role == role::kernel ? std::sqrt(3.0 * p.dims[0] / static_cast<double>(p.count())) : 0.5;
      for (long long i = 0; i < p.count(); ++i)
        host_.parameter_data(k)[i] = scale ? (d.percent(30) ? -1 : 1) * (1 + uniform(d, 0.5))
                                     : p.role == role::moving_variance ? 1 + uniform(d, 0.5)
                                                                       : uniform(d, width);
    }
    pictures_.resize(static_cast<std::size_t>(q.batch * g.shape_of(0).size()));
    int const vocabulary = vocabulary_of(g, 0);
    for (double& x : pictures_) x = vocabulary > 0 ? d.below(vocabulary) : uniform(d, 1);
    for (int n = 0; n < q.batch; ++n) labels_.push_back(d.below(static_cast<int>(g.shape_of(g.result()).size())));
    bool const shares = q.loss == dsl::loss::binary_crossentropy;
    for (long long i = 0; i < q.batch * g.shape_of(g.result()).size(); ++i)
      values_.push_back(static_cast<float>(shares ? 0.5 + uniform(d, 0.5) : uniform(d, 3)));
  }

  /// Runs one training step with learning rate 0. All memory of the step holds NaN before, so that a value that is read
  /// before it is written cannot go unnoticed.
  double loss() {
    host::program<double> const& p = host_.prepared(program_);
    std::memset(p.activations->data(), 0xff, static_cast<std::size_t>(p.activations->bytes()));
    std::copy(pictures_.begin(), pictures_.end(), host_.input_data(program_));
    engine_->run(program_, test::one_batch{nullptr, {labels_.data(), values_.data()}, q_.batch, 5, 0.0});
    return engine_->metrics(program_).loss / q_.batch;
  }

  /// Returns d loss / d x by a central difference of fourth order, whose error is h^4; the error of second order, h^2,
  /// would exceed the tolerance.
  double slope(double& x, double h) {
    double const at = x;
    auto const f = [&](double d) {
      x = at + d;
      double const y = loss();
      x = at;
      return y;
    };
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
  }
  /// Returns a derivative on which two step sizes agree; a kink nearby makes them differ, and then a smaller step is
  /// tried.
  std::optional<double> derivative(double& x) {
    for (double h : {1e-3, 1e-4, 1e-5}) {
      double const wide = slope(x, h);
      double const narrow = slope(x, h / 2);
      if (std::abs(wide - narrow) <= 1e-7 * std::abs(narrow) + 1e-9) return narrow;
    }
    return std::nullopt;
  }

  std::vector<double> gradient(int k) const {
    return {host_.parameter_gradient_data(k), host_.parameter_gradient_data(k) + graph().parameters[k].count()};
  }
  double* parameter_data(int k) { return host_.parameter_data(k); }
  graph_view const& graph() const { return engine_->graph(); }

  /// Returns whether a step reads the bias of node n; a batch_norm after it cancels it.
  bool bias_is_cancelled(int k) const {
    detail::analysis const a = detail::analyse(graph(), host_.prepared(program_).plan.options);
    return graph().parameters[k].role == role::bias && a.bias_skipped[graph().parameters[k].node];
  }
  void fill_gradients(double value) {
    for (int k = 0; k < graph().size.parameters; ++k)
      if (graph().parameters[k].trainable() && !bias_is_cancelled(k))
        std::fill_n(host_.parameter_gradient_data(k), graph().parameters[k].count(), value);
  }

 private:
  static double uniform(dice& d, double width) { return width * (static_cast<double>(d.bits() >> 11) * 0x1p-52 - 1); }

  question q_;
  std::unique_ptr<dsl::engine> engine_;
  host::engine<double>& host_;
  int program_;
  std::vector<double> pictures_;
  std::vector<std::int32_t> labels_;
  std::vector<float> values_;
};

/// Compares with a relative bound of 1e-6: the analytic gradient is accurate to about 1e-13, and the difference to h^4
/// = 1e-12 times the fifth derivative or, where a kink forces h = 5e-6, to 3e-10 of rounding; 2e-9 is the smallest
/// difference that it resolves.
void check(graph_view const& g, question const& q = {}) {
  differentiable net(g, q);
  net.fill_gradients(std::nan(""));  // a gradient that is never written stays NaN
  REQUIRE(std::isfinite(net.loss()));
  std::vector<std::vector<double>> gradients;
  for (int k = 0; k < g.size.parameters; ++k)
    gradients.push_back(g.parameters[k].trainable() ? net.gradient(k) : std::vector<double>{});
  int checked = 0;
  int skipped = 0;
  for (int k = 0; k < g.size.parameters; ++k) {
    if (!g.parameters[k].trainable()) continue;
    long long const count = g.parameters[k].count();
    long long const numbers = std::min<long long>(count, q.numbers);
    for (long long i = 0; i < numbers; ++i) {
      long long const at = i * count / numbers;
      double const ours = gradients[static_cast<std::size_t>(k)][static_cast<std::size_t>(at)];
      std::optional<double> const theirs = net.derivative(net.parameter_data(k)[at]);
      ++checked;
      skipped += !theirs;
      if (!theirs) continue;
      INFO("parameter " << k << " (role " << static_cast<int>(g.parameters[k].role) << " of node "
                        << g.parameters[k].node << ", kind " << static_cast<int>(g.nodes[g.parameters[k].node].kind)
                        << ") number " << at);
      if (net.bias_is_cancelled(k)) CHECK(ours == 0.0);
      CHECK(ours == approx(*theirs).epsilon(1e-6).margin(2e-9));
    }
  }
  CHECK((checked > 0) == (trainable_parameter_count(g) > 0));
  CHECK(skipped <= checked / 100);
  checked_numbers += checked;
  skipped_numbers += skipped;
}

template <class... Layers>
void check_network(question const& q = {}) {
  constexpr detail::name text = detail::signature<types<Layers...>>();
  INFO(std::string(text.data, static_cast<std::size_t>(text.size)) << ", batch " << q.batch);
  check(network<Layers...>::view(), q);
}
/// Checks layers after a convolution, so that their own input has a gradient, and before a classifier.
template <class... Layers>
void through(question const& q = {}) {
  check_network<image<2, 5, 6>, conv2d<3, 2>, Layers..., flatten, dense<3>, softmax>(q);
}

template <int C>
struct sigmoid_of_mean : sequential<global_avg_pool2d, conv2d<C, 1>, sigmoid> {};

/// e^x, which declares that its derivative is its output.
struct exponential {
  static constexpr char const* name = "exponential";
  static constexpr operations::row facts = [] {
    operations::row r = operations::custom;
    r.reads[0] = operations::values::output;
    r.forward_in_place = r.gradient_in_place = true;
    return r;
  }();
  static constexpr shape output(shape in) { return in; }
  template <class T>
  static void forward(custom_call<T> const& c) {
    plain::for_each_channel(c.y, [&](int n, int k) {
      for (long long p = 0; p < c.y.shape.area(); ++p) c.y(n, k, p) = std::exp(c.x(n, k, p) / 4);
    });
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    plain::for_each_channel(c.dx, [&](int n, int k) {
      for (long long p = 0; p < c.dx.shape.area(); ++p)
        plain::add_to(c.dx(n, k, p), c.dy(n, k, p) * c.y(n, k, p) / 4, c.accumulate);
    });
  }
};

template <class F>
void alone_in_place_and_in_concat() {
  through<F>();                 // written over its input
  through<add<identity, F>>();  // not in place: the input has another reader
  through<sigmoid, F>();        // not in place: the backward pass of sigmoid reads its output
  through<concat<sequential<conv2d<2, 1>, F>, conv2d<1, 1>>>();
  through<concat<conv2d<1, 1>, F>, conv2d<2, 1>>();
  through<batch_norm<>, F>();
  through<concat<conv_module<2, 1, 1>, sequential<conv2d<2, 3>, F, batch_norm<>, F>>, F, conv2d<2, 1>>();
  check_network<image<2, 4, 3>, F, conv2d<2, 2>, F>({.loss = loss::mean_squared_error});
}

}  // namespace

TEST_CASE("gradients: losses of values", "[gradients]") {
  using enum loss;
  for (loss l : {mean_squared_error, mean_absolute_error, huber}) {
    INFO("loss " << static_cast<int>(l));
    question const q{.loss = l, .targets = target_kind::values};
    check_network<image<2, 5, 6>, conv2d<3, 2>, flatten, dense<3>>(q);
    check_network<image<2, 4, 3>, conv2d<2, 3>, dsl::tanh, conv2d<2, 2>>(q);  // a value per pixel
  }
  question const shares{.loss = binary_crossentropy, .targets = target_kind::values};
  check_network<image<2, 5, 6>, conv2d<3, 2>, flatten, dense<3>, sigmoid>(shares);      // from the logits
  check_network<image<2, 5, 6>, conv2d<3, 2>, sigmoid, conv2d<2, 1>, sigmoid>(shares);  // per pixel
  check_network<image<2, 5, 6>, conv2d<3, 2>, flatten, dense<3>, softmax>(shares);      // from the probabilities
}

TEST_CASE("gradients: conv2d", "[gradients]") {
  using enum padding;
  through<conv2d<4, 3>>();
  through<conv2d<4, 1>>();
  through<conv2d<4, 3, 3, 1, valid>>();
  through<conv2d<4, 3, 3, 2, same>>();
  through<conv2d<4, 3, 3, 2, valid>>();
  through<conv2d<4, 1, 1, 2>>();
  through<conv2d<4, 2, 2>>();  // a row of zeros after the last one
  through<conv2d<4, 1, 5>>();
  through<conv2d<4, 4, 1, 3>>();
  through<conv2d<4, 5, 6, 1, valid>>();  // to one pixel
  through<conv2d<2, 7, 7>>();            // larger than the picture
  through<conv2d<4, 3>, conv2d<2, 3>>({.batch = 1});
  check_network<image<1, 4, 4>, conv2d<2, 3>>({.loss = loss::mean_squared_error});  // ends the network
}

TEST_CASE("gradients: conv2d in groups", "[gradients]") {
  using enum padding;
  through<conv2d<4, 1>, conv2d<6, 3, 3, 1, same, 2>>();
  through<conv2d<4, 1>, conv2d<4, 3, 3, 1, same, 4>>();   // depthwise
  through<conv2d<3, 1>, conv2d<6, 2, 3, 2, valid, 3>>();  // two filters a channel
  through<conv2d<6, 1>, conv2d<3, 1, 1, 1, same, 3>>();
  through<conv2d<4, 1>, conv2d<4, 3, 3, 1, same, 2>, batch_norm<>, relu>();
  through<conv2d<4, 1>, concat<conv2d<4, 3, 3, 1, same, 4>, add<identity, conv2d<4, 3, 3, 1, same, 2>>>>();
}

TEST_CASE("gradients: batch_norm, with and without a cancelled bias in front", "[gradients]") {
  through<batch_norm<>>();
  through<batch_norm<0.9, 0.1>>();
  through<conv2d<3, 3>, batch_norm<>, conv2d<2, 1>>();
  through<conv2d<3, 3>, batch_norm<>, relu, conv2d<2, 1>>();
  through<batch_norm<>, add<identity, relu>>();          // relu is not fused
  through<conv2d<3, 1>, add<batch_norm<>, identity>>();  // the bias has another reader: not cancelled
  through<batch_norm<>, batch_norm<>, relu, relu>();
  through<conv2d<3, 1>, dropout<0.3>, batch_norm<>>();  // dropout between: not cancelled
  through<conv_module<3, 3, 3>>({.batch = 1});
  // no layer before it needs a gradient
  check_network<image<3, 4, 4>, batch_norm<>, relu, flatten, dense<3>, softmax>();
  check_network<features<6>, dense<5>, batch_norm<>, relu, dense<3>, softmax>({.batch = 5});
}

TEST_CASE("gradients: relu", "[gradients]") { alone_in_place_and_in_concat<relu>(); }
TEST_CASE("gradients: leaky_relu", "[gradients]") { alone_in_place_and_in_concat<leaky_relu<0.2>>(); }
TEST_CASE("gradients: elu", "[gradients]") { alone_in_place_and_in_concat<elu<0.7>>(); }
TEST_CASE("gradients: sigmoid", "[gradients]") { alone_in_place_and_in_concat<sigmoid>(); }
TEST_CASE("gradients: tanh", "[gradients]") { alone_in_place_and_in_concat<dsl::tanh>(); }
TEST_CASE("gradients: silu", "[gradients]") { alone_in_place_and_in_concat<silu>(); }
TEST_CASE("gradients: a user's own operation", "[gradients]") { alone_in_place_and_in_concat<elementwise<bump>>(); }
TEST_CASE("gradients: a user's own operation with facts of its own", "[gradients]") {
  alone_in_place_and_in_concat<custom<exponential>>();
  using plain_one = network<image<2, 5, 6>, conv2d<8, 2>, elementwise<bump>, flatten, dense<3>, softmax>;
  using stated = network<image<2, 5, 6>, conv2d<8, 2>, custom<exponential>, flatten, dense<3>, softmax>;
  CHECK(stated::training_bytes(64) < plain_one::training_bytes(64));  // written over its input, which no step keeps
}
TEST_CASE("gradients: dropout", "[gradients]") {
  alone_in_place_and_in_concat<dropout<0.4>>();
  through<dropout<0.0>>();
}

TEST_CASE("gradients: pools", "[gradients]") {
  through<max_pool2d<2>>();
  through<max_pool2d<3, 2>>();
  through<max_pool2d<3, 1>, max_pool2d<2, 1>>();
  through<relu, max_pool2d<2>>();
  through<avg_pool2d<2>>();
  through<avg_pool2d<3, 2>>();
  through<avg_pool2d<2, 1>, conv2d<2, 2>>();
  through<global_avg_pool2d>();
  through<conv_module<4, 3, 3>, global_avg_pool2d>();
  through<concat<max_pool2d<3, 2>, avg_pool2d<3, 2>, conv2d<2, 3, 3, 2, padding::valid>>>();  // added to a gradient
  // an argmax takes 2 bytes
  check_network<image<1, 18, 17>, conv2d<1, 1>, max_pool2d<17, 1>, flatten, dense<2>, softmax>();
}

TEST_CASE("gradients: dense, flatten and softmax", "[gradients]") {
  check_network<features<4>, dense<3>, softmax>();
  check_network<image<2, 4, 3>, conv2d<3, 3>, softmax2d, conv2d<2, 1>, flatten, dense<3>, softmax>();
  check_network<features<4>, dense<5>, dsl::tanh, dense<4>, dense<3>, softmax>({.batch = 1});
  check_network<features<4>, dense<5>, softmax, dense<3>, softmax>();  // in the middle
  check_network<features<4>, dense<5>, softmax, dense<4>, softmax>();
  check_network<features<4>, dense<5>, concat<softmax, identity, dense<2>>, dense<3>, softmax>();
  check_network<features<4>, dense<5>, add<dense<5>, identity, sequential<dense<3>, dense<5>>>, dense<2>, softmax>();
  check_network<image<2, 3, 2>, conv2d<2, 2>, concat<flatten, sequential<conv2d<1, 1>, flatten>>, dense<3>, softmax>();
}

TEST_CASE("gradients: concat", "[gradients]") {
  through<concat<conv2d<2, 1>, conv2d<3, 3>>, conv2d<2, 2>>();
  through<concat<conv2d<2, 1>, concat<conv_module<1, 1, 1>, conv2d<2, 3>>, max_pool2d<1>>, conv2d<2, 1>>();
  through<concat<concat<identity, relu>, concat<conv2d<1, 1>, identity>>, conv2d<2, 1>>();
  through<concat<identity, identity>, conv2d<2, 1>>();
  through<concat<identity, conv2d<2, 3>>, concat<identity, conv2d<2, 3>>, concat<identity, conv_module<2, 3, 3>>>();
  through<concat<conv_module<2, 1, 1>, conv_module<3, 3, 3>>, concat<conv_module<2, 1, 1>, conv_module<1, 3, 3>>>();
  check_network<image<2, 4, 4>, concat<identity, conv2d<2, 1>>, flatten, dense<2>, softmax>();  // the picture itself
}

TEST_CASE("gradients: add", "[gradients]") {
  through<add<identity, conv2d<3, 3>>>();
  through<add<identity, identity>, conv2d<2, 1>>();
  through<add<identity, sequential<conv_module<2, 1, 1>, conv2d<3, 3>, batch_norm<>>>, relu, conv2d<2, 3>>();
  through<add<conv2d<2, 3, 3, 2>, conv2d<2, 1, 1, 2>>, relu>();
  through<add<identity, add<identity, conv2d<3, 1>>, concat<conv2d<1, 1>, conv2d<2, 1>>>>();
}

TEST_CASE("gradients: tensors that taps name are the sum of their readers'", "[gradients]") {
  through<tap<"x">, conv2d<3, 3>, tap<"y">, relu, add<identity, from<"x">>, conv2d<3, 1>, add<identity, from<"y">>>();
  through<tap<"x">,
          channel_split<sequential<conv2d<1, 3>, tap<"p">>, sequential<add<identity, from<"p">>, dsl::tanh>,
                        add<identity, from<"p">>>,
          concat<identity, sequential<from<"x">, conv_module<2, 3, 3>>>, conv2d<2, 1>>();
  through<repeat<2, tap<"x">, conv2d<3, 3>, relu, multiply<identity, from<"x">>>>();
}

TEST_CASE("gradients: multiply", "[gradients]") {
  through<multiply<identity, conv2d<3, 3>>>();
  through<multiply<conv2d<3, 3>, identity>>();
  through<multiply<identity, identity>, conv2d<2, 1>>();  // both gradients are added up in one buffer
  through<multiply<identity, sequential<global_avg_pool2d, conv2d<2, 1>, relu, conv2d<3, 1>, sigmoid>>, conv2d<2, 2>>();
  through<multiply<conv2d<1, 1>, identity>>();                                     // one channel
  through<multiply<sequential<global_avg_pool2d, conv2d<1, 1>>, conv2d<2, 3>>>();  // one number
  // neither operand has the shape of the result
  through<multiply<conv2d<1, 3>, sequential<global_avg_pool2d, conv2d<4, 1>>>>();
  through<add<identity, multiply<identity, conv2d<1, 1>>>, multiply<relu, dsl::tanh>>();      // added to a gradient
  through<concat<conv2d<2, 1>, multiply<conv2d<2, 1>, sigmoid_of_mean<2>>>, conv2d<2, 1>>();  // into a slice
  through<batch_norm<>, multiply<relu, conv_module<1, 1, 1>>, batch_norm<>>();
  check_network<features<4>, multiply<dense<5>, sequential<dense<1>, dsl::tanh>>, dense<3>, softmax>();
  // one value per picture
  check_network<image<2, 4, 3>, multiply<identity, conv2d<2, 2>>>({.loss = loss::mean_squared_error});
}

TEST_CASE("gradients: layer_norm", "[gradients]") {
  alone_in_place_and_in_concat<layer_norm<>>();
  through<layer_norm<0.1>, layer_norm<>, relu>();
  through<add<layer_norm<>, identity>, layer_norm<>, conv2d<2, 1>>();
  check_network<image<3, 4, 4>, layer_norm<>, flatten, dense<3>, softmax>();  // no layer before it needs a gradient
  check_network<features<6>, dense<5>, layer_norm<>, dsl::tanh, dense<3>, softmax>({.batch = 1});
}

TEST_CASE("gradients: group_norm and local_response_norm", "[gradients]") {
  alone_in_place_and_in_concat<group_norm<1>>();
  through<group_norm<3, 1e-3>, dsl::tanh, group_norm<3>>();
  through<conv2d<6, 1>, group_norm<2>, group_norm<6, 0.1>, relu, conv2d<3, 1>>();
  through<conv2d<4, 1>, add<group_norm<2>, identity>, conv2d<2, 1>>();
  check_network<image<3, 4, 4>, group_norm<3>, flatten, dense<3>, softmax>();  // no layer before it needs a gradient
  check_network<features<6>, dense<6>, group_norm<2>, dsl::tanh, dense<3>, softmax>({.batch = 2});
  through<conv2d<7, 1>, local_response_norm<5, 0.5>, conv2d<3, 1>>();
  through<add<local_response_norm<3, 2.0, 0.5, 2.0>, identity>, concat<local_response_norm<7, 1.0>, identity>>();
}

TEST_CASE("gradients: upsample2d", "[gradients]") {
  using enum interpolation;
  through<upsample2d<2>, conv2d<2, 3>>();
  through<zero_pad2d<1, 0, 2, 3>, dsl::tanh, zero_pad2d<1>, max_pool2d<3, 2>>();
  through<concat<zero_pad2d<1>, zero_pad2d<0, 2, 2, 0>>, conv2d<2, 1>>();
  through<upsample2d<3, bilinear>, dsl::tanh>();
  through<concat<upsample2d<2>, upsample2d<2, bilinear>>, conv2d<2, 1>>();  // added to a gradient, written into slices
  through<global_avg_pool2d, upsample2d<4, bilinear>, conv2d<2, 3>>();      // of one pixel
  check_network<image<2, 3, 4>, conv2d<2, 1>, upsample2d<2, bilinear>>({.loss = loss::mean_squared_error});
}

TEST_CASE("gradients: channel_scale and stochastic_depth", "[gradients]") {
  alone_in_place_and_in_concat<channel_scale>();
  through<residual<unscaled_batch_norm<>, relu, constant_scale<0.5>>, unscaled_batch_norm<>>();
  alone_in_place_and_in_concat<stochastic_depth<0.3>>();
  through<residual<conv2d<3, 3>, gelu, channel_scale, stochastic_depth<0.5>>, conv2d<2, 1>>();
  through<frozen<channel_scale>, mish, channel_scale, softplus, gelu_tanh>();
  check_network<image<3, 4, 4>, channel_scale, flatten, dense<3>, softmax>();  // no layer before it needs a gradient
}

TEST_CASE("gradients: slices of channels, and their order", "[gradients]") {
  through<channel_slice<1, 2>, conv2d<2, 3>>();
  through<conv2d<6, 1>, channel_shuffle<3>, conv2d<4, 1, groups<2>>>();
  through<conv2d<4, 1>, channel_split<identity, conv2d<2, 3>>, channel_shuffle<2>>();
  through<conv2d<4, 1>, concat<channel_slice<0, 3>, channel_slice<2, 2>, identity>,
          dsl::tanh>();  // some channels twice
}

TEST_CASE("gradients: attention", "[gradients]") {
  question const q{.numbers = test::everything() ? 40 : 12};
  through<conv2d<12, 1>, attention<1>>(q);
  through<conv2d<12, 1>, attention<2>, conv2d<6, 1>, causal_attention<2>>(q);
  through<conv2d<12, 1>, causal_attention<4>, dsl::tanh>(q);
  through<add<sequential<conv2d<9, 1>, attention<3>>, sequential<conv2d<9, 1>, causal_attention<1>>>>(q);
  through<conv2d<12, 1>, concat<attention<2>, causal_attention<1>, identity>>(q);  // one gradient, three sums
  check_network<image<6, 3, 4>, attention<2>>({.loss = loss::mean_squared_error, .numbers = q.numbers});
}

TEST_CASE("gradients: operations with a fixture", "[gradients]") {
  question const q{.numbers = test::everything() ? 40 : 12};
  test::for_each_body<3>(
      [&]<op, class Body>(int) { [&]<class... Layers>(types<Layers...>) { through<Layers...>(q); }(Body{}); });
}

TEST_CASE("gradients: attention in windows", "[gradients]") {
  question const q{.numbers = test::everything() ? 40 : 12};
  auto const on = [&]<int Height, int Width, class... Layers>() {
    check_network<image<2, Height, Width>, conv2d<12, 1>, Layers..., flatten, dense<3>, softmax>(q);
  };
  on.operator()<4, 6, window_attention<2, 2>>();
  on.operator()<4, 6, window_attention<4, 2, 1>, dsl::tanh>();
  on.operator()<3, 6, window_attention<1, 3, 2, 16>, conv2d<6, 1>, grid_attention<2, 3>>();
  on.operator()<4, 4, concat<grid_attention<2, 2, 1>, window_attention<1, 4, 3>, attention<2>, identity>>();
  on.operator()<4, 4, frozen<window_attention<2, 2, 1>>, dsl::tanh>();
  using biases = sequential<pointwise_dense<3>, dsl::tanh, pointwise_dense<2, bias<false>>>;
  on.operator()<4, 6, bounded_window_attention<2, 2, 1, biases>>();
  on.operator()<3, 3, conv2d<6, 1>, bounded_window_attention<2, 3, 2, biases>>();
  on.operator()<4, 4, bounded_window_attention<2, 4, 0, frozen<biases>>, dsl::tanh>();
  on.operator()<
      4, 4, add<bounded_window_attention<1, 2, 0, conv2d<1, 1>>, bounded_window_attention<4, 2, 0, conv2d<4, 1>>>>();
  check_network<image<6, 2, 4>, window_attention<2, 2, 1>>({.loss = loss::mean_squared_error, .numbers = q.numbers});
}

TEST_CASE("gradients: two strides, and dilation", "[gradients]") {
  using enum padding;
  through<conv2d<4, 3, stride<2, 1>>, max_pool2d<2, stride<1, 2>>>();
  through<avg_pool2d<kernel<2, 1>>, conv2d<3, 2, stride<1, 3>, pad<1>>>();
  through<conv2d<4, 3, dilation<2>>, batch_norm<>, conv2d<2, 2, valid, dilation<1, 3>>>();
  through<add<conv2d<3, 3, pad<2>, dilation<2>>, conv2d<3, 3, pad<5>, dilation<5>>, identity>>();
  through<conv2d<4, 3, 2, 2, same, dilation<2, 1>>, dsl::tanh, conv2d<2, 1>>();
  through<conv2d<4, 3, groups<1>, dilation<1, 2>, stride<1, 2>, bias<false>>>();
  through<conv2d_transpose<3, 2, 3, stride<1, 2>, dilation<2, 1>, pad<1, 0>>, conv2d<2, 1>>();
}

TEST_CASE("gradients: tokens", "[gradients]") {
  through<class_token, pointwise_dense<4>>();
  through<position_embedding, dsl::tanh, position_embedding>();
  through<conv2d<3, 1>, class_token, position_embedding, token_slice<0>>();
  through<class_token, conv2d<9, 1>, attention<3>, token_slice<1, 5>, dsl::tanh, token_slice<2, 3>>();
  through<concat<token_slice<0, 4>, token_slice<5, 4>>, frozen<class_token, position_embedding>, conv2d<2, 1>>();
  alone_in_place_and_in_concat<position_embedding>();
  check_network<image<3, 2, 4>, class_token, position_embedding, token_slice<0>, dense<3>, softmax>();
}

TEST_CASE("gradients: sequences", "[gradients]") {
  check_network<sequence<2, 17>, conv1d<3, 4, causal, dilation<2>>, dsl::tanh, max_pool1d<3, 2, pad<1>>,
                conv1d<4, 3, 2>, avg_pool1d<2>, flatten, dense<3>, softmax>();
  check_network<sequence<4, 9>, conv1d<4, 5, groups<2>>, batch_norm<>, dsl::tanh, conv1d<3, kernel<3>, pad<0, 2, 0, 0>>,
                global_avg_pool1d, dense<3>, softmax>();
}

TEST_CASE("gradients: recurrent layers", "[gradients]") {
  check_network<sequence<3, 6>, conv1d<3, 1>, lstm<4>, dsl::tanh, flatten, dense<3>, softmax>();
  check_network<sequence<3, 6>, conv1d<3, 1>, gru<4>, flatten, dense<3>, softmax>();
  check_network<sequence<2, 5>, conv1d<4, 3>, lstm<3>, gru<5>, lstm<4, last_step>, dense<3>, softmax>();
  check_network<sequence<2, 4>, conv1d<3, 1>, concat<gru<2>, identity, lstm<3>>, gru<3, last_step>, dense<3>,
                softmax>();
  check_network<sequence<2, 4>, conv1d<3, 1>, frozen<lstm<3>>, gru<3>>({.loss = loss::mean_squared_error});
}

TEST_CASE("gradients: embedding", "[gradients]") {
  check_network<token_numbers<7>, embedding<4, 3>, flatten, dense<3>, softmax>();
  check_network<token_numbers<7>, embedding<30, 2>, dsl::tanh, flatten, dense<3>, softmax>();  // most tokens are absent
  check_network<image<1, 3, 4>, concat<embedding<5, 3>, sequential<embedding<8, 2>, dsl::tanh>>, conv2d<2, 1>, flatten,
                dense<3>, softmax>();
  check_network<token_numbers<5>, embedding<6, 4>, position_embedding, pointwise_dense<12>, causal_attention<2>,
                token_slice<4>, dense<3>, softmax>({.batch = 2});
  check_network<token_numbers<5>, frozen<embedding<6, 4>>, pointwise_dense<2>, flatten, dense<3>, softmax>();
  check_network<token_numbers<3>, embedding<4, 2>>({.loss = loss::mean_squared_error});  // ends the network
}

TEST_CASE("gradients: conv2d_transpose", "[gradients]") {
  through<conv2d_transpose<4, 2, stride<2>>, conv2d<2, 3>>();
  through<conv2d_transpose<3, 3, 2, stride<2>, pad<1, 0>, bias<false>>, dsl::tanh>();
  through<conv2d<4, 1>, conv2d_transpose<6, 3, stride<3>, pad<2, 1, 0, 0>, groups<2>>, conv2d<2, 1>>();
  through<add<conv2d_transpose<3, 3, pad<1>>, identity>, batch_norm<>>();  // added to a gradient
  through<concat<conv2d_transpose<2, 1>, identity>, conv2d_transpose<2, 1, bias<false>>>();
  check_network<image<2, 3, 4>, conv2d_transpose<2, 2>>({.loss = loss::mean_squared_error});
}

TEST_CASE("upsample2d and the order of channels: numbers by hand", "[gradients]") {
  auto const predicted = [](graph_view const& g, std::vector<float> const& x) {
    trainer t(reference<float>{}.make_engine(g, {.loss = loss::mean_squared_error}), 0.1);
    std::vector<float> y(static_cast<std::size_t>(g.tensors[g.size.tensors - 1].shape.size()));
    t.predict_on_batch(x.data(), 1, y.data());
    return y;
  };
  using wanted = std::vector<float>;
  wanted const six{0, 1, 2, 3, 4, 5};
  CHECK(predicted(network<image<6, 1, 1>, channel_shuffle<2>>::view(), six) == wanted{0, 3, 1, 4, 2, 5});
  CHECK(predicted(network<image<6, 1, 1>, channel_shuffle<3>>::view(), six) == wanted{0, 2, 4, 1, 3, 5});
  CHECK(predicted(network<image<3, 1, 2>, channel_slice<1, 2>>::view(), six) == wanted{2, 3, 4, 5});
  // Queries 0 and 1, keys 2 and 3, values 4 and 5: the second query's weights are 1 / (1 + e) and e / (1 + e).
  std::vector<float> const both = predicted(network<image<3, 1, 2>, attention<1>>::view(), six);
  std::vector<float> const causal = predicted(network<image<3, 1, 2>, causal_attention<1>>::view(), six);
  float const second = 4 + std::exp(1.F) / (1 + std::exp(1.F));
  CHECK(std::abs(both[0] - 4.5F) < 1e-6F);
  CHECK(std::abs(both[1] - second) < 1e-6F);
  CHECK(causal[0] == 4);
  CHECK(std::abs(causal[1] - second) < 1e-6F);
  // The results of PyTorch's nn.Upsample(scale_factor=2) for [[1, 2], [5, 9]], with mode nearest and bilinear.
  auto const upsampled = [&](graph_view const& g) { return predicted(g, {1, 2, 5, 9}); };
  CHECK(upsampled(network<image<1, 2, 2>, upsample2d<2>>::view()) ==
        wanted{1, 1, 2, 2, 1, 1, 2, 2, 5, 5, 9, 9, 5, 5, 9, 9});
  CHECK(upsampled(network<image<1, 2, 2>, upsample2d<2, interpolation::bilinear>>::view()) ==
        wanted{1, 1.25F, 1.75F, 2, 2, 2.4375F, 3.3125F, 3.75F, 4, 4.8125F, 6.4375F, 7.25F, 5, 6, 8, 9});
}

TEST_CASE("zero_pad2d: numbers by hand, and zeros that are the maximum", "[gradients]") {
  std::vector<float> const x{-1, -2, -5, 3};
  auto const predicted = [&](graph_view const& g) {
    trainer t(reference<float>{}.make_engine(g, {.loss = loss::mean_squared_error}), 0.1);
    std::vector<float> y(static_cast<std::size_t>(g.tensors[g.size.tensors - 1].shape.size()));
    t.predict_on_batch(x.data(), 1, y.data());
    return y;
  };
  using wanted = std::vector<float>;
  CHECK(predicted(network<image<1, 2, 2>, zero_pad2d<1, 0, 0, 2>>::view()) ==
        wanted{0, 0, 0, 0, -1, -2, 0, 0, -5, 3, 0, 0});
  CHECK(predicted(network<image<1, 2, 2>, zero_pad2d<1>, max_pool2d<3, 1>>::view()) == wanted{3, 3, 3, 3});
  CHECK(predicted(network<image<1, 2, 2>, zero_pad2d<1>, max_pool2d<2>>::view()) == wanted{0, 0, 0, 3});
  CHECK(predicted(network<image<1, 2, 2>, max_pool2d<2, pad<1>>>::view()) == wanted{-1, -2, -5, 3});
}

TEST_CASE("constants are not trained: the other weights are those of a network in which they are weights",
          "[gradients]") {
  using constant = network<image<2, 3, 4>, conv2d<3, 1>, unscaled_batch_norm<>, relu, flatten, dense<3>, softmax>;
  using learnt = network<image<2, 3, 4>, conv2d<3, 1>, batch_norm<>, relu, flatten, dense<3>, softmax>;
  static_assert(learnt::trainable_parameter_count - constant::trainable_parameter_count == 3);
  auto const trained = [](graph_view const& g, int steps) {
    trainer t(reference<float>{}.make_engine(
                  g, {.seed = 3, .update = adamw{.learning_rate = 0.1, .weight_decay = 0.1}.rule()}),
              0.1);
    initialize(t.engine(), 3);
    std::vector<float> x(2 * 24);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
    std::int32_t const classes[] = {0, 2};
    for (int i = 0; i < steps; ++i) t.train_on_batch(x.data(), classes, 2);
    std::vector<std::vector<float>> all;
    for (int k = 0; k < g.size.parameters; ++k) {
      all.emplace_back(static_cast<std::size_t>(g.parameters[k].count()));
      t.engine().read_parameter(k, all.back().data());
    }
    return all;
  };
  std::vector<float> const ones(3, 1);
  CHECK(trained(constant::view(), 5)[2] == ones);
  auto const one = trained(constant::view(), 1), other = trained(learnt::view(), 1);
  CHECK(other[2] != ones);
  for (std::size_t k = 0; k < one.size(); ++k)
    if (k != 2) CHECK(one[k] == other[k]);
  CHECK(trained(constant::view(), 1)[3] != trained(constant::view(), 0)[3]);
}

TEST_CASE("attention: its definition, with heads of 70 channels and with scores whose e^score is infinite",
          "[gradients]") {
  constexpr int heads = 2, width = 70, channels = heads * width, tokens = 5;
  using seeing_all = network<image<3 * channels, 1, tokens>, attention<heads>>;
  using seeing_before = network<image<3 * channels, 1, tokens>, causal_attention<heads>>;
  for (float const factor : {1.F, 40.F}) {
    std::vector<float> x(static_cast<std::size_t>(3 * channels * tokens));
    dice d(7);
    for (float& number : x) number = factor * (static_cast<float>(d.below(20001)) / 10000 - 1);
    auto const at = [&](int part, int channel, int token) {
      return static_cast<double>(x[static_cast<std::size_t>((part * channels + channel) * tokens + token)]);
    };
    double steepest = 0;
    for (bool causal : {false, true}) {
      INFO("factor " << factor << ", causal " << causal);
      trainer t(reference<float>{}.make_engine(causal ? seeing_before::view() : seeing_all::view(),
                                               {.loss = loss::mean_squared_error}),
                0.1);
      std::vector<float> y(static_cast<std::size_t>(channels * tokens));
      t.predict_on_batch(x.data(), 1, y.data());
      double worst = 0;
      for (int c = 0; c < channels; ++c)
        for (int i = 0; i < tokens; ++i) {
          std::vector<double> scores;
          for (int j = 0; j < (causal ? i + 1 : tokens); ++j) {
            double dot = 0;
            for (int k = 0; k < width; ++k) dot += at(0, c / width * width + k, i) * at(1, c / width * width + k, j);
            scores.push_back(dot / std::sqrt(static_cast<double>(width)));
          }
          double const largest = *std::max_element(scores.begin(), scores.end());
          steepest = std::max(steepest, largest - scores[0]);
          double sum = 0, weighted = 0;
          for (int j = 0; j < static_cast<int>(scores.size()); ++j) {
            double const weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
            sum += weight, weighted += weight * at(2, c, j);
          }
          worst = test::larger(
              worst, std::abs(static_cast<double>(y[static_cast<std::size_t>(c * tokens + i)]) - weighted / sum));
        }
      // both compute in double; the result is rounded to float once, by 2^-24 of at most `factor`
      CHECK(worst <= std::ldexp(static_cast<double>(factor), -23));
    }
    CHECK((steepest > 710) == (factor > 1));
  }
}

TEST_CASE("gradients: both losses, with and without a softmax before them", "[gradients]") {
  for (loss l : {loss::categorical_crossentropy, loss::mean_squared_error}) {
    check_network<features<4>, dense<5>, dsl::tanh, dense<3>, softmax>({.loss = l});
    check_network<features<4>, dense<5>, dsl::tanh, dense<3>, sigmoid>({.loss = l});
    check_network<image<2, 3, 3>, conv2d<2, 2>, sigmoid>({.loss = l, .batch = 2});
  }
}

TEST_CASE("gradients: a small inception network of all three modules", "[gradients]") {
  check_network<image<3, 12, 12>, conv_module<6, 3, 3>, inception_module<4, 4>, inception_module<3, 5>,
                downsample_module<4>, inception_module<5, 3>, downsample_module<3>, avg_pool2d<2>, dropout<0.5>,
                flatten, dense<4>, softmax>({.batch = 4,
                                             .numbers = test::everything()      ? 16
                                                        : test::only_a_sample() ? 2
                                                                                : 6});
}

TEST_CASE("gradients: networks that nobody would write", "[gradients]") {
  for (std::uint64_t seed = 0; seed < (test::only_a_sample() ? 12U : 60U); ++seed) {
    dice d(seed);
    random_network const g(d, 4, seed % 2 == 0);
    INFO("random network " << seed);
    check(g.view(), {.loss = g.ends_in_softmax() ? loss::categorical_crossentropy : loss::mean_squared_error,
                     .batch = d.between(1, 4),
                     .numbers = 6,
                     .seed = seed});
  }
}

TEST_CASE("gradients: few numbers lay at a kink", "[gradients]") {
  WARN(skipped_numbers << " of " << checked_numbers << " numbers skipped at a kink of relu or max_pool2d");
  if (!test::only_a_sample()) CHECK(skipped_numbers <= checked_numbers / 100);
}

TEST_CASE("a step with learning rate 0 changes running statistics and nothing else", "[gradients]") {
  using model = network<image<2, 5, 5>, conv_module<3, 3, 3>, flatten, dense<3>, softmax>;
  for (double momentum : {0.0, 0.9}) {
    auto const e = reference<double>{}.make_engine(model::view(), {.update = {.momentum = momentum}});
    initialize(*e, 3);
    auto& host = dynamic_cast<host::engine<double>&>(*e);
    auto const all = [&] {
      std::vector<std::vector<double>> numbers;
      for (int k = 0; k < e->graph().size.parameters; ++k)
        numbers.emplace_back(host.parameter_data(k), host.parameter_data(k) + e->graph().parameters[k].count());
      return numbers;
    };
    auto const before = all();
    int const program = e->prepare(mode::training, 2);
    std::vector<float> pictures(2 * 2 * 5 * 5);
    for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<float>(i % 7) - 3;
    std::int32_t const labels[] = {0, 2};
    e->run(program, test::one_batch{pictures.data(), {labels}, 2, 0, 0.0});
    auto const after = all();
    for (std::size_t k = 0; k < before.size(); ++k) {
      parameter const& p = e->graph().parameters[k];
      INFO("parameter " << k);
      CHECK((before[k] == after[k]) == p.trainable());
      if (!p.trainable()) continue;
      if (p.role == role::kernel) CHECK(host.parameter_gradient_data(static_cast<int>(k))[0] != 0);
      if (momentum > 0)
        for (long long i = 0; i < p.count(); ++i) CHECK(host.slot_data(0, static_cast<int>(k))[i] == 0);
    }
  }
}
