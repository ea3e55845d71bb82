// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/channel_task.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::channel_slice> {
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    return channel_task(at, s);
  }
};

}  // namespace dsl::host::TYPENET_MODE
