// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Throws executor_error in all processes if the text of any process differs from the text of process 0. Only the first
/// 127 characters are compared.
void agree_on_text(process_group& all, char const* what, std::string const& text);

/// Checks that all processes have the same samples. `what` is "train" or "validation".
void agree_on_data(process_group& all, dataset const* data, char const* what);

/// Checks that all processes train the same network in the same way.
void agree_on_network(process_group& all, engine& e);

/// The checks by which the processes of a training run make sure that they agree. Facts that cannot change are compared
/// once. Comparing parameters requires reading all of them, so they are compared only after a process has written some.
class consistency_check final : public process_checks {
 public:
  consistency_check(process_group* all, engine& e) : all_(all), engine_(e) {}

  /// Called by the engine if parameters or optimizer slots are written by other means than a step, or if a step is
  /// about to update them.
  void parameters_written() { written_ = true; }
  void parameters_trained() { trained_ = true; }

  void before_fit(fit_terms const& t) override;
  void after_epoch() override { agree_on_parameters(); }
  void before_evaluation(dataset const& data, int batch_size) override;
  /// Exchanges, once per step, all values that could make the steps of the processes diverge. Parameters therefore need
  /// to be compared only if a process has written some of them, which the other processes cannot know.
  void before_batch(int size, double learning_rate, std::uint64_t steps,
                    per_output<target_kind> const& targets) override;
  void before_epoch(double learning_rate) override { all_->agree("the epoch's learning rate", learning_rate); }

  int process() const override { return all_->process(); }
  bool any(char const* what, bool here) override;
  void broadcast(char const* what, std::string& text) override { all_->broadcast(what, text); }
  void ask(int what) override { ask_ = what; }
  int asked() const override { return asked_; }
  /// Returns this process's request. The engine sends it to the other processes, and reports the highest request of all
  /// processes.
  int own_request() const { return ask_; }
  void requested(int what) { asked_ = what; }
  void sum(char const* what, long long* numbers, int count) override { sum_of(what, numbers, count); }
  void sum(char const* what, double* numbers, int count) override { sum_of(what, numbers, count); }

 private:
  template <class Number>
  void sum_of(char const* what, Number* numbers, int count) {
    std::vector<Number> all(static_cast<std::size_t>(all_->processes()) * static_cast<std::size_t>(count));
    auto const message_of = [&](Number* of) {
      return process_message{of, static_cast<long long>(sizeof(Number)) * count};
    };
    list<process_message> out(all_->processes()), in(all_->processes());
    for (int q = 0; q < all_->processes(); ++q)
      out[q] = message_of(numbers), in[q] = message_of(all.data() + static_cast<long long>(q) * count);
    all_->exchange(what, out.begin(), in.begin());
    for (int i = 0; i < count; ++i) {
      numbers[i] = 0;
      for (int q = 0; q < all_->processes(); ++q) numbers[i] += all.data()[1LL * q * count + i];
    }
  }
  /// Compares the network and the options with those of the other processes. This is done once, since they do not
  /// change.
  void meet();
  /// Compares the parameters, unless validation has already compared them in this epoch.
  void agree_on_parameters();
  void compare_parameters();

  process_group* all_;
  engine& engine_;
  bool met_ = false;
  bool written_ = true;   // since parameters were compared
  bool trained_ = false;  // since parameters were compared
  int ask_ = 0, asked_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/consistency_check_inl.hpp>
#endif
