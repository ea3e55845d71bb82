// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_CUDA)
#error "cuda: <dsl/executors/cuda.hpp> needs CUDA and cuDNN; link typenet::cuda or typenet::compiled_cuda"
#endif

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/cache_folder.hpp>
#include <dsl/executors/cuda/device_collectives.hpp>
#include <dsl/executors/cuda/precision.hpp>
#include <dsl/executors/cuda/target.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/tower_device.hpp>

#include <memory>
#include <string>

namespace dsl::TYPENET_MODE {

using cu::precision;

/// The executor for NVIDIA GPUs, which uses cuDNN and typenet's own kernels. Link typenet::cuda. If there are several
/// towers, each has its own GPU.
struct cuda {
  dsl::precision precision = dsl::precision::bf16;
  /// Whether to compute the same bits in every run. Each convolution then uses the first of cuDNN's plans that is
  /// deterministic, not the fastest one. Sums over towers have the same bits, too, unless `collectives` chooses the
  /// order of the sums itself.
  bool deterministic = false;
  int device = 0;
  /// The number of queues for steps that do not depend on each other, 1 or 2. With 1, no steps run concurrently. With
  /// 0, each program is made for one queue and for two, both are timed, and the faster is kept; with `deterministic` or
  /// several towers, 0 is the same as 2.
  int queues = 2;
  /// The folder for compiled kernels and for plans that have been timed, which later runs use again. If it is empty,
  /// none are stored.
  std::string cache = cu::cache_folder();
  /// Selects how the GPUs of several towers sum gradients. &dsl::nccl (executors/cuda/nccl.hpp) sums on the GPUs; null
  /// sums on the host in the order of the towers. The object must outlive the trainer.
  cu::device_collectives const* collectives = nullptr;
  /// Whether evaluation and inference of a batch use the program of an earlier, larger batch, if there is one, instead
  /// of making a program for this size. The rest of the larger batch is filled with zeros, which neither the metrics
  /// nor the outputs contain. The last, smaller batch of a data set then begins at once, but takes as long as the
  /// others.
  bool fill_batches = false;
  /// Whether a batch that comes from the host is copied to the device while the step before it runs. Such a batch takes
  /// twice the memory, on the host and on the device. It has no effect with several towers.
  bool copy_ahead = false;

  static constexpr dsl::target compile_time_target = cu::target_for(cu::storage::bf16);

  cuda for_tower(detail::tower_device const& at) const;
  /// Returns the number of GPUs that this process may use. Without a driver, it is 0, and make_engine reports the
  /// missing driver.
  static int devices();

  /// Throws executor_error if there is no driver or no such device.
  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const;

 private:
  static cu::api const& libraries();
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/cuda_inl.hpp>
#endif
