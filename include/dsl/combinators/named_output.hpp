// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>

namespace dsl {

/// A further output of the network, in addition to its result. The layers that compute it are trained together with the
/// rest. The next layer reads the input of these layers, not their output:
///   network<image<3, 32, 32>, body, named_output<"aux", global_avg_pool2d, dense<10>, softmax>, rest, dense<10>,
///           softmax>
/// All outputs are compared with the sample's target or, if the data set has them, with separate targets. Training
/// minimises the weighted sum of their losses (see compile_options::losses and loss_weights). Weights have the names
/// that named<Name, ...> gives them.
template <label Name, class... Layers>
struct named_output : named<Name, Layers...> {
  static constexpr value lower(builder& b, value in) {
    int const before = b.sizes().tensors;
    value const out = named<Name, Layers...>::lower(b, in);
    b.mark_output(out, before);
    return in;
  }
};
// named_output<"aux", dense<10>, softmax> on 64x1x1 -> 64x1x1; the network's output "aux" is 10x1x1

}  // namespace dsl
