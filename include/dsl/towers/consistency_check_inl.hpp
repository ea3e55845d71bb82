// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/towers/consistency_check.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void agree_on_text(process_group& all, char const* what, std::string const& text) {
  struct line {
    char text[128] = {};
  };
  line mine;
  std::strncpy(mine.text, text.c_str(), sizeof mine.text - 1);
  list<line> each(all.processes());
  all.gather(what, mine, each.begin());
  for (int q = 1; q < all.processes(); ++q)
    if (std::strcmp(each[q].text, each[0].text) != 0)
      throw executor_error(message({"processes: rank ", q, " and rank 0 differ in ", what, ": ", each[q].text, " and ",
                                    each[0].text, "; start all of them with the same program and options"}));
}

TYPENET_INLINE void agree_on_data(process_group& all, dataset const* data, char const* what) {
  std::string const name = what;
  all.agree(("the number of " + name + " samples").c_str(), data ? static_cast<double>(data->size) : 0);
  if (data) all.agree_on_fingerprint(("the " + name + " data").c_str(), fingerprint_of(*data));
}

TYPENET_INLINE void agree_on_network(process_group& all, engine& e) {
  engine_options const& o = e.options();
  all.agree_on_fingerprint("the network", fingerprint_of(e.graph()));
  all.agree_on_fingerprint("the frozen layers", fingerprint_of_frozen(e.graph()));
  all.agree_on_fingerprint("the factors of learning rate and weight decay", fingerprint_of_factors(e.graph()));
  all.agree("the seed", static_cast<double>(o.seed));
  all.agree_on_fingerprint("the seed", o.seed);  // a double holds only 53 of its bits
  agree_on_text(all, "the loss", name_of_loss(o.loss.all));
  all.agree_on_fingerprint("your own loss", fingerprint_of_loss(e.graph(), o));
  all.agree_on_fingerprint("the outputs and the weights of their losses", fingerprint_of_outputs(e.graph(), o));
  all.agree("the number of micro-batches", o.micro_batches);
  all.agree("the label smoothing", o.label_smoothing);
  fingerprint class_weights;
  for (float const w : o.class_weights) class_weights.add(static_cast<double>(w));
  all.agree_on_fingerprint("the weights of classes", class_weights.value());
  constexpr char const* methods[] = {"sgd", "adam", "rmsprop"};
  agree_on_text(all, "the optimizer", methods[static_cast<int>(o.update.method)]);
  all.agree("the optimizer's momentum", o.update.momentum);
  all.agree("the optimizer's weight decay", o.update.weight_decay);
  all.agree("the optimizer's beta_1", o.update.first_decay);
  all.agree("the optimizer's beta_2 or rho", o.update.second_decay);
  all.agree("the optimizer's epsilon", o.update.epsilon);
  all.agree("the norm that gradients are clipped to", o.update.clip.norm);
  all.agree("the value that gradients are clipped to", o.update.clip.value);
  all.agree_on_fingerprint("the optimizer's rule", fingerprint_of(o.update));  // including its parameters
  all.agree("batch_norm's momentum", o.batch_norm_momentum);
  all.agree("the option unbiased_running_variance", o.unbiased_running_variance);
}

TYPENET_INLINE void consistency_check::before_fit(fit_terms const& t) {
  meet();
  all_->agree("the batch size", t.batch_size);
  all_->agree("the number of epochs", t.epochs);
  all_->agree("the first epoch", t.initial_epoch);
  all_->agree("the number of backup_and_restore among the callbacks", t.backups);
  all_->agree("the learning rate", t.learning_rate);
  all_->agree("whether the data is shuffled", t.shuffle);
  all_->agree_on_fingerprint("the augmentation", fingerprint_of(t.augment, t.data.sample, t.epochs));
  all_->agree("the steps trained so far", static_cast<double>(t.steps));
  all_->agree("the epoch from which weights are averaged", t.average_from_epoch);
  all_->agree("the average's momentum", t.average_momentum);
  all_->agree("the steps from one average to the next", t.average_every);
  agree_on_data(*all_, &t.data, "training");
  agree_on_data(*all_, t.validation, "validation");
  agree_on_parameters();
}

TYPENET_INLINE void consistency_check::before_evaluation(dataset const& data, int batch_size) {
  meet();
  all_->agree("the number of samples to evaluate", static_cast<double>(data.size));
  all_->agree("the batch size", batch_size);
  agree_on_parameters();
}

TYPENET_INLINE void consistency_check::before_batch(int size, double learning_rate, std::uint64_t steps,
                                                    per_output<target_kind> const& targets) {
  struct call {
    double size, learning_rate;
    std::uint64_t steps, written, targets, own_targets;
  };
  list<call> each(all_->processes());
  call const mine{1.0 * size, learning_rate, steps, written_, static_cast<std::uint64_t>(targets.all), targets.own};
  all_->gather("train_on_batch", mine, each.begin());
  bool written = false;
  for (int q = 0; q < all_->processes(); ++q) {
    process_group::require_same("the batch size", q, each[q].size, each[0].size);
    process_group::require_same("the kind of the batch's targets", q, static_cast<double>(each[q].targets),
                                static_cast<double>(each[0].targets));
    process_group::require_same("the kinds of the outputs' own targets", q, static_cast<double>(each[q].own_targets),
                                static_cast<double>(each[0].own_targets));
    process_group::require_same("the learning rate", q, each[q].learning_rate, each[0].learning_rate);
    process_group::require_same("the steps trained so far", q, static_cast<double>(each[q].steps),
                                static_cast<double>(each[0].steps));
    written |= each[q].written != 0;
  }
  if (!written) return;
  meet();
  compare_parameters();
}

TYPENET_INLINE bool consistency_check::any(char const* what, bool here) {
  list<int> each(all_->processes());
  all_->gather(what, static_cast<int>(here), each.begin());
  bool found = false;
  for (int one : each) found |= one != 0;
  return found;
}

TYPENET_INLINE void consistency_check::meet() {
  if (met_) return;
  agree_on_text(*all_, "the executor", engine_.arithmetic());
  agree_on_network(*all_, engine_);
  met_ = true;
}

TYPENET_INLINE void consistency_check::agree_on_parameters() {
  if (any("whether parameters have changed", written_ || trained_)) compare_parameters();
}

TYPENET_INLINE void consistency_check::compare_parameters() {
  all_->agree_on_fingerprint("the parameters", fingerprint_of(engine_));
  written_ = trained_ = false;
}

}  // namespace dsl::detail::TYPENET_MODE
