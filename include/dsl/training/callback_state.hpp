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

/// Whether the bytes of a T mean the same in another process. The bytes of a view or a pointer do not.
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

/// The argument of callback::state, which saves or restores:
///   struct best_so_far : dsl::callback {
///     double best = 0;
///     void state(dsl::callback_state& s) override { s("best", best); }
///   };
/// A variable that the file lacks keeps its value. Throws file_error if the variable in the file has another size.
class callback_state {
 public:
  callback_state() = default;  // saves
  /// Restores variables from `bytes`, the result of bytes() in an earlier run. Messages use `from` to name the file and
  /// the callback, and end with `otherwise` if the file is damaged or from another program.
  callback_state(std::string bytes, std::string from, char const* otherwise = "remove it to start from the beginning");

  /// Saves or restores a number, an enumeration, or a fixed-size array of these. Anything else that can be written as
  /// text, such as a random number generator by <<, can be saved as a std::string.
  template <class T>
  void operator()(char const* key, T& value) {
    static_assert(alignof(broken::states_are_numbers_or_text<T, detail::is_number<T>>) == 1);
    if (restores_)
      read(key, &value, sizeof value, detail::is_bool<T>);
    else
      write(key, &value, sizeof value);
  }
  /// Saves or restores a counter or an index. A restored number is always in [least, most] and needs no further check:
  /// throws file_error if the number in the file is not.
  template <std::signed_integral T>
  void operator()(char const* key, T& value, std::int64_t least, std::int64_t most) {
    T found = value;
    (*this)(key, found);
    if (restores_ && (found < least || found > most))
      throw file_error(detail::message({from_, ": \"", key, "\" must be ", least, " to ", most, "; found ", found,
                                        "; the file is damaged; ", otherwise_}));
    value = found;
  }
  void operator()(char const* key, std::string& value) { array(key, value); }
  void operator()(char const* key, std::vector<float>& value) { array(key, value); }
  void operator()(char const* key, std::vector<double>& value) { array(key, value); }

  /// Saves a text, or requires that the file has the same text. Throws file_error if the text in the file differs.
  void same(char const* key, std::string const& value);

  /// Throws file_error if an array that was restored under `key` does not have `wanted` numbers.
  void need_count(char const* key, std::size_t found, std::size_t wanted) const;

  /// The largest value that any counter of a run may have, such as its steps or the bytes of its log.
  static constexpr std::int64_t largest_count = std::int64_t{1} << 53;

  /// Whether calls restore variables rather than save them.
  bool restores() const { return restores_; }
  /// Returns the saved bytes, for a file.
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
  // The format of a field: its key and a zero byte, its size, its bytes.
  void write(char const* key, void const* data, std::size_t size);
  void read(char const* key, void* data, std::size_t size, bool booleans) const;
  field find(char const* key) const;

  std::string bytes_;
  std::string from_;
  char const* otherwise_ = "";
  bool restores_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/callback_state_inl.hpp>
#endif
