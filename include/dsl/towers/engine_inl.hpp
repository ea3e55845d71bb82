// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/failure_text.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/towers/consistency_check.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/towers/in_process.hpp>
#include <dsl/towers/tower_cores.hpp>
#include <dsl/towers/towers.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE towers_engine::towers_engine(tower_factory const& factory, graph_view const& g, engine_options const& o,
                                            towers const& t)
    : engine(g, o),
      policy_(t.policy),
      towers_(t.count),
      cores_(cores_of(factory, t)),
      world_(t.processes && t.processes->processes() > 1 ? t.processes : nullptr),
      consistency_(world_, *this),
      group_(t.count, world_),
      metrics_(group_.ranks() * (output_count(g) > 1 ? 1 + output_count(g) : 1)),
      threads_(towers_, cores_.begin()) {
  if (t.policy.moments == tower_moments::synchronized && (g.size.devices > 1 || o.micro_batches > 1))
    throw option_error(
        "towers: batch_norm can't be synchronized in a network on several devices or in micro-batches; leave "
        "synchronized(...), or .moments = tower_moments::synchronized, out of the policy, or use one device and no "
        "micro-batches");
  if (t.policy.moments == tower_moments::synchronized && o.limit.batch > 0)
    throw option_error(
        "towers: with a memory_budget, batch_norm can't be synchronized; leave synchronized(...), or .moments = "
        "tower_moments::synchronized, out of the policy");
  if (world_) meet_others();
  engines_ = std::vector<std::unique_ptr<engine>>(static_cast<std::size_t>(towers_));
  on_all([&](int i) {
    engine_options mine = o;
    mine.group = &group_.at(i);
    mine.moments = t.policy.moments;
    int const device = t.devices.empty() ? i : t.devices[static_cast<std::size_t>(i)];
    engines_[static_cast<std::size_t>(i)] = factory.make(factory.executor, {i, towers_, device}, g, mine);
  });
  // with other blocks a plan may order its batch_norms differently, and the towers would wait for each other
  if (world_ && policy_.moments == tower_moments::synchronized)
    world_->agree(
        "the channels per block, which depend on the processor and must be equal for synchronized batch_norm (set "
        "TYPENET_MAX_ISA=avx2 for all)",
        channel_block());
}

TYPENET_INLINE towers_engine::~towers_engine() {
  // each on its own thread, which has the libraries' thread-local state
  threads_.run([this](int i) { engines_[static_cast<std::size_t>(i)].reset(); }, [](int) {});
}

TYPENET_INLINE int towers_engine::prepare(mode m, batch_part part, per_output<target_kind> targets) {
  int count = 0;
  for (program const& p : programs_) {
    if (p.mode == m && p.part == part && p.targets == targets && !p.resident) return count;
    ++count;
  }
  require_samples(part);
  return add({.mode = m, .part = part, .targets = targets}, [m, targets](engine& e, batch_part mine) {
    return mine.size > 0 || m == dsl::mode::training ? e.prepare(m, mine, targets) : -1;
  });
}

TYPENET_INLINE bool towers_engine::keeps(dataset const& data, augmentation const& augment) const {
  for (int i = 0; i < towers_; ++i)
    if (!at(i).keeps(data, augment)) return false;
  return true;
}

TYPENET_INLINE int towers_engine::prepare_resident(dataset const& data, augmentation const& augment, batch_part part,
                                                   bool shuffle) {
  require_samples(part);
  if (!keeps(data, augment)) return -1;
  int const added = add({.mode = dsl::mode::training, .part = part, .resident = true},
                        [&](engine& e, batch_part mine) { return e.prepare_resident(data, augment, mine, shuffle); });
  program const& made = programs_[added];
  for (int i = 0; i < added; ++i)
    if (programs_[i].resident && programs_[i].each[0].program == made.each[0].program) {
      programs_.drop_last();
      return i;
    }
  return added;
}

TYPENET_INLINE void towers_engine::start_epoch(int which, int epoch, std::int64_t step) {
  program const& p = program_of(which);
  if (p.resident) on_all([&](int i) { at(i).start_epoch(p.each[i].program, epoch, step); });
}

TYPENET_INLINE void towers_engine::run(int which, batch_view const& batch) {
  program const& p = program_of(which);
  group_.require_all();  // after a failure parameters may differ
  if (batch.size != p.part.size)
    throw option_error(message({"batch: the engine was prepared for ", p.part.size, " samples; found ", batch.size,
                                "; call prepare() for that size"}));
  auto const step = [&](int i) {
    share const& s = p.each[i];
    if (s.program < 0) return;
    batch_view mine = batch;
    mine.first += s.part.first - p.part.first;
    mine.size = s.part.size;
    at(i).run(s.program, mine);
  };
  if (p.mode == dsl::mode::training) {
    consistency_.parameters_trained();
    // the others must not wait for the one that failed
    threads_.run(step, [this](int i) {
      group_.abort(failure_text([&] { return message({tower(i), " failed in an earlier step: ", cause()}); }));
    });
  } else {
    on_all(step);
  }
}

TYPENET_INLINE batch_metrics towers_engine::metrics(int which) {
  program const& p = program_of(which);
  int const each = reports();
  report* const own = metrics_.begin() + each * group_.first_rank();
  for (int i = 0; i < towers_; ++i) {
    bool const ran = p.each[i].part.size > 0;
    own[each * i] = {ran ? at(i).metrics(p.each[i].program) : batch_metrics{}, consistency_.own_request()};
    for (int k = 0; k < each - 1; ++k)
      own[each * i + 1 + k] = {ran ? at(i).output_metrics(p.each[i].program, k) : batch_metrics{}};
  }
  if (world_) world_->exchange("metrics", metrics_sent_.begin(), metrics_received_.begin());
  batch_metrics sum;
  int asked = 0;
  for (int rank = 0; rank < group_.ranks(); ++rank) {
    report const& r = metrics_[each * rank];
    sum.loss += r.metrics.loss, sum.correct += r.metrics.correct;
    if (r.asks > asked) asked = static_cast<int>(r.asks);
  }
  consistency_.requested(asked);
  return sum;
}

TYPENET_INLINE batch_metrics towers_engine::output_metrics(int, int k) {
  batch_metrics sum;
  int const each = reports();
  for (int rank = 0; rank < group_.ranks(); ++rank) {
    batch_metrics const& m = metrics_[each * rank + (each > 1 ? 1 + k : 0)].metrics;
    sum.loss += m.loss, sum.correct += m.correct;
  }
  return sum;
}

TYPENET_INLINE batch_part towers_engine::share_of(int batch) const {
  if (!world_) return batch;
  batch_part const first = part_of(batch, group_.ranks(), group_.first_rank(), policy_);
  batch_part const last = part_of(batch, group_.ranks(), group_.first_rank() + towers_ - 1, policy_);
  return {last.first + last.size - first.first, first.first, batch};
}

TYPENET_INLINE void towers_engine::read_output(int which, int k, float* out) {
  program const& p = program_of(which);
  long long const outputs = graph_.output_shape(graph_.nodes[output_node(graph_, k)]).size();
  for (int i = 0; i < towers_; ++i)
    if (share const& s = p.each[i]; s.part.size > 0)
      at(i).read_output(s.program, k, out + (s.part.first - p.part.first) * outputs);
}

TYPENET_INLINE void towers_engine::write_parameter(int k, float const* in) {
  consistency_.parameters_written();
  for (int i = 0; i < towers_; ++i) at(i).write_parameter(k, in);
}

TYPENET_INLINE void towers_engine::write_slot(int s, int k, float const* in) {
  consistency_.parameters_written();
  for (int i = 0; i < towers_; ++i) at(i).write_slot(s, k, in);
}

TYPENET_INLINE long long towers_engine::arena_bytes() const {
  long long all = 0;
  for (int i = 0; i < towers_; ++i) all += at(i).arena_bytes();
  return all;
}

TYPENET_INLINE long long towers_engine::executor_bytes() const {
  long long all = 0;
  for (int i = 0; i < towers_; ++i) all += at(i).executor_bytes();
  return all;
}

TYPENET_INLINE std::string towers_engine::description() const {
  return message({towers_, towers_ == 1 ? " tower" : " towers", ", each ", at(0).description()});
}

TYPENET_INLINE batch_part towers_engine::own_part(mode m, batch_part const& part, int i) const {
  if (world_ && m != dsl::mode::inference) return part_of(part.whole, group_.ranks(), group_.first_rank() + i, policy_);
  batch_part mine = part_of(part.size, towers_, i, policy_);
  mine.first += part.first, mine.whole = part.whole;
  return mine;
}

TYPENET_INLINE void towers_engine::require_samples(batch_part const& part) const {
  if (part.size < 1 && !world_)  // some of several processes may have none
    throw option_error(message({"batch: it must have 1 sample or more; found ", part.size}));
}

TYPENET_INLINE void towers_engine::meet_others() {
  agree_on_text(*world_, "how the towers split a batch", policy_.even ? "evenly" : "with the rest last");
  constexpr char const* moments[] = {"in turn", "averaged", "synchronized"};
  agree_on_text(*world_, "how the towers' moments are merged", moments[static_cast<int>(policy_.moments)]);
  metrics_sent_ = metrics_received_ = list<process_message>(world_->processes());
  int const each = reports();
  auto const bytes = static_cast<long long>(sizeof(report)) * each;
  report* const own = metrics_.begin() + each * group_.first_rank();
  report* all = metrics_.begin();
  for (int q = 0; q < world_->processes(); all += each * group_.ranks_of(q++)) {
    metrics_sent_[q] = {own, bytes * towers_};
    metrics_received_[q] = {all, bytes * group_.ranks_of(q)};
  }
}

TYPENET_INLINE towers_engine::program const& towers_engine::program_of(int which) const {
  if (which < 0 || which >= programs_.size())
    throw option_error(message({"engine: nothing was prepared under number ", which, "; call prepare() first"}));
  return programs_[which];
}

TYPENET_INLINE void towers_engine::warn_of_single_samples(program const& p) {
  bool const cuts = group_.ranks() > 1 || options_.micro_batches > 1;
  bool const speaks = !world_ || world_->process() == 0;
  if (warned_ || !cuts || !speaks || !normalises_parts(graph_, policy_)) return;
  int const batch = world_ ? p.part.whole : p.part.size;
  for (int rank = 0; rank < group_.ranks() && !warned_; ++rank) {
    int const part = part_of(batch, group_.ranks(), rank, policy_).size;
    if (smallest_micro_batch(part, options_.micro_batches) != 1) continue;
    warned_ = true;
    on_warning(message({tower_of_rank(rank), part > 1 ? " has micro-batches with" : " has",
                        " a single sample (the whole batch has ", p.part.whole,
                        "), so batch_norm takes its statistics from one sample alone; use a larger batch, fewer ",
                        options_.micro_batches > 1 ? "towers or micro-batches" : "towers, or synchronized batch_norm"})
                   .c_str());
  }
}

TYPENET_INLINE std::string towers_engine::cause() {
  try {
    throw;
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "it threw something that is not a std::exception";
  }
}

TYPENET_INLINE std::string towers_engine::tower_of_rank(int rank) const {
  return message({"towers: tower ", rank, " of ", group_.ranks()});
}

TYPENET_INLINE std::unique_ptr<engine> make_towers_engine(tower_factory const& factory, graph_view const& g,
                                                          engine_options const& o, towers const& t) {
  return std::make_unique<towers_engine>(factory, g, o, t);
}

}  // namespace dsl::detail::TYPENET_MODE
