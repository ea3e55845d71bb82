// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/symbolic_arithmetic.hpp"

// Executes the graph itself, without a plan, with the hashes of symbolic_executor.hpp for numbers. Which values a
// gradient needs is in the operation's row, which operations_test.cpp compares with the loops.

namespace dsl::test::symbolic {

/// Runs one training step, evaluation or inference as the graph defines it, micro-batch by micro-batch, with every
/// value in a list of its own.
class interpreter {
 public:
  interpreter(graph_view const& g, plan_options const& o) : g_(g), o_(o), training_(o.mode == mode::training) {}

  outcome run() {
    for (int k = 0; k < g_.size.parameters; ++k) {
      numbers v(static_cast<std::size_t>(g_.parameters[k].count()));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = initial_parameter(k, i);
      parameters_.push_back(v);
      gradients_of_parameters_.emplace_back(v.size());
    }
    readers_.resize(static_cast<std::size_t>(g_.size.tensors));
    for (int e = 0; e < g_.size.edges; ++e) ++readers_[static_cast<std::size_t>(g_.edges[e])];
    outcome result;
    int const parts = o_.batch < o_.micro_batches ? 1 : o_.micro_batches;
    for (int m = 0; m < parts; ++m) {
      part_ = samples(o_, m);
      batch_ = part_.size;
      for (auto* v : {&values_, &gradients_, &statistics_}) v->assign(static_cast<std::size_t>(g_.size.nodes), {});
      for (int n = 0; n < g_.size.nodes; ++n) forward(n);
      if (o_.mode != mode::inference) add_losses();
      for (int n = g_.size.nodes - 1; training_ && n > 0; --n) backward(n);
      for (int const n : outputs_of(g_)) {
        numbers const& y = value(g_.nodes[n].output);
        if (!training_) result.result.insert(result.result.end(), y.begin(), y.end());
      }
    }
    for (numbers const& own : metrics_) result.metrics.insert(result.metrics.end(), own.begin(), own.end());
    if (training_)
      update(result);
    else
      result.parameters = parameters_;
    return result;
  }

 private:
  numbers& value(int t) { return values_[static_cast<std::size_t>(t)]; }
  numbers& parameter(int k) { return parameters_[static_cast<std::size_t>(k)]; }

  /// Whether a node's bias only affects the running mean: in training that of a convolution that only a batch_norm
  /// reads.
  bool cancelled(int n) const {
    node const& x = g_.nodes[n];
    if (!training_ || x.kind != op::conv2d || x.parameters < 2 || readers_[static_cast<std::size_t>(x.output)] != 1)
      return false;
    for (int m = 0; m < g_.size.nodes; ++m)
      if (g_.nodes[m].kind == op::batch_norm && !g_.nodes[m].frozen && g_.input(g_.nodes[m]) == x.output) return true;
    return false;
  }

  void forward(int n) {
    node const& x = g_.nodes[n];
    number const what = attributes(g_, n);
    long long const size = g_.output_shape(x).size();
    numbers& y = value(x.output);
    numbers const* in = x.inputs > 0 ? &value(g_.input(x)) : nullptr;
    int const k = x.first_parameter;
    switch (x.kind) {
      case op::input: y = picture(size, part_); break;
      case op::conv2d:
      case op::conv2d_transpose:
      case op::dense: {
        number const kernel = digest(parameter(k));
        y = by_sample(what, {in}, x.parameters < 2 || cancelled(n) ? kernel : mix(kernel, digest(parameter(k + 1))),
                      batch_, size);
        break;
      }
      case op::batch_norm: {
        shape const& s = g_.output_shape(x);
        if (!training_ || x.frozen) {
          y = normalise(what, *in, parameter(k + 2), parameter(k + 3), 0, parameter(k), parameter(k + 1), s);
          break;
        }
        numbers& now = statistics_[static_cast<std::size_t>(n)];
        now = statistics_of(what, *in, batch_, s);
        int const before = g_.tensors[g_.input(x)].producer;
        numbers const* bias = cancelled(before) ? &parameter(g_.nodes[before].first_parameter + 1) : nullptr;
        y = normalise(what, *in, now, now, now.size() / 2, parameter(k), parameter(k + 1), s);
        parameter(k + 2) = running(parameter(k + 2), now, 0, bias);
        parameter(k + 3) = running(parameter(k + 3), now, now.size() / 2, nullptr);
        break;
      }
      case op::activation: y = elementwise(what, *in, nullptr); break;
      case op::stochastic_depth:
      case op::dropout: y = training_ ? elementwise(what, *in, nullptr, part_.elements_before(size)) : *in; break;
      case op::transfer:
      case op::flatten: y = *in; break;
      case op::add:
        y.resize(in->size());
        for (int i = 0; i < x.inputs; ++i)
          for (std::size_t e = 0; e < y.size(); ++e) y[e] += value(g_.input(x, i))[e];
        break;
      case op::concat:
        for (int s = 0; s < batch_; ++s)
          for (int i = 0; i < x.inputs; ++i) {
            numbers const& part = value(g_.input(x, i));
            auto const each = static_cast<std::ptrdiff_t>(g_.input_shape(x, i).size());
            y.insert(y.end(), part.begin() + s * each, part.begin() + (s + 1) * each);
          }
        break;
      default: {  // any other: a sample of all operands, by all parameters
        std::vector<numbers const*> all;
        for (int i = 0; i < x.inputs; ++i) all.push_back(&value(g_.input(x, i)));
        number weights = 0;
        for (int i = 0; i < x.parameters; ++i) weights = mix(weights, digest(parameter(k + i)));
        y = by_sample(what, all, weights, batch_, size);
      }
    }
  }

  /// Whether node n is an output whose loss has the gradient of the logits.
  bool is_from_logits(int n) const {
    std::vector<int> const outputs = outputs_of(g_);
    auto const k = std::find(outputs.begin(), outputs.end(), n);
    return k != outputs.end() && o_.loss[static_cast<int>(k - outputs.begin())] == loss::categorical_crossentropy &&
           g_.nodes[n].kind == op::softmax && readers_[static_cast<std::size_t>(g_.nodes[n].output)] == 0;
  }
  void add_losses() {
    std::vector<int> const outputs = outputs_of(g_);
    long long const all = all_targets(g_, o_);
    numbers const every = labels(part_, all);
    metrics_.resize(outputs.size());
    long long before = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      long long const each = targets_of(g_, o_, k);
      numbers l;
      for (std::ptrdiff_t s = 0; s < batch_; ++s)
        l.insert(l.end(), every.begin() + s * all + before, every.begin() + s * all + before + each);
      if (!o_.targets.is_shared()) before += each;
      node const& x = g_.nodes[outputs[k]];
      number const what = mix(static_cast<number>(o_.loss[static_cast<int>(k)]), static_cast<number>(x.kind));
      numbers const& y = value(x.output);
      add(metrics_[k], by_batch(what, {&y, &l}, 2));
      if (training_)
        contribute(is_from_logits(outputs[k]) ? g_.input(x) : x.output,
                   by_sample(mix(what, 1), {&y, &l}, 0, batch_, g_.output_shape(x).size()));
    }
  }

  static void add(numbers& to, numbers const& more) {
    to.resize(more.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
  }
  void contribute(int t, numbers const& more) { add(gradients_[static_cast<std::size_t>(t)], more); }
  void backward(int n) {
    node const& x = g_.nodes[n];
    if (is_from_logits(n)) return;
    number const what = mix(attributes(g_, n), seed_gradient);
    numbers const& dy = gradients_[static_cast<std::size_t>(x.output)];
    int const in = g_.input(x);
    numbers const& v = value(in);
    long long const size = g_.shape_of(in).size();
    int const k = x.first_parameter;
    switch (x.kind) {
      case op::conv2d:
      case op::conv2d_transpose:
      case op::dense:
        add(gradient(k), by_batch(what, {&v, &dy}, g_.parameters[k].count()));
        if (x.parameters > 1 && !cancelled(n))
          add(gradient(k + 1), by_batch(mix(what, 1), {&dy}, g_.parameters[k + 1].count()));
        return contribute(in, by_sample(what, {&dy}, digest(parameter(k)), batch_, size));
      case op::batch_norm: {
        if (x.frozen)
          return contribute(in,
                            by_sample(what, {&dy}, mix(digest(parameter(k)), digest(parameter(k + 3))), batch_, size));
        numbers const& now = statistics_[static_cast<std::size_t>(n)];
        add(gradient(k), by_batch(what, {&v, &now, &dy}, g_.parameters[k].count()));
        add(gradient(k + 1), by_batch(mix(what, 1), {&dy}, g_.parameters[k].count()));
        return contribute(in, by_sample(what, {&v, &dy}, mix(digest(now), digest(parameter(k))), batch_, size));
      }
      case op::activation:
        return contribute(
            in, elementwise(what, contains(facts_of(x).reads[0], operations::values::first_input) ? v : value(x.output),
                            &dy));
      case op::stochastic_depth:
      case op::dropout: return contribute(in, elementwise(what, dy, nullptr, part_.elements_before(size)));
      case op::transfer:
      case op::flatten: return contribute(in, dy);
      case op::max_pool2d: {
        numbers const where = by_sample(mix(attributes(g_, n), 1), {&v}, 0, batch_, g_.output_shape(x).size());
        return contribute(in, by_sample(what, {&where, &dy}, 0, batch_, size));
      }
      case op::add:
        for (int i = 0; i < x.inputs; ++i) contribute(g_.input(x, i), numbers(dy));
        return;
      case op::concat: {
        auto const all = static_cast<std::ptrdiff_t>(g_.output_shape(x).size());
        std::ptrdiff_t begin = 0;
        for (int i = 0; i < x.inputs; ++i) {
          auto const each = static_cast<std::ptrdiff_t>(g_.input_shape(x, i).size());
          numbers part;
          for (int s = 0; s < batch_; ++s)
            part.insert(part.end(), dy.begin() + s * all + begin, dy.begin() + s * all + begin + each);
          contribute(g_.input(x, i), part);
          begin += each;
        }
        return;
      }
      case op::lstm:
      case op::gru: {
        number weights = 0;
        for (int i = 0; i < 4; ++i) weights = mix(weights, digest(parameter(k + i)));
        numbers const saved = by_sample(mix(attributes(g_, n), 1), {&v}, weights, batch_,
                                        5 * g_.output_shape(x).channels * g_.shape_of(in).area());
        for (int i = 0; i < 4; ++i)
          add(gradient(k + i),
              by_batch(mix(what, static_cast<number>(i)), {&v, &saved, &dy}, g_.parameters[k + i].count()));
        return contribute(
            in, by_sample(what, {&v, &saved, &dy}, mix(digest(parameter(k)), digest(parameter(k + 1))), batch_, size));
      }
      case op::channel_scale:
        add(gradient(k), by_batch(what, {&v, &dy}, g_.parameters[k].count()));
        return contribute(in, by_sample(what, {&dy}, digest(parameter(k)), batch_, size));
      case op::input: return;
      default: {  // any other: from the values and the parameters that its row names
        operations::row const& row = facts_of(x);
        for (int i = 0; i < x.inputs; ++i) {
          number const own = mix(what, static_cast<number>(i));
          std::vector<numbers const*> from;
          if (contains(row.reads[i], operations::values::first_input)) from.push_back(&v);
          if (contains(row.reads[i], operations::values::second_input)) from.push_back(&value(g_.input(x, 1)));
          if (contains(row.reads[i], operations::values::output)) from.push_back(&value(x.output));
          from.push_back(&dy);
          number weights = 0;
          for (int j = 0; i == 0 && j < x.parameters; ++j) {
            if ((row.parameters_read >> j & 1) != 0) weights = mix(weights, digest(parameter(k + j)));
            add(gradient(k + j), by_batch(mix(own, static_cast<number>(j)), from, g_.parameters[k + j].count()));
          }
          contribute(g_.input(x, i), by_sample(own, from, weights, batch_, g_.input_shape(x, i).size()));
        }
      }
    }
  }
  numbers& gradient(int k) { return gradients_of_parameters_[static_cast<std::size_t>(k)]; }

  void update(outcome& result) {
    auto const slots = static_cast<std::size_t>(o_.optimizer_slots);
    number squares = 0;
    for (int k = 0; k < g_.size.parameters; ++k) {
      if (!g_.parameters[k].trainable()) continue;
      if (o_.all_reduce_buckets > 0)
        for (number& g : gradient(k)) g = over_all_devices(g);
      squares += squares_of(gradient(k));
    }
    for (int k = 0; k < g_.size.parameters; ++k) {
      numbers v = parameter(k);
      std::size_t const count = v.size();
      if (g_.parameters[k].trainable()) {
        v.resize(count * (1 + slots));
        numbers old(slots);
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t j = 0; j < slots; ++j) old[j] = initial_slot(static_cast<int>(j), k, i);
          number const g = o_.gradient_norm ? clipped(gradient(k)[i], squares) : gradient(k)[i];
          v[i] = updated(v[i], g, old.data(), o_.optimizer_slots);
          for (std::size_t j = 0; j < slots; ++j) v[count * (1 + j) + i] = mix(v[i], old[j]);
        }
      }
      result.parameters.push_back(v);
    }
  }

  graph_view const& g_;
  plan_options const& o_;
  bool training_;
  samples part_{{}, 0};
  int batch_ = 0;
  std::vector<numbers> values_, gradients_, statistics_, parameters_, gradients_of_parameters_;
  std::vector<numbers> metrics_;  // per output
  std::vector<int> readers_;
};

inline outcome interpret(graph_view const& g, plan_options const& o) { return interpreter(g, o).run(); }

}  // namespace dsl::test::symbolic
