// SPDX-License-Identifier: MIT
#pragma once

#include "support/one_batch.hpp"
#include "support/random_graph.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/binding.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Compares every step of an executor in channel blocks with the plain loops of `reference` in double, tensor by tensor.
// Who includes this defines make_checked().
namespace dsl::test {

struct setup {
  int block = 16;
  bool winograd = false;
  int threads = 0;
};

/// Returns the engine to check, whose state must be in host memory.
std::unique_ptr<dsl::engine> make_checked(graph_view const& g, engine_options const& o, setup const& c);

/// The largest difference so far, relative to the largest number of its tensor, and its place.
struct difference {
  double size = 0;
  std::string where = "nowhere";
  /// Only the largest of millions is described.
  template <class Words>
  void take(double d, Words const& at) {
    if (!(d <= size)) size = std::isnan(d) ? HUGE_VAL : d, where = at();
  }
};

using numbers = std::vector<double>;

inline double largest(numbers const& v) {
  double all = 0;
  for (double x : v) all = std::max(all, std::abs(x));
  return all;
}

/// Values by kind and number. A tensor that is all rounding (a gradient that cancels) is compared relative to a tenth
/// of the largest of its kind.
struct values {
  std::map<std::pair<int, int>, numbers> of;

  void compare(values const& ours, char const* const kinds[], difference& d) const {
    std::map<int, double> scale;
    for (auto const& [key, v] : of) scale[key.first] = std::max(scale[key.first], largest(v));
    for (auto const& [key, v] : of) {
      auto const other = ours.of.find(key);
      if (other == ours.of.end()) continue;  // a copy that only one layout needs
      double const unit = std::max({largest(v), 0.1 * scale[key.first], 1e-30});
      if (v.size() != other->second.size()) {
        d.take(HUGE_VAL, [] { return "sizes"; });
        continue;
      }
      for (std::size_t i = 0; i < v.size(); ++i)
        d.take(std::abs(v[i] - other->second[i]) / unit, [&] {
          return std::string(kinds[key.first]) + " " + std::to_string(key.second) + " number " + std::to_string(i) +
                 ": " + std::to_string(v[i]) + ", here " + std::to_string(other->second[i]);
        });
    }
  }
};

/// One of the two engines, with a batch.
template <class T>
class side {
 public:
  side(std::unique_ptr<dsl::engine> e, int batch)
      : batch_(batch), engine_(std::move(e)), host_(dynamic_cast<host::engine<T>&>(*engine_)) {}

  dsl::engine& engine() { return *engine_; }
  graph_view const& graph() const { return engine_->graph(); }

  /// Fills all memory of a step with NaN first: unused places of a channel block must be written or not matter.
  void run(mode m, batch_view const& b) {
    int const program = engine_->prepare(m, batch_);
    poison(program);
    engine_->run(program, b);
  }
  /// Runs the last batch again, step by step, and records every tensor when a step reads it.
  values replay(mode m) {
    int const program = engine_->prepare(m, batch_);
    poison(program);
    values all;
    host::program<T> const& p = host_.prepared(program);
    for (int s = 0; s < p.plan.steps.size(); ++s) {
      record(p, p.plan.steps[s], all);
      host_.run_step(program, s);
    }
    return all;
  }
  values state() {
    values all;
    batch_metrics const m = engine_->metrics(engine_->prepare(mode::training, batch_));
    all.of[{4, 0}] = {m.loss};
    all.of[{5, 0}] = {m.correct};
    for (int k = 0; k < graph().size.parameters; ++k) {
      parameter const& p = graph().parameters[k];
      auto const from = [&](T const* x) { return numbers(x, x + p.count()); };
      all.of[{p.trainable() ? 0 : 3, k}] = from(host_.parameter_data(k));
      if (!p.trainable()) continue;
      all.of[{1, k}] = from(host_.parameter_gradient_data(k));
      if (engine_->options().update.slots() > 0) all.of[{2, k}] = from(host_.slot_data(0, k));
    }
    return all;
  }
  values outcome(batch_view const& b) {
    values all;
    run(mode::evaluation, b);
    batch_metrics const m = engine_->metrics(engine_->prepare(mode::evaluation, batch_));
    all.of[{0, 0}] = {m.loss};
    all.of[{1, 0}] = {m.correct};
    run(mode::inference, b);
    std::vector<float> result(static_cast<std::size_t>(batch_ * graph().shape_of(graph().result()).size()));
    engine_->read_result(engine_->prepare(mode::inference, batch_), result.data());
    all.of[{2, 0}] = numbers(result.begin(), result.end());
    return all;
  }

 private:
  void poison(int program) {
    host::program<T> const& p = host_.prepared(program);
    std::memset(p.activations->data(), 0xff, static_cast<std::size_t>(p.activations->bytes()));
  }
  void record(host::program<T> const& p, step const& s, values& all) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      bool const tensor = o.what == content::activation || o.what == content::gradient;
      bool const slice = s.what == action::copy_backward && s.kind == op::concat;
      if (!tensor || o.how != access::read || slice) continue;
      buffer const& b = p.plan.buffers[o.buffer];
      shape const& x = graph().shape_of(o.index);
      view<T const> const v{reinterpret_cast<T const*>(p.activations->data() + b.offset),     x,        batch_, b.block,
                            static_cast<int>(padded_channels(b) * b.shape.area() / x.area()), o.channel};
      numbers& to = all.of[{static_cast<int>(o.what), o.index}];
      to.clear();
      plain::for_each_channel(v, [&](int n, int c) {
        for (long long at = 0; at < x.area(); ++at) to.push_back(static_cast<double>(v(n, c, at)));
      });
    }
  }

  int batch_;
  std::unique_ptr<dsl::engine> engine_;
  host::engine<T>& host_;
};

/// Runs three training steps of both executors from the same parameters and pictures; between them an evaluation and an
/// inference, which must not reuse kernels packed for training.
inline difference compare(graph_view const& g, int batch, engine_options const& o, setup const& c, std::uint64_t seed) {
  side<double> theirs(reference<double>{}.make_engine(g, o), batch);
  side<float> ours(make_checked(g, o, c), batch);
  dice d(seed);
  auto const uniform = [&](double width) { return static_cast<float>(width * (d.below(1 << 20) * 0x1p-19 - 1)); };
  std::vector<float> x;
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    double const width = p.role == role::kernel ? std::sqrt(3.0 * p.dims[0] / static_cast<double>(p.count())) : 0.5;
    float const middle = p.role == role::gamma || p.role == role::moving_variance ? 1.0F : 0.0F;
    x.resize(static_cast<std::size_t>(p.count()));
    for (float& v : x) v = middle + uniform(width);
    theirs.engine().write_parameter(k, x.data());
    ours.engine().write_parameter(k, x.data());
  }
  x.resize(static_cast<std::size_t>(batch * g.shape_of(0).size()));
  int const vocabulary = vocabulary_of(g, 0);
  for (float& v : x) v = vocabulary > 0 ? static_cast<float>(d.below(vocabulary)) : uniform(1);
  std::vector<std::int32_t> labels;
  for (int n = 0; n < batch; ++n) labels.push_back(d.below(static_cast<int>(g.shape_of(g.result()).size())));
  // A small rate: a loss of 1e-5 has gradients that are all rounding.
  dsl::test::one_batch const pictures{x.data(), {labels.data()}, batch, 3, 1e-3};

  char const* const tensors[] = {"activation", "gradient of activation"};
  char const* const states[] = {"parameter", "gradient of parameter", "slot of parameter", "running statistic",
                                "loss",      "right answers"};
  char const* const outcomes[] = {"evaluated loss", "evaluated right answers", "result"};
  difference worst;
  auto const train = [&] {
    theirs.run(mode::training, pictures);
    ours.run(mode::training, pictures);
    theirs.state().compare(ours.state(), states, worst);
  };
  train();
  theirs.replay(mode::training).compare(ours.replay(mode::training), tensors, worst);
  theirs.state().compare(ours.state(), states, worst);
  theirs.outcome(pictures).compare(ours.outcome(pictures), outcomes, worst);
  for (mode m : {mode::evaluation, mode::inference}) theirs.replay(m).compare(ours.replay(m), tensors, worst);
  train();
  return worst;
}

/// Returns the number of additions behind one number of a training step: the terms of each node's sums, forward and
/// backward.
inline double additions(graph_view const& g, int batch) {
  double all = 0;
  for (int i = 0; i < g.size.nodes; ++i) {
    node const& n = g.nodes[i];
    double const pixels = batch * static_cast<double>(g.shape_of(n.output).area());
    int const* const d = n.parameters > 0 ? g.parameters[n.first_parameter].dims : nullptr;
    switch (n.kind) {
      case op::conv2d: all += (d[0] + d[1]) * d[2] * d[3] + pixels; break;
      case op::conv2d_transpose: all += (d[0] + d[1]) * d[2] * d[3] + pixels; break;
      case op::dense: all += d[0] + d[1] + batch; break;
      case op::batch_norm: all += 4 * pixels; break;  // mean, variance and the two sums of its backward pass
      case op::channel_scale: all += pixels; break;
      case op::group_norm: all += 4 * d[0] / n.groups * pixels; break;
      case op::local_response_norm: all += 4 * n.groups; break;
      case op::attention:
      case op::causal_attention:  // scores, weights and what they weigh, forward and backward
        all += 4.0 * g.shape_of(n.output).channels / n.groups + 6.0 * static_cast<double>(g.shape_of(n.output).area());
        break;
      case op::bounded_window_attention:
      case op::window_attention: {  // as attention; and the biases' gradients, one a pair of tokens
        double const tokens = 1.0 * n.window.height * n.window.width;
        all += 4.0 * g.shape_of(n.output).channels / n.groups + 7 * tokens + pixels;
        break;
      }
      case op::lstm:
      case op::gru:  // gates at each place, whose errors the places after it pass on, and sums over all places
        all += (d[0] + d[1] + g.shape_of(n.output).channels) * static_cast<double>(g.input_shape(n).area()) +
               batch * static_cast<double>(g.input_shape(n).area());
        break;
      case op::embedding: all += pixels; break;  // at most, if all tokens are the same
      case op::class_token:
      case op::position_embedding: all += batch; break;
      case op::max_pool2d:
      case op::avg_pool2d: all += 2 * n.window.height * n.window.width; break;
      default: all += n.parameters > 0 ? 4 * g.shape_of(n.output).channels + pixels : 2 * n.inputs; break;
    }
  }
  return all;
}

/// Returns how much larger rounding may be than for numbers of the size of their sums. Two layers turn rounding into
/// numbers, which a batch_norm then multiplies by 1 / sqrt(epsilon): a batch_norm of a single value, whose gradient is
/// zero, and a layer_norm over a single channel, or a group_norm over a single number, whose outputs are all equal.
inline double amplification(graph_view const& g, int batch) {
  double most = 1;
  bool constant = false;
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    constant = constant || (x.kind == op::layer_norm && g.output_shape(x).channels == 1) ||
               (x.kind == op::group_norm && g.output_shape(x).size() == x.groups);
    if (x.kind == op::batch_norm && !x.frozen && (constant || batch * g.output_shape(x).area() == 1))
      most = std::max(most, 1 / std::sqrt(x.epsilon));
  }
  return most;
}

/// Returns how far float may be from double. Each addition rounds by 2^-24, and n of them by sqrt(n) times as much;
/// batch_norm subtracts a mean with such an error and divides by a deviation of at least sqrt(epsilon), here 1/32.
/// Winograd's transforms lose two more digits than direct convolutions.
inline double tolerance(graph_view const& g, int batch, setup const& c) {
  return (c.winograd ? 1e-3 : 0x1p-24 * std::sqrt(additions(g, batch)) * 2 * 32) * amplification(g, batch);
}

}  // namespace dsl::test
