// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Appends Growth new channels to its input.
template <class Norm, int Number, int Growth>
struct dense_layer
    : concat<identity, named<numbered_label<"denselayer", Number>,  //
                             named<"norm1", Norm>, relu, named<"conv1", conv2d<4 * Growth, 1, bias<false>>>,
                             named<"norm2", Norm>, relu, named<"conv2", conv2d<Growth, 3, pad<1>, bias<false>>>>> {};

/// A sequence of Count dense layers.
template <class Norm, int Count, int Growth, class... Layers>
struct dense_block : dense_block<Norm, Count - 1, Growth, dense_layer<Norm, Count, Growth>, Layers...> {};
template <class Norm, int Growth, class... Layers>
struct dense_block<Norm, 0, Growth, Layers...> : sequential<Layers...> {};

/// Halves height and width, and outputs Filters channels.
template <class Norm, int Filters>
struct transition
    : sequential<named<"norm", Norm>, relu, named<"conv", conv2d<Filters, 1, bias<false>>>, avg_pool2d<2>> {};

/// DenseNet (Huang et al. 2017); First to Fourth are the numbers of layers in its blocks.
template <int Classes, class Norm, int First, int Second, int Third, int Fourth, int Growth = 32, int Start = 64>
struct densenet {
 private:
  static constexpr int after_first = (Start + First * Growth) / 2;
  static constexpr int after_second = (after_first + Second * Growth) / 2;
  static constexpr int after_third = (after_second + Third * Growth) / 2;
  using layers =
      sequential<named<"features",                                                                                    //
                       named<"conv0", conv2d<Start, 7, stride<2>, pad<3>, bias<false>>>, named<"norm0", Norm>, relu,  //
                       max_pool2d<3, 2, pad<1>>,  // 56x56
                       named<"denseblock1", dense_block<Norm, First, Growth>>,
                       named<"transition1", transition<Norm, after_first>>,  // 28x28
                       named<"denseblock2", dense_block<Norm, Second, Growth>>,
                       named<"transition2", transition<Norm, after_second>>,  // 14x14
                       named<"denseblock3", dense_block<Norm, Third, Growth>>,
                       named<"transition3", transition<Norm, after_third>>,  // 7x7
                       named<"denseblock4", dense_block<Norm, Fourth, Growth>>, named<"norm5", Norm>>,
                 relu, classifier<"classifier", Classes>>;

 public:
  using children = typename layers::children;
  static constexpr value lower(builder& b, value in) { return layers::lower(b, in); }
};

/// DenseNet (Huang et al. 2017), under torchvision's names.
template <int Classes = 1000, class Norm = torch_norm>
struct densenet121 : densenet<Classes, Norm, 6, 12, 24, 16> {};
template <int Classes = 1000, class Norm = torch_norm>
struct densenet161 : densenet<Classes, Norm, 6, 12, 36, 24, 48, 96> {};
template <int Classes = 1000, class Norm = torch_norm>
struct densenet169 : densenet<Classes, Norm, 6, 12, 32, 32> {};
template <int Classes = 1000, class Norm = torch_norm>
struct densenet201 : densenet<Classes, Norm, 6, 12, 48, 32> {};

}  // namespace dsl::models
