// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/host/binding.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/warning.hpp>

#include <cstring>
#include <string>

namespace dsl::host::TYPENET_MODE {

/// Collects the names of operations that an executor has no kernel for and that move enough bytes to matter. These run
/// in plain loops on one thread.
class plain_loops {
 public:
  /// Adds the names of a program's slow steps, if the program has samples. Returns whether one of the names is new.
  template <class T>
  bool add(graph_view const& g, program<T> const& p) {
    long long all = 0;
    for (bound_step<T> const& b : p.steps) all += bytes_of(g, p, *b.step);
    bool added = false;
    for (int i = 0; i < p.steps.size(); ++i) {
      if (!is_plain(p.steps[i])) continue;
      char const* const word = word_of(p.steps[i]);
      long long bytes = 0;
      for (bound_step<T> const& b : p.steps)
        if (is_plain(b) && std::strcmp(word_of(b), word) == 0) bytes += bytes_of(g, p, *b.step);
      if (bytes >= worth_saying && 100 * bytes >= all) added |= add(word);
    }
    return added;
  }
  /// Adds an operation for which a library uses its own plain loop. Returns whether the operation's name is new.
  bool add(std::string const& word) {
    if ((", " + words_ + ", ").find(", " + word + ", ") != std::string::npos) return false;
    words_ += (words_.empty() ? "" : ", ") + word;
    return true;
  }
  /// Prints a warning in an executor's name that refers to the executor's page. If there are several towers, only the
  /// first one warns.
  void warn(char const* executor, char const* page, engine_options const& o) const {
    if (o.group && o.group->rank() != 0) return;
    on_warning(detail::message({executor, ": there is no fast kernel for ", words_,
                                " in this network, so slower plain loops are used; ", page,
                                " lists the operations with kernels"})
                   .c_str());
  }
  /// Returns the names of the slow operations, such as "tanh, update", or an empty string if there are none.
  std::string const& words() const { return words_; }
  /// Returns text for the end of a description, such as ", plain loops for tanh, update", or an empty string if there
  /// are no slow operations.
  std::string described() const { return words_.empty() ? "" : ", plain loops for " + words_; }

 private:
  // A plain loop moves about a gigabyte per second, a tenth of a kernel's rate. Below this number of bytes it takes
  // less than a millisecond, and below a hundredth of a step's bytes less than a tenth of the step's time.
  static constexpr long long worth_saying = 1 << 20;

  template <class T>
  static bool is_plain(bound_step<T> const& b) {
    return !b.kernel && b.step->what != action::all_reduce;
  }
  template <class T>
  static char const* word_of(bound_step<T> const& b) {
    switch (b.step->what) {
      case action::load: return "load";
      case action::loss: return "loss";
      case action::copy_forward:
      case action::copy_backward: return "copy";
      case action::add_gradients: return "add_gradients";
      case action::measure: return "measure";
      case action::update: return "update";
      default: return b.node ? detail::kernel_word_of(*b.node) : "?";
    }
  }
  template <class T>
  static long long bytes_of(graph_view const& g, program<T> const& p, step const& s) {
    long long bytes = 0;
    for (int i = s.first_operand; i < s.first_operand + s.operands; ++i) {
      operand const& o = p.plan.operands[i];
      bool const tensor = o.what == content::activation || o.what == content::gradient;
      bytes += tensor ? g.shape_of(o.index).size() * p.plan.samples_of(s).size * static_cast<long long>(sizeof(T))
                      : p.plan.buffers[o.buffer].bytes;
    }
    return bytes;
  }

  std::string words_;
};

}  // namespace dsl::host::TYPENET_MODE
