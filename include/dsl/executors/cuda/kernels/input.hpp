// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

/// Specs of kernels/input.cuh.
namespace dsl::cu::kernels::TYPENET_MODE {

/// Converts a batch of (sample, channel, row, column) floats, the host's layout, to packed channels-last.
inline auto load_pictures(storage t, int batch, shape const& s) -> kernel_spec<float const*, element*> {
  return detail::pointwise("load_pictures", t, batch * s.size(), batch, s.channels, static_cast<int>(s.area()));
}

/// Gathers a batch from a data set in device memory, augments it and subtracts the mean, and copies its labels. With T
/// = float, the result has the same bits as that of data/pipeline.hpp. pictures: (all, channels, height, width) bytes.
/// mean: one image of floats, or null. order: the epoch's permutation, or null for the stored order. step_state has the
/// position, the epoch and the seed. labels and all_labels may be null together.
inline auto gather_pictures(storage t, int batch, shape const& s, augmentation_numbers const& a)
    -> kernel_spec<unsigned char const*, int const*, float const*, unsigned const*, step_state const*, element*, int*> {
  detail::checked_count("gather_pictures", s.size());
  return detail::pointwise("gather_pictures", t, batch * s.area(), batch, s.channels, s.height, s.width, a.shifts,
                           a.shift_flips, a.interpolation == interpolation::bilinear,
                           static_cast<float>(a.shift_height * s.height), static_cast<float>(a.shift_width * s.width),
                           a.crops, a.padding, static_cast<int>(a.outside), a.flips, a.flip_probability, a.hole,
                           a.hole_epochs);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
