// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// Returns a confusion matrix as text: a row per true class, a column per predicted class, recall at the end of each
/// row and precision below. Class names are escaped for a terminal.
///   label \ predicted  cat  dog  recall
///   cat                  8    2  0.8000
///   dog                  1    9  0.9000
///   precision          0.89 0.82
///   accuracy 0.8500 of 20 samples
[[gnu::cold]] std::string confusion_table(confusion_matrix const& m);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/confusion_table_inl.hpp>
#endif
