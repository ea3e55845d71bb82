// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns a CRC-32C. It is computed bit by bit, which is fast enough for records of a hundred bytes.
/// crc32c("123456789") == 0xe3069283
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (char const c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}
static_assert(crc32c("123456789") == 0xe3069283U);

/// Returns a CRC masked as in TFRecord files, since computing the CRC of data that contains CRCs is problematic.
constexpr std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t const crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

void put_fixed(std::string& to, std::uint64_t value, int bytes);
void put_varint(std::string& to, std::uint64_t value);
/// Appends a field of bytes to a message: text, or another message.
void put_bytes(std::string& to, int field, std::string_view bytes);

/// Returns an event in TFRecord's frame: length, its CRC, the data, their CRC; little-endian.
[[gnu::cold]] std::string framed(std::string_view event);

// TensorBoard's Event has the fields 1 wall_time (double), 2 step (int64), 3 file_version, 5 summary, 7 session_log.

/// Returns an event with field 1, to which the others are appended.
[[gnu::cold]] std::string event_at(double wall_time);

/// Returns a file's first records: the version, and the start of a session at step 0. TensorBoard then discards the
/// points of earlier files in the folder at that step and later ones.
[[gnu::cold]] std::string first_records(double wall_time);

struct scalar_point {
  std::string tag;
  double value;
};

/// Returns points of several curves at one step: a Summary with one Value for each (1 tag, 2 simple_value, a float).
[[gnu::cold]] std::string scalars_record(double wall_time, std::int64_t step, std::vector<scalar_point> const& points);

/// A run's place on both axes: finished epochs and finished batches.
struct event_place {
  std::int64_t epochs = 0;
  std::int64_t batches = 0;
  bool is_begin() const { return epochs == 0 && batches == 0; }
};

/// Reads what scalars_record() has written, and nothing else.
class event_reader {
 public:
  explicit event_reader(std::string_view bytes) : bytes_(bytes) {}

  /// Returns the next whole record with its frame; empty if there is none or a CRC is wrong.
  [[gnu::cold]] std::string_view next();

  /// Whether a record has points of epochs before `place`, or of batches up to it.
  [[gnu::cold]] static bool is_before(std::string_view record, event_place const& place);

 private:
  std::uint64_t fixed(std::uint64_t at, int bytes) const;
  bool varint(std::uint64_t& value);
  /// Skips a field's key and the given number of bytes; false if another key follows.
  bool skip(std::string_view key, std::size_t bytes);

  std::string_view bytes_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/event_records_inl.hpp>
#endif
