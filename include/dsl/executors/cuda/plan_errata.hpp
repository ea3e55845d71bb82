// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_plan.hpp>

/// Plans of cuDNN that compute wrong results. They were found by running every plan on numbers whose sums are exact
/// (gpu_conformance, groups convolutions and small_convolutions) with cuDNN 9.19 on an H100.
namespace dsl::cu::backend::TYPENET_MODE {

constexpr bool pads_unevenly(convolution const& c) { return c.pad_top != c.pad_bottom || c.pad_left != c.pad_right; }

/// Returns whether an engine transforms its factors, as Winograd's algorithm does, although cuDNN reports no such note.
/// With such an engine, sums of integers are wrong by millionths.
constexpr bool transforms_silently(convolution_pass pass, plan_facts const& f) {
  return pass == convolution_pass::backward_weights && f.engine == 17;
}

/// Returns why these options must not use a plan, or null.
constexpr char const* known_fault(convolution const& c, convolution_options const& o, plan_facts const& f) {
  if (o.pass == convolution_pass::backward_weights && (f.engine == 1 || f.engine == 20) && pads_unevenly(c))
    return "it computes wrong gradients if the padding after the input is larger than before it";
  if (transforms_silently(o.pass, f) && o.precision != convolution_precision::tf32)
    return "it transforms its factors, which costs more precision than these options allow";
  return nullptr;
}

}  // namespace dsl::cu::backend::TYPENET_MODE
