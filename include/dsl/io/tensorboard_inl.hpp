// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/event_file.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE tensorboard::tensorboard(std::string log_dir, tensorboard_options const& o)
    : is_named_(!log_dir.empty()),
      train_{log_dir + "/train"},
      validation_{std::move(log_dir) + "/validation"},
      options_(o) {
  if (o.update_freq < 0)
    throw option_error(detail::message(
        {"tensorboard: update_freq must be 0 (write only after each epoch) or a positive number of batches; found ",
         o.update_freq}));
}

TYPENET_INLINE void tensorboard::on_train_begin(fit_run& run) {
  close();
  warned_ = begun_ = false;
  if (number_ == 0 || (run.next.epoch == 0 && run.next.step == 0)) number_ = detail::number_for_run();
  if (!run.leads) return;
  if (!is_named_)
    throw file_error("tensorboard: cannot write the folder: its name is empty; give a folder, such as logs");
  for (log const* l : {&train_, &validation_}) {
    if (l == &validation_ && !run.validates) continue;
    std::string const file = l->folder + "/" + detail::event_file::begun;
    detail::make_folders(file, "tensorboard");
    check_writable(file, "tensorboard");
  }
}

TYPENET_INLINE void tensorboard::on_epoch_begin(fit_run& run) {
  if (!run.leads || std::exchange(begun_, true)) return;
  before_ = {run.epoch, run.epoch * run.steps + run.next.step};
  write(train_, {});
  if (run.validates) write(validation_, {});
}

TYPENET_INLINE void tensorboard::on_batch_end(fit_run& run) {
  if (options_.update_freq == 0 || !run.leads) return;
  std::int64_t const batch = run.epoch * run.steps + run.step + 1;
  if (batch % options_.update_freq != 0) return;
  write(train_, detail::scalars_record(detail::wall_time(), batch, points("batch_", run.current.train)));
}

TYPENET_INLINE void tensorboard::on_epoch_end(fit_run& run) {
  if (!run.leads) return;
  epoch_record const& e = run.current;
  double const now = detail::wall_time();
  std::vector<detail::scalar_point> of_training = points("epoch_", e.train);
  of_training.push_back({"epoch_learning_rate", e.learning_rate});
  write(train_, detail::scalars_record(now, e.epoch, of_training));
  if (e.validated) write(validation_, detail::scalars_record(now, e.epoch, points("epoch_", e.validation)));
}

TYPENET_INLINE std::vector<detail::scalar_point> tensorboard::points(std::string const& prefix, scores const& s) {
  std::vector<detail::scalar_point> all{{prefix + "loss", s.loss}};
  if (s.has_acc()) all.push_back({prefix + "accuracy", s.acc});
  for (output_scores const& one : s.outputs) {
    all.push_back({prefix + one.name + "_loss", one.loss});
    if (one.acc == one.acc) all.push_back({prefix + one.name + "_accuracy", one.acc});
  }
  for (named_score const& one : s.metrics) all.push_back({prefix + one.name, one.value});
  return all;
}

TYPENET_INLINE void tensorboard::write(log& l, std::string_view record) {
  l.waiting += record;
  detail::write_or_warn(warned_, [&] {
    detail::event_place place = before_;
    if (l.file &&
        !l.file->is_whole()) {  // records after half a one would not be read: begin a file with the whole ones
      l.file.reset();
      place = {callback_state::largest_count, callback_state::largest_count};
    }
    if (!l.file) l.file = std::make_shared<detail::event_file>(l.folder, number_, place);
    l.file->append(l.waiting);
    l.waiting.clear();
  });
}

TYPENET_INLINE void tensorboard::close() {
  for (log* l : {&train_, &validation_}) l->file.reset(), l->waiting.clear();
}

}  // namespace dsl::TYPENET_MODE
