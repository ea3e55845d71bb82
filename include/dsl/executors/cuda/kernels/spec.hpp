// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/cuda/precision.hpp>
#include <dsl/graph/node.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A tensor's place in a channels-last buffer of `channels` channels: it begins at channel `offset`.
struct slice {
  int channels = 0;
  int offset = 0;
};

/// A number of a kernel's shape: an int or a float, both of four bytes.
struct constant {
  bool is_float = false;
  std::int32_t integer = 0;
  float real = 0;

  constant(int n) : integer(n) {}                 // NOLINT(google-explicit-constructor): a list of numbers
  constant(bool b) : integer(b ? 1 : 0) {}        // NOLINT
  constant(float f) : is_float(true), real(f) {}  // NOLINT
  friend bool operator==(constant const&, constant const&) = default;
};

/// A number on the device in the type of a kernel's storage: T in the kernels' text. There are only pointers to it, and
/// no other pointers convert to them, so that tensors, floats and tables are not confused.
class element;
/// The position of a maximum in its window, in kernels::argmax_bytes() bytes. There are only pointers to it.
class window_position;

/// Returns floats on the device as a tensor of storage::f32.
inline element* elements_of(float* numbers) { return reinterpret_cast<element*>(numbers); }
/// Returns the address that is `count` numbers behind another one.
inline element* behind(element* begin, storage t, long long count) {
  return reinterpret_cast<element*>(reinterpret_cast<std::byte*>(begin) + count * bytes_of(t));
}

/// A kernel for one shape, whatever its arguments: the function of the kernels' text, its constants, and how to launch
/// it.
struct any_kernel {
  std::string_view function{};
  cu::storage storage = cu::storage::f32;
  std::vector<constant> constants{};
  unsigned blocks_x = 1;
  unsigned blocks_y = 1;
  unsigned threads = 1;
  long long scratch_bytes = 0;  // device memory for partial results; its content does not matter
  int counters = 0;             // unsigned numbers in device memory: 0 before the first launch, and again after each

  friend bool operator==(any_kernel const&, any_kernel const&) = default;
};

/// A kernel whose launch takes these arguments: pointers to device memory, and structs by value. They are those of the
/// function in the kernels' text, after the shape, where they have names; its T is `element` here.
template <class... Arguments>
struct kernel_spec : any_kernel {
  /// Converts from an any_kernel, in the functions that make specs. A kernel with other arguments does not convert.
  template <std::same_as<any_kernel> Kernel>
  kernel_spec(Kernel k) : any_kernel(std::move(k)) {}  // NOLINT(google-explicit-constructor)
};

/// A kernel whose blocks communicate. The last two arguments are memory for partial results and for counters, which
/// recording::launch() adds.
template <class Partial, class... Arguments>
struct meeting_spec : kernel_spec<Arguments..., Partial*, unsigned*> {
  using kernel_spec<Arguments..., Partial*, unsigned*>::kernel_spec;
};

/// The numbers that change from step to step. They are in device memory, so that a captured graph can be replayed. The
/// struct is the same as in tensors.cuh.
struct step_state {
  std::uint64_t step = 0;          // counted over the whole training; a key of dropout; update() increments it
  std::uint64_t seed = 0;          // the engine's seed; a key of dropout and augmentation
  std::uint64_t position = 0;      // of the batch's first image in the epoch's order; update() advances it
  std::int32_t epoch = 0;          // a key of augmentation
  float learning_rate = 0;         // of the update; for Adam, multiplied by its bias corrections
  std::uint32_t first_sample = 0;  // of this device's part of the whole batch; a key of dropout
  float shrink = 0;                // see update_numbers
  float epsilon = 0;
};
static_assert(sizeof(step_state) == 48);

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// The largest count. Counts are ints in kernels, and the last block of a launch may exceed the count a little.
inline constexpr long long largest_count = 2'000'000'000;

inline int checked_count(std::string_view function, long long count) {
  if (count < 1 || count > largest_count)
    throw executor_error(dsl::detail::message({"cuda: ", std::string(function), " works on 1 to ", largest_count,
                                               " values at once; found ", count, "; use a smaller batch"}));
  return static_cast<int>(count);
}

inline void append(std::vector<constant>& to, constant c) { to.push_back(c); }
inline void append(std::vector<constant>& to, slice s) { to.insert(to.end(), {s.channels, s.offset}); }

/// Returns the members of a kernel's shape in their order, nested ones included.
template <class... Members>
std::vector<constant> constants_of(Members const&... members) {
  std::vector<constant> all;
  (append(all, members), ...);
  return all;
}

constexpr long long ceil_div(long long n, long long by) { return (n + by - 1) / by; }

/// Returns a spec with one thread for each of `units`. Small launches get small blocks, to use more multiprocessors.
template <class... Members>
any_kernel pointwise(std::string_view function, storage t, long long units, Members const&... members) {
  checked_count(function, units);
  any_kernel s{.function = function, .storage = t, .constants = constants_of(members...)};
  s.threads = units >= 65'536 ? 256 : units >= 16'384 ? 128 : 64;
  s.blocks_x = static_cast<unsigned>(ceil_div(units, s.threads));
  return s;
}

/// Returns the number of neighbouring channels that a thread processes: as many as 16 bytes hold if every row begins at
/// a multiple of 16 bytes, otherwise 1.
inline int lanes_of(storage t, int channels, std::initializer_list<slice> slices) {
  int const full = 16 / bytes_of(t);
  bool aligned = channels % full == 0;
  for (slice const& s : slices) aligned = aligned && s.channels % full == 0 && s.offset % full == 0;
  return aligned ? full : 1;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE
