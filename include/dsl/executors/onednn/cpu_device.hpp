// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/executors/onednn/parallel.hpp>

namespace dsl::dnn::TYPENET_MODE {

/// The place in which the shared kernels (host/vector_tasks.hpp) run on one device. They run on oneDNN's threads, with
/// vectors as wide as a channel block.
class cpu_device {
 public:
  /// `kernels` is a vector_kernels_of<...>.
  cpu_device(int block, host::vector_kernels const& (*kernels)(host::instructions))
      : vectors_(kernels(set_for(block))) {}

  /// Whether this processor has kernels for channel blocks of `block` floats; otherwise plain loops are used.
  static bool has_kernels_for(int block) {
    host::instructions const set = set_for(block);
    return set != host::instructions::baseline && set <= host::widest() && host::lanes_of(set) == block;
  }

  int lanes() const { return vectors_.lanes; }
  host::vector_kernels const& vectors() const { return vectors_; }
  int threads() const { return omp_get_max_threads(); }
  template <class F>
  void run(int items, F const& f) {
    share_out(items, f);
  }
  void need_shared(long long floats) {
    if (auto const n = static_cast<std::size_t>(floats); shared_.size() < n) shared_.allocate(n);
  }
  float* shared() const { return shared_.data(); }
  long long bytes() const { return 4 * static_cast<long long>(shared_.size()); }

 private:
  static host::instructions set_for(int block) {
    return block == 16  ? host::instructions::avx512
           : block == 8 ? host::instructions::avx2
                        : host::instructions::baseline;
  }

  host::vector_kernels const& vectors_;
  detail::zeros<float> shared_;
};

}  // namespace dsl::dnn::TYPENET_MODE
