// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/region_memory.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// A plan, its memory, and its steps with the addresses in that memory.
template <class T>
struct program {
  dsl::plan plan{};
  batch_part part{1};
  memory_block const* activations = nullptr;
  detail::list<bound_step<T>> steps{};
  batch_view batch{};  // that of the current run
};

/// Finds the memory for the steps of a plan: the addresses of buffers, and views of operands.
template <class T>
class binding {
 public:
  /// `samples` may be 0, for a tower without samples.
  binding(graph_view const& g, plan const& p, int samples, region_memory const& m)
      : graph_(g), plan_(p), samples_(samples), memory_(m) {}

  std::byte* address(int b) const { return memory_.address(plan_.buffers[b]); }
  /// Returns the address of a buffer, or null for buffer -1.
  template <class U>
  U* data(int b) const {
    return b < 0 ? nullptr : reinterpret_cast<U*>(address(b));
  }
  /// Returns a view of the i-th operand of a step that holds `what`, or an empty view if the step has fewer such
  /// operands.
  template <class U>
  view<U> tensor(step const& s, content what, int skip = 0) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = plan_.operands[s.first_operand + i];
      if (o.what == what && skip-- == 0) return view_of<U>(what, o.index, {o.buffer, o.channel}, s.micro);
    }
    return {};
  }
  template <class U>
  view<U> view_of(content what, int index, placement where, int micro) const {
    view<std::byte> const v = place_of(what, index, where, micro);
    return {reinterpret_cast<U*>(v.data), v.shape, v.batch, v.block, v.buffer_channels, v.channel};
  }

  /// Sets the addresses of a step. If each tower has its own running means and variances, steps of batch_norm update
  /// these.
  void bind(step const& s, bound_step<T>& b, tower<T>* own) const {
    b.step = &s;
    b.node = s.node >= 0 ? &graph_.nodes[s.node] : nullptr;
    b.x = tensor<T const>(s, content::activation, 0);
    b.x2 = tensor<T const>(s, content::activation, 1);
    for (int i = 2; s.what == action::forward && i < b.node->inputs; ++i)
      b.more.push(tensor<T const>(s, content::activation, i));
    b.dy = tensor<T const>(s, content::gradient);
    for (int i = 0; i < s.operands; ++i) bind(s, plan_.operands[s.first_operand + i], b, own);
    if (s.kind == op::transfer && s.what == action::backward) b.x = b.dy;
    if (s.what == action::copy_forward || s.what == action::copy_backward) {
      // for copies between the tensor of a concat or add and one of its inputs; the wider one starts at the input's
      // channels already
      if (s.what == action::copy_backward) b.x = b.dy;
      int const channels = b.x.shape.channels < b.to.shape.channels ? b.x.shape.channels : b.to.shape.channels;
      b.x.shape.channels = b.to.shape.channels = channels;
    }
    int const end = b.to.channel + b.to.shape.channels;
    b.ends_block = b.to.data && end < b.to.buffer_channels && end + b.to.block > b.to.buffer_channels;
  }

 private:
  void bind(step const& s, operand const& o, bound_step<T>& b, tower<T>* own) const {
    bool const is_tensor = o.what == content::activation || o.what == content::gradient;
    auto* at = reinterpret_cast<T*>(address(o.buffer));
    if (o.what == content::parameter && o.how == access::accumulate && own && own->moments())
      at = own->moments() + plan_.buffer_of(o).offset / static_cast<long long>(sizeof(T));
    if (is_tensor && o.how != access::read) b.to = view_of<T>(o.what, o.index, {o.buffer, o.channel}, s.micro);
    if (o.what == content::gradient && o.how == access::accumulate) b.accumulate = true;
    if (o.what == content::parameter) b.parameters[static_cast<int>(graph_.parameters[o.index].role)] = at;
    if (o.what == content::parameter_gradient) b.gradients[static_cast<int>(graph_.parameters[o.index].role)] = at;
    if (o.what == content::statistics) {
      int const channels = graph_.output_shape(*b.node).channels;
      b.statistics = at;
      if (plan_.buffers[o.buffer].shape.channels == 4 * channels) b.scale_and_shift = at + 2 * channels;
    }
    if (o.what == content::states) b.states = at;
    if (o.what == content::labels) bind_targets(s, o, b);
    if (o.what == content::metrics) b.metrics = data<double>(o.buffer);
    if (o.what != content::argmax) return;
    if (plan_.buffers[o.buffer].element_bytes == 1)
      b.argmax.narrow = view_of<std::uint8_t>(o.what, o.index, {o.buffer, o.channel}, s.micro);
    else
      b.argmax.wide = view_of<std::uint16_t>(o.what, o.index, {o.buffer, o.channel}, s.micro);
  }
  /// Gives a loss the address of its targets, or the step that loads them that of all targets.
  void bind_targets(step const& s, operand const& o, bound_step<T>& b) const {
    b.targets = address(o.buffer) + 4LL * o.channel * plan_.samples_of(s).size;
    if (s.what != action::loss) return;
    if (plan_.options.targets[output_number(graph_, s.node)] == target_kind::values)
      b.target.values = reinterpret_cast<float const*>(b.targets);
    else
      b.target.labels = reinterpret_cast<std::int32_t const*>(b.targets);
  }
  /// Returns a view of bytes, so that one function serves all types of values.
  [[gnu::cold, gnu::noinline]] view<std::byte> place_of(content what, int index, placement where, int micro) const {
    buffer const& b = plan_.buffers[where.buffer];
    bool const is_tensor = what == content::activation || what == content::gradient;
    shape const& s = is_tensor ? graph_.shape_of(index) : b.shape;
    return {address(where.buffer),
            s,
            samples_ > 0 ? plan_.samples_of({.micro = micro}).size : 0,
            b.block,
            static_cast<int>(padded_channels(b) * b.shape.area() / s.area()),  // flatten: 2x3x3 is 18 single pixels
            where.channel};
  }

  graph_view const& graph_;
  plan const& plan_;
  int samples_;
  region_memory memory_;
};

}  // namespace dsl::host::TYPENET_MODE
