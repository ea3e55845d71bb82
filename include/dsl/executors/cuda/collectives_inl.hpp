// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/collectives.hpp>

#include <cstddef>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

TYPENET_INLINE handshake::~handshake() {
  if (!group_ || answered_) return;
  try {
    exchange(false, {});
  } catch (...) {  // the other ranks have been informed, and this rank's own error is being thrown
  }
}

TYPENET_INLINE void handshake::pass() {
  if (group_ && !answered_) answer({});
}

TYPENET_INLINE handshake::note handshake::answer(note const& mine) {
  std::vector<double> const all = exchange(true, mine);
  for (int r = 0; r < ranks(); ++r)
    if (all[static_cast<std::size_t>(r) * length] == 0)
      throw peer_error(detail::message(
          {"cuda: rank ", r, " of ", ranks(), " failed before ", what_, "; look for the error that it reported"}));
  note first;
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<std::byte>(static_cast<int>(all[1 + i]));
  return first;
}

TYPENET_INLINE std::vector<double> handshake::exchange(bool here, note const& mine) {
  answered_ = true;
  std::vector<double> sent(length), all(length * static_cast<std::size_t>(ranks()));
  sent[0] = here ? 1 : 0;
  for (std::size_t i = 0; i < mine.size(); ++i) sent[1 + i] = static_cast<double>(mine[i]);
  group_->all_gather(sent.data(), static_cast<long long>(length), all.data());
  return all;
}

}  // namespace dsl::cu::TYPENET_MODE
