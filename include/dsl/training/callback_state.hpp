// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Bytes that mean the same in another process. A view's or a pointer's do not.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_number<T[N]> = is_number<T>;
template <class T, std::size_t N>
inline constexpr bool is_number<std::array<T, N>> = is_number<T>;

template <class T>
inline constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T, std::size_t N>
inline constexpr bool is_bool<T[N]> = is_bool<T>;
template <class T, std::size_t N>
inline constexpr bool is_bool<std::array<T, N>> = is_bool<T>;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

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
  callback_state(std::string bytes, std::string from);

  /// A number, an enumeration, or an array of a fixed size of them. What else can be written as text, as a generator of
  /// random numbers can by <<, is kept in a std::string.
  template <class T>
  void operator()(char const* key, T& value) {
    static_assert(alignof(broken::states_are_numbers_or_text<T, detail::is_number<T>>) == 1);
    if (restores_)
      read(key, &value, sizeof value, detail::is_bool<T>);
    else
      write(key, &value, sizeof value);
  }
  /// Keeps or restores a counter or an index. Throws file_error if the file's is not in [least, most], so that it may
  /// be used unchecked afterwards.
  template <std::signed_integral T>
  void operator()(char const* key, T& value, std::int64_t least, std::int64_t most) {
    T found = value;
    (*this)(key, found);
    if (restores_ && (found < least || found > most))
      throw file_error(detail::message(
          {from_, " has the ", key, " ", found, "; expected ", least, " to ", most, "; it is damaged: start without"}));
    value = found;
  }
  void operator()(char const* key, std::string& value) { array(key, value); }
  void operator()(char const* key, std::vector<float>& value) { array(key, value); }
  void operator()(char const* key, std::vector<double>& value) { array(key, value); }

  /// For what must be as it was: throws file_error where the file has another text here.
  [[gnu::cold]] void same(char const* key, std::string const& value);

  /// For what depends on more than one number: throws file_error where the file's can't be.
  [[gnu::cold]] void need(bool holds, char const* what) const;

  /// No run has more of anything: steps, bytes of a log.
  static constexpr std::int64_t largest_count = std::int64_t{1} << 53;

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
    read(key, value.data(), value.size() * one, false);
  }
  // Each field: its key and a zero byte, its size, its bytes.
  [[gnu::cold]] void write(char const* key, void const* data, std::size_t size);
  [[gnu::cold]] void read(char const* key, void* data, std::size_t size, bool booleans) const;
  [[gnu::cold]] field find(char const* key) const;

  std::string bytes_;
  std::string from_;
  bool restores_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/callback_state_inl.hpp>
#endif
