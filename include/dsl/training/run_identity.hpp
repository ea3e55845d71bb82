// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/process_checks.hpp>

#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// A property of a run, with a value that equal runs share: {"training data", "640 samples of 3x32x32 (9c7f2a10)"}.
struct run_property {
  char const* name;
  std::string value;
};

/// The properties of a run's data, which decide its results. The data are read only when the properties are first
/// needed, by a callback that saves the run or resumes it.
class run_identity {
 public:
  explicit run_identity(fit_terms const& terms) : terms_(terms) {}
  std::vector<run_property> const& properties();

 private:
  fit_terms terms_;
  std::vector<run_property> found_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/run_identity_inl.hpp>
#endif
