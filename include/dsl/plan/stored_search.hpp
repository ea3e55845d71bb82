// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/budget.hpp>
#include <dsl/plan/stored.hpp>

// The search for the values to compute again, in parts, each of which is a constant of its own; stored.hpp explains
// why.
namespace dsl::detail {

/// The state of a search in a network of Tensors tensors, as a constant.
template <int Tensors>
struct stored_search {
  int cell_of[Tensors + 1]{};
  candidate candidates[Tensors + 1]{};
  bool chosen[Tensors + 1]{};
  bool again[Tensors + 1]{};
  int candidate_count = 0;
  int again_count = 0;
  long long bytes = 0;
  long long cost = 0;
  search_state::stage now = search_state::stage::all_but_products;
  int at = 0;
  bool smaller = false;
  bool try_all = false;
  bool fits = false;
  int plans = 0;  // made so far

  constexpr stored_search() = default;
  constexpr stored_search(recomputation_search const& s, int made) : fits(s.fits()), plans(made) {
    search_state const& from = s.state();
    copy_into(cell_of, from.cell_of);
    copy_into(candidates, from.candidates);
    copy_into(chosen, from.chosen);
    copy_into(again, from.best.again);
    candidate_count = from.candidates.size();
    again_count = from.best.again.size();
    bytes = from.best.bytes, cost = from.best.cost;
    now = from.now, at = from.at, smaller = from.smaller, try_all = from.try_all;
  }
  constexpr search_state state() const {
    search_state s;
    s.cell_of = list<int>(list<int>::borrowed(cell_of, Tensors));
    s.candidates = list<candidate>::borrowed(candidates, candidate_count);
    s.chosen = list<bool>::borrowed(chosen, candidate_count);
    s.best = {list<bool>::borrowed(again, again_count), bytes, cost};
    s.now = now, s.at = at, s.smaller = smaller, s.try_all = try_all;
    return search_state(s);  // owns its lists
  }
  constexpr bool ended() const { return fits || now == search_state::stage::done; }
};

/// The largest number of nodes in all plans that the compiler makes during a search. Each node takes GCC one or two
/// milliseconds. If the search is not finished by then, it is left to the engine.
inline constexpr int most_nodes_to_search = 13000;

/// The state of the search after part number Part. A part ends when a plan that fits has been found.
template <class Network, plan_options Options, long long Allowed, int Part>
struct search_part {
  static constexpr int nodes = Network::view().size.nodes * micro_batches_of(Options);
  static constexpr int plans = nodes < 300 ? 300 / nodes : 1;  // in this part

  static constexpr stored_search<Network::view().size.tensors> value = [] {
    graph_view const g = Network::view();
    search_state from;
    int made = 0;
    if constexpr (Part > 0) {
      from = search_part<Network, Options, Allowed, Part - 1>::value.state();
      made = search_part<Network, Options, Allowed, Part - 1>::value.plans;
    }
    recomputation_search s(g, Options, Allowed, static_cast<search_state&&>(from));
    for (int const end = made + plans; made < end && !s.fits() && !s.done(); ++made) s.advance();
    return stored_search<Network::view().size.tensors>(s, made);
  }();
  static constexpr bool is_last = value.ended() || value.plans * nodes >= most_nodes_to_search;
};

/// The part in which a network's search ends.
template <class Network, plan_options Options, long long Allowed, int Part = 0,
          bool IsLast = search_part<Network, Options, Allowed, Part>::is_last>
struct last_part : last_part<Network, Options, Allowed, Part + 1> {};
template <class Network, plan_options Options, long long Allowed, int Part>
struct last_part<Network, Options, Allowed, Part, true> : search_part<Network, Options, Allowed, Part> {};

/// If a training step needs more than Allowed bytes, returns the fewest bytes that it can take. Otherwise, and if the
/// network is too large for the compiler to search, returns Allowed.
template <class Network, plan_options Options, long long Allowed>
constexpr long long bytes_beyond() {
  if constexpr (is_small<Network, Options>) {
    constexpr auto const& found = last_part<Network, Options, Allowed>::value;
    if (found.ended() && !found.fits) return found.bytes;
  }
  return Allowed;
}

}  // namespace dsl::detail
