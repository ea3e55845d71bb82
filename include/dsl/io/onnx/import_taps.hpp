// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_tree.hpp>

#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Puts a tap behind each layer in `tapped`, and names the taps and their readers: skip1, skip2, ... In the tree, both
/// have the numbers of their layers until then. A tap where a branch of a channel_split begins remains if it is read.
void onnx_put_taps(onnx_tree& all, std::vector<char>& tapped);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_taps_inl.hpp>
#endif
