// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/make_plan.hpp>

namespace dsl {

/// The memory that a training step may use: `bytes` for everything in the plan, with batches of up to `batch` samples.
struct memory_limit {
  long long bytes = 0;
  int batch = 0;  // 0: there is no limit

  friend constexpr bool operator==(memory_limit const&, memory_limit const&) = default;
};

/// What the backward pass computes again, and what that costs.
struct recomputation {
  detail::list<bool> again{};  // per tensor, for make_plan; empty: nothing
  long long bytes = 0;         // of the plan
  long long cost = 0;          // predicted, see detail::cost_of
};

namespace detail {

/// Whether running an operation again multiplies as many numbers as its forward pass does. Its result is kept as long
/// as the rest suffices.
[[gnu::cold]] constexpr bool is_product(node const& x) {
  return facts_of(x).gradients == operations::gradient_steps::weights_and_data;
}

/// Predicts the time of a forward step in units of the time that moving a byte takes. A processor core does about 16
/// multiply-adds in that time. A product has a surcharge, so that no number of other steps costs more.
inline constexpr long long surcharge = 1LL << 48;
[[gnu::cold]] constexpr long long cost_of(graph_view const& g, plan const& p, step const& s) {
  long long cost = 0;
  for (int i = s.first_operand; i < s.first_operand + s.operands; ++i) {
    operand const& o = p.operands[i];
    if (o.what == content::activation)
      cost += g.shape_of(o.index).size() * p.samples_of(s).size * p.options.target.element_bytes;
  }
  node const& x = g.nodes[s.node];
  return is_product(x) ? cost + surcharge + forward_macs(g, x) * p.samples_of(s).size / 16 : cost;
}

/// A buffer of the first micro-batch that can be computed again instead of kept.
struct candidate {
  int buffer = -1;
  long long bytes = 0;
  long long cost = 0;
};

/// Chooses what a training step computes again so that its plan fits a number of bytes, at the lowest predicted cost.
class recomputation_finder {
 public:
  [[gnu::cold]] constexpr recomputation_finder(graph_view const& g, plan_options const& o, long long allowed)
      : g_(g), options_(o), allowed_(allowed), kept_(make_plan(g, o)) {}

  [[gnu::cold]] constexpr recomputation run() {
    best_ = {.bytes = kept_.bytes()};
    if (fits(best_)) return best_;
    find_candidates();
    candidates_.size() <= most_for_all_subsets ? try_all() : try_by_cost();
    return best_;
  }

 private:
  static constexpr int most_for_all_subsets = 10;

  constexpr bool fits(recomputation const& r) const { return r.bytes <= allowed_; }

  /// Finds the buffers that the backward pass reads, or that a product makes. What is neither is always computed again
  /// if it is needed.
  [[gnu::cold]] constexpr void find_candidates() {
    list<candidate> all(kept_.buffers.size());
    list<bool> fixed(all.size()), wanted(all.size());
    bool forward = true;
    for (int s = 0; s < kept_.steps.size(); ++s) {
      step const& x = kept_.steps[s];
      forward = forward && x.what != action::loss;
      for (int i = x.first_operand; i < x.first_operand + x.operands; ++i) {
        operand const& o = kept_.operands[i];
        if (o.what != content::activation) continue;
        if (o.how == access::read) {
          wanted[o.buffer] = wanted[o.buffer] || !forward;
        } else if (x.node < 0 || x.what == action::load || !may_run_again(g_.nodes[x.node])) {
          fixed[o.buffer] = true;
        } else {
          all[o.buffer].cost += cost_of(g_, kept_, x);
          wanted[o.buffer] = wanted[o.buffer] || is_product(g_.nodes[x.node]);
        }
      }
    }
    cheap_ = list<bool>(g_.size.tensors);
    for (int t = 0; t < g_.size.tensors; ++t) {
      int const b = kept_.activations[t].buffer;
      cheap_[t] = b < 0 || (!fixed[b] && !wanted[b]);
    }
    for (int b = 0; b < all.size(); ++b)
      if (wanted[b] && !fixed[b] && all[b].cost > 0) insert({b, kept_.buffers[b].bytes, all[b].cost});
  }
  /// Inserts a candidate, sorted by the cost of a byte.
  [[gnu::cold]] constexpr void insert(candidate const& c) {
    auto const dearer = [&](candidate const& d) {
      return static_cast<double>(d.cost) * static_cast<double>(c.bytes) >
             static_cast<double>(c.cost) * static_cast<double>(d.bytes);
    };
    int at = candidates_.size();
    while (at > 0 && dearer(candidates_[at - 1])) --at;
    candidates_.insert(at, c);
  }

  /// Makes the plan in which the chosen candidates are computed again.
  [[gnu::cold]] constexpr recomputation make(list<bool> const& chosen) const {
    recomputation r{.again = cheap_};
    for (int i = 0; i < candidates_.size(); ++i)
      for (int t = 0; chosen[i] && t < g_.size.tensors; ++t)
        if (kept_.activations[t].buffer == candidates_[i].buffer) r.again[t] = true;
    plan const p = make_plan(g_, options_, r.again);
    r.bytes = p.bytes();
    for (step const& s : p.steps)
      if (s.again) r.cost += cost_of(g_, p, s);
    return r;
  }

  /// Tries every subset. The cost of its members is a lower bound of the cost of a plan, which may have to compute
  /// their inputs, too.
  [[gnu::cold]] constexpr void try_all() {
    int const subsets = 1 << candidates_.size();
    list<bool> chosen(candidates_.size());
    for (int subset = 1; subset < subsets; ++subset) {
      long long least_cost = 0;
      for (int i = 0; i < candidates_.size(); ++i) {
        chosen[i] = (subset >> i & 1) != 0;
        if (chosen[i]) least_cost += candidates_[i].cost;
      }
      if (fits(best_) && least_cost >= best_.cost) continue;
      recomputation r = make(chosen);
      bool const better = fits(r) ? !fits(best_) || r.cost < best_.cost : r.bytes < best_.bytes;
      if (better) best_ = static_cast<recomputation&&>(r);
    }
  }

  /// Adds candidates, cheapest bytes first, unless one makes the plan larger. If the plan still does not fit, changes
  /// single choices as long as that makes it smaller: one that came early may be in the way of later ones. At last keeps
  /// what need not be computed again, the most expensive first.
  [[gnu::cold]] constexpr void try_by_cost() {
    int const count = candidates_.size();
    list<bool> chosen(count);
    for (int i = 0; i < count && !fits(best_); ++i)
      change(chosen, i, [&](recomputation const& r) { return r.bytes <= best_.bytes; });
    for (bool smaller = true; smaller && !fits(best_);) {
      smaller = false;
      for (int i = 0; i < count && !fits(best_); ++i)
        smaller |= change(chosen, i, [&](recomputation const& r) { return r.bytes < best_.bytes; });
    }
    for (int i = count - 1; i >= 0 && fits(best_); --i)
      if (chosen[i]) change(chosen, i, [&](recomputation const& r) { return fits(r) && r.cost <= best_.cost; });
  }
  /// Changes whether candidate i is computed again, if the resulting plan is better.
  template <class F>
  [[gnu::cold]] constexpr bool change(list<bool>& chosen, int i, F better) {
    chosen[i] = !chosen[i];
    recomputation r = make(chosen);
    bool const taken = better(r);
    if (taken)
      best_ = static_cast<recomputation&&>(r);
    else
      chosen[i] = !chosen[i];
    return taken;
  }

  graph_view const& g_;
  plan_options options_;
  long long allowed_;
  plan kept_;  // the plan that keeps everything
  list<bool> cheap_;
  list<candidate> candidates_;
  recomputation best_;
};

}  // namespace detail

/// Chooses what a training step with these options computes again, so that its plan takes at most `allowed` bytes. If
/// none does, returns the choice with the fewest bytes found.
[[gnu::cold]] constexpr recomputation choose_recomputation(graph_view const& g, plan_options const& o,
                                                           long long allowed) {
  return detail::recomputation_finder(g, o, allowed).run();
}

}  // namespace dsl
