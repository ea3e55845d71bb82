// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/towers/agreement.hpp>
#include <dsl/towers/in_process.hpp>
#include <dsl/towers/places.hpp>
#include <dsl/towers/towers.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail {

/// G engines as one: each runs its part of every batch on a thread of its own, they meet where gradients are summed,
/// and all of them make the same update, so that every engine keeps the same parameters, to the bit.
class towers_engine final : public engine {
 public:
  [[gnu::cold]] towers_engine(tower_factory const& factory, graph_view const& g, engine_options const& o,
                              towers const& t)
      : engine(g, o),
        policy_(t.policy),
        towers_(t.count),
        places_(places_of(factory, t)),
        world_(t.processes && t.processes->processes() > 1 ? t.processes : nullptr),
        agreement_(world_, *this),
        group_(t.count, world_),
        metrics_(group_.ranks()),
        threads_(towers_, places_.begin()) {
    if (t.policy.moments == tower_moments::synchronized && (g.size.devices > 1 || o.micro_batches > 1))
      throw option_error(
          "towers: batch_norm can't be synchronized in a network on several devices or in micro-batches");
    if (world_) meet_others();
    engines_ = std::vector<std::unique_ptr<engine>>(static_cast<std::size_t>(towers_));
    on_all([&](int i) {
      engine_options mine = o;
      mine.group = &group_.at(i);
      mine.moments = t.policy.moments;
      int const device = t.devices.empty() ? i : t.devices[static_cast<std::size_t>(i)];
      engines_[static_cast<std::size_t>(i)] = factory.make(factory.executor, {i, towers_, device}, g, mine);
    });
    // with other blocks a plan may have its batch_norms in another order, in which they would wait for each other
    if (world_ && policy_.moments == tower_moments::synchronized)
      world_->agree("the channels of a block, which synchronized needs", channel_block());
  }
  ~towers_engine() override {
    // each on its own thread, where the libraries' state of it is
    threads_.run([this](int i) { engines_[static_cast<std::size_t>(i)].reset(); }, [](int) {});
  }

  [[gnu::cold]] int prepare(mode m, batch_part part, target_kind targets = target_kind::classes) override {
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
  bool keeps(dataset const& data, augmentation const& augment) const override {
    for (int i = 0; i < towers_; ++i)
      if (!at(i).keeps(data, augment)) return false;
    return true;
  }
  /// Each tower keeps the data set and fetches its part of each batch; -1 where one of them can't, before any begins.
  [[gnu::cold]] int prepare_resident(dataset const& data, augmentation const& augment, batch_part part,
                                     bool shuffle) override {
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
  void start_epoch(int which, int epoch, std::int64_t step) override {
    program const& p = program_of(which);
    if (p.resident) on_all([&](int i) { at(i).start_epoch(p.each[i].program, epoch, step); });
  }

  void run(int which, batch_view const& batch) override {
    program const& p = program_of(which);
    group_.require_all();  // parameters may differ
    if (batch.size != p.part.size)
      throw option_error(message({"batch: this program takes ", p.part.size, " samples, not ", batch.size}));
    long long const picture = graph_.output_shape(graph_.nodes[0]).size();
    long long const outputs = graph_.shape_of(graph_.result()).size();
    auto const step = [&](int i) {
      share const& s = p.each[i];
      if (s.program < 0) return;
      int const begin = s.part.first - p.part.first;
      batch_view mine = batch;
      mine.size = s.part.size;
      if (batch.images) mine.images += begin * picture;
      if (batch.labels) mine.labels += begin;
      if (batch.values) mine.values += begin * outputs;
      at(i).run(s.program, mine);
    };
    if (p.mode == dsl::mode::training) {
      agreement_.parameters_trained();
      // the others wait for whoever fails
      threads_.run(step, [this](int i) { group_.abort(message({tower(i), " failed in an earlier step: ", cause()})); });
    } else {
      on_all(step);
    }
  }

  batch_metrics metrics(int which) override {
    program const& p = program_of(which);
    report* const own = metrics_.begin() + group_.first_rank();
    for (int i = 0; i < towers_; ++i)
      own[i] = {p.each[i].part.size > 0 ? at(i).metrics(p.each[i].program) : batch_metrics{}, agreement_.own_request()};
    if (world_) world_->exchange("metrics", metrics_sent_.begin(), metrics_received_.begin());
    batch_metrics sum;
    int asked = 0;
    for (report const& r : metrics_) {
      sum.loss += r.metrics.loss, sum.correct += r.metrics.correct;
      if (r.asks > asked) asked = static_cast<int>(r.asks);
    }
    agreement_.requested(asked);
    return sum;
  }
  /// What this process brings of a batch.
  batch_part share_of(int batch) const override {
    if (!world_) return batch;
    batch_part const first = part_of(batch, group_.ranks(), group_.first_rank(), policy_);
    batch_part const last = part_of(batch, group_.ranks(), group_.first_rank() + towers_ - 1, policy_);
    return {last.first + last.size - first.first, first.first, batch};
  }
  void read_result(int which, float* out) override {
    program const& p = program_of(which);
    long long const outputs = graph_.shape_of(graph_.result()).size();
    for (int i = 0; i < towers_; ++i)
      if (share const& s = p.each[i]; s.part.size > 0)
        at(i).read_result(s.program, out + (s.part.first - p.part.first) * outputs);
  }

  void read_parameter(int k, float* out) override { at(0).read_parameter(k, out); }
  void write_parameter(int k, float const* in) override {
    agreement_.parameters_written();
    for (int i = 0; i < towers_; ++i) at(i).write_parameter(k, in);
  }
  void read_slot(int s, int k, float* out) override { at(0).read_slot(s, k, out); }
  void write_slot(int s, int k, float const* in) override {
    agreement_.parameters_written();
    for (int i = 0; i < towers_; ++i) at(i).write_slot(s, k, in);
  }

  long long arena_bytes() const override {
    long long all = 0;
    for (int i = 0; i < towers_; ++i) all += at(i).arena_bytes();
    return all;
  }
  long long executor_bytes() const override {
    long long all = 0;
    for (int i = 0; i < towers_; ++i) all += at(i).executor_bytes();
    return all;
  }
  [[gnu::cold]] std::string description() const override {
    return message({towers_, towers_ == 1 ? " tower" : " towers", ", each ", at(0).description()});
  }
  std::string arithmetic() const override { return at(0).arithmetic(); }
  int channel_block() const override { return at(0).channel_block(); }
  int replicas() const override { return group_.ranks(); }
  process_checks* processes() override { return world_ ? &agreement_ : nullptr; }
  /// One tower's engine; for tests.
  engine& at(int tower) const { return *engines_[static_cast<std::size_t>(tower)]; }

 private:
  struct share {
    batch_part part{0};
    int program = -1;
  };
  /// A rank's report of a step to the others, without padding, whose bytes would have no value.
  struct report {
    batch_metrics metrics{};
    long long asks = 0;  // process_checks::ask
  };
  struct program {
    dsl::mode mode = dsl::mode::inference;
    batch_part part{0};
    target_kind targets = target_kind::classes;
    bool resident = false;  // the towers fetch their batches themselves
    list<share> each{};
  };

  /// make(engine, its part), on each tower's thread; returns the program's number here.
  template <class F>
  [[gnu::cold]] int add(program const& wanted, F make) {
    program& p = programs_.emplace(wanted);
    try {
      p.each = list<share>(towers_);
      on_all([&](int i) {
        share& s = p.each[i];
        s.part = own_part(p.mode, p.part, i);
        s.program = make(at(i), s.part);
      });
    } catch (...) {
      programs_.drop_last();
      throw;
    }
    if (p.mode == dsl::mode::training) warn_of_single_samples(p);
    return programs_.size() - 1;
  }

  /// Of a program's part, tower i's. In training, that of the whole batch: this process's share of it is what all its
  /// towers have together.
  batch_part own_part(mode m, batch_part const& part, int i) const {
    if (world_ && m != dsl::mode::inference)
      return part_of(part.whole, group_.ranks(), group_.first_rank() + i, policy_);
    batch_part mine = part_of(part.size, towers_, i, policy_);
    mine.first += part.first, mine.whole = part.whole;
    return mine;
  }
  [[gnu::cold]] void require_samples(batch_part const& part) const {
    if (part.size < 1 && !world_)  // of several processes, some may have none
      throw option_error(message({"batch: a program needs 1 sample or more; found ", part.size}));
  }
  [[gnu::cold]] void meet_others() {
    world_->agree("how the towers cut a batch", policy_.even);
    world_->agree("what becomes of the towers' moments", static_cast<int>(policy_.moments));
    metrics_sent_ = metrics_received_ = list<process_message>(world_->processes());
    auto const bytes = static_cast<long long>(sizeof(report));
    report* const own = metrics_.begin() + group_.first_rank();
    report* all = metrics_.begin();
    for (int q = 0; q < world_->processes(); all += group_.ranks_of(q++)) {
      metrics_sent_[q] = {own, bytes * towers_};
      metrics_received_[q] = {all, bytes * group_.ranks_of(q)};
    }
  }
  program const& program_of(int which) const {
    if (which < 0 || which >= programs_.size()) throw option_error("engine: there is no such program; prepare() it");
    return programs_[which];
  }
  /// Legal, and Keras's own rule; said once, by process 0 for the towers of all.
  [[gnu::cold]] void warn_of_single_samples(program const& p) {
    bool const cuts = group_.ranks() > 1 || options_.micro_batches > 1;
    bool const speaks = !world_ || world_->process() == 0;
    if (warned_ || !cuts || !speaks || !normalises_parts(graph_, policy_)) return;
    int const batch = world_ ? p.part.whole : p.part.size;
    for (int rank = 0; rank < group_.ranks() && !warned_; ++rank) {
      int const part = part_of(batch, group_.ranks(), rank, policy_).size;
      if (smallest_micro_batch(part, options_.micro_batches) != 1) continue;
      warned_ = true;
      on_warning(
          message({tower_of_rank(rank), part > 1 ? " has micro-batches of" : " has", " a single sample of a ",
                   "batch of ", p.part.whole, ", and batch_norm takes its moments alone; use a larger batch, ",
                   "fewer ",
                   options_.micro_batches > 1 ? "towers or micro-batches" : "towers, or synchronized batch_norm"})
              .c_str());
    }
  }
  /// Of the exception that is being handled.
  [[gnu::cold]] static std::string cause() {
    try {
      throw;
    } catch (std::exception const& e) {
      return e.what();
    } catch (...) {
      return "it threw what is no std::exception";
    }
  }
  /// "towers: tower 3 of 4": of all processes' towers.
  [[gnu::cold]] std::string tower(int i) const { return tower_of_rank(group_.first_rank() + i); }
  [[gnu::cold]] std::string tower_of_rank(int rank) const {
    return message({"towers: tower ", rank, " of ", group_.ranks()});
  }
  template <class F>
  void on_all(F f) {
    threads_.run(f, [](int) {});
  }

  tower_policy policy_;
  int towers_;
  list<core_set> places_;
  process_group* world_;  // of several processes, or null
  agreement agreement_;
  in_process_group group_;
  std::vector<std::unique_ptr<engine>> engines_;
  chain<program> programs_;
  bool warned_ = false;
  list<report> metrics_;  // per rank, of the last run
  list<process_message> metrics_sent_, metrics_received_;
  tower_threads threads_;
};

}  // namespace dsl::detail
