// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/executors/tower_device.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE cuda cuda::for_tower(detail::tower_device const& at) const {
  cuda mine = *this;
  mine.device = at.device;
  return mine;
}

TYPENET_INLINE int cuda::devices() {
  int count = 0;
  return libraries().cudaGetDeviceCount.function(&count) == cudaSuccess ? count : 0;
}

TYPENET_INLINE std::unique_ptr<engine> cuda::make_engine(graph_view const& g, engine_options const& o) const {
  return std::make_unique<cu::engine>(libraries(), g, o,
                                      cu::engine_settings{.precision = precision,
                                                          .deterministic = deterministic,
                                                          .device = device,
                                                          .cache = cache,
                                                          .queues = queues,
                                                          .collectives = collectives,
                                                          .fill_batches = fill_batches,
                                                          .copy_ahead = copy_ahead});
}

TYPENET_INLINE cu::api const& cuda::libraries() {
  static cu::api const all;
  return all;
}

}  // namespace dsl::TYPENET_MODE
