// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/towers/process_group.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/trainer.hpp>

#include <string>

namespace dsl::detail {

/// That all processes have the same pictures. `what` is "train" or "validation".
[[gnu::cold]] inline void agree_on_data(process_group& all, dataset const* data, char const* what) {
  std::string const name = what;
  all.agree(("the number of " + name + " pictures").c_str(), data ? static_cast<double>(data->size) : 0);
  if (data) all.agree_on_fingerprint(("the " + name + " pictures").c_str(), fingerprint_of(*data));
}

/// That all processes train the same network in the same way.
[[gnu::cold]] inline void agree_on_network(process_group& all, engine& e) {
  engine_options const& o = e.options();
  all.agree_on_fingerprint("the network", fingerprint_of(e.graph()));
  all.agree("the seed", static_cast<double>(o.seed));
  all.agree_on_fingerprint("the seed", o.seed);  // a double has 53 of its bits
  all.agree("the loss", static_cast<int>(o.loss));
  all.agree("the number of micro-batches", o.micro_batches);
  all.agree("the optimizer's momentum", o.update.momentum);
  all.agree("the optimizer's weight decay", o.update.weight_decay);
  all.agree("the optimizer's rule", 2 * o.update.nesterov + o.update.rate_in_velocity);
  all.agree("batch_norm's momentum", o.batch_norm_momentum);
  all.agree("batch_norm's running variance", o.unbiased_running_variance);
}

/// All that processes compare around a training.
class agreement final : public process_checks {
 public:
  agreement(process_group* all, engine& e) : all_(all), engine_(e) {}

  [[gnu::cold]] void before_fit(trainer& t, dataset const& data, fit_options const& o) override {
    agree_on_network(*all_, engine_);
    all_->agree("the batch size", o.batch_size);
    all_->agree("the number of epochs", o.epochs);
    all_->agree("the first epoch", o.initial_epoch);
    all_->agree("the learning rate", t.learning_rate());
    all_->agree("whether pictures are shuffled", o.shuffle);
    all_->agree_on_fingerprint("the augmentation", fingerprint_of(o.augment, data.sample));
    all_->agree("the steps trained so far", static_cast<double>(t.steps()));
    agree_on_data(*all_, &data, "training");
    agree_on_data(*all_, o.validation, "validation");
    after_epoch();
  }
  [[gnu::cold]] void after_epoch() override { all_->agree_on_fingerprint("the parameters", fingerprint_of(engine_)); }
  [[gnu::cold]] void before_evaluation(dataset const& data, int batch_size) override {
    all_->agree("the number of pictures to evaluate", static_cast<double>(data.size));
    all_->agree("the batch size", batch_size);
  }
  void before_batch(int size) override { all_->agree("the batch size", size); }

 private:
  process_group* all_;
  engine& engine_;
};

}  // namespace dsl::detail
