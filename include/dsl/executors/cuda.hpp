// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_CUDA)
#error "cuda: <dsl/executors/cuda.hpp> needs typenet::cuda or typenet::compiled_cuda; link it"
#endif

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/executors/tower_place.hpp>

#include <memory>
#include <string>

namespace dsl::TYPENET_MODE {

using cu::precision;

/// An NVIDIA GPU through cuDNN and typenet's own kernels: link typenet::cuda. Each tower has a GPU.
struct cuda {
  dsl::precision precision = dsl::precision::bf16;
  /// Gives the same bits in every run, with the first of cuDNN's plans that does. This includes sums over towers,
  /// unless `collectives` sum in an order of their own.
  bool deterministic = false;
  int device = 0;
  int queues = 2;  // steps that do not depend on each other run concurrently; 1: one after the other
  /// The folder for compiled kernels and timed plans, which are reused in later runs; empty: none.
  std::string cache = cu::cache_folder();
  /// How several towers' GPUs sum gradients: &dsl::nccl (executors/cuda/nccl.hpp), or null for sums on the host in
  /// tower order. It must outlive the trainer.
  cu::device_collectives const* collectives = nullptr;

  static constexpr dsl::target compile_time_target = cu::target_for(cu::storage::bf16);

  cuda for_tower(detail::tower_place const& at) const;
  /// Returns the number of GPUs that this process may use; 0 without a driver, which make_engine then reports.
  [[gnu::cold]] static int devices();

  /// Throws executor_error if there is no driver or no such device.
  [[gnu::cold]] std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;

 private:
  static cu::api const& libraries();
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda_inl.hpp>
#endif
