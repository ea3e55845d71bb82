// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_plan.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Compares the numbers that plans of one convolution compute. A fast plan that computes something else must not be
/// chosen, and there is nothing to compare with but the other plans.
namespace dsl::cu::backend::TYPENET_MODE {

// The tensor that a pass writes: `pixels` times `channels` numbers of `bytes` bytes, one pixel every `pitch` numbers.
struct written_tensor {
  std::byte* data;
  long long pixels;
  int channels, pitch, bytes;
};

inline written_tensor written_by(convolution const& c, convolution_options const& o, convolution_tensors const& t) {
  int const bytes = bytes_of(o.precision);
  switch (o.pass) {
    case convolution_pass::backward_data:
      return {static_cast<std::byte*>(t.input), c.input_count() / c.in_channels, c.in_channels, c.in_channels, bytes};
    case convolution_pass::backward_weights:
      return {static_cast<std::byte*>(t.kernel), c.kernel_count() / c.group_in_channels(), c.group_in_channels(),
              c.group_in_channels(), o.float_gradient ? 4 : bytes};
    default:
      return {static_cast<std::byte*>(t.output), c.output_count() / c.out_channels, c.out_channels,
              std::max(c.output_pitch, c.out_channels), bytes};
  }
}

// How many numbers are compared, at most, at the beginning and at the end of a tensor.
inline constexpr long long compared_numbers = 1 << 19;

// Runs a plan on a zeroed result, and returns the numbers of the result, or its first and its last `most`; none if the
// plan does not run.
inline std::vector<float> numbers_of(cudnn_handle& h, cudaStream_t s, convolution_plan const& p,
                                     written_tensor const& w, convolution_tensors const& t, void* workspace,
                                     long long most = compared_numbers) {
  api const& a = h.calls();
  h.set_stream(s);
  auto const offset = [&](long long pixel) { return static_cast<std::size_t>(pixel * w.pitch * w.bytes); };
  std::size_t const last = static_cast<std::size_t>(w.channels) * static_cast<std::size_t>(w.bytes);
  a(a.cudaMemsetAsync, w.data, 0, offset(w.pixels - 1) + last, s);
  if (!try_execute(h, p, bind_tensors(p, t, workspace))) return {};
  std::vector<float> numbers;
  std::vector<std::byte> copied;
  auto const append = [&](long long begin, long long end) {
    copied.resize(offset(end - begin - 1) + last);
    a(a.cudaMemcpyAsync, copied.data(), w.data + offset(begin), copied.size(), cudaMemcpyDeviceToHost, s);
    a(a.cudaStreamSynchronize, s);
    for (long long i = 0; i < end - begin; ++i)
      for (int c = 0; c < w.channels; ++c) {
        std::byte const* const at = copied.data() + offset(i) + static_cast<std::size_t>(c * w.bytes);
        std::uint32_t bits = 0;
        std::copy_n(at, w.bytes, reinterpret_cast<std::byte*>(&bits) + 4 - w.bytes);  // bf16: the upper half of a float
        numbers.push_back(std::bit_cast<float>(bits));
      }
  };
  long long const some = std::max(most / w.channels, 1LL);
  if (w.pixels <= 2 * some) {
    append(0, w.pixels);
  } else {
    append(0, some);
    append(w.pixels - some, w.pixels);
  }
  return numbers;
}

// Returns whether two plans have computed the same: the length of the difference is at most `most` times the length of
// `y`. A NaN or an infinity must be the same in both.
inline bool agree(std::vector<float> const& x, std::vector<float> const& y, double most) {
  if (x.empty() || x.size() != y.size()) return false;
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      length += std::isfinite(y[i]) ? static_cast<double>(y[i]) * static_cast<double>(y[i]) : 0;
      continue;
    }
    double const d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    difference += d * d;
    length += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return std::isfinite(difference) && difference <= most * most * length;
}

// Right plans differ by the rounding of their factors or results, by 2^-9 of each number in bf16 and 2^-10 in tf32,
// which Winograd's transforms enlarge; with fp32_strict by the order of their sums. A plan that leaves out one row of
// 32 is wrong by about a tenth.
constexpr double most_difference(convolution_precision p) {
  return p == convolution_precision::fp32_strict ? 0x1p-10 : 0x1p-4;
}

// The result of a comparison: the plan to use, by index, and those that compute other numbers.
struct confirmed_plan {
  std::size_t index;
  bool confirmed;  // another plan computes the same, or there is no other
  std::vector<std::size_t> wrong;
};

// Returns the fastest of two plans that compute the same numbers. `order` has the plans by index, fastest first, and
// `numbers` computes the numbers of a plan. The fastest plan and the one that cuDNN ranks first are asked first; if
// they disagree, the others are asked until two agree. Two plans with one fault agree, too. If no two agree, the result
// is the one that cuDNN ranks first, unconfirmed.
template <class Numbers>
confirmed_plan confirm(std::vector<std::size_t> const& order, double most, Numbers numbers) {
  if (order.size() == 1) return {order[0], true, {}};
  std::vector<std::size_t> questions = order;
  auto const witness = std::min_element(questions.begin() + 1, questions.end());
  std::rotate(questions.begin() + 1, witness, witness + 1);
  struct opinion {
    std::size_t index;
    std::vector<float> numbers;
  };
  std::vector<opinion> asked;
  for (std::size_t const index : questions) {
    opinion now{index, numbers(index)};
    if (now.numbers.empty()) continue;  // it does not run any more
    for (opinion const& before : asked) {
      if (!agree(before.numbers, now.numbers, most)) continue;
      std::size_t const pair[] = {before.index, index};
      confirmed_plan found{*std::find_first_of(order.begin(), order.end(), pair, pair + 2), true, {}};
      for (opinion const& other : asked)
        if (!agree(other.numbers, now.numbers, most)) found.wrong.push_back(other.index);
      return found;
    }
    asked.push_back(std::move(now));
  }
  if (asked.size() == 1) return {asked[0].index, true, {}};
  return {*std::min_element(order.begin(), order.end()), false, {}};
}

}  // namespace dsl::cu::backend::TYPENET_MODE
