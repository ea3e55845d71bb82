// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/evaluation_metric.hpp>
#include <dsl/training/metrics.hpp>

#include <concepts>

namespace dsl::detail::TYPENET_MODE {

/// The name of an output's metric as text: "age_mae".
template <label Output, class Metric>
inline constexpr auto named_of_output = [] {
  constexpr int size = [] {
    int length = Output.size + 2;
    for (char const* c = Metric::name; *c; ++c) ++length;
    return length;
  }();
  return metric_text<size>(Output.text, "_", Metric::name);
}();

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// An observer of one of several outputs, named as in named_output<...>, for fit's .metrics or as an argument of
/// evaluate. Its name as a metric is the output's name, '_', and the name of the observer:
///   trainer.fit(faces, {.validation = &test, .metrics = {dsl::of_output<"age", dsl::mae_score>{}}});  // val_age_mae
template <label Output, std::derived_from<evaluation_observer> Observer>
class of_output : public Observer {
 public:
  using Observer::Observer;
  of_output() = default;
  char const* output() const override { return observed.text; }

 private:
  static constexpr label observed = Output;
};

/// A metric of one of several outputs: the output's name stands before the metric's own name.
template <label Output, evaluation_metric Metric>
class of_output<Output, Metric> : public Metric {
 public:
  using Metric::Metric;
  of_output() = default;
  static constexpr char const* name = detail::named_of_output<Output, Metric>.text;
  char const* output() const override { return observed.text; }

 private:
  static constexpr label observed = Output;
};

}  // namespace dsl::TYPENET_MODE
