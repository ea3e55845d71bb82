// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/onednn/device.hpp>

#include <cstdint>

namespace dsl::dnn::TYPENET_MODE {

/// The form in which a packed kernel holds the parameters.
enum class kernel_form {
  plain,       // as they are
  transposed,  // (in, out, flipped): for a stride-1 data gradient as a convolution that can accumulate
  folded,      // multiplied with a batch_norm's scale, for inference
};

/// A kernel in one of the library's layouts, kept until the parameters change.
class packed_kernel {
 public:
  /// Prepares to pack a kernel; refresh() packs it. `numbers` are the values of the parameter, (out, in, height,
  /// width).
  packed_kernel(device const& on, parameter const& p, float const* numbers, kernel_form form, layout const& wanted)
      : of_(p), form_(form), layout_(wanted), data_(static_cast<long long>(wanted.bytes())) {
    memory_ = make_memory(on.engine(), wanted, data_.data());
    if (form != kernel_form::plain) staging_ = detail::make_owner<host::memory_block>(p.count() * 4);
    if (form == kernel_form::folded) bias_ = detail::make_owner<host::memory_block>(p.dims[0] * 4LL);
    int const* const d = p.dims;
    bool const turned = form == kernel_form::transposed;
    layout const plain(turned ? dims{{d[1], d[0], d[2], d[3]}} : dims{{d[0], d[1], d[2], d[3]}}, dnnl_abcd);
    pack_ = primitive_call(make_reorder(on.engine(), plain, wanted));
    void* const source = staging_ ? static_cast<void*>(staging_->data()) : const_cast<float*>(numbers);
    pack_.argument(DNNL_ARG_FROM, on, plain, source);
    pack_.argument(DNNL_ARG_TO, on, wanted, data_.data());
  }

  bool is(parameter const& p, kernel_form form, layout const& wanted) const {
    return of_.node == p.node && form_ == form && layout_ == wanted;
  }
  dnnl_memory_t memory() const { return memory_.get(); }
  /// Returns the bias of a folded kernel.
  float* bias() const { return reinterpret_cast<float*>(bias_->data()); }
  long long bytes() const { return data_.bytes() + (staging_ ? staging_->bytes() : 0) + (bias_ ? bias_->bytes() : 0); }

  /// Packs the kernel again if the parameters have changed. A folded kernel needs the batch_norm's parameters in
  /// `step`.
  void refresh(device const& on, std::uint64_t version, host::bound_step<float> const& step, double epsilon) {
    if (version_ == version) return;
    if (form_ == kernel_form::transposed) transpose(step.parameter(role::kernel));
    if (form_ == kernel_form::folded) fold(step, static_cast<float>(epsilon));
    pack_(on);
    version_ = version;
  }

 private:
  [[gnu::noinline]] void transpose(float const* from) const {
    int const area = of_.dims[2] * of_.dims[3];
    auto* to = reinterpret_cast<float*>(staging_->data());
    for (int i = 0; i < of_.dims[1]; ++i)
      for (int o = 0; o < of_.dims[0]; ++o)
        for (int a = area - 1; a >= 0; --a) *to++ = from[(1LL * o * of_.dims[1] + i) * area + a];
  }

  /// Folds the batch_norm that follows the convolution into the kernel and the bias, with the running statistics.
  void fold(host::bound_step<float> const& s, float epsilon) const {
    float const* from = s.parameter(role::kernel);
    float const* const mean = s.parameter(role::moving_mean);
    float const* const variance = s.parameter(role::moving_variance);
    float const* const added = s.parameter(role::bias);
    auto* to = reinterpret_cast<float*>(staging_->data());
    long long const each = of_.count() / of_.dims[0];
    for (int o = 0; o < of_.dims[0]; ++o) {
      float const scale = s.parameter(role::gamma)[o] / detail::sqrt(variance[o] + epsilon);
      for (long long i = 0; i < each; ++i) *to++ = *from++ * scale;
      bias()[o] = ((added ? added[o] : 0.0F) - mean[o]) * scale + s.parameter(role::beta)[o];
    }
  }

  parameter of_;
  kernel_form form_;
  dnn::layout layout_;
  host::memory_block data_;
  detail::owner<host::memory_block> staging_;  // the numbers before packing, unless they are the parameter's
  detail::owner<host::memory_block> bias_;
  memory_handle memory_;
  primitive_call pack_;
  std::uint64_t version_ = 0;
};

}  // namespace dsl::dnn::TYPENET_MODE
