// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/facts.hpp>

namespace dsl::detail::checking {

/// Returns the channel block that a tensor must have: 1 for images of fewer than 16 channels and for one pixel per
/// channel, otherwise the target's; with channels_last all channels.
constexpr int expected_block(graph_view const& g, target const& to, int tensor) {
  node const* source = &g.nodes[g.tensors[tensor].producer];
  for (; source->kind == op::transfer; source = &g.nodes[g.tensors[g.input(*source)].producer]) {
  }
  bool const picture = source->kind == op::input && g.shape_of(tensor).channels < 16;
  bool const flat = g.shape_of(tensor).area() == 1;
  if (to.channel_block == channels_last) return flat ? 1 : g.shape_of(tensor).channels;
  return flat || picture ? 1 : to.channel_block;
}

struct contents {
  region where = region::activations;
  dsl::shape shape{};
  int block = 1;
  int element_bytes = 4;
  int samples = 1;
  int device = 0;
};

constexpr bool fits(plan const& p, int buffer, contents const& c) {
  if (buffer < 0 || buffer >= p.buffers.size()) return false;
  dsl::buffer const& b = p.buffers[buffer];
  long long const blocks = (c.shape.channels + c.block - 1) / c.block;
  return b.where == c.where && b.shape == c.shape && b.block == c.block && b.element_bytes == c.element_bytes &&
         b.device == c.device && b.bytes >= c.samples * blocks * c.block * c.shape.area() * c.element_bytes;
}

/// Returns the number of samples in a micro-batch. All micro-batches have the same size, except that the last one also
/// has the remaining samples.
constexpr int samples_in(plan const& p, int micro) {
  int const each = p.options.batch / p.micro_batches;
  return micro + 1 < p.micro_batches ? each : p.options.batch - each * micro;
}

constexpr bool fits_tensor(graph_view const& g, plan const& p, int buffer, int tensor, int micro) {
  return fits(p, buffer,
              {.shape = g.shape_of(tensor),
               .block = expected_block(g, p.options.target, tensor),
               .element_bytes = p.options.target.element_bytes,
               .samples = samples_in(p, micro),
               .device = g.nodes[g.tensors[tensor].producer].device});
}

/// Whether a buffer is aligned and is inside its device's part of its region. Slots have no buffers.
constexpr bool lies_in_its_region(plan const& p, buffer const& b) {
  if (b.device < 0 || b.device >= p.devices.size() || b.where == region::slots) return false;
  long long offset = b.offset;
  for (int d = p.devices.size() - 1; d > b.device; --d) offset -= p.devices[d].bytes[static_cast<int>(b.where)];
  long long const bytes = p.devices[b.device].bytes[static_cast<int>(b.where)];
  return offset >= 0 && b.offset % p.options.target.alignment == 0 && offset <= bytes && b.bytes <= bytes - offset;
}

/// The buffers of one region that are in use, sorted by address. insert() searches from the back, because the addresses
/// of most plans grow.
class address_list {
 public:
  /// Inserts a buffer. Returns false if it overlaps a buffer that is in use.
  constexpr bool insert(plan const& p, int buffer) {
    dsl::buffer const& b = p.buffers[buffer];
    range const own{b.offset, b.offset + b.bytes, buffer};
    int at = sorted_.size();
    for (; at > 0; --at) {
      range const& before = sorted_[at - 1];
      if (before.begin > own.begin) continue;
      if (before.end > own.begin) return false;
      break;
    }
    if (at < sorted_.size() && own.end > sorted_[at].begin) return false;
    sorted_.insert(at, own);
    return true;
  }
  constexpr void erase(int buffer) {
    int at = sorted_.size() - 1;
    while (sorted_[at].buffer != buffer) --at;
    sorted_.erase(at);
  }

 private:
  struct range {
    long long begin = 0;
    long long end = 0;
    int buffer = -1;
  };
  list<range> sorted_;
};

/// Checks the options, and the sizes of the tables that later checks index.
constexpr plan_verdict check_tables(graph_view const& g, plan const& p) {
  plan_options const& o = p.options;
  target const& to = o.target;
  bool const positive = o.batch > 0 && o.optimizer_slots >= 0 && o.all_reduce_buckets >= 0 && to.channel_block >= 0 &&
                        to.alignment > 0 && to.element_bytes > 0 && to.state_bytes > 0 && o.micro_batches > 0;
  bool const parts = p.micro_batches == (o.batch < o.micro_batches ? 1 : o.micro_batches);
  if (!positive || !parts || p.devices.size() != g.size.devices) return {.broken = plan_rule::tables_cover_the_graph};
  int const tensors = p.micro_batches * g.size.tensors;
  bool const covered = p.activations.size() == tensors && p.gradients.size() == tensors &&
                       p.parameter_buffers.size() == g.size.parameters &&
                       p.parameter_gradient_buffers.size() == g.size.parameters && p.steps.size() > 0;
  if (!covered) return {.broken = plan_rule::tables_cover_the_graph};
  constexpr int parameters = static_cast<int>(region::parameters), slots = static_cast<int>(region::slots);
  int const slot_count = o.mode == mode::training ? o.optimizer_slots : 0;
  for (int r = 0; r < regions; ++r) {
    long long all = 0;
    for (device_bytes const& d : p.devices) {
      if (d.bytes[r] < 0 || (r == slots && d.bytes[r] != slot_count * d.bytes[parameters]))
        return {.broken = plan_rule::devices_share_out_the_regions, .index = r};
      all += d.bytes[r];
    }
    if (p.region_bytes[r] != all) return {.broken = plan_rule::devices_share_out_the_regions, .index = r};
  }
  return {};
}

/// Checks that trainable parameters, running statistics and frozen parameters do not overlap, and that gradients and
/// optimizer slots have their parameters' offsets, so that one loop over the regions updates them all.
constexpr plan_verdict check_parameters(graph_view const& g, plan const& p) {
  bool const training = p.options.mode == mode::training;
  address_list trained, running, frozen;
  for (int k = g.size.parameters - 1; k >= 0; --k) {
    parameter const& x = g.parameters[k];
    int const b = p.parameter_buffers[k];
    contents c{.where = x.frozen        ? region::frozen
                        : x.trainable() ? region::parameters
                                        : region::statistics,
               .shape = {static_cast<int>(x.count()), 1, 1},
               .element_bytes = p.options.target.state_bytes,
               .device = g.nodes[x.node].device};
    if (!fits(p, b, c) || p.buffers[b].bytes < x.count() * c.element_bytes)
      return {.broken = plan_rule::buffers_fit_what_they_hold, .index = b};
    if (!lies_in_its_region(p, p.buffers[b]))
      return {.broken = plan_rule::buffers_lie_aligned_in_their_region, .index = b};
    if (!(x.frozen ? frozen : x.trainable() ? trained : running).insert(p, b))
      return {.broken = plan_rule::parameters_do_not_overlap, .index = k};
    if (!training || !x.trainable()) continue;
    int const d = p.parameter_gradient_buffers[k];
    c.where = region::gradients;
    if (!fits(p, d, c)) return {.broken = plan_rule::buffers_fit_what_they_hold, .index = d};
    if (!lies_in_its_region(p, p.buffers[d]))
      return {.broken = plan_rule::buffers_lie_aligned_in_their_region, .index = d};
    if (p.buffers[d].offset != p.buffers[b].offset || p.buffers[d].bytes != p.buffers[b].bytes)
      return {.broken = plan_rule::gradients_and_slots_mirror_the_parameters, .index = k};
  }
  long long const bytes = p.region_bytes[static_cast<int>(region::parameters)];
  if (training && (p.region_bytes[static_cast<int>(region::gradients)] != bytes ||
                   p.region_bytes[static_cast<int>(region::slots)] != p.options.optimizer_slots * bytes))
    return {.broken = plan_rule::gradients_and_slots_mirror_the_parameters};
  return {};
}

/// Checks the placement of every tensor that has one: a root has a buffer of its own shape, a slice consists of whole
/// channel blocks (or reaches to the buffer's end), and a tensor that only renames another one of a different shape is
/// not stored in channel blocks.
constexpr plan_verdict check_placements(graph_view const& g, plan const& p, placement const* at, sharing const& s,
                                        int micro) {
  for (int t = 0; t < g.size.tensors; ++t) {
    placement const& x = at[t];
    if (x.buffer < 0) continue;
    if (s.root[t] == t) {
      if (x.channel != 0 || !fits_tensor(g, p, x.buffer, t, micro))
        return {.broken = plan_rule::buffers_fit_what_they_hold, .index = x.buffer};
      int const second = x.buffer < p.again.size() ? p.again[x.buffer] : -1;
      if (second != -1 && !fits_tensor(g, p, second, t, micro))
        return {.broken = plan_rule::buffers_fit_what_they_hold, .index = second};
      continue;
    }
    if (x.buffer >= p.buffers.size()) return {.broken = plan_rule::buffers_fit_what_they_hold, .index = x.buffer};
    buffer const& b = p.buffers[x.buffer];
    int const channels = g.shape_of(t).channels;
    bool const renames = s.original[t] != t;
    bool const same_shape = renames && g.shape_of(t) == g.shape_of(s.original[t]);
    bool const inside = x.channel >= 0 && x.channel + channels <= b.shape.channels;
    bool const whole =
        p.options.target.channel_block == channels_last
            ? inside
            : x.channel % b.block == 0 && (channels % b.block == 0 || x.channel + channels == b.shape.channels);
    if (renames ? !same_shape && b.block != 1 : !whole)
      return {.broken = plan_rule::slices_are_whole_channel_blocks, .index = t};
  }
  return {};
}

/// Checks the placements of all tensors and parameters.
constexpr plan_verdict check_layout(graph_view const& g, plan const& p, layout const& l) {
  for (int m = 0; m < p.micro_batches; ++m) {
    int const first = m * g.size.tensors;
    if (plan_verdict const v = check_placements(g, p, p.activations.begin() + first, l.activations[m], m); !v.holds())
      return v;
    if (!l.graph.training) continue;
    if (plan_verdict const v = check_placements(g, p, p.gradients.begin() + first, l.gradients[m], m); !v.holds())
      return v;
  }
  return check_parameters(g, p);
}

/// The first and the last step that use a buffer, found from the steps' operands.
struct lifetime {
  int first = -1;
  int last = -1;
};

/// Checks, in one pass over the steps, that no two buffers that are in use at the same time overlap.
constexpr plan_verdict check_overlaps(plan const& p, list<lifetime> const& lifetimes) {
  int const buffers = lifetimes.size();
  list<int> begins(p.steps.size(), -1), ends(p.steps.size(), -1);  // linked lists of buffers per step
  list<int> next_begin(buffers, -1), next_end(buffers, -1);
  for (int b = buffers - 1; b >= 0; --b) {
    lifetime const& l = lifetimes[b];
    if (l.first < 0) continue;
    buffer const& x = p.buffers[b];
    if (x.where != region::activations) continue;
    if (!lies_in_its_region(p, x))
      return {.broken = plan_rule::buffers_lie_aligned_in_their_region, .step = l.first, .index = b};
    next_begin[b] = begins[l.first], begins[l.first] = b;
    next_end[b] = ends[l.last], ends[l.last] = b;
  }
  address_list live;
  for (int s = 0; s < begins.size(); ++s) {
    for (int b = begins[s]; b >= 0; b = next_begin[b])
      if (!live.insert(p, b)) return {.broken = plan_rule::live_buffers_do_not_overlap, .step = s, .index = b};
    for (int b = ends[s]; b >= 0; b = next_end[b]) live.erase(b);
  }
  return {};
}

}  // namespace dsl::detail::checking
