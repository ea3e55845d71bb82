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

/// Throws executor_error, in all processes, where one has another text than process 0. At most 127 characters count.
[[gnu::cold]] void agree_on_text(process_group& all, char const* what, std::string const& text);

/// That all processes have the same pictures. `what` is "train" or "validation".
[[gnu::cold]] void agree_on_data(process_group& all, dataset const* data, char const* what);

/// That all processes train the same network in the same way.
[[gnu::cold]] void agree_on_network(process_group& all, engine& e);

/// All that processes compare around a training. What can't change is compared once; parameters, which cost a pass over
/// all of them, where one process has changed them since.
class agreement final : public process_checks {
 public:
  agreement(process_group* all, engine& e) : all_(all), engine_(e) {}

  /// The engine says so: parameters or slots came from outside, or a step is about to move them.
  void parameters_written() { written_ = true; }
  void parameters_trained() { trained_ = true; }

  [[gnu::cold]] void before_fit(fit_terms const& t) override;
  [[gnu::cold]] void after_epoch() override { agree_on_parameters(); }
  [[gnu::cold]] void before_evaluation(dataset const& data, int batch_size) override;
  /// One exchange a step. All that the steps themselves could bring apart is in it, so that parameters need comparing
  /// only where one process, which the others can't know of, has written some.
  void before_batch(int size, double learning_rate, std::uint64_t steps, target_kind targets) override;
  void before_epoch(double learning_rate) override { all_->agree("the epoch's learning rate", learning_rate); }

  int process() const override { return all_->process(); }
  [[gnu::cold]] bool any(char const* what, bool here) override;
  void broadcast(char const* what, std::string& text) override { all_->broadcast(what, text); }
  void ask(int what) override { ask_ = what; }
  int asked() const override { return asked_; }
  /// The engine, which sends what this process asks for and says what any process did.
  int own_request() const { return ask_; }
  void requested(int what) { asked_ = what; }
  void sum(char const* what, long long* numbers, int count) override { sum_of(what, numbers, count); }
  void sum(char const* what, double* numbers, int count) override { sum_of(what, numbers, count); }

 private:
  template <class Number>
  [[gnu::cold]] void sum_of(char const* what, Number* numbers, int count) {
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
  /// Network and options stay what they are.
  [[gnu::cold]] void meet();
  /// After an epoch validation may have done it already.
  [[gnu::cold]] void agree_on_parameters();
  [[gnu::cold]] void compare_parameters();

  process_group* all_;
  engine& engine_;
  bool met_ = false;
  bool written_ = true;   // since parameters were compared
  bool trained_ = false;  // likewise
  int ask_ = 0, asked_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/agreement_inl.hpp>
#endif
