// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/towers/consistency_check.hpp>
#include <dsl/towers/in_process.hpp>
#include <dsl/towers/tower_cores.hpp>
#include <dsl/towers/towers.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// G engines that act as one engine. Each of them computes its part of every batch on its own thread. They exchange
/// gradients and make the same update, so that their parameters stay the same, bit by bit.
class towers_engine final : public engine {
 public:
  towers_engine(tower_factory const& factory, graph_view const& g, engine_options const& o, towers const& t);
  ~towers_engine() override;

  int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) override;
  bool keeps(dataset const& data, augmentation const& augment) const override;
  /// Lets each tower keep the data set in its memory and take its part of each batch from there. If a tower cannot do
  /// so, returns -1 before any tower begins.
  int prepare_resident(dataset const& data, augmentation const& augment, batch_part part, bool shuffle) override;
  void start_epoch(int which, int epoch, std::int64_t step) override;

  void run(int which, batch_view const& batch) override;

  batch_metrics metrics(int which) override;
  batch_metrics output_metrics(int which, int k) override;
  /// Returns this process's share of a batch.
  batch_part share_of(int batch) const override;
  void read_result(int which, float* out) override { read_output(which, 0, out); }
  void read_output(int which, int k, float* out) override;

  void read_parameter(int k, float* out) override { at(0).read_parameter(k, out); }
  void write_parameter(int k, float const* in) override;
  void read_slot(int s, int k, float* out) override { at(0).read_slot(s, k, out); }
  void write_slot(int s, int k, float const* in) override;

  long long arena_bytes() const override;
  long long executor_bytes() const override;
  std::string description() const override;
  std::string arithmetic() const override { return at(0).arithmetic(); }
  int channel_block() const override { return at(0).channel_block(); }
  int replicas() const override { return group_.ranks(); }
  process_checks* processes() override { return world_ ? &consistency_ : nullptr; }
  /// Returns the engine of one tower, for tests.
  engine& at(int tower) const { return *engines_[static_cast<std::size_t>(tower)]; }

 private:
  struct share {
    batch_part part{0};
    int program = -1;
  };
  /// A rank's report of a step to the other ranks. It has no padding, since the values of padding bytes would be
  /// indeterminate. If there are several outputs, a report of each output's metrics follows.
  struct report {
    batch_metrics metrics{};
    long long asks = 0;  // process_checks::ask
  };
  /// Returns the number of reports that a rank sends: one, and one more for each output if there are several.
  int reports() const { return output_count(graph_) > 1 ? 1 + output_count(graph_) : 1; }
  struct program {
    dsl::mode mode = dsl::mode::inference;
    batch_part part{0};
    per_output<target_kind> targets = target_kind::classes;
    bool resident = false;  // whether the towers fetch their batches themselves
    list<share> each{};
  };

  /// Calls make(engine, its part) on each tower's thread and adds the resulting program. Returns the program's number.
  template <class F>
  int add(program const& wanted, F make) {
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

  /// Returns tower i's share of a program's part of a batch. In training, the towers of all processes share the whole
  /// batch, and `part` is the sum of the shares of this process's towers.
  batch_part own_part(mode m, batch_part const& part, int i) const;
  void require_samples(batch_part const& part) const;
  void meet_others();
  program const& program_of(int which) const;
  /// Warns, once and only in process 0, about towers that have a single sample. This is not an error, since Keras
  /// allows it, too.
  void warn_of_single_samples(program const& p);
  /// Returns the text of the exception that is being handled.
  static std::string cause();
  /// Returns a tower's name, such as "towers: tower 3 of 4". The towers of all processes are counted.
  std::string tower(int i) const { return tower_of_rank(group_.first_rank() + i); }
  std::string tower_of_rank(int rank) const;
  template <class F>
  void on_all(F f) {
    threads_.run(f, [](int) {});
  }

  tower_policy policy_;
  int towers_;
  list<core_set> cores_;
  process_group* world_;  // null unless there are several processes
  consistency_check consistency_;
  in_process_group group_;
  std::vector<std::unique_ptr<engine>> engines_;
  chain<program> programs_;
  bool warned_ = false;
  list<report> metrics_;  // per rank: reports() of the last run
  list<process_message> metrics_sent_, metrics_received_;
  pinned_threads threads_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/engine_inl.hpp>
#endif
