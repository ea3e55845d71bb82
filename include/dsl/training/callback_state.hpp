// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsl {

namespace detail {

/// Bytes that mean the same in another process. A view's or a pointer's do not.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_number<T[N]> = is_number<T>;
template <class T, std::size_t N>
inline constexpr bool is_number<std::array<T, N>> = is_number<T>;

}  // namespace detail

/// What callback::state is called with, to save and to restore:
///   struct best_so_far : dsl::callback {
///     double best = 0;
///     void state(dsl::callback_state& s) override { s("best", best); }
///   };
/// A variable that the file does not have keeps its value. Throws file_error where the file has one of another size.
class callback_state {
 public:
  callback_state() = default;  // saves
  /// Restores from what bytes() gave. `from` names the file and the callback in messages.
  callback_state(std::string bytes, std::string from)
      : bytes_(std::move(bytes)), from_(std::move(from)), restores_(true) {}

  /// A number, an enumeration, or an array of a fixed size of them. What else can be written as text, as a generator of
  /// random numbers can by <<, is kept in a std::string.
  template <class T>
  void operator()(char const* key, T& value) {
    static_assert(alignof(broken::states_are_numbers_or_text<T, detail::is_number<T>>) == 1);
    if (restores_)
      read(key, &value, sizeof value);
    else
      write(key, &value, sizeof value);
  }
  void operator()(char const* key, std::string& value) { array(key, value); }
  void operator()(char const* key, std::vector<float>& value) { array(key, value); }
  void operator()(char const* key, std::vector<double>& value) { array(key, value); }

  /// For what must be as it was: throws file_error where the file has another text here.
  [[gnu::cold]] void same(char const* key, std::string const& value) {
    std::string found = value;
    array(key, found);
    if (found != value)
      throw file_error(detail::message(
          {from_, " has the ", key, " ", found, ", this one has ", value, "; choose the same one, or start without"}));
  }

  bool restores() const { return restores_; }
  std::string const& bytes() const { return bytes_; }

 private:
  struct field {
    std::size_t at = 0;  // in bytes_
    std::size_t size = 0;
    bool found = false;
  };

  template <class Array>
  void array(char const* key, Array& value) {
    std::size_t const one = sizeof value[0];
    if (!restores_) return write(key, value.data(), value.size() * one);
    field const f = find(key);
    if (!f.found) return;
    value.resize(f.size / one);
    read(key, value.data(), value.size() * one);
  }
  // Each field: its key and a zero byte, its size, its bytes.
  [[gnu::cold]] void write(char const* key, void const* data, std::size_t size) {
    std::uint64_t const stored = size;
    bytes_.append(key).push_back('\0');
    bytes_.append(reinterpret_cast<char const*>(&stored), sizeof stored);
    if (size > 0) bytes_.append(static_cast<char const*>(data), size);
  }
  [[gnu::cold]] void read(char const* key, void* data, std::size_t size) const {
    field const f = find(key);
    if (!f.found) return;
    if (f.size != size)
      throw file_error(detail::message({from_, " has ", f.size, " bytes of ", key, "; expected ", size,
                                        "; it is another program's: start without"}));
    if (size > 0) std::memcpy(data, bytes_.data() + f.at, size);
  }
  [[gnu::cold]] field find(char const* key) const {
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

  std::string bytes_;
  std::string from_;
  bool restores_ = false;
};

}  // namespace dsl
