// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/executors/tower_place.hpp>

#include <memory>
#include <string>

namespace dsl::TYPENET_MODE {

using cu::precision;

/// An NVIDIA GPU through cuDNN and kernels of our own: link typenet::cuda. Of several towers each has a GPU.
struct cuda {
  dsl::precision precision = dsl::precision::bf16;
  bool deterministic = false;  // the same bits in every run, from the first of cuDNN's plans that allow it; of several
                               // towers' sums, too, unless `collectives` add them up in another order
  int device = 0;
  int queues = 2;  // steps that don't need each other run side by side; 1: one after the other
  /// Where compiled kernels and timed plans are kept from run to run; empty: nowhere.
  std::string cache = cu::cache_folder();
  /// How several towers' GPUs add up gradients: &dsl::nccl (executors/cuda/nccl.hpp), or null: through the host, in
  /// tower order. It must outlive the trainer.
  cu::device_collectives const* collectives = nullptr;

  static constexpr dsl::target compile_time_target = cu::target_for(cu::storage::bf16);

  cuda for_tower(detail::tower_place const& at) const;
  /// That this process may use; 0 where there is no driver: then make_engine says so.
  [[gnu::cold]] static int devices();

  /// Throws executor_error where there is no driver or no such device.
  [[gnu::cold]] std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;

 private:
  static cu::api const& libraries();
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda_inl.hpp>
#endif
