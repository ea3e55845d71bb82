// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/detail/refuse_batch.hpp>

#include <stdexcept>
#include <string>

namespace dsl {

/// The base class of everything that typenet throws. The message names the file, field, layer or device, what was
/// found, what was expected and what to do. Control characters in it are escaped, because it quotes names from files
/// and command lines, which could otherwise send escape sequences to a terminal.
struct TYPENET_EXPORT error : std::runtime_error {
  explicit error(std::string const& what) : std::runtime_error(detail::printable(what)) {}
};

/// Thrown for a data set that is missing, too short, too long, mislabelled or unreadable.
struct TYPENET_EXPORT data_error : error {
  using error::error;
};

/// Thrown for a file that cannot be read or written: a plot, a history, a checkpoint.
struct TYPENET_EXPORT file_error : error {
  using error::error;
};

/// Thrown for an invalid option or combination of options, such as epochs = 0 or a batch larger than the data.
struct TYPENET_EXPORT option_error : error {
  using error::error;
};

/// Thrown for an executor or a device that does not exist, and for a failed call of a library.
struct TYPENET_EXPORT executor_error : error {
  using error::error;
};

/// Thrown on a device if one of its peers has failed. The error of the peer contains the reason, and is the one that is
/// reported.
struct TYPENET_EXPORT peer_error : executor_error {
  using executor_error::executor_error;
};

/// Thrown when training cannot continue because the loss is no longer finite.
struct TYPENET_EXPORT training_error : error {
  using error::error;
};

/// Thrown by fit when stop_on_signal, or another callback that sets fit_run::interrupt, ends the run at a step. By then
/// a callback that backs up the run has written its state.
struct TYPENET_EXPORT interrupted : error {
  interrupted(std::string const& what, int which) : error(what), signal(which) {}
  int signal;
};

namespace detail {

// weak, not inline: every file emits it, even one that does not call it.
[[gnu::weak, noreturn, gnu::cold]] void refuse_batch(int found) {  // NOLINT(misc-definitions-in-headers)
  throw_error<option_error>({"bytes: a batch must have at least one sample; found ", found});
}

}  // namespace detail

}  // namespace dsl
