// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <int Batch, long long Allowed, long long Least, class Network>
struct network_fits_its_budget {
  static_assert(Least <= Allowed,
                "memory_budget: a training step must fit in the bytes allowed; the error's first three template "
                "arguments are the batch, the bytes allowed, and the fewest bytes that a step needs even if it "
                "computes values again; allow more, or use a smaller batch or network");
};

template <int Batch, long long Allowed, class Network>
struct budgets_are_for_a_batch {
  static_assert(Batch >= 1, "memory_budget: the largest batch must have 1 sample or more");
};

template <int Batch, long long Allowed, class Thing, bool IsNetworkOnOneDevice>
struct budget_takes_a_network {
  static_assert(
      IsNetworkOnOneDevice,
      "memory_budget: its third argument must be a network on one device, or a pipeline<...> of one, that has no "
      "budget yet; write memory_budget<64, 160_MiB, network<...>>, and put replicate<G, ...> around it, not inside");
};

template <int Parts, class Network, bool HasBudget>
struct pipelines_go_inside_budgets {
  static_assert(!HasBudget,
                "pipeline: a memory_budget must be outside of it; write memory_budget<64, 160_MiB, pipeline<M, ...>>");
};

template <class Network, bool Synchronized>
struct towers_with_budgets_have_own_moments {
  static_assert(!Synchronized,
                "replicate: towers with a memory_budget can't share the moments of batch_norm; leave "
                "synchronized(...), or .moments = tower_moments::synchronized, out of the policy");
};

template <class Executor, bool ComputesAgain>
struct executor_keeps_budgets {
  static_assert(ComputesAgain,
                "compile: a memory_budget needs an executor that can compute values again, and this one can't; use "
                "native{}, onednn{} or reference{}");
};

}  // namespace dsl::broken
