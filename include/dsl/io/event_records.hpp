// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace dsl::detail::TYPENET_MODE {

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

void put_fixed(std::string& to, std::uint64_t value, int bytes);
void put_varint(std::string& to, std::uint64_t value);
/// A message's field of bytes: text, or another message.
void put_bytes(std::string& to, int field, std::string_view bytes);

/// TFRecord's frame: length, its CRC, the data, their CRC; little-endian.
[[gnu::cold]] std::string framed(std::string_view event);

// TensorBoard's Event: 1 wall_time (double), 2 step (int64), 3 file_version, 5 summary, 7 session_log.

/// Field 1; the other fields follow.
[[gnu::cold]] std::string event_at(double wall_time);

/// What a file begins with: its version, and that a session starts at step 0. For TensorBoard all that files before
/// this one in their folder say of steps from there on is no longer so.
[[gnu::cold]] std::string first_records(double wall_time);

struct scalar_point {
  std::string_view tag;
  double value;
};

/// Points of several curves at one step: Summary has 1 Value for each: 1 tag, 2 simple_value (float).
[[gnu::cold]] std::string scalars_record(double wall_time, std::int64_t step,
                                         std::initializer_list<scalar_point> points);

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
  [[gnu::cold]] std::string_view next();

  /// Whether a record has points of epochs before `place`, or of batches up to there.
  [[gnu::cold]] static bool is_before(std::string_view record, event_place const& place);

 private:
  std::uint64_t fixed(std::uint64_t at, int bytes) const;
  bool varint(std::uint64_t& value);
  /// Over a field's key and so many bytes.
  bool skip(std::string_view key, std::size_t bytes);

  std::string_view bytes_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/event_records_inl.hpp>
#endif
