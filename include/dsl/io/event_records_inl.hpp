// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/event_records.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void put_fixed(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
}

TYPENET_INLINE void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

TYPENET_INLINE void put_bytes(std::string& to, int field, std::string_view bytes) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(to, bytes.size());
  to += bytes;
}

TYPENET_INLINE std::string framed(std::string_view event) {
  std::string record;
  put_fixed(record, event.size(), 8);
  put_fixed(record, masked_crc(record), 4);
  record += event;
  put_fixed(record, masked_crc(event), 4);
  return record;
}

TYPENET_INLINE std::string event_at(double wall_time) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &wall_time, sizeof bits);
  std::string event = "\x09";
  put_fixed(event, bits, 8);
  return event;
}

TYPENET_INLINE std::string first_records(double wall_time) {
  std::string version = event_at(wall_time), start = version;
  put_bytes(version, 3, "brain.Event:2");
  start += std::string_view("\x10\x00", 2);              // step 0
  put_bytes(start, 7, std::string_view("\x08\x01", 2));  // SessionLog: 1 status: START
  return framed(version) + framed(start);
}

TYPENET_INLINE std::string scalars_record(double wall_time, std::int64_t step,
                                          std::vector<scalar_point> const& points) {
  std::string summary;
  for (scalar_point const& p : points) {
    auto const single = static_cast<float>(p.value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    std::string value;
    put_bytes(value, 1, p.tag);
    value += '\x15';
    put_fixed(value, bits, 4);
    put_bytes(summary, 1, value);
  }
  std::string event = event_at(wall_time) + '\x10';
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  return framed(event);
}

TYPENET_INLINE std::string_view event_reader::next() {
  constexpr std::uint64_t head = 12, tail = 4;
  if (bytes_.size() < head + tail || fixed(8, 4) != masked_crc(bytes_.substr(0, 8))) return {};
  std::uint64_t const size = fixed(0, 8);
  if (size > bytes_.size() - head - tail || fixed(head + size, 4) != masked_crc(bytes_.substr(head, size))) return {};
  std::string_view const record = bytes_.substr(0, head + size + tail);
  bytes_.remove_prefix(record.size());
  return record;
}

TYPENET_INLINE bool event_reader::is_before(std::string_view record, event_place const& place) {
  event_reader event(record.substr(12, record.size() - 16));
  std::uint64_t step = 0, size = 0;
  bool const points = event.skip("\x09", 8) && event.skip("\x10", 0) && event.varint(step) && event.skip("\x2a", 0) &&
                      event.varint(size) && event.skip("\x0a", 0) && event.varint(size) && event.skip("\x0a", 0) &&
                      event.varint(size);
  if (!points) return false;
  auto const at = static_cast<std::int64_t>(step);
  if (event.bytes_.starts_with("epoch_")) return at < place.epochs;
  return event.bytes_.starts_with("batch_") && at <= place.batches;
}

TYPENET_INLINE std::uint64_t event_reader::fixed(std::uint64_t at, int bytes) const {
  std::uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes_[at + static_cast<unsigned>(i)]);
  return value;
}

TYPENET_INLINE bool event_reader::varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
    auto const byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

TYPENET_INLINE bool event_reader::skip(std::string_view key, std::size_t bytes) {
  if (!bytes_.starts_with(key) || bytes_.size() < key.size() + bytes) return false;
  bytes_.remove_prefix(key.size() + bytes);
  return true;
}

}  // namespace dsl::detail::TYPENET_MODE
