// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/detail/refuse_batch.hpp>

#include <stdexcept>
#include <string>

namespace dsl {

/// Root of everything typenet throws. The message names the file, field, layer or device, what was found, what was
/// expected and what to do about it. It quotes names from files and command lines, so control characters in it are
/// written out: a file whose names have escape sequences can't make a terminal obey it.
struct TYPENET_EXPORT error : std::runtime_error {
  [[gnu::cold]] explicit error(std::string const& what) : std::runtime_error(detail::printable(what)) {}
};

/// A data set that is missing, short, long, mislabelled or unreadable.
struct TYPENET_EXPORT data_error : error {
  using error::error;
};

/// A file that can't be read or written for another reason than its data: a plot, a history, a checkpoint.
struct TYPENET_EXPORT file_error : error {
  using error::error;
};

/// A number or combination of options that makes no sense: epochs = 0, a batch larger than the data.
struct TYPENET_EXPORT option_error : error {
  using error::error;
};

/// An executor that isn't there, a device it doesn't have, or a library call that failed.
struct TYPENET_EXPORT executor_error : error {
  using error::error;
};

/// What a device that trains together with others throws where one of those has failed: that one's own error says why.
struct TYPENET_EXPORT peer_error : executor_error {
  using executor_error::executor_error;
};

/// Training that can't go on: the loss is not a number any more.
struct TYPENET_EXPORT training_error : error {
  using error::error;
};

/// Thrown by fit when stop_on_signal, or another callback that set fit_run::interrupt, has ended the run at a step. The
/// run's state has been written by then if a callback keeps one.
struct TYPENET_EXPORT interrupted : error {
  interrupted(std::string const& what, int which) : error(what), signal(which) {}
  int signal;
};

namespace detail {

// Weak in place of inline: emitted in every file, called there or not.
[[gnu::weak, noreturn, gnu::cold]] void refuse_batch(int found) {  // NOLINT(misc-definitions-in-headers)
  refuse<option_error>({"bytes: a batch must have at least one sample; found ", found});
}

}  // namespace detail

}  // namespace dsl
