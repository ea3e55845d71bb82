// SPDX-License-Identifier: MIT
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/state_network.hpp"
#include "fuzz/targets.hpp"

namespace {

std::string repaired(std::string bytes) {
  dsl::trainer& t = dsl::fuzz::small_trainer();
  dsl::detail::checkpoint_head head{};
  std::uint64_t sum = 0;
  if (bytes.size() < sizeof head + sizeof sum) return bytes;
  dsl::detail::checkpoint_head const own{};
  std::memcpy(&head, bytes.data(), sizeof head);
  std::memcpy(head.magic, own.magic, sizeof own.magic);
  head.fingerprints = own.fingerprints;
  head.network = dsl::detail::fingerprint_of(t.graph(), head.fingerprints);
  head.rules = dsl::detail::fingerprint_of(t.engine().options(), t.graph(), head.fingerprints);
  head.callbacks = 0;
  std::size_t const rest = dsl::detail::checkpoint_size(head);
  if (rest > 0 && rest <= bytes.size()) head.callbacks = static_cast<std::int64_t>(bytes.size() - rest);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::size_t const end = bytes.size() - sizeof sum;
  sum = dsl::detail::checksum(bytes, end);
  std::memcpy(bytes.data() + end, &sum, sizeof sum);
  return bytes;
}

}  // namespace

bool dsl::fuzz::state(std::string_view bytes) {
  if (bytes.empty()) return false;
  on_warning = [](char const*) {};  // a state from another training is not an error
  std::string file(bytes.substr(1));
  if (bytes[0] == 'f') file = repaired(std::move(file));
  try {
    trainer& t = small_trainer();
    saved_run const saved = restore_run(t, file, "a state");
    std::vector<callback_handle> const callbacks = small_callbacks();
    fit_run run{.trainer = t,
                .epochs = 2,
                .steps = 2,
                .batch_size = 4,
                .validates = true,
                .callbacks = callbacks.data(),
                .callback_count = callbacks.size()};
    run.next = saved.next;
    for (callback_handle const& c : callbacks) c->on_train_begin(run);  // they check their state against the run
    restore_callbacks(run, saved.callbacks, "a state");
    return true;
  } catch (error const&) {
    return false;
  }
}
