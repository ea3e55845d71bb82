// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace dsl::detail {

/// CRC-32C, bit by bit: a record has a hundred bytes. crc32c("123456789") == 0xe3069283
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (char const c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}
static_assert(crc32c("123456789") == 0xe3069283U);

/// As TFRecord files have it, since a CRC of data with CRCs in them is a poor one.
constexpr std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t const crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

inline void put_fixed(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> 8 * i & 0xff);
}
inline void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
/// A message's field of bytes: text, or another message.
inline void put_bytes(std::string& to, int field, std::string_view bytes) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(to, bytes.size());
  to += bytes;
}

/// TFRecord's frame: length, its CRC, the data, their CRC; little-endian.
[[gnu::cold]] inline std::string framed(std::string_view event) {
  std::string record;
  put_fixed(record, event.size(), 8);
  put_fixed(record, masked_crc(record), 4);
  record += event;
  put_fixed(record, masked_crc(event), 4);
  return record;
}

// TensorBoard's Event: 1 wall_time (double), 2 step (int64), 3 file_version, 5 summary, 7 session_log.

/// Field 1; the other fields follow.
[[gnu::cold]] inline std::string event_at(double wall_time) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &wall_time, sizeof bits);
  std::string event = "\x09";
  put_fixed(event, bits, 8);
  return event;
}

/// What a file begins with: its version, and that a session starts at step 0. For TensorBoard all that files before
/// this one in their folder say of steps from there on is no longer so.
[[gnu::cold]] inline std::string first_records(double wall_time) {
  std::string version = event_at(wall_time), start = version;
  put_bytes(version, 3, "brain.Event:2");
  start += std::string_view("\x10\x00", 2);              // step 0
  put_bytes(start, 7, std::string_view("\x08\x01", 2));  // SessionLog: 1 status: START
  return framed(version) + framed(start);
}

struct scalar_point {
  std::string_view tag;
  double value;
};

/// Points of several curves at one step: Summary has 1 Value for each: 1 tag, 2 simple_value (float).
[[gnu::cold]] inline std::string scalars_record(double wall_time, std::int64_t step,
                                                std::initializer_list<scalar_point> points) {
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

/// A run's place on both axes: epochs and batches that are over.
struct event_place {
  std::int64_t epochs = 0;
  std::int64_t batches = 0;
  bool is_begin() const { return epochs == 0 && batches == 0; }
};

/// Reads what scalars_record() wrote, and nothing else.
class event_reader {
 public:
  explicit event_reader(std::string_view bytes) : bytes_(bytes) {}

  /// The next whole record, with its frame; empty: there is none, or its CRCs are not those of what is there.
  [[gnu::cold]] std::string_view next() {
    constexpr std::uint64_t head = 12, tail = 4;
    if (bytes_.size() < head + tail || fixed(8, 4) != masked_crc(bytes_.substr(0, 8))) return {};
    std::uint64_t const size = fixed(0, 8);
    if (size > bytes_.size() - head - tail || fixed(head + size, 4) != masked_crc(bytes_.substr(head, size))) return {};
    std::string_view const record = bytes_.substr(0, head + size + tail);
    bytes_.remove_prefix(record.size());
    return record;
  }

  /// Whether a record has points of epochs before `place`, or of batches up to there.
  [[gnu::cold]] static bool is_before(std::string_view record, event_place const& place) {
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

 private:
  std::uint64_t fixed(std::uint64_t at, int bytes) const {
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes_[at + static_cast<unsigned>(i)]);
    return value;
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      auto const byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  /// Over a field's key and so many bytes.
  bool skip(std::string_view key, std::size_t bytes) {
    if (!bytes_.starts_with(key) || bytes_.size() < key.size() + bytes) return false;
    bytes_.remove_prefix(key.size() + bytes);
    return true;
  }

  std::string_view bytes_;
};

}  // namespace dsl::detail
