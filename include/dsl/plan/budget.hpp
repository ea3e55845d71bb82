// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/make_plan.hpp>

namespace dsl {

/// The values that the backward pass computes a second time instead of storing them, and what this costs.
struct recomputation {
  detail::list<bool> again{};  // per tensor, for make_plan; empty: nothing
  long long bytes = 0;         // of the plan
  long long cost = 0;          // predicted, see detail::cost_of
};

namespace detail {

/// Whether an operation is a product of its input and weights, such as conv2d or dense, which is expensive to compute a
/// second time. The result of a product is stored if computing other values a second time frees enough memory.
constexpr bool is_product(node const& x) {
  return facts_of(x).gradients == operations::gradient_steps::weights_and_data;
}

/// The cost of a forward step is its predicted time, in units of the time that it takes to move a byte; a processor
/// core does about 16 multiply-adds in that time. This surcharge is added for a product, so that any number of other
/// steps costs less than one product.
inline constexpr long long surcharge = 1LL << 48;
constexpr long long cost_of(graph_view const& g, plan const& p, step const& s) {
  long long cost = 0;
  for (int i = s.first_operand; i < s.first_operand + s.operands; ++i) {
    operand const& o = p.operands[i];
    if (o.what == content::activation)
      cost += g.shape_of(o.index).size() * p.samples_of(s).size * p.options.target.element_bytes;
  }
  node const& x = g.nodes[s.node];
  return is_product(x) ? cost + surcharge + forward_macs(g, x) * p.samples_of(s).size / 16 : cost;
}

/// A buffer of the first micro-batch whose values can be computed a second time instead of being stored.
struct candidate {
  int buffer = -1;
  long long bytes = 0;
  long long cost = 0;

  constexpr bool is_cheap() const { return cost < surcharge; }
  /// Whether this candidate costs more per byte than the candidate c.
  constexpr bool is_dearer_than(candidate const& c) const {
    return static_cast<double>(cost) * static_cast<double>(c.bytes) >
           static_cast<double>(c.cost) * static_cast<double>(bytes);
  }
};

/// The state of a search.
struct search_state {
  enum class stage : unsigned char { all_but_products, every_subset, products, single_changes, keeping, done };

  list<int> cell_of{};  // per tensor: its candidate, or one of the two below
  list<candidate> candidates{};
  list<bool> chosen{};  // per candidate
  recomputation best{};
  stage now = stage::all_but_products;
  int at = 0;  // of this stage
  bool smaller = false;
  bool try_all = false;  // every subset

  static constexpr int always = -1;  // computed again whenever it is needed
  static constexpr int never = -2;
};

/// Searches for the values that a training step must compute again so that its plan takes at most `allowed` bytes, at
/// the lowest predicted cost. With up to most_for_all_subsets buffers it tries every subset. With more buffers it first
/// computes everything but products again, then adds products until the plan fits, and finally keeps as many values as
/// possible, the most expensive first. Every plan it makes is one step of the search, so that a compiler, which limits
/// the evaluation of a constant, can search in parts.
class recomputation_search {
 public:
  constexpr recomputation_search(graph_view const& g, plan_options const& o, long long allowed,
                                 search_state&& from = {})
      : g_(g), options_(o), allowed_(allowed), s_(static_cast<search_state&&>(from)) {
    if (s_.cell_of.size() == 0) find_candidates(emit_plan(g_, options_));
  }
  constexpr bool done() const { return s_.now == stage::done; }
  /// Whether a plan that takes at most `allowed` bytes has been found. The search then continues to look for a cheaper
  /// plan.
  constexpr bool fits() const { return s_.best.bytes <= allowed_ && s_.now != stage::all_but_products; }
  constexpr search_state const& state() const { return s_; }

  /// Makes the next plan.
  constexpr void advance() {
    switch (s_.now) {
      case stage::all_but_products:
        s_.best = make();
        if (long long const bytes = s_.best.bytes > allowed_ ? make_plan(g_, options_).bytes() : 0;
            bytes > 0 && bytes <= allowed_) {
          s_.best = {.bytes = bytes};
          return go_to(stage::done);
        }
        return go_to(s_.try_all ? stage::every_subset : s_.best.bytes <= allowed_ ? stage::keeping : stage::products);
      case stage::every_subset: return try_subset();
      case stage::products:
        if (fits() || s_.at == s_.candidates.size()) return go_to(fits() ? stage::keeping : stage::single_changes);
        if (!s_.chosen[s_.at]) change(s_.at, s_.best.bytes + 1);
        ++s_.at;
        return;
      case stage::single_changes:
        if (fits()) return go_to(stage::keeping);
        if (s_.at == s_.candidates.size()) return go_to(s_.smaller ? stage::single_changes : stage::done);
        s_.smaller |= change(s_.at, s_.best.bytes);
        ++s_.at;
        return;
      case stage::keeping: {
        if (s_.at == s_.candidates.size()) return go_to(stage::done);
        int const most_expensive = s_.candidates.size() - 1 - s_.at++;
        if (s_.chosen[most_expensive]) change(most_expensive, allowed_ + 1, s_.best.cost);
        return;
      }
      case stage::done: return;
    }
  }

 private:
  static constexpr int most_for_all_subsets = 10;
  using stage = search_state::stage;

  constexpr void go_to(stage s) { s_.now = s, s_.at = 0, s_.smaller = false; }

  /// Finds the buffers that may be computed again: those that the backward pass reads, and those that a product writes.
  /// Any other buffer is computed again whenever the backward pass needs it, unless every subset is tried.
  constexpr void find_candidates(plan const& kept) {
    list<candidate> all(kept.buffers.size());
    list<bool> fixed(all.size()), read(all.size()), wanted(all.size());
    bool forward = true;
    for (step const& x : kept.steps) {
      if (x.micro > 0) continue;
      bool const is_loss = x.what == action::loss;
      forward = forward && !is_loss;
      for (int i = x.first_operand; i < x.first_operand + x.operands; ++i) {
        operand const& o = kept.operands[i];
        if (o.what != content::activation) continue;
        if (o.how == access::read) {
          read[o.buffer] = read[o.buffer] || !is_loss;
          wanted[o.buffer] = wanted[o.buffer] || !(forward || is_loss);
        } else if (x.node < 0 || x.what == action::load || !may_run_again(g_.nodes[x.node])) {
          fixed[o.buffer] = true;
        } else {
          all[o.buffer].cost += cost_of(g_, kept, x);
          wanted[o.buffer] = wanted[o.buffer] || is_product(g_.nodes[x.node]);
        }
      }
    }
    int possible = 0;
    for (int b = 0; b < all.size(); ++b) {
      fixed[b] = fixed[b] || !read[b];
      if (!fixed[b]) ++possible;
    }
    s_.try_all = possible <= most_for_all_subsets;
    for (int b = 0; b < all.size(); ++b)
      if (!fixed[b] && (wanted[b] || s_.try_all)) insert({b, kept.buffers[b].bytes, all[b].cost});
    for (candidate const& c : s_.candidates) s_.chosen.push(c.is_cheap());
    s_.cell_of = list<int>(g_.size.tensors, search_state::always);
    for (int t = 0; t < g_.size.tensors; ++t) {
      int const b = kept.activations[t].buffer;
      if (b >= 0 && fixed[b]) s_.cell_of[t] = search_state::never;
      for (int i = 0; i < s_.candidates.size(); ++i)
        if (s_.candidates[i].buffer == b) s_.cell_of[t] = i;
    }
  }
  /// Inserts a candidate, sorted by its cost per byte.
  constexpr void insert(candidate const& c) {
    int at = s_.candidates.size();
    while (at > 0 && s_.candidates[at - 1].is_dearer_than(c)) --at;
    s_.candidates.insert(at, c);
  }

  /// Makes the plan in which the chosen candidates are computed a second time. If no candidate is chosen, the plan
  /// stores all values.
  constexpr recomputation make() const {
    recomputation r;
    bool any = false;
    for (bool chosen : s_.chosen) any = any || chosen;
    if (any) r.again = list<bool>(g_.size.tensors);
    for (int t = 0; t < r.again.size(); ++t)
      r.again[t] = s_.cell_of[t] == search_state::always || (s_.cell_of[t] >= 0 && s_.chosen[s_.cell_of[t]]);
    plan const p = make_plan(g_, options_, r.again);
    r.bytes = p.bytes();
    for (step const& s : p.steps)
      if (s.again) r.cost += cost_of(g_, p, s);
    return r;
  }

  /// Tries the next subset. The cost of its members is a lower bound of the cost of its plan, which may have to compute
  /// their inputs, too.
  constexpr void try_subset() {
    if (s_.at == 1 << s_.candidates.size()) return go_to(stage::done);
    long long least_cost = 0;
    for (int i = 0; i < s_.candidates.size(); ++i) {
      s_.chosen[i] = (s_.at >> i & 1) != 0;
      if (s_.chosen[i]) least_cost += s_.candidates[i].cost;
    }
    ++s_.at;
    if (fits() && least_cost >= s_.best.cost) return;
    recomputation r = make();
    bool const better = r.bytes <= allowed_ ? !fits() || r.cost < s_.best.cost : r.bytes < s_.best.bytes;
    if (better) s_.best = static_cast<recomputation&&>(r);
  }

  /// Changes whether candidate i is computed a second time, if the resulting plan takes fewer than `bytes` bytes and
  /// costs at most `cost`.
  constexpr bool change(int i, long long bytes, long long cost = -1) {
    s_.chosen[i] = !s_.chosen[i];
    recomputation r = make();
    bool const taken = r.bytes < bytes && (cost < 0 || r.cost <= cost);
    if (taken)
      s_.best = static_cast<recomputation&&>(r);
    else
      s_.chosen[i] = !s_.chosen[i];
    return taken;
  }

  graph_view const& g_;
  plan_options options_;
  long long allowed_;
  search_state s_;
};

}  // namespace detail

/// Chooses the values that a training step with these options computes a second time, so that its plan takes at most
/// `allowed` bytes. If there is no such plan, returns the choice with the fewest bytes that was found.
constexpr recomputation choose_recomputation(graph_view const& g, plan_options const& o, long long allowed) {
  if (long long const bytes = make_plan(g, o).bytes(); bytes <= allowed) return {.bytes = bytes};
  detail::recomputation_search s(g, o, allowed);
  while (!s.done()) s.advance();
  return s.state().best;
}

}  // namespace dsl
