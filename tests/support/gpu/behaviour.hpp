// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/crop_and_cutout.hpp>

#include <initializer_list>
#include <map>

#include "support/one_batch.hpp"
#include "support/gpu/agreement.hpp"
#include "support/gpu/posed_convolutions.hpp"
#include "support/gpu/watched_calls.hpp"

// Checks what the executor promises besides its numbers.

namespace dsl::test {

/// Trains `steps` steps from the same start; an engine can be used again and again.
inline trained train_again(engine& e, int batch, int steps) {
  initialize(e, 7);
  int const program = e.prepare(mode::training, batch);
  trained t;
  for (int s = 0; s < steps; ++s) {
    drawn_batch const data(e.graph(), batch, static_cast<std::uint64_t>(s % 4));
    e.run(program, data.view(static_cast<std::uint64_t>(s), 0.01));
    t.losses.push_back(e.metrics(program).loss / batch);
  }
  t.parameters = parameters_of(e);
  return t;
}

/// Checks for the same bits in `runs` runs of one engine, and in those of a new one.
inline void check_determinism(gpu const& on, ledger& l, graph_view const& g, int batch, int steps, int runs) {
  for (precision p : all_precisions) {
    auto const first = on.untimed().make(g, keras_rules, p);
    trained const wanted = train_again(*first, batch, steps);
    comparison worst;
    for (int run = 1; run < runs; ++run)
      worst.add(different_bits(train_again(*first, batch, steps).parameters, wanted.parameters));
    std::string const what = name_of(p) + ", " + std::to_string(steps) + " steps at batch " + std::to_string(batch);
    l.within(what + ": parameters that differ in any of " + std::to_string(runs) + " runs", worst, 1);
    auto const second = on.untimed().make(g, keras_rules, p);
    trained const again = train_again(*second, batch, steps);
    l.within(what + ": parameters that differ in another engine", different_bits(again.parameters, wanted.parameters),
             1);
    l.holds(what + ": the losses, too", again.losses == wanted.losses && std::isfinite(wanted.losses.back()));
  }
}

/// Trains two epochs on batches that the device gathers and augments, and on the same ones from the CPU's loader.
inline void check_resident(gpu const& on, ledger& l, graph_view const& g, dataset const& data, int batch, precision p) {
  struct one {
    char const* name;
    augmentation augment;
    bool exact;  // else products and sums may be contracted on one side
  };
  for (auto const& [name, augment, exact] :
       {one{"nearest", shift_and_flip{.width = 0.2}, true},
        one{"bilinear", shift_and_flip{.width = 0.2, .interpolation = interpolation::bilinear}, false},
        one{"crop, flip, cutout", in_order{random_crop{.padding = 2}, random_flip{}, cutout{.size = 3}}, true}}) {
    auto const resident = on.untimed().make(g, keras_rules, p), fed = on.untimed().make(g, keras_rules, p);
    initialize(*resident, 5);
    initialize(*fed, 5);
    int const a = resident->prepare_resident(data, augment, batch, true), b = fed->prepare(mode::training, batch);
    batch_loader loader(data, {.batch_size = batch, .seed = keras_rules.seed, .drop_last = true, .augment = augment});
    comparison losses;
    std::uint64_t step = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
      resident->start_epoch(a, epoch, 0);
      loader.start(epoch);
      while (auto const* x = loader.next()) {
        resident->run(a, {.size = batch, .step = step, .learning_rate = 1e-3});
        fed->run(b, dsl::test::one_batch{x->inputs[0], x->targets[0], batch, step++, 1e-3});
        losses.add(difference(resident->metrics(a).loss / batch, fed->metrics(b).loss / batch));
      }
    }
    std::string const what = name_of(p) + ", " + name + ", two epochs: ";
    std::vector<float> const x = parameters_of(*resident), y = parameters_of(*fed);
    l.within(what + "losses", losses, exact ? 1e-12 : bounds_of(p).loss);
    if (exact)
      l.within(what + "parameters that differ", different_bits(x, y), 1);
    else
      l.within(what + "parameters", difference(x, y), bounds_of(p).values);
  }
}

/// Returns why cuDNN alone does not do what a plan asks for: the first convolution without a plan.
inline std::string without_plan(gpu const& on, std::vector<posed_convolution> const& asked) {
  cu::cudnn_handle const handle(on.calls);
  cu::plan_target const target(handle);
  for (posed_convolution c : asked) {
    c.how.workspace_limit = on.workspace_limit, c.how.deterministic = on.deterministic;
    c.how.most_plans = 1;
    auto found = cu::find_plans(target, c.what, c.how);
    if (!found.plans.empty()) continue;
    std::string const said = describe(c.what, c.how) + ": " + found.summary();
    c.what.output_pitch = 0;  // the executor also does with less: no slice, then no fused bias
    if (!cu::find_plans(target, c.what, c.how).plans.empty()) continue;
    if (c.how.pass == cu::convolution_pass::forward_inference) {
      c.how.pass = cu::convolution_pass::forward, c.how.relu = false;
      if (!cu::find_plans(target, c.what, c.how).plans.empty()) continue;
    }
    return "no plan for " + said;
  }
  return "asked alone, cuDNN has a plan for each";
}

/// Checks that the libraries do what a plan leaves to them. If one of them cannot, a kernel of typenet's takes over,
/// whose results are as right, but which is many times slower.
inline void check_libraries(gpu const& on, ledger& l, std::string const& what, watched_calls::recorded_step const& step,
                            cu::engine const& e, int batch, mode m, precision with) {
  graph_view const& g = e.graph();
  plan const p = make_plan(g, {.batch = batch, .mode = m, .target = cu::target_for(cu::storage_of(with))});
  std::vector<posed_convolution> const asked = convolutions_of(g, p, with);
  auto const said = [](long got, std::size_t wanted) { return std::to_string(got) + " of " + std::to_string(wanted); };
  bool const all = step.convolutions == static_cast<long>(asked.size());
  std::string note = said(step.convolutions, asked.size());
  if (!all) {
    std::map<std::string, int> ours;
    for (int k = 0; k < e.library().size(); ++k)
      if (std::string const name(e.library().spec(k).function); name.starts_with("convolution_")) ++ours[name];
    for (auto const& [name, count] : ours) note += ", " + std::to_string(count) + " kernels " + name;
    note += "; " + without_plan(on, asked);
  }
  l.holds(what + "cuDNN computes the plan's convolutions", all, note);
  std::size_t products = 0;
  for (dsl::step const& s : p.steps)
    if (s.kind == op::dense && s.node >= 0 && g.input_shape(g.nodes[s.node]).channels >= 64 &&
        g.output_shape(g.nodes[s.node]).channels >= 64)
      products += s.what == action::forward || s.what == action::backward_data || s.what == action::backward_weights;
  if (products > 0 || step.products > 0)
    l.holds(what + "cublasLt computes the products of 64 inputs and outputs or more",
            step.products == static_cast<long>(products), said(step.products, products));
}

inline void check_calls(gpu const& on, ledger& l, graph_view const& g, int batch,
                        watched_calls::counting count_nodes = nullptr,
                        std::initializer_list<mode> modes = {mode::training, mode::inference}) {
  watched_calls const calls(on.calls, count_nodes);
  gpu const watched = on.with(calls.api());
  auto const e = watched.make(g, keras_rules, precision::bf16);
  initialize(*e, 5);
  drawn_batch const data(g, batch, 1);
  for (mode m : modes) {
    int const program = e->prepare(m, batch);
    watched_calls::recorded_step const step = watched_calls::last_recorded();
    auto const run = [&](int count) {
      for (int s = 0; s < count; ++s) {
        e->run(program, data.view(static_cast<std::uint64_t>(s), 0.01));
        if (m == mode::training) e->metrics(program);
      }
    };
    run(2);
    watched_calls::reset();
    run(10);
    std::string const what = m == mode::training ? "10 training steps: " : "10 inference steps: ";
    check_libraries(watched, l, what, step, *e, batch, m, precision::bf16);
    l.holds(what + "10 graphs launched", watched_calls::count("cudaGraphLaunch") == 10);
    l.holds(what + "nothing is allocated",
            watched_calls::count("cudaMalloc") + watched_calls::count("cudaMallocHost") == 0);
    l.holds(what + "one wait each, and no other call", watched_calls::count() <= 20,
            std::to_string(watched_calls::count()) + " calls");
    l.tell(what + "each is", std::to_string(step.kernels) + " kernels of ours, " + std::to_string(step.convolutions) +
                                 " convolutions, " + std::to_string(step.copies) + " copies; " +
                                 std::to_string(step.kernel_nodes) + " kernel nodes in the graph");
  }
}

/// Checks that wide dense layers use cublasLt, in each precision.
inline void check_products(gpu const& on, ledger& l, int batch) {
  watched_calls const calls(on.calls);
  gpu const watched = on.with(calls.api());
  for (precision p : all_precisions) {
    auto const e = watched.make(wide_network::view(), keras_rules, p);
    e->prepare(mode::training, batch);
    check_libraries(watched, l, "wide dense layers, " + name_of(p) + ": ", watched_calls::last_recorded(), *e, batch,
                    mode::training, p);
  }
}

inline void check_refusals(gpu const& on, ledger& l) {
  auto const refused = [&](char const* what, char const* word, auto f) {
    std::string said = "nothing was thrown";
    try {
      f();
    } catch (error const& e) {
      said = e.what();
    }
    l.holds(what, said.find(word) != std::string::npos, said);
  };
  gpu nowhere = on;
  nowhere.device = 4711;
  refused("a device that is not there", "device must be 0",
          [&] { nowhere.make(mixed_network::view(), keras_rules, precision::bf16); });
  refused("a batch of another size", "the engine was prepared for", [&] {
    auto const e = on.untimed().make(mixed_network::view(), keras_rules, precision::bf16);
    e->run(e->prepare(mode::training, 4), drawn_batch(mixed_network::view(), 3, 1).view(0, 0));
  });
}

/// Runs every kind of kernel once or twice, for tools that make each access a hundred times slower.
inline void exercise_small_networks(gpu const& on, ledger& l) {
  for (precision p : {precision::fp32_strict, precision::bf16})
    for (auto const& [g, o] :
         {std::pair{mixed_network::view(), keras_rules}, std::pair{odd_network::view(), torch_rules}}) {
      auto const e = on.untimed().make(g, o, p);
      initialize(*e, 5);
      drawn_batch const data(g, 3, 1);
      int const training = e->prepare(mode::training, 3), inference = e->prepare(mode::inference, 3);
      for (std::uint64_t s = 0; s < 2; ++s) e->run(training, data.view(s, 0.01));
      double const loss = e->metrics(training).loss;
      e->run(inference, data.view(0, 0));
      double const y = static_cast<double>(result_of(*e, inference, 3)[0]);
      dataset const pictures = drawn_data(g.shape_of(g.nodes[0].output), 4, 9);
      int const resident = e->prepare_resident(pictures, shift_and_flip{}, 3, true);
      e->start_epoch(resident, 0, 0);
      e->run(resident, {.size = 3, .step = 2, .learning_rate = 0.01});
      l.holds("a network in " + name_of(p) + " trains and infers",
              std::isfinite(loss) && std::isfinite(y) && std::isfinite(e->metrics(resident).loss));
    }
}

}  // namespace dsl::test
