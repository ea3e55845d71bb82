// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/engine.hpp>

namespace dsl {

using cu::precision;

/// An NVIDIA GPU through cuDNN and kernels of our own: link typenet::cuda.
struct cuda {
  dsl::precision precision = dsl::precision::bf16;
  bool deterministic = false;  // the same bits in every run, from the first of cuDNN's plans that allow it
  int device = 0;
  /// Where compiled kernels and timed plans are kept from run to run; empty: nowhere.
  std::string cache = cu::cache_folder();

  static constexpr dsl::target compile_time_target = cu::target_for(cu::storage::bf16);

  /// That several towers can use: one, so far.
  static int devices() { return 1; }

  /// Throws executor_error where there is no driver or no such device.
  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const {
    static cu::api const libraries;
    return std::make_unique<cu::engine>(libraries, g, o, cu::engine_settings{precision, deterministic, device, cache});
  }
};

}  // namespace dsl
