// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/kernels.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/training/optimizers.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsl_test {

/// Returns a type of an argument of a launch as the kernels' text writes it: "T const*".
template <class A>
std::string spelled() {
  namespace k = dsl::cu::kernels;
  using std::is_same_v;
  if constexpr (std::is_pointer_v<A>) {
    using to = std::remove_pointer_t<A>;
    return spelled<std::remove_const_t<to>>() + (std::is_const_v<to> ? " const*" : "*");
  } else {
    return is_same_v<A, dsl::cu::element>             ? "T"
           : is_same_v<A, dsl::cu::window_position>   ? "void"
           : is_same_v<A, float>                      ? "float"
           : is_same_v<A, double>                     ? "double"
           : is_same_v<A, int>                        ? "int"
           : is_same_v<A, unsigned>                   ? "unsigned"
           : is_same_v<A, unsigned char>              ? "unsigned char"
           : is_same_v<A, dsl::cu::step_state>        ? "step_state"
           : is_same_v<A, k::part_rates>              ? "part_rates"
           : is_same_v<A, k::sum_inputs>              ? "sum_inputs<T>"
           : is_same_v<A, k::batch_norm_forwards>     ? "batch_norm_forwards<T>"
           : is_same_v<A, k::batch_norm_gradients_of> ? "batch_norm_gradients_of<T>"
                                                      : "?";
  }
}

/// The kernels that a network's plans need, without the engine: for each step of a plan those that could do it, whether
/// or not a library would. Equal specs appear once.
class kernels_of_plan {
 public:
  kernels_of_plan(dsl::graph_view const& g, dsl::cu::storage t) : g_(g), t_(t) {}

  template <class... A>
  void add(dsl::cu::kernel_spec<A...> const& s) {
    if (std::find(all_.begin(), all_.end(), s) == all_.end()) all_.push_back(s);
    std::string all(s.function);
    ((all += ", " + spelled<A>()), ...);
    arguments_.insert(std::move(all));
  }
  std::vector<dsl::cu::any_kernel> const& all() const { return all_; }
  /// Returns the name of each kernel's function with the types of its arguments: "widen, T const*, float*".
  std::set<std::string> const& arguments() const { return arguments_; }

  void add_plan(dsl::mode m, int batch, bool direct_convolutions) {
    dsl::plan const p = dsl::make_plan(g_, {.batch = batch, .mode = m, .optimizer_slots = 1});
    for (int i = 0; i < p.steps.size(); ++i) {
      int neighbours = 1;
      while (p.steps[i].group >= 0 && i + neighbours < p.steps.size() &&
             p.steps[i + neighbours].group == p.steps[i].group)
        ++neighbours;
      bool const is_norm = p.steps[i].kind == dsl::op::batch_norm && p.steps[i].node >= 0;
      if (is_norm)
        normalise(p, i, neighbours);
      else
        neighbours = 1, add_step(p, p.steps[i], direct_convolutions);
      i += neighbours - 1;
    }
  }

 private:
  using slice = dsl::cu::slice;

  /// Returns the place of the tensor in a step's operand with that content.
  slice place(dsl::plan const& p, dsl::step const& s, dsl::content what, bool written) const {
    for (int i = 0; i < s.operands; ++i) {
      dsl::operand const& o = p.operands[s.first_operand + i];
      if (o.what == what && (o.how != dsl::access::read) == written) return {p.buffer_of(o).shape.channels, o.channel};
    }
    return {};
  }
  bool accumulates(dsl::plan const& p, dsl::step const& s) const {
    bool yes = false;
    for (int i = 0; i < s.operands; ++i) {
      dsl::operand const& o = p.operands[s.first_operand + i];
      yes = yes || (o.what == dsl::content::gradient && o.how == dsl::access::accumulate);
    }
    return yes;
  }

  void normalise(dsl::plan const& p, int first, int count) {
    using dsl::content;
    namespace k = dsl::cu::kernels;
    bool const backward = p.steps[first].what == dsl::action::backward;
    std::vector<k::batch_norm_layer> layers;
    long long pixels = 0;
    for (int i = 0; i < count; ++i) {
      dsl::step const& s = p.steps[first + i];
      dsl::node const& n = g_.nodes[s.node];
      dsl::shape const& shape = g_.output_shape(n);
      pixels = p.options.batch * shape.area();
      slice const y = backward ? place(p, s, content::gradient, false) : place(p, s, content::activation, true);
      layers.push_back({shape.channels, place(p, s, content::activation, false), y,
                        backward ? place(p, s, content::gradient, true) : slice{}, s.activation >= 0, accumulates(p, s),
                        n.epsilon, n.momentum});
    }
    if (dsl::node const& n = g_.nodes[p.steps[first].node]; n.frozen && backward)
      return add(k::frozen_batch_norm_backward(t_, pixels, layers[0].channels, n.epsilon, layers[0].y, layers[0].dx,
                                               layers[0].accumulate));
    else if (n.frozen || p.options.mode != dsl::mode::training)
      return add(k::batch_norm_inference(t_, pixels, layers));
    if (backward) {
      add(k::batch_norm_gradients(t_, pixels, layers));
      return add(k::batch_norm_backward(t_, pixels, layers));
    }
    add(k::batch_norm_statistics(t_, pixels, layers, false));
    add(k::batch_norm_apply(t_, pixels, layers));
    add(k::batch_norm_part(t_, pixels, layers));
    add(k::join_moments(t_, layers, 8, false));
  }

  void add_step(dsl::plan const& p, dsl::step const& s, bool direct_convolutions) {
    using dsl::content;
    using dsl::op;
    namespace k = dsl::cu::kernels;
    int const batch = p.options.batch;
    bool const training = p.options.mode == dsl::mode::training;
    bool const forward = s.what == dsl::action::forward;
    if (s.what == dsl::action::load) {
      dsl::shape const& shape = g_.output_shape(g_.nodes[0]);
      dsl::augmentation_numbers augment;
      if (training) dsl::shift_and_flip{}.describe(augment);
      add(k::load_pictures(t_, batch, shape));
      return add(k::gather_pictures(t_, batch, shape, augment));
    }
    if (s.what == dsl::action::update) {
      long long const count = p.region_bytes[static_cast<int>(dsl::region::parameters)] / 4;
      add(k::narrow(t_, count));
      add(k::widen_staged(t_, count));
      if (long long const moments = p.region_bytes[static_cast<int>(dsl::region::statistics)] / 4; moments > 0)
        add(k::move_moments(t_, moments, 8));
      for (dsl::update_rule const& rule :
           {dsl::adamw{.clip = {.norm = 1}}.rule(),
            dsl::rmsprop{.momentum = 0.9, .centered = true, .clip = {.value = 1}}.rule()})
        add(k::update(t_, rule, count, {.copies = true, .staged = true, .advance = batch}));
      add(k::measure(t_, dsl::adamw{.clip = {.norm = 1}}.rule(), count, true));
      return add(k::update(t_, {.momentum = 0.9}, count, {.copies = true, .staged = true, .advance = batch}));
    }
    if (s.node < 0) return;
    dsl::node const& n = g_.nodes[s.node];
    dsl::shape const& out = g_.output_shape(n);
    dsl::shape const& in = g_.input_shape(n);
    slice const x = forward ? place(p, s, content::activation, false) : place(p, s, content::gradient, true);
    slice const y = forward ? place(p, s, content::activation, true) : place(p, s, content::gradient, false);
    bool const accumulate = accumulates(p, s);
    if (s.what == dsl::action::loss) {
      slice const flat{out.channels};
      add(k::loss(t_, p.options.loss.all, true, batch, batch, out, flat, flat, training));
      return add(k::softmax_loss(t_, p.options.loss.all, batch, batch, out.channels, flat, flat, flat, training));
    }
    switch (n.kind) {
      case op::conv2d: {
        if (!training) {
          int const inner = in.channels / n.groups * n.window.height * n.window.width;
          add(k::fold_batch_norm(t_, out.channels, inner, 1e-3));
          add(k::add_bias(t_, batch * out.area(), out.channels, {out.channels}, s.activation >= 0));
        }
        if (!direct_convolutions) return;
        if (forward) return add(k::convolution_forward(t_, batch, in, out, n.window, s.activation >= 0, n.groups));
        if (s.what == dsl::action::backward_data)
          return add(k::convolution_backward_data(t_, batch, in, out, n.window, accumulate, n.groups));
        return add(k::convolution_backward_weights(t_, batch, in, out, n.window, n.groups));
      }
      case op::max_pool2d:
        if (forward) return add(k::max_pool2d_forward(t_, batch, in, out, n.window, x, y, training));
        return add(k::max_pool2d_backward(t_, batch, in, out, n.window, x, y, accumulate));
      case op::avg_pool2d:
        if (forward) return add(k::avg_pool2d_forward(t_, batch, in, out, n.window, n.counts_padding, x, y));
        return add(k::avg_pool2d_backward(t_, batch, in, out, n.window, n.counts_padding, x, y, accumulate));
      case op::dropout: return add(k::dropout(t_, batch, out, n.rate, s.node, x, y, accumulate));
      case op::dense: {
        if (forward) return add(k::dense_forward(t_, batch, in.channels, out.channels, x, y));
        if (s.what == dsl::action::backward_data)
          return add(k::dense_backward_data(t_, batch, in.channels, out.channels, x, y, accumulate));
        slice const from = place(p, s, content::activation, false);
        return add(k::dense_backward_weights(t_, batch, in.channels, out.channels, from, y));
      }
      case op::softmax:
        if (forward) return add(k::softmax_forward(t_, batch, out.channels, x, y));
        return add(k::softmax_backward(t_, batch, out.channels, {out.channels}, y, x, accumulate));
      default: return;
    }
  }

  dsl::graph_view g_;
  dsl::cu::storage t_;
  std::vector<dsl::cu::any_kernel> all_;
  std::set<std::string> arguments_;
};

}  // namespace dsl_test
