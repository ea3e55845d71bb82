// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

/// The bytes that are sent to, or received from, one process.
struct process_message {
  void* data = nullptr;
  long long bytes = 0;
};

/// The processes that train a network together, each with one or more towers. All processes must make the same calls in
/// the same order, and only one thread at a time may make them. A call throws executor_error, which names the process,
/// if another process does not answer in time or makes a different call.
class process_group {
 public:
  virtual ~process_group() = default;
  process_group(process_group const&) = delete;
  process_group& operator=(process_group const&) = delete;

  /// Return the number of the calling process, counted from 0, and the number of all processes.
  virtual int process() const = 0;
  virtual int processes() const = 0;
  /// Sends message out[q] to every process q, and receives message in[q] from it. Both arrays have `processes()`
  /// messages, and both sides must give the same size for a message. `what` names the call in error messages.
  virtual void exchange(char const* what, process_message const* out, process_message const* in) = 0;
  /// Makes the current exchange, if there is one, and every later exchange throw executor_error with this reason. Any
  /// thread may call this function. It must not throw. If a group cannot interrupt an exchange, it waits until the
  /// exchange ends.
  virtual void interrupt(std::string const& /*why*/) {}
  /// Says whether other threads of this process compute during an exchange. If they do, an exchange should sleep while
  /// it waits.
  virtual void share_cores(bool) {}

  /// Sets all[0 ... processes()) to the values of process 0, process 1, and so on.
  template <class Value>
  void gather(char const* what, Value mine, Value* all) {
    static_assert(__is_trivially_copyable(Value),
                  "process_group: values are sent as bytes, so they must be trivially copyable");
    detail::list<process_message> out(processes()), in(processes());
    for (int q = 0; q < processes(); ++q) out[q] = {&mine, sizeof mine}, in[q] = {&all[q], sizeof mine};
    exchange(what, out.begin(), in.begin());
  }
  /// Throws executor_error in all processes if the value of any process differs in any bit from the value of process 0.
  void agree(char const* what, double value);
  /// Throws executor_error if `found`, a number gathered from process q, differs from `first`, that of process 0.
  static void require_same(char const* what, int q, double found, double first);
  /// Throws executor_error in all processes if their hashes differ. The message does not contain the hashes.
  void agree_on_fingerprint(char const* what, std::uint64_t value);
  /// Replaces the text in every process by the text in process 0.
  void broadcast(char const* what, std::string& text);

 protected:
  process_group() = default;

 private:
  static std::string number(double v);
  [[gnu::cold, noreturn]] static void differ(char const* what, int q, std::string const& found);
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/process_group_inl.hpp>
#endif
