// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// Returns the time of each step, from which lifetimes are computed. The steps of a group run together, at the time of
/// the group's first step.
constexpr list<int> times_of(plan const& p) {
  list<int> time(p.steps.size());
  step const* before = nullptr;
  for (int s = 0; s < time.size(); ++s) {
    step const& x = p.steps[s];
    bool const same =
        before && x.group >= 0 && x.group == before->group && x.what == before->what && x.micro == before->micro;
    time[s] = same ? time[s - 1] : s;
    before = &x;
  }
  return time;
}

/// Finds lifetimes: a buffer lives from the first step that uses it to the last one. Buffers that the host reads after
/// the run, the network's outputs and the metrics, live to the end.
constexpr void find_lifetimes(graph_view const& g, plan& p) {
  list<int> const time = times_of(p);
  int const end = p.steps.size() - 1;
  for (int s = 0; s <= end; ++s) {
    step const& x = p.steps[s];
    operand const* const first = p.operands.begin() + x.first_operand;
    int const now = time[s];
    for (operand const* o = first; o != first + x.operands; ++o) {
      buffer& b = p.buffers[o->buffer];
      if (b.first < 0) b.first = now;
      b.last = o->what == content::metrics ? end : now;
    }
  }
  for (int m = 0; p.options.mode != mode::training && m < p.micro_batches; ++m)
    for (int n = 0; n < g.size.nodes; ++n)
      if (is_output(g, n)) p.buffers[p.activations[m * g.size.tensors + g.nodes[n].output].buffer].last = end;
}

/// Assigns offsets to a device's buffers in its part of the activation region, which follows those of higher devices.
/// Goes through the steps with a sorted list of free ranges, and chooses the smallest range in which a buffer fits.
/// This takes O(buffers x free ranges) time.
constexpr void assign_offsets(plan& p, int device) {
  struct hole {
    long long at = 0;
    long long bytes = 0;
  };
  int const steps = p.steps.size();
  list<int> head(steps, -1), tail(steps, -1);  // linked lists of the buffers that begin and end at each step
  list<int> next_begin(p.buffers.size(), -1), next_end(p.buffers.size(), -1);
  for (int b = p.buffers.size() - 1; b >= 0; --b) {
    buffer const& x = p.buffers[b];
    if (x.where != region::activations || x.first < 0 || x.device != device) continue;
    next_begin[b] = head[x.first], head[x.first] = b;
    next_end[b] = tail[x.last], tail[x.last] = b;
  }
  list<hole> holes;  // sorted by address, never adjacent
  constexpr int here = static_cast<int>(region::activations);
  long long& top = p.region_bytes[here];
  long long const begin = top;
  for (int s = 0; s < steps; ++s) {
    for (int b = head[s]; b >= 0; b = next_begin[b]) {
      buffer& x = p.buffers[b];
      int best = -1;
      for (int i = 0; i < holes.size(); ++i)
        if (holes[i].bytes >= x.bytes && (best < 0 || holes[i].bytes < holes[best].bytes)) best = i;
      if (best >= 0) {
        x.offset = holes[best].at;
        holes[best].at += x.bytes;
        holes[best].bytes -= x.bytes;
        if (holes[best].bytes == 0) holes.erase(best);
      } else {
        int const last = holes.size() - 1;
        bool const grows = last >= 0 && holes[last].at + holes[last].bytes == top;
        x.offset = grows ? holes[last].at : top;
        if (grows) holes.erase(last);
        top = x.offset + x.bytes;
      }
    }
    for (int b = tail[s]; b >= 0; b = next_end[b]) {
      hole freed{p.buffers[b].offset, p.buffers[b].bytes};
      int at = holes.size();
      while (at > 0 && holes[at - 1].at > freed.at) --at;
      if (at < holes.size() && freed.at + freed.bytes == holes[at].at) {
        freed.bytes += holes[at].bytes;
        holes.erase(at);
      }
      if (at > 0 && holes[at - 1].at + holes[at - 1].bytes == freed.at)
        holes[at - 1].bytes += freed.bytes;
      else
        holes.insert(at, freed);
    }
  }
  p.devices[device].bytes[here] = top - begin;
}

}  // namespace dsl::detail
