// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

/// Specs of kernels/input.cuh.
namespace dsl::cu::kernels {

/// A batch of (sample, channel, row, column) floats, as the host has it, to packed channels-last.
///   launch(float const* from, T* to)
inline kernel_spec load_pictures(storage t, int batch, shape const& s) {
  return detail::pointwise("load_pictures", t, batch * s.size(), batch, s.channels, static_cast<int>(s.area()));
}

/// A batch from a data set in device memory: gathered, augmented, mean-subtracted, with its labels; the bits of
/// data/pipeline.hpp where T is float. pictures: (all, channels, height, width) bytes; mean: one picture of floats, or
/// null; order: the epoch's permutation, or null for pictures as they come; step_state says position and epoch; labels
/// and all_labels may be null together. augment null: pictures as they are.
///   launch(unsigned char const* pictures, int const* all_labels, float const* mean, unsigned const* order,
///          step_state const*, T* images, int* labels)
inline kernel_spec gather_pictures(storage t, int batch, shape const& s, shift_and_flip const* augment,
                                   std::uint64_t seed) {
  detail::checked_count("gather_pictures", s.size());
  shift_and_flip const none{.width = 0, .height = 0, .horizontal_flip = false};
  shift_and_flip const& a = augment ? *augment : none;
  return detail::pointwise("gather_pictures", t, batch * s.area(), batch, s.channels, s.height, s.width,
                           augment != nullptr, a.horizontal_flip, a.interpolation == interpolation::bilinear,
                           static_cast<float>(a.height * s.height), static_cast<float>(a.width * s.width),
                           static_cast<std::int32_t>(static_cast<std::uint32_t>(seed)),
                           static_cast<std::int32_t>(static_cast<std::uint32_t>(seed >> 32)));
}

}  // namespace dsl::cu::kernels
