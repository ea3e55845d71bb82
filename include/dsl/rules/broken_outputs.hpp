// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/rules/broken.hpp>

// Rules of a network with several outputs.
namespace dsl::broken {

template <class At, class Layer, bool HasLayers = false>
struct outputs_have_layers {
  static_assert(HasLayers, "named_output: it must have at least one layer that computes something; add one");
};

template <class At, class Layer, bool IsFree = false>
struct outputs_have_names_of_their_own {
  static_assert(IsFree, "named_output: another output has the same name; give one of them another name");
};

template <class At, class Layer, bool IsFree = false>
struct output_names_are_not_reserved {
  static_assert(IsFree, "named_output: main, val and names that begin with val_ are reserved; choose another name");
};

template <class At, class Layer, bool LayerFollows = false>
struct outputs_come_before_the_last_layer {
  static_assert(
      LayerFollows,
      "named_output: a layer of the network must follow it; move it before the layers that compute the result");
};

template <class At, class Layer, int Device, int DeviceOfResult>
struct outputs_share_a_device {
  static_assert(Device == DeviceOfResult,
                "named_output: its last layer must be on the device of the network's last layer; put its layers in "
                "on<device<...>, ...>");
};

}  // namespace dsl::broken
