// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Specs of kernels/reduce.cuh, batch_norm.cuh and batch_norm_backward.cuh.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// The division of pixels and channels among a launch's blocks and threads, as in reduce.cuh.
struct tiling {
  int chunk_pixels = 0;
  int columns = 0;
  int rows = 0;
  int tiles = 0;
};
inline void append(std::vector<constant>& to, tiling const& t) {
  to.insert(to.end(), {t.chunk_pixels, t.columns, t.rows, t.tiles});
}

/// Returns tiles of at most `most` channels, of about equal size.
inline tiling tiles_of(int channels, int lanes, int threads, int most) {
  int const groups = channels / lanes;
  int const tiles = static_cast<int>(ceil_div(groups, most / lanes));
  int const columns = static_cast<int>(ceil_div(groups, tiles));
  return {0, columns, threads / columns, tiles};
}

/// Splits the batch into chunks of pixels, the same for all tilings of a launch. A reduction needs few chunks, since
/// one block joins their results, but at least one chunk for every multiprocessor. For kernels that reduce nothing,
/// `chunks` is 0, and the number of chunks does not matter.
inline void cut(std::span<tiling> all, int pixels, int chunks, any_kernel& s) {
  int rows = 1;
  int tiles = 0;
  for (tiling const& t : all) {
    rows = std::max(rows, t.rows);
    tiles += t.tiles;
  }
  long long size = 4LL * rows;  // each thread reads its constants once, which pays only for several pixels
  if (chunks > 0) size = std::max(size, ceil_div(pixels, std::max(1, chunks / tiles)));
  for (tiling& t : all) t.chunk_pixels = static_cast<int>(std::min<long long>(size, pixels));
  s.blocks_x = static_cast<unsigned>(ceil_div(pixels, all[0].chunk_pixels));
  s.blocks_y = static_cast<unsigned>(tiles);
  if (s.blocks_y > 65'535)
    throw executor_error(
        dsl::detail::message({"cuda: ", std::string(s.function), " can have at most 65,535 tiles of channels; found ",
                              tiles, "; use fewer channels"}));
}

inline constexpr int reduce_threads = 512;  // as in reduce.cuh
// The block that joins the results of the others runs alone on the device. The fewer channels a tile has, the more
// threads share a channel, and the faster the block is. In bf16, the channels of a pixel in a tile of this size fill a
// cache line.
inline constexpr int reduce_channels = 64;
inline constexpr int pointwise_channels = 256;
inline constexpr int reduce_blocks = 128;  // about one per multiprocessor on today's large devices

/// Makes a spec a reduction over all pixels: sets its blocks and threads, and the memory through which its blocks
/// communicate.
inline void reduce(std::span<tiling> all, int pixels, int lanes, any_kernel& s) {
  cut(all, pixels, reduce_blocks, s);
  s.threads = reduce_threads;
  s.counters = static_cast<int>(s.blocks_y);
  for (tiling const& t : all) s.scratch_bytes += 8LL * s.blocks_x * t.columns * t.tiles * lanes;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Sums each channel over all pixels: the gradient of a convolution's bias from dy.
inline auto channel_sums(storage t, long long pixels, int channels, slice y)
    -> meeting_spec<float, element const*, float*> {
  int const count = detail::checked_count("channel_sums", pixels);
  int const lanes = detail::lanes_of(t, channels, {y});
  detail::tiling tiles = detail::tiles_of(channels, lanes, detail::reduce_threads, detail::reduce_channels);
  any_kernel s{.function = "channel_sums", .storage = t};
  detail::reduce({&tiles, 1}, count, lanes, s);
  s.constants = detail::constants_of(count, channels, lanes, tiles, y);
  return s;
}

/// One of up to four batch_norms that share a launch. They have the same batch and image size, and are in one group of
/// steps in the plan.
struct batch_norm_layer {
  int channels = 0;
  slice x{};
  slice y{};   // the place of y or of its gradient
  slice dx{};  // only for the backward pass
  bool relu = false;
  bool accumulate = false;  // backward: dx += instead of dx =
  double epsilon = 0;
  double momentum = 0;
};
inline constexpr int batch_norm_group = 4;

/// The memory of a batch_norm in the forward pass. Pointers are to whole buffers, of which tensors may be slices.
/// `statistics` has 2 * channels floats: means, then 1 / sqrt(variance + epsilon). `bias` is the bias of a convolution
/// that did not add it, or null.
struct batch_norm_forward {
  element const* x = nullptr;
  element* y = nullptr;
  float const* gamma = nullptr;
  float const* beta = nullptr;
  float* moving_mean = nullptr;
  float* moving_variance = nullptr;
  float const* bias = nullptr;
  float* statistics = nullptr;
};
struct batch_norm_forwards {
  batch_norm_forward layer[batch_norm_group];
};

/// The memory of a batch_norm in the backward pass. dx may be x, or null if it is not needed. If `sums` is not null,
/// dgamma and dbeta are also stored there, one after the other.
struct batch_norm_gradient {
  element const* x = nullptr;
  element const* dy = nullptr;
  element* dx = nullptr;
  float const* gamma = nullptr;
  float const* beta = nullptr;
  float const* statistics = nullptr;
  float* dgamma = nullptr;
  float* dbeta = nullptr;
  float* sums = nullptr;
};
struct batch_norm_gradients_of {
  batch_norm_gradient layer[batch_norm_group];
};

/// Computes the gradient dx of a batch_norm with running moments, or adds it to dx. dx may be dy.
inline auto frozen_batch_norm_backward(storage t, long long pixels, int channels, double epsilon, slice dy, slice dx,
                                       bool accumulate)
    -> kernel_spec<element const*, float const*, float const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {dy, dx});
  return detail::pointwise("frozen_batch_norm_backward", t, pixels * (channels / lanes),
                           detail::checked_count("frozen_batch_norm_backward", pixels), channels, lanes,
                           static_cast<float>(epsilon), dy, dx, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

struct batch_norm_call {
  std::string_view function;
  bool reduces = false;
  bool backward = false;
  bool running = false;
  bool unbiased = false;
  bool part = false;
  long long values = 0;  // 0: the number of pixels
};

inline any_kernel batch_norm_spec(batch_norm_call const& call, storage t, long long pixels,
                                  std::span<kernels::batch_norm_layer const> layers) {
  if (layers.empty() || layers.size() > kernels::batch_norm_group)
    throw executor_error(dsl::detail::message({"cuda: one launch normalises 1 to 4 tensors; found ", layers.size()}));
  int const count = checked_count(call.function, pixels);
  int lanes = 16 / bytes_of(t);
  for (kernels::batch_norm_layer const& b : layers)
    lanes = std::min(lanes, lanes_of(t, b.channels, {b.x, b.y, call.backward ? b.dx : b.x}));
  any_kernel s{.function = call.function, .storage = t};
  s.threads = call.reduces ? reduce_threads : 256;
  tiling tiles[kernels::batch_norm_group];
  for (std::size_t k = 0; k < layers.size(); ++k)
    tiles[k] = tiles_of(layers[k].channels, lanes, static_cast<int>(s.threads),
                        call.reduces ? reduce_channels : pointwise_channels);
  if (call.reduces)
    reduce({tiles, layers.size()}, count, lanes, s);
  else
    cut({tiles, layers.size()}, count, 0, s);
  s.constants = constants_of(count, lanes, static_cast<int>(layers.size()), call.running, call.unbiased, call.part,
                             static_cast<float>(!call.backward    ? 0
                                                : call.values > 0 ? call.values
                                                                  : pixels));
  for (std::size_t k = 0; k < kernels::batch_norm_group; ++k) {
    kernels::batch_norm_layer const b = k < layers.size() ? layers[k] : kernels::batch_norm_layer{};
    std::vector<constant> const more = constants_of(
        b.channels, tiles[k], b.x, b.y, call.backward ? b.dx : slice{}, b.relu, call.backward && b.accumulate,
        call.backward ? 0.0F : static_cast<float>(b.epsilon), call.backward ? 0.0F : static_cast<float>(b.momentum));
    s.constants.insert(s.constants.end(), more.begin(), more.end());
  }
  return s;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes the moments of the batch, the first of two launches in training. Reads x and bias; writes `statistics`, and
/// updates moving_mean and moving_variance as Keras does or, if `unbiased`, with n / (n - 1) as PyTorch does.
inline auto batch_norm_statistics(storage t, long long pixels, std::span<batch_norm_layer const> layers, bool unbiased)
    -> meeting_spec<float, batch_norm_forwards> {
  return detail::batch_norm_spec({.function = "batch_norm_statistics", .reduces = true, .unbiased = unbiased}, t,
                                 pixels, layers);
}
/// Computes the moments of a part of a batch, instead of batch_norm_statistics(). `statistics` receives each channel's
/// mean and sum of squared deviations, for join_moments() (towers.hpp). Running moments are not updated.
inline auto batch_norm_part(storage t, long long pixels, std::span<batch_norm_layer const> layers)
    -> meeting_spec<float, batch_norm_forwards> {
  return detail::batch_norm_spec({.function = "batch_norm_statistics", .reduces = true, .part = true}, t, pixels,
                                 layers);
}
/// Normalises, the second launch in training: y = gamma * (x - mean) * inverse + beta, then relu.
inline auto batch_norm_apply(storage t, long long pixels, std::span<batch_norm_layer const> layers)
    -> kernel_spec<batch_norm_forwards> {
  return detail::batch_norm_spec({.function = "batch_norm_apply"}, t, pixels, layers);
}
/// Normalises with the running moments, for evaluation and inference, if no convolution has the batch_norm folded into
/// it.
inline auto batch_norm_inference(storage t, long long pixels, std::span<batch_norm_layer const> layers)
    -> kernel_spec<batch_norm_forwards> {
  return detail::batch_norm_spec({.function = "batch_norm_apply", .running = true}, t, pixels, layers);
}
/// Computes dgamma and dbeta, the first of two launches in the backward pass.
inline auto batch_norm_gradients(storage t, long long pixels, std::span<batch_norm_layer const> layers)
    -> meeting_spec<float, batch_norm_gradients_of> {
  return detail::batch_norm_spec({.function = "batch_norm_gradients", .reduces = true, .backward = true}, t, pixels,
                                 layers);
}
/// Computes dx, the second launch of the backward pass, if any layer needs its dx. Reads dgamma and dbeta, which are
/// sums over `values` values of each channel; 0 stands for the number of pixels. If the launch has only a part of a
/// batch, there are more values than pixels.
inline auto batch_norm_backward(storage t, long long pixels, std::span<batch_norm_layer const> layers,
                                long long values = 0) -> kernel_spec<batch_norm_gradients_of> {
  return detail::batch_norm_spec({.function = "batch_norm_backward", .backward = true, .values = values}, t, pixels,
                                 layers);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
