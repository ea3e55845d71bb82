// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/agreement.hpp"
#include "support/gpu/convolutions.hpp"

// Networks with grouped and depthwise convolutions, dilation, different strides for rows and columns, and transposed
// convolutions.

namespace dsl::test {

/// Groups of several channels and of one, before a batch_norm and in the branches of a concat, some of whose channels
/// fill 16 bytes; a gradient to which a depthwise convolution adds.
using grouped_network =
    network<image<3, 10, 9>, conv2d<16, 3>, relu, conv2d<32, 3, stride<2>, groups<4>>, batch_norm<>, relu,
            conv2d<32, kernel<3>, groups<32>, bias<false>>, batch_norm<>,
            concat<conv2d<16, 1>, sequential<conv2d<24, kernel<3>, groups<8>>, relu>, conv2d<64, 3, groups<32>>,
                   max_pool2d<3, 1, pad<1>>>,
            relu, add<identity, conv2d<136, 5, groups<136>>>, max_pool2d<2>, flatten, dense<4>, softmax>;

/// Groups of odd numbers of channels.
using odd_grouped_network =
    network<image<3, 7, 8>, conv2d<6, 3, groups<3>>, dsl::tanh, conv2d<15, 3, groups<3>>, batch_norm<>, relu,
            concat<conv2d<10, kernel<3>, stride<1>, groups<5>>, conv2d<15, 3, groups<15>>>,
            conv2d<5, kernel<3>, stride<2>, groups<5>>, relu, flatten, dense<4>, softmax>;

using spread_network =
    network<image<3, 12, 11>, conv2d<16, 3, stride<2, 1>>, relu, conv2d<16, 3, dilation<2>>, batch_norm<>, relu,
            concat<conv2d<8, 3, dilation<1, 3>>, conv2d<16, 3, groups<4>, dilation<2>>, conv2d<16, 3, groups<16>>>,
            add<conv2d<24, kernel<3, 2>, dilation<2, 1>>, conv2d<24, 5, dilation<2>, groups<8>>>,
            conv2d<8, kernel<2, 3>, stride<1, 3>, pad<1, 0, 1, 2>>, relu, flatten, dense<4>, softmax>;

/// Transposed convolutions that write slices of a concat's buffer and read the gradients of slices, with more padding
/// after than before or before than after, groups, dilation, and gradients to which several branches add.
using transposed_network = network<
    image<3, 5, 6>, conv2d<16, 3>, relu,
    concat<conv2d_transpose<16, 2, stride<2>>,
           sequential<conv2d<8, 1>, conv2d_transpose<8, kernel<4>, stride<2>, pad<1>, bias<false>>, batch_norm<>, relu>,
           conv2d_transpose<5, 3, stride<2>, pad<1, 1, 0, 0>>, conv2d_transpose<8, 2, stride<2>, groups<4>>>,
    add<conv2d_transpose<12, 3, pad<1>>, conv2d<12, 3>, conv2d_transpose<12, 1, bias<false>>>,
    conv2d_transpose<12, kernel<3>, stride<1, 2>, dilation<2, 1>, groups<12>, bias<false>>, batch_norm<>,
    conv2d_transpose<6, kernel<2, 3>, stride<2, 1>, pad<0, 2, 1, 0>>, relu, max_pool2d<3>, flatten, dense<4>, softmax>;

/// Trains such networks beside the reference in double, compares the gradients of one step, and compares each
/// convolution with typenet's own kernels.
inline void check_further_convolutions(gpu const& on, ledger& l) {
  struct checked {
    char const* name;
    graph_view (*view)();
    int batch;
  };
  for (auto const& [name, view, batch] : {checked{"groups", &grouped_network::view, 4},
                                          {"groups, odd channels", &odd_grouped_network::view, 3},
                                          {"dilation and strides", &spread_network::view, 4},
                                          {"transposed", &transposed_network::view, 8}})
    for (precision p : all_precisions) {
      check_agreement(on.untimed(), l, name, view(), keras_rules, batch, 3, p);
      check_gradients(on.untimed(), l, name, view(), batch, {{p, bounds_of(p).gradient}});
      check_convolutions(on.untimed(), l, view(), {{p, batch, mode::training, 8}, {p, batch, mode::inference, 8}});
    }
}

}  // namespace dsl::test
