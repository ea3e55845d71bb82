// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the CRC-32C of some bytes. The CRC is computed bit by bit, which is fast enough for records of a hundred
/// bytes. crc32c("123456789") == 0xe3069283
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (char const c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}
static_assert(crc32c("123456789") == 0xe3069283U);

/// Returns the masked CRC of some bytes, as in TFRecord files. The format masks CRCs because computing the CRC of data
/// that contain CRCs is problematic.
constexpr std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t const crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

void put_fixed(std::string& to, std::uint64_t value, int bytes);
void put_varint(std::string& to, std::uint64_t value);
/// Appends a field of bytes to a message: text, or another message.
void put_bytes(std::string& to, int field, std::string_view bytes);

/// Returns an event as a TFRecord: the length, the CRC of the length, the data, and the CRC of the data; numbers are
/// little-endian.
std::string framed(std::string_view event);

// TensorBoard's Event has the fields 1 wall_time (double), 2 step (int64), 3 file_version, 5 summary, 7 session_log.

/// Returns an event that has only its time, which is field 1. Other fields are appended to it.
std::string event_at(double wall_time);

/// Returns a file's first records, which are the version and the start of a session at step 0. The start of a session
/// makes TensorBoard discard the points that earlier files in the folder have at this step and later steps.
std::string first_records(double wall_time);

struct scalar_point {
  std::string tag;
  double value;
};

/// Returns the record of one point on each of several curves, at the same step: a Summary with one Value for each curve
/// (1 tag, 2 simple_value, a float).
std::string scalars_record(double wall_time, std::int64_t step, std::vector<scalar_point> const& points);

/// The position of a run on both axes: the numbers of finished epochs and of finished batches.
struct event_place {
  std::int64_t epochs = 0;
  std::int64_t batches = 0;
  bool is_begin() const { return epochs == 0 && batches == 0; }
};

/// Reads only records that scalars_record() has written.
class event_reader {
 public:
  explicit event_reader(std::string_view bytes) : bytes_(bytes) {}

  /// Returns the next whole record, including its lengths and CRCs. Returns an empty view if there is none or a CRC is
  /// wrong.
  std::string_view next();

  /// Whether a record has points of epochs before `place`, or of batches up to `place`.
  static bool is_before(std::string_view record, event_place const& place);

 private:
  std::uint64_t fixed(std::uint64_t at, int bytes) const;
  bool varint(std::uint64_t& value);
  /// Skips a field's key and the given number of bytes. Returns false if the next key is a different one.
  bool skip(std::string_view key, std::size_t bytes);

  std::string_view bytes_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/event_records_inl.hpp>
#endif
