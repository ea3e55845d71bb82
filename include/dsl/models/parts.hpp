// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/concat.hpp>
#include <dsl/combinators/named.hpp>
#include <dsl/combinators/residual.hpp>
#include <dsl/layers/activation.hpp>
#include <dsl/layers/batch_norm.hpp>
#include <dsl/layers/conv2d.hpp>
#include <dsl/layers/dense.hpp>
#include <dsl/layers/dropout.hpp>
#include <dsl/layers/flatten.hpp>
#include <dsl/layers/pool2d.hpp>
#include <dsl/layers/softmax.hpp>

/// Published networks, for images of 224x224 unless a network's comment says otherwise. Their weights have
/// torchvision's names, so that a state_dict of the model of the same name can be loaded, and saved weights have its
/// shapes. The networks end with a softmax, which torchvision leaves to the loss.
namespace dsl::models {

/// A batch_norm with PyTorch's defaults. PyTorch's momentum of 0.1 is the weight of the new statistics; typenet's 0.9
/// is the weight of the old statistics.
using torch_norm = batch_norm<0.9, 1e-5>;

/// The style of convolutions in torchvision: zeros on both sides, so that a stride of 1 keeps height and width.
template <class Norm = torch_norm>
struct torch_style {
  using norm = Norm;
  template <int Kernel>
  static constexpr auto zeros = pad<(Kernel - 1) / 2>;
};

/// The style of convolutions in Keras: padding::same, which differs from torch_style if there is a stride.
template <class Norm = batch_norm<>>
struct keras_style {
  using norm = Norm;
  template <int Kernel>
  static constexpr auto zeros = padding::same;
};

/// The classifier of most networks.
template <label Name, int Classes>
struct classifier : sequential<global_avg_pool2d, flatten, named<Name, dense<Classes>>, softmax> {};

}  // namespace dsl::models
