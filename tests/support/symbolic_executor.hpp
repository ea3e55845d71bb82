// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/symbolic_memory.hpp"

// Executes a plan on bytes, with hashes for numbers, from the fields that any executor uses. Nothing here calls the
// planner or its checker.

namespace dsl::test::symbolic {

class executor {
 public:
  /// `at_once`: the steps of a group all read before any of them writes, and write in reverse order.
  executor(graph_view const& g, plan const& p, bool at_once) : g_(g), p_(p), memory_(p), at_once_(at_once) {}

  /// Runs each device's steps as soon as their waits allow: always the first device in `favourites` that can run, so
  /// that it gets as far ahead of the others as possible.
  outcome run_devices(std::vector<int> const& favourites) {
    set_up();
    std::vector<bool> done(static_cast<std::size_t>(p_.steps.size()));
    std::vector<int> next(favourites.size());
    auto const turn_to_next = [&](int device) {
      int& s = next[static_cast<std::size_t>(device)];
      while (s < p_.steps.size() && p_.steps[s].device != device) ++s;
      return s;
    };
    auto const may_run = [&](step const& x) {
      demand(x.first_wait >= 0 && x.waits >= 0 && x.first_wait + x.waits <= p_.waits.size());
      bool ready = true;
      for (int i = x.first_wait; i < x.first_wait + x.waits; ++i) {
        demand(p_.waits[i] >= 0 && p_.waits[i] < p_.steps.size());
        ready = ready && done[static_cast<std::size_t>(p_.waits[i])];
      }
      return ready;
    };
    for (int left = p_.steps.size(); left > 0; --left) {
      int chosen = -1;
      for (int device : favourites)
        if (int const s = turn_to_next(device); chosen < 0 && s < p_.steps.size() && may_run(p_.steps[s])) chosen = s;
      demand(chosen >= 0);  // otherwise they would wait for each other without end
      execute(p_.steps[chosen]);
      done[static_cast<std::size_t>(chosen)] = true;
      ++next[static_cast<std::size_t>(p_.steps[chosen].device)];
    }
    return observe();
  }

  outcome run() {
    set_up();
    for (int s = 0; s < p_.steps.size();) {
      int end = s + 1;
      step const& first = p_.steps[s];
      while (at_once_ && first.group >= 0 && end < p_.steps.size() && p_.steps[end].group == first.group &&
             p_.steps[end].what == first.what && p_.steps[end].micro == first.micro)
        ++end;
      late_ = end - s > 1;
      for (int i = s; i < end; ++i) execute(p_.steps[i]);
      for (std::size_t i = writes_.size(); i-- > 0;)
        memory_.set(writes_[i].region, writes_[i].byte, writes_[i].bytes, writes_[i].value);
      writes_.clear();
      s = end;
    }
    return observe();
  }

 private:
  struct late_write {
    int region;
    long long byte;
    int bytes;
    number value;
  };
  struct loaded {
    numbers values;
    dsl::shape shape{};
  };

  // operands, found by position and content

  operand const* peek(content what) const {
    if (at_ >= step_->operands) return nullptr;
    operand const& o = p_.operands[step_->first_operand + at_];
    return o.what == what ? &o : nullptr;
  }
  operand const& next(content what) {
    operand const* o = peek(what);
    demand(o);
    ++at_;
    demand(o->buffer >= 0 && o->buffer < p_.buffers.size());
    bool const fetches = step_->kind == op::transfer && o->how == access::read;
    demand(fetches || what == content::squares || p_.buffers[o->buffer].device == step_->device);
    return *o;
  }
  operand const* take(content what) { return peek(what) ? &next(what) : nullptr; }
  dsl::shape const& tensor_shape(operand const& o) const {
    demand(o.index >= 0 && o.index < g_.size.tensors);
    return g_.shape_of(o.index);
  }
  loaded tensor(content what) {
    operand const& o = next(what);
    dsl::shape const& s = tensor_shape(o);
    loaded x{load(o, s.size(), batch_), s};
    if (!memory_.padding_is_zero(o.buffer, o.channel, s.size(), batch_))
      for (number& v : x.values) v = mix(v, 0xBAD);
    return x;
  }
  numbers parameter_values() {
    operand const& o = next(content::parameter);
    return load(o, parameter_count(o), 1);
  }
  long long parameter_count(operand const& o) const {
    demand(o.index >= 0 && o.index < g_.size.parameters);
    return g_.parameters[o.index].count();
  }
  numbers load(operand const& o, long long size, int samples) {
    if (!late_) memory_.mark(epoch_, o.buffer, o.channel, size, samples);
    return memory_.load(o.buffer, o.channel, size, samples);
  }
  void store(operand const& o, numbers const& v, long long size, int samples, bool in_place = false) {
    demand(v.size() == static_cast<std::size_t>(size * samples));
    int const bytes = memory_.element_bytes(o.buffer);
    bool const adds = o.how == access::accumulate && (o.what == content::gradient || o.what == content::metrics ||
                                                      o.what == content::parameter_gradient);
    auto const set = [&](int r, long long byte, number value) {
      if (late_)
        writes_.push_back({r, byte, bytes, value});
      else
        memory_.set(r, byte, bytes, value);
    };
    memory_.walk(o.buffer, o.channel, size, samples, [&](std::size_t i, int r, long long byte) {
      number const value = adds ? v[i] + memory_.at(r, byte, bytes) : v[i];
      set(r, byte, !late_ && memory_.spoils(epoch_, r, byte, i, in_place) ? mix(999, epoch_, i) : value);
    });
    if (!adds) {
      bool const copies = step_->what == action::copy_forward || step_->what == action::copy_backward;
      memory_.walk_padding(o.buffer, o.channel, size, samples, copies ? memory::pads::copy : memory::pads::kernel,
                           [&](std::size_t, int r, long long byte) { set(r, byte, 0); });
    }
  }
  void store_tensor(content what, numbers const& v, bool in_place = false) {
    operand const& o = next(what);
    store(o, v, tensor_shape(o).size(), batch_, in_place);
  }
  void store_parameter_gradient(number what, std::vector<numbers const*> const& in) {
    operand const& o = next(content::parameter_gradient);
    store(o, by_batch(what, in, parameter_count(o)), parameter_count(o), 1);
  }

  node const& node_of(int n) const {
    demand(n >= 0 && n < g_.size.nodes);
    return g_.nodes[n];
  }
  number attributes_of(int n) const {
    node_of(n);
    return attributes(g_, n);
  }

  void execute(step const& s) {
    demand(s.first_operand >= 0 && s.operands >= 0 && s.first_operand + s.operands <= p_.operands.size());
    step_ = &s;
    demand(s.micro >= 0 && s.micro < p_.micro_batches && s.device >= 0 && s.device < p_.devices.size());
    part_ = samples(p_.options, s.micro);
    batch_ = part_.size;
    at_ = 0;
    ++epoch_;
    switch (s.what) {
      case action::load: return load_batch();
      case action::forward: return forward(s);
      case action::copy_forward: return copy(s, content::activation);
      case action::copy_backward: return copy(s, content::gradient);
      case action::loss: return loss_of(s);
      case action::backward: return backward(s);
      case action::backward_weights: return backward_weights(s);
      case action::backward_data: return backward_data(s);
      case action::add_gradients: return add_gradients();
      case action::all_reduce: return all_reduce();
      case action::measure: return measure();
      case action::update: return update();
    }
    demand(false);
  }

  void load_batch() {
    if (peek(content::activation)) {
      operand const& o = next(content::activation);
      store(o, picture(tensor_shape(o).size(), part_), tensor_shape(o).size(), batch_);
    }
    if (!peek(content::labels)) return;
    long long const each = all_targets(g_, p_.options);
    store(next(content::labels), labels(part_, each), each, batch_);
  }

  void forward(step const& s) {
    int const batch = batch_;
    number const what = attributes_of(s.node);
    bool const training = p_.options.mode == mode::training;
    std::vector<loaded> in;
    for (int i = 0; i < node_of(s.node).inputs; ++i) in.push_back(tensor(content::activation));
    demand(!in.empty());
    loaded& x = in[0];
    numbers y;
    bool in_place = false;
    switch (s.kind) {
      case op::conv2d:
      case op::conv2d_transpose:
      case op::dense: {
        number weights = digest(parameter_values());
        operand const* const bias = peek(content::parameter);
        if (node_of(s.node).parameters > 1 && bias && bias->index == node_of(s.node).first_parameter + 1)
          weights = mix(weights, digest(parameter_values()));
        operand const& out = p_.operands[step_->first_operand + step_->operands - 1];
        y = by_sample(what, {&x.values}, weights, batch, tensor_shape(out).size());
        if (s.batch_norm >= 0) {
          numbers const gamma = parameter_values(), beta = parameter_values();
          numbers const mean = parameter_values(), variance = parameter_values();
          y = normalise(attributes_of(s.batch_norm), y, mean, variance, 0, gamma, beta, tensor_shape(out));
        }
        break;
      }
      case op::batch_norm: {
        numbers const gamma = parameter_values(), beta = parameter_values();
        if (!training || node_of(s.node).frozen) {
          numbers const mean = parameter_values(), variance = parameter_values();
          y = normalise(what, x.values, mean, variance, 0, gamma, beta, x.shape);
          break;
        }
        if (s.again) {
          numbers const now = load(next(content::statistics), 2LL * x.shape.channels, 1);
          y = normalise(what, x.values, now, now, now.size() / 2, gamma, beta, x.shape);
          break;
        }
        operand const& mean = next(content::parameter);
        operand const& variance = next(content::parameter);
        int const channels = x.shape.channels;
        numbers const now = statistics_of(what, x.values, batch, x.shape);
        numbers bias;
        if (peek(content::parameter)) bias = parameter_values();
        demand(parameter_count(mean) == channels && parameter_count(variance) == channels &&
               (bias.empty() || bias.size() == static_cast<std::size_t>(channels)));
        numbers const old_mean = memory_.load(mean.buffer, mean.channel, channels, 1);
        numbers const old_variance = memory_.load(variance.buffer, variance.channel, channels, 1);
        store(mean, running(old_mean, now, 0, bias.empty() ? nullptr : &bias), channels, 1);
        store(variance, running(old_variance, now, now.size() / 2, nullptr), channels, 1);
        store(next(content::statistics), now, 2 * channels, 1);
        y = normalise(what, x.values, now, now, now.size() / 2, gamma, beta, x.shape);
        break;
      }
      case op::activation:
      case op::dropout:
      case op::stochastic_depth:
        y = elementwise(what, x.values, nullptr, count_of(s, x.shape));
        in_place = true;
        break;
      case op::add: {
        y.resize(x.values.size());
        for (loaded const& v : in) {
          demand(v.values.size() == y.size());
          for (std::size_t i = 0; i < y.size(); ++i) y[i] += v.values[i];
        }
        break;
      }
      case op::lstm:
      case op::gru: {
        number weights = 0;
        for (int k = 0; k < 4; ++k) weights = mix(weights, digest(parameter_values()));
        if (peek(content::states)) {
          operand const& o = next(content::states);
          long long const size = p_.buffers[o.buffer].shape.size();
          store(o, by_sample(mix(what, 1), {&x.values}, weights, batch, size), size, batch);
        }
        operand const& out = p_.operands[step_->first_operand + step_->operands - 1];
        y = by_sample(what, {&x.values}, weights, batch, tensor_shape(out).size());
        break;
      }
      case op::transfer:
      case op::flatten: y = x.values; break;
      default: {
        demand(s.kind != op::input && s.kind != op::concat);
        number weights = 0;
        for (int i = 0; i < node_of(s.node).parameters; ++i) weights = mix(weights, digest(parameter_values()));
        std::vector<numbers const*> all;
        for (loaded const& v : in) all.push_back(&v.values);
        operand const& out = p_.operands[step_->first_operand + step_->operands - 1];
        y = by_sample(what, all, weights, batch, tensor_shape(out).size());
        in_place = facts_of(node_of(s.node)).forward_in_place;
        if (s.kind == op::max_pool2d && peek(content::argmax)) {
          numbers const where = by_sample(mix(what, 1), {&x.values}, 0, batch, tensor_shape(out).size());
          store(next(content::argmax), where, tensor_shape(out).size(), batch);
        }
      }
    }
    if (s.activation >= 0) y = elementwise(attributes_of(s.activation), y, nullptr);
    store_tensor(content::activation, y, in_place);
  }
  /// Returns where dropout begins to count.
  std::size_t count_of(step const& s, shape const& of) const {
    return s.kind == op::dropout || s.kind == op::stochastic_depth ? part_.elements_before(of.size()) : uncounted;
  }

  /// The operand that is a part of the node's output has the input's channels.
  void copy(step const& s, content what) {
    operand const& from = next(what);
    operand const& to = next(what);
    node const& x = node_of(s.node);
    demand(s.edge >= 0 && s.edge < x.inputs && (x.kind == op::concat || x.kind == op::add));
    long long const size = g_.input_shape(x, s.edge).size();
    store(to, load(from, size, batch_), size, batch_);
  }

  void loss_of(step const& s) {
    int const batch = batch_;
    loaded const y = tensor(content::activation);
    std::vector<int> const outputs = outputs_of(g_);
    auto const k = static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), s.node) - outputs.begin());
    demand(k < outputs.size());
    numbers const l = load(next(content::labels), targets_of(g_, p_.options, k), batch);
    number const what =
        mix(static_cast<number>(p_.options.loss[static_cast<int>(k)]), static_cast<number>(node_of(s.node).kind));
    store(next(content::metrics), by_batch(what, {&y.values, &l}, 2), 2, 1);
    if (peek(content::gradient))
      store_tensor(content::gradient, by_sample(mix(what, 1), {&y.values, &l}, 0, batch, y.shape.size()));
  }

  void backward_weights(step const& s) {
    demand(s.kind == op::conv2d || s.kind == op::conv2d_transpose || s.kind == op::dense);
    number const what = mix(attributes_of(s.node), seed_gradient);
    numbers const x = tensor(content::activation).values;
    numbers const dy = tensor(content::gradient).values;
    store_parameter_gradient(what, {&x, &dy});
    if (peek(content::parameter_gradient)) store_parameter_gradient(mix(what, 1), {&dy});
  }
  void backward_data(step const& s) {
    demand(s.kind == op::conv2d || s.kind == op::conv2d_transpose || s.kind == op::dense);
    numbers const dy = tensor(content::gradient).values;
    number const weights = digest(parameter_values());
    operand const* in = peek(content::gradient);
    demand(in);
    store_tensor(content::gradient, by_sample(mix(attributes_of(s.node), seed_gradient), {&dy}, weights, batch_,
                                              tensor_shape(*in).size()));
  }

  void backward(step const& s) {
    int const batch = batch_;
    number const what = mix(attributes_of(s.node), seed_gradient);
    if (s.kind == op::batch_norm) return backward_batch_norm(s, what);
    numbers value;  // input or output, whichever the derivative wants
    if (peek(content::activation)) value = tensor(content::activation).values;
    numbers output;  // a custom operation gets both
    if (peek(content::activation)) output = tensor(content::activation).values;
    if (s.kind == op::channel_scale) {
      number const gamma = digest(parameter_values());
      operand const* const d_gamma = take(content::parameter_gradient);
      numbers const dy = tensor(content::gradient).values;
      if (d_gamma)
        store(*d_gamma, by_batch(what, {&value, &dy}, parameter_count(*d_gamma)), parameter_count(*d_gamma), 1);
      if (operand const* const in = peek(content::gradient))
        store_tensor(content::gradient, by_sample(what, {&dy}, gamma, batch, tensor_shape(*in).size()), true);
      return;
    }
    if (s.kind == op::lstm || s.kind == op::gru) {
      operand const& o = next(content::states);
      numbers const saved = load(o, p_.buffers[o.buffer].shape.size(), batch);
      number const kernel = digest(parameter_values());  // separate statements, since their order matters
      number const weights = mix(kernel, digest(parameter_values()));
      operand const* to[4];
      for (auto& d : to) d = take(content::parameter_gradient);
      numbers const dy = tensor(content::gradient).values;
      for (int k = 0; k < 4; ++k)
        if (long long const size = to[k] ? parameter_count(*to[k]) : 0; size > 0)
          store(*to[k], by_batch(mix(what, static_cast<number>(k)), {&value, &saved, &dy}, size), size, 1);
      if (operand const* const in = peek(content::gradient))
        store_tensor(content::gradient,
                     by_sample(what, {&value, &saved, &dy}, weights, batch, tensor_shape(*in).size()));
      return;
    }
    bool const drops = s.kind == op::dropout || s.kind == op::stochastic_depth;
    if (s.kind == op::max_pool2d || s.kind == op::activation || drops || s.kind == op::transfer ||
        s.kind == op::flatten) {
      if (s.kind == op::max_pool2d) {
        operand const& o = next(content::argmax);
        operand const* dy = peek(content::gradient);
        demand(dy);
        value = load(o, tensor_shape(*dy).size(), batch);
      }
      numbers const dy = tensor(content::gradient).values;
      operand const* in = peek(content::gradient);
      if (!in) return;
      if (s.kind == op::activation) return store_tensor(content::gradient, elementwise(what, value, &dy), true);
      if (drops)
        return store_tensor(content::gradient, elementwise(what, dy, nullptr, count_of(s, tensor_shape(*in))), true);
      if (s.kind != op::max_pool2d) return store_tensor(content::gradient, dy);
      return store_tensor(content::gradient, by_sample(what, {&value, &dy}, 0, batch, tensor_shape(*in).size()));
    }
    node const& x = node_of(s.node);
    operations::row const& row = facts_of(x);
    demand(s.kind == x.kind && row.gradients == operations::gradient_steps::one_an_input);
    int const edge = s.edge > 0 ? s.edge : 0;
    number const own = mix(what, static_cast<number>(edge));
    number weights = 0;
    for (int j = 0; edge == 0 && j < x.parameters; ++j)
      if ((row.parameters_read >> j & 1) != 0) weights = mix(weights, digest(parameter_values()));
    operand const* to[operations::most_roles] = {};
    for (int j = 0; edge == 0 && j < x.parameters; ++j) to[j] = take(content::parameter_gradient);
    numbers const dy = tensor(content::gradient).values;
    std::vector<numbers const*> from;
    if (!value.empty()) from.push_back(&value);
    if (!output.empty()) from.push_back(&output);
    from.push_back(&dy);
    for (int j = 0; j < operations::most_roles; ++j)
      if (long long const size = to[j] ? parameter_count(*to[j]) : 0; size > 0)
        store(*to[j], by_batch(mix(own, static_cast<number>(j)), from, size), size, 1);
    if (operand const* const in = peek(content::gradient))
      store_tensor(content::gradient, by_sample(own, from, weights, batch, tensor_shape(*in).size()),
                   row.gradient_in_place);
  }
  void backward_batch_norm(step const& s, number what) {
    if (node_of(s.node).frozen) {
      number const gamma = digest(parameter_values()), variance = digest(parameter_values());
      loaded const dy = tensor(content::gradient);
      return store_tensor(content::gradient,
                          by_sample(what, {&dy.values}, mix(gamma, variance), batch_, dy.shape.size()), true);
    }
    loaded const x = tensor(content::activation);
    int const channels = x.shape.channels;
    numbers const now = load(next(content::statistics), 2 * channels, 1);
    numbers const gamma = parameter_values();
    numbers beta;
    if (s.activation >= 0) beta = parameter_values();
    operand const& d_gamma = next(content::parameter_gradient);
    operand const& d_beta = next(content::parameter_gradient);
    numbers dy = tensor(content::gradient).values;
    if (s.activation >= 0) {  // the mask comes from the output, computed again
      number const act = attributes_of(s.activation);
      numbers const y = elementwise(
          act, normalise(attributes_of(s.node), x.values, now, now, now.size() / 2, gamma, beta, x.shape), nullptr);
      dy = elementwise(mix(act, seed_gradient), y, &dy);
    }
    store(d_gamma, by_batch(what, {&x.values, &now, &dy}, parameter_count(d_gamma)), parameter_count(d_gamma), 1);
    store(d_beta, by_batch(mix(what, 1), {&dy}, parameter_count(d_beta)), parameter_count(d_beta), 1);
    if (peek(content::gradient))
      store_tensor(content::gradient,
                   by_sample(what, {&x.values, &dy}, mix(digest(now), digest(gamma)), batch_, x.shape.size()), true);
  }

  void add_gradients() {
    operand const& from = next(content::parameter_gradient);
    operand const& to = next(content::parameter_gradient);
    store(to, load(from, parameter_count(from), 1), parameter_count(to), 1);
  }

  /// Sums from the first operand's beginning to the last one's end.
  void all_reduce() {
    demand(step_->operands > 0);
    auto const buffer_of = [&](int i) -> buffer const& {
      operand const& o = p_.operands[step_->first_operand + i];
      demand(o.what == content::parameter_gradient && o.buffer >= 0 && o.buffer < p_.buffers.size());
      return p_.buffers[o.buffer];
    };
    buffer const& last = buffer_of(step_->operands - 1);
    int const bytes = p_.options.target.state_bytes, r = static_cast<int>(region::gradients);
    long long const end = last.offset + last.bytes;
    long long const begin = buffer_of(0).offset;
    demand(begin >= 0 && end <= p_.region_bytes[r]);
    for (long long at = begin; at + bytes <= end; at += bytes)
      memory_.set(r, at, bytes, over_all_devices(memory_.at(r, at, bytes)));
  }

  /// Sums the squares of all gradients of the device.
  void measure() {
    number all = 0;
    for (int k = 0; k < g_.size.parameters; ++k) {
      int const b = p_.parameter_gradient_buffers[k];
      if (g_.parameters[k].trainable() && g_.nodes[g_.parameters[k].node].device == step_->device)
        all += squares_of(memory_.load(b, 0, g_.parameters[k].count(), 1));
    }
    operand const& to = next(content::squares);
    demand(p_.buffers[to.buffer].device == step_->device && memory_.element_bytes(to.buffer) == 8);
    store(to, {all}, 1, 1);
  }

  /// Runs one loop over the device's shares of the regions of parameters, gradients and slots.
  void update() {
    number squares = 0;
    while (peek(content::squares)) squares += load(next(content::squares), 1, 1)[0];
    long long begin = 0;
    for (int d = p_.devices.size() - 1; d > step_->device; --d)
      begin += p_.devices[d].bytes[static_cast<int>(region::parameters)];
    long long const end = begin + p_.devices[step_->device].bytes[static_cast<int>(region::parameters)];
    int const bytes = p_.options.target.state_bytes;
    long long const all = p_.region_bytes[static_cast<int>(region::parameters)];
    int const slots = p_.options.optimizer_slots;
    demand(p_.region_bytes[static_cast<int>(region::gradients)] >= all &&
           p_.region_bytes[static_cast<int>(region::slots)] >= slots * all);
    numbers old(static_cast<std::size_t>(slots));
    demand(begin >= 0 && end <= all);
    for (long long at = begin; at + bytes <= end; at += bytes) {
      for (int j = 0; j < slots; ++j)
        old[static_cast<std::size_t>(j)] = memory_.at(static_cast<int>(region::slots), j * all + at, bytes);
      number gradient = memory_.at(static_cast<int>(region::gradients), at, bytes);
      if (p_.options.gradient_norm) gradient = clipped(gradient, squares);
      number const now =
          updated(memory_.at(static_cast<int>(region::parameters), at, bytes), gradient, old.data(), slots);
      memory_.set(static_cast<int>(region::parameters), at, bytes, now);
      for (int j = 0; j < slots; ++j)
        memory_.set(static_cast<int>(region::slots), j * all + at, bytes, mix(now, old[static_cast<std::size_t>(j)]));
    }
  }

  // The host writes weights before the first step, and reads its results after the last one.

  template <class F>
  void each_slot(int k, F f) {
    if (p_.options.mode != mode::training || !g_.parameters[k].trainable()) return;
    long long const all = p_.region_bytes[static_cast<int>(region::parameters)];
    int const b = p_.parameter_buffers[k];
    for (int j = 0; j < p_.options.optimizer_slots; ++j)
      memory_.walk(b, 0, g_.parameters[k].count(), 1, [&](std::size_t i, int, long long byte) {
        int const bytes = memory_.element_bytes(b);
        demand(j * all + byte + bytes <= p_.region_bytes[static_cast<int>(region::slots)]);
        f(j, i, j * all + byte, bytes);
      });
  }
  void set_up() {
    for (int k = 0; k < g_.size.parameters; ++k) {
      long long const count = g_.parameters[k].count();
      numbers v(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = initial_parameter(k, i);
      memory_.store(p_.parameter_buffers[k], 0, count, 1, v);
      each_slot(k, [&](int j, std::size_t i, long long byte, int bytes) {
        memory_.set(static_cast<int>(region::slots), byte, bytes, initial_slot(j, k, i));
      });
    }
  }
  outcome observe() {
    outcome o;
    for (int k = 0; k < g_.size.parameters; ++k) {
      o.parameters.push_back(memory_.load(p_.parameter_buffers[k], 0, g_.parameters[k].count(), 1));
      each_slot(k, [&](int, std::size_t, long long byte, int bytes) {
        o.parameters.back().push_back(memory_.at(static_cast<int>(region::slots), byte, bytes));
      });
    }
    std::vector<int> const outputs = outputs_of(g_);
    for (std::size_t k = 0; p_.options.mode != mode::inference && k < outputs.size(); ++k) {
      numbers const own = memory_.load(k == 0 ? p_.metrics : metrics_of(static_cast<int>(k)), 0, 2, 1);
      o.metrics.insert(o.metrics.end(), own.begin(), own.end());
    }
    for (int m = 0; p_.options.mode != mode::training && m < p_.micro_batches; ++m)
      for (int const n : outputs) {
        int const t = g_.nodes[n].output;
        placement const& at = p_.activations[m * g_.size.tensors + t];
        numbers const part = memory_.load(at.buffer, at.channel, g_.shape_of(t).size(), samples(p_.options, m).size);
        o.result.insert(o.result.end(), part.begin(), part.end());
      }
    return o;
  }
  /// Returns the buffer of a further output's metrics, which only the steps name.
  int metrics_of(int output) const {
    int found = -1;
    for (step const& s : p_.steps)
      for (int i = s.first_operand; s.what == action::loss && i < s.first_operand + s.operands; ++i)
        if (p_.operands[i].what == content::metrics && p_.operands[i].index == output) found = p_.operands[i].buffer;
    demand(found >= 0);
    return found;
  }

  graph_view const& g_;
  plan const& p_;
  memory memory_;
  bool at_once_;
  bool late_ = false;
  samples part_{{}, 0};
  int batch_ = 0;  // samples of the step's micro-batch
  std::vector<late_write> writes_;
  step const* step_ = nullptr;
  int at_ = 0;
  std::uint32_t epoch_ = 0;
};

inline bool has_groups(plan const& p) {
  for (int s = 1; s < p.steps.size(); ++s)
    if (p.steps[s].group >= 0 && p.steps[s].group == p.steps[s - 1].group && p.steps[s].what == p.steps[s - 1].what)
      return true;
  return false;
}

/// Executes a plan step by step, then with the steps of each group at once, then with every device as far ahead of the
/// others as possible. Returns false if that is impossible or the results differ.
inline bool execute(graph_view const& g, plan const& p, outcome& result) {
  try {
    result = executor(g, p, false).run();
    if (has_groups(p) && !(executor(g, p, true).run() == result)) return false;
    std::vector<int> favourites;
    for (int d = 0; d < p.devices.size(); ++d) favourites.push_back(d);
    do {
      if (p.devices.size() > 1 && !(executor(g, p, false).run_devices(favourites) == result)) return false;
    } while (std::next_permutation(favourites.begin(), favourites.end()));
    return true;
  } catch (broken_plan) {
    return false;
  }
}

}  // namespace dsl::test::symbolic
