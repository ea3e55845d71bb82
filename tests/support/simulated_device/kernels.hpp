// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <vector_types.h>

#include "support/simulated_device/fiber_launch.hpp"

// typenet's kernels on the simulated device: the text that NVRTC would compile, compiled as C++ by the test.
//   add_kernel("sum", "bf16", &dsl_kernels::sum<dsl_kernels::bf16>);
// The first parameter is the kernel's shape, an aggregate of numbers (with nested aggregates and arrays). It is made
// from the numbers of a `// dsl-kernel` line, in order, in C++ notation.

namespace dsl_test {
namespace simulated {

/// A number of a `// dsl-kernel` line: 64, -1, 0.5f, 0x1.8p-3, 18446744073709551615ull. Integers only convert to
/// integers that hold them, and all numbers convert to floats.
struct literal {
  bool whole = true;
  bool negative = false;
  unsigned long long size = 0;  // of an integer
  double real = 0;

  template <class T>
    requires std::is_arithmetic_v<T>
  operator T() const {  // NOLINT(google-explicit-constructor): brace elision needs it
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real);
    } else {
      auto const most = static_cast<unsigned long long>(std::numeric_limits<T>::max());
      if (!whole || size > most + (negative && std::is_signed_v<T>) || (negative && !std::is_signed_v<T>))
        throw simulation_error("a kernel's shape has an integer where its line has " + std::to_string(real));
      return static_cast<T>(negative ? 0 - size : size);
    }
  }
};

inline literal parse_literal(std::string_view token) {
  std::string const text(token);
  literal n;
  n.negative = text.starts_with('-');
  char const* const first = text.c_str() + (n.negative ? 1 : 0);
  char* end = nullptr;
  n.size = std::strtoull(first, &end, 0);
  while (*end == 'u' || *end == 'U' || *end == 'l' || *end == 'L') ++end;
  n.real = n.negative ? -static_cast<double>(n.size) : static_cast<double>(n.size);
  if (*first < '0' || *first > '9') throw simulation_error("no number in a dsl-kernel line: " + text);
  if (*end == 0) return n;
  n.whole = false;
  n.real = std::strtof(text.c_str(), &end);  // shapes have no doubles
  if (*end == 'f' || *end == 'F') ++end;
  if (*end != 0) throw simulation_error("no number in a dsl-kernel line: " + text);
  return n;
}

struct any_number {
  template <class T>
    requires std::is_arithmetic_v<T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class S, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { S{(static_cast<void>(I), any_number{})...}; };
}
/// Returns how many numbers an aggregate consists of: numbers_in<struct { int a; float b[3]; }>() == 4.
template <class S, std::size_t N = 0>
constexpr std::size_t numbers_in() {
  if constexpr (takes<S>(std::make_index_sequence<N + 1>{}))
    return numbers_in<S, N + 1>();
  else
    return N;
}
// Nested aggregates take their numbers without braces, because their sizes are not known here.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif
template <class S, std::size_t... I>
S shape_from(std::vector<literal> const& numbers, std::index_sequence<I...>) {
  return S{numbers[I]...};
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

struct kernel {
  char const* name = "";
  std::size_t numbers = 0;             // of its shape
  std::vector<std::size_t> arguments;  // after it: the bytes of each
  /// Copies the arguments, as cudaLaunchKernel does, and returns a function that runs the kernel.
  std::function<std::function<void()>(std::vector<literal> const&, dim3, dim3, void**)> bind;
};

using kernel_key = std::pair<std::string, std::string>;  // function, storage
inline std::map<kernel_key, kernel>& all_kernels() {
  static std::map<kernel_key, kernel> all;
  return all;
}

}  // namespace simulated

/// Registers a kernel with every simulated device of this program.
template <class Shape, class... P>
void add_kernel(std::string function, std::string storage, void (*f)(Shape, P...)) {
  using namespace simulated;
  kernel k;
  k.numbers = numbers_in<Shape>();
  k.arguments = {sizeof(P)...};
  k.bind = [f](std::vector<literal> const& numbers, dim3 grid, dim3 block, void** given) -> std::function<void()> {
    Shape const shape = shape_from<Shape>(numbers, std::make_index_sequence<numbers_in<Shape>()>{});
    auto const values = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<Shape, P...>(shape, *static_cast<std::remove_cv_t<P> const*>(given[I])...);
    }(std::index_sequence_for<P...>{});
    return [f, values, grid, block] { launch(grid, block, [&] { std::apply(f, values); }); };
  };
  auto const at = all_kernels().insert_or_assign({std::move(function), std::move(storage)}, std::move(k)).first;
  at->second.name = at->first.first.c_str();
}

}  // namespace dsl_test
