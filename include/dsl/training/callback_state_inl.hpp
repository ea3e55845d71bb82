// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE callback_state::callback_state(std::string bytes, std::string from, char const* otherwise)
    : bytes_(std::move(bytes)), from_(std::move(from)), otherwise_(otherwise), restores_(true) {}

TYPENET_INLINE void callback_state::same(char const* key, std::string const& value) {
  std::string found = value;
  array(key, found);
  if (found != value)
    throw file_error(
        detail::message({from_, " was saved with ", key, " ", detail::excerpt(found), ", but this run has ", value,
                         "; use the same ", key, ", or remove the file to start from the beginning"}));
}

TYPENET_INLINE void callback_state::need_count(char const* key, std::size_t found, std::size_t wanted) const {
  if (restores_ && found != wanted)
    throw file_error(
        detail::message({from_, ": \"", key, "\" must have ", detail::counted(static_cast<long long>(wanted), "number"),
                         "; found ", found, "; the file is damaged; ", otherwise_}));
}

TYPENET_INLINE void callback_state::write(char const* key, void const* data, std::size_t size) {
  std::uint64_t const stored = size;
  bytes_.append(key).push_back('\0');
  bytes_.append(reinterpret_cast<char const*>(&stored), sizeof stored);
  if (size > 0) bytes_.append(static_cast<char const*>(data), size);
}

TYPENET_INLINE void callback_state::read(char const* key, void* data, std::size_t size, bool booleans) const {
  field const f = find(key);
  if (!f.found) return;
  if (f.size != size)
    throw file_error(detail::message({from_, " has ", f.size, " bytes of ", key, "; expected ", size,
                                      "; the file is from another program; ", otherwise_}));
  for (std::size_t i = 0; booleans && i < size; ++i)  // reading any other value as bool is undefined
    if (auto const byte = static_cast<unsigned char>(bytes_[f.at + i]); byte > 1)
      throw file_error(detail::message({from_, " has the ", key, " ", static_cast<int>(byte),
                                        "; expected 0 or 1; the file is damaged; ", otherwise_}));
  if (size > 0) std::memcpy(data, bytes_.data() + f.at, size);
}

TYPENET_INLINE callback_state::field callback_state::find(char const* key) const {
  for (std::size_t at = 0; at < bytes_.size();) {
    std::size_t const end = bytes_.find('\0', at);
    std::uint64_t size = 0;
    if (end == bytes_.npos || bytes_.size() - end - 1 < sizeof size) break;
    std::memcpy(&size, bytes_.data() + end + 1, sizeof size);
    std::size_t const data = end + 1 + sizeof size;
    if (size > bytes_.size() - data) break;
    if (bytes_.compare(at, end - at, key) == 0) return {data, size, true};
    at = data + size;
  }
  return {};
}

}  // namespace dsl::TYPENET_MODE
