// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A reader of TensorBoard's files that shares no code with their writer, and refuses whatever it does not know.

namespace dsl::test {

inline std::uint32_t reversed(std::uint32_t value, int bits) {
  std::uint32_t result = 0;
  for (int i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
  return result;
}
/// Computes the CRC by the polynomial as in textbooks, highest bit first.
inline std::uint32_t textbook_crc32c(std::string const& bytes) {
  std::uint32_t rest = 0xffffffff;
  for (char const c : bytes) {
    rest ^= reversed(static_cast<std::uint8_t>(c), 8) << 24;
    for (int i = 0; i < 8; ++i) rest = rest & 0x80000000 ? rest << 1 ^ 0x1edc6f41 : rest << 1;
  }
  return ~reversed(rest, 32);
}

struct event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version{};
  bool starts_session = false;
  std::vector<std::pair<std::string, float>> points{};
};

class strict_event_reader {
 public:
  explicit strict_event_reader(std::string bytes) : bytes_(std::move(bytes)) {}

  std::vector<event> all() {
    std::vector<event> events;
    while (at_ < bytes_.size()) {
      std::string const length = take(8);
      need(number(take(4)) == masked(length), "the length's CRC");
      std::string const data = take(number(length));
      need(number(take(4)) == masked(data), "the data's CRC");
      events.push_back(parsed(data));
    }
    return events;
  }

 private:
  static void need(bool holds, std::string const& what) {
    if (!holds) throw std::runtime_error("event file: " + what);
  }
  std::string take(std::uint64_t count) {
    need(count <= bytes_.size() - at_, "ends within a record");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  static std::uint64_t number(std::string const& bytes) {
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data(), bytes.size());
    return n;
  }
  static std::uint32_t masked(std::string const& bytes) {
    std::uint32_t const crc = textbook_crc32c(bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
  }
  std::uint64_t varint() {
    std::uint64_t n = 0;
    for (int shift = 0;; shift += 7) {
      need(shift < 64, "a number of too many bytes");
      auto const byte = number(take(1));
      n |= (byte & 0x7f) << shift;
      if (byte < 0x80) return n;
    }
  }
  struct field {
    std::uint64_t key;
    std::string bytes;  // of a length-delimited or fixed one
    std::uint64_t value;
  };
  static std::vector<field> fields(std::string const& message) {
    strict_event_reader r(message);
    std::vector<field> found;
    while (r.at_ < r.bytes_.size()) {
      std::uint64_t const key = r.varint();
      switch (key & 7) {
        case 0: found.push_back({key, {}, r.varint()}); break;
        case 1: found.push_back({key, r.take(8), 0}); break;
        case 2: found.push_back({key, r.take(r.varint()), 0}); break;
        case 5: found.push_back({key, r.take(4), 0}); break;
        default: need(false, "a wire type of no meaning");
      }
    }
    return found;
  }
  static constexpr std::uint64_t key(int field, int type) { return static_cast<std::uint64_t>(field * 8 + type); }
  static event parsed(std::string const& data) {
    event e;
    for (field const& f : fields(data)) {
      if (f.key == key(1, 1))
        std::memcpy(&e.wall_time, f.bytes.data(), 8);
      else if (f.key == key(2, 0))
        e.step = static_cast<std::int64_t>(f.value);
      else if (f.key == key(3, 2))
        e.version = f.bytes;
      else if (f.key == key(5, 2))
        points(f.bytes, e);
      else if (f.key == key(7, 2)) {
        auto const log = fields(f.bytes);
        need(log.size() == 1 && log[0].key == key(1, 0) && log[0].value == 1, "a session log that is no START");
        e.starts_session = true;
      } else
        need(false, "an event's field of no meaning");
    }
    return e;
  }
  static void points(std::string const& summary, event& e) {
    for (field const& v : fields(summary)) {
      need(v.key == key(1, 2), "a summary's field that is no value");
      auto const value = fields(v.bytes);
      need(value.size() == 2 && value[0].key == key(1, 2) && value[1].key == key(2, 5), "a value that is no scalar");
      float number = 0;
      std::memcpy(&number, value[1].bytes.data(), 4);
      e.points.emplace_back(value[0].bytes, number);
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

inline std::vector<std::string> event_files_in(std::filesystem::path const& folder) {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}
inline std::vector<event> events_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return strict_event_reader({std::istreambuf_iterator<char>(file), {}}).all();
}

struct point {
  std::string tag;
  std::int64_t step = 0;
  float value = 0;
  friend bool operator==(point const&, point const&) = default;
};
/// Returns what TensorBoard shows of a folder: it reads files by name, and a session other than the first discards
/// points from its step on.
inline std::vector<point> shown(std::filesystem::path const& folder) {
  std::vector<point> all;
  bool started = false;
  for (std::string const& path : event_files_in(folder))
    for (event const& e : events_of(path)) {
      if (e.starts_session && std::exchange(started, true))
        std::erase_if(all, [&](point const& p) { return p.step >= e.step; });
      for (auto const& [tag, value] : e.points) all.push_back({tag, e.step, value});
    }
  return all;
}

}  // namespace dsl::test
