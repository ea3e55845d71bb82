// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/kernels.hpp>
#include <dsl/executors/cuda/kernels/program.hpp>
#include <dsl/view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "support/all_kernels.hpp"
#include "support/catch.hpp"
#include "support/kernels_as_host.hpp"
#include "support/simulated_device/kernels.hpp"

// Helpers for testing single kernels: tensors that exist twice, in the storage type for the kernel and in double for
// the plain loops, and a launch that calls a spec's C++ function.

namespace dsl_test {

using dsl_kernels::bf16;

template <class T>
inline constexpr dsl::cu::storage storage_of =
    std::is_same_v<T, float> ? dsl::cu::storage::f32 : dsl::cu::storage::bf16;

inline float value_of(float x) { return x; }
inline float value_of(bf16 x) { return dsl_kernels::widened(x); }
template <class T>
T stored(double x) {
  T to{};
  dsl_kernels::assign(to, static_cast<float>(x));
  return to;
}

inline std::mt19937& generator() {
  static std::mt19937 all(2024);
  return all;
}
inline double uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(generator());
}

/// Returns host memory of a kernel's storage type as a tensor on the device.
template <class T>
  requires std::is_same_v<T, float> || std::is_same_v<T, bf16>
dsl::cu::element* elements(T* data) {
  return reinterpret_cast<dsl::cu::element*>(data);
}

/// Returns an argument of a kernel that works on tensors of type `t`. Host memory stands for device memory.
template <class Argument, class Given>
Argument argument(dsl::cu::storage t, Given given) {
  using to = std::remove_cv_t<std::remove_pointer_t<Argument>>;
  if constexpr (std::is_convertible_v<Given, Argument>) {
    return given;
  } else if constexpr (std::is_same_v<to, dsl::cu::element>) {
    using from = std::remove_cv_t<std::remove_pointer_t<Given>>;
    static_assert(std::is_same_v<from, float> || std::is_same_v<from, bf16>, "the kernel takes a tensor");
    REQUIRE(storage_of<from> == t);
    return reinterpret_cast<Argument>(given);
  } else {
    static_assert(std::is_same_v<to, dsl::cu::window_position>, "the kernel takes another type");
    return reinterpret_cast<Argument>(given);
  }
}

/// Launches a kernel as the engine would. The shape is checked against the kernel's text.
template <class... A, class... Given>
void run(dsl::cu::kernel_spec<A...> const& spec, Given... given) {
  static bool const known = (add_all_kernels(), true);
  REQUIRE(known);
  auto const at = simulated::all_kernels().find({std::string(spec.function), dsl::cu::name_of(spec.storage)});
  REQUIRE(at != simulated::all_kernels().end());
  INFO(dsl::cu::wrapper_text(spec, "k"));
  REQUIRE(at->second.numbers == spec.constants.size());
  std::vector<simulated::literal> numbers;
  for (dsl::cu::constant const& c : spec.constants) numbers.push_back(simulated::parse_literal(dsl::cu::text_of(c)));
  [&](A... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    at->second.bind(numbers, dim3(spec.blocks_x, spec.blocks_y), dim3(spec.threads), pointers)();
  }(argument<A>(spec.storage, given)...);
}

/// Memory through which the blocks of a launch communicate: garbage, and counters that must be 0 afterwards.
struct meeting_place {
  std::vector<double> memory;
  std::vector<unsigned> counts;
  explicit meeting_place(dsl::cu::any_kernel const& s)
      : memory(static_cast<std::size_t>(s.scratch_bytes + 7) / 8, std::nan("")),
        counts(static_cast<std::size_t>(s.counters), 0U) {}
  float* floats() { return reinterpret_cast<float*>(memory.data()); }
  double* doubles() { return memory.data(); }
  unsigned* counters() { return counts.data(); }
  ~meeting_place() {
    for (unsigned const c : counts) CHECK(c == 0);
  }
};

/// A tensor in a channels-last buffer, which may be wider than the tensor.
template <class T>
struct tensor {
  int batch;
  dsl::shape shape;
  dsl::cu::slice place;
  std::vector<T> values;         // the whole buffer
  std::vector<double> expected;  // the same numbers; the reference works on these
  std::vector<T> before;

  tensor(int n, dsl::shape const& s, dsl::cu::slice where, double low = -2, double high = 2)
      : batch(n), shape(s), place(where) {
    for (long long i = 0; i < n * s.area() * where.channels; ++i) {
      values.push_back(stored<T>(uniform(low, high)));
      expected.push_back(static_cast<double>(value_of(values.back())));
    }
    before = values;
  }
  tensor(int n, dsl::shape const& s) : tensor(n, s, {s.channels, 0}) {}

  long long pixels() const { return batch * shape.area(); }
  T* data() { return values.data(); }
  dsl::view<double> wanted() { return {expected.data(), shape, batch, place.channels, place.channels, place.offset}; }
  dsl::view<double const> read() const {
    return {expected.data(), shape, batch, place.channels, place.channels, place.offset};
  }
  dsl::view<T const> got() const { return {values.data(), shape, batch, place.channels, place.channels, place.offset}; }
  /// Sets every value from (sample, channel, pixel).
  template <class F>
  void fill(F f) {
    for (int n = 0; n < batch; ++n)
      for (int c = 0; c < shape.channels; ++c)
        for (long long i = 0; i < shape.area(); ++i) {
          auto const at = static_cast<std::size_t>((n * shape.area() + i) * place.channels + place.offset + c);
          values[at] = stored<T>(f(n, c, i));
          expected[at] = static_cast<double>(value_of(values[at]));
        }
    before = values;
  }

  /// Checks a result that was computed in float and rounded once: to bf16's 8 bits (by at most 2^-8 of it), or not at
  /// all. `precision` is float's share of the error, relative to the largest value.
  void check(double precision = 4e-6) const {
    double largest = 0;
    for (double const v : expected) largest = std::fmax(largest, std::fabs(v));
    double const rounding = std::is_same_v<T, float> ? 0 : 0x1.02p-8;
    double worst = 0;
    bool inside_is_right = true, outside_is_untouched = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      int const channel = static_cast<int>(i % static_cast<std::size_t>(place.channels)) - place.offset;
      double const found = static_cast<double>(value_of(values[i]));
      if (channel < 0 || channel >= shape.channels) {
        outside_is_untouched = outside_is_untouched && found == static_cast<double>(value_of(before[i]));
        continue;
      }
      double const beyond = std::fabs(found - expected[i]) - rounding * std::fabs(expected[i]) - precision * largest;
      if (!(beyond <= 0)) inside_is_right = false, worst = std::fmax(worst, beyond);
    }
    INFO("largest " << largest << ", beyond the bound by " << worst);
    CHECK(inside_is_right);
    CHECK(outside_is_untouched);
  }
};

/// Float arrays besides tensors: parameters, statistics.
struct numbers {
  std::vector<float> values;
  std::vector<double> expected;
  numbers(int n, double low, double high) {
    for (int i = 0; i < n; ++i) {
      values.push_back(static_cast<float>(uniform(low, high)));
      expected.push_back(static_cast<double>(values.back()));
    }
  }
  float* data() { return values.data(); }
  double* wanted() { return expected.data(); }
  void check(double precision = 4e-6) const {
    double largest = 0, worst = 0;
    for (double const v : expected) largest = std::fmax(largest, std::fabs(v));
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double const beyond = std::fabs(static_cast<double>(values[i]) - expected[i]) - precision * largest;
      if (!(beyond <= 0)) right = false, worst = std::fmax(worst, beyond);
    }
    INFO("largest " << largest << ", beyond the bound by " << worst);
    CHECK(right);
  }
};

}  // namespace dsl_test
