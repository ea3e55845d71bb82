// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

/// Bytes that go to, or come from, one process.
struct process_message {
  void* data = nullptr;
  long long bytes = 0;
};

/// The processes that train one network together, each with one tower or several. All of them make the same calls in
/// the same order, on one thread at a time. Throws executor_error, naming the process, where another one does not
/// answer in time or calls something else.
class process_group {
 public:
  virtual ~process_group() = default;
  process_group(process_group const&) = delete;
  process_group& operator=(process_group const&) = delete;

  virtual int process() const = 0;
  virtual int processes() const = 0;
  /// out[q] goes to process q, and in[q] comes from it: `processes()` messages each, of sizes on which both sides
  /// agree. `what` names the call in messages.
  virtual void exchange(char const* what, process_message const* out, process_message const* in) = 0;
  /// From any thread, during an exchange or just before one: it, and every other one from now on, throws executor_error
  /// with this reason, soon. A group that can't do so waits for its end.
  virtual void interrupt(std::string const& /*why*/) {}
  /// Whether other threads of this process compute while one exchanges: then that one should sleep where it waits.
  virtual void share_cores(bool) {}

  /// all[0 ... processes()) become process 0's value, process 1's, and so on.
  template <class Value>
  void gather(char const* what, Value mine, Value* all) {
    static_assert(__is_trivially_copyable(Value), "process_group: values travel as bytes");
    detail::list<process_message> out(processes()), in(processes());
    for (int q = 0; q < processes(); ++q) out[q] = {&mine, sizeof mine}, in[q] = {&all[q], sizeof mine};
    exchange(what, out.begin(), in.begin());
  }
  /// Throws executor_error, in all processes, where one has another number than process 0, to the bit.
  [[gnu::cold]] void agree(char const* what, double value);
  /// The same of numbers that have been gathered: process q's and process 0's.
  static void require_same(char const* what, int q, double found, double first);
  /// The same of what a number stands for that says nothing to anybody.
  [[gnu::cold]] void agree_on_fingerprint(char const* what, std::uint64_t value);
  /// Process 0's text becomes everybody's.
  [[gnu::cold]] void broadcast(char const* what, std::string& text);

 protected:
  process_group() = default;

 private:
  [[gnu::cold]] static std::string number(double v);
  [[gnu::cold, noreturn]] static void differ(char const* what, int q, std::string const& found);
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/process_group_inl.hpp>
#endif
