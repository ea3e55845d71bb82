// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// Returns a confusion matrix as text, with a row for each true class and a column for each predicted class. The recall
/// of a class is at the end of its row, and the precision is below its column. Class names are escaped for a terminal.
///   label \ predicted  cat  dog  recall
///   cat                  8    2  0.8000
///   dog                  1    9  0.9000
///   precision          0.89 0.82
///   accuracy 0.8500 of 20 samples
std::string confusion_table(confusion_matrix const& m);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/confusion_table_inl.hpp>
#endif
