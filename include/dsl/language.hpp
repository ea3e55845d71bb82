// SPDX-License-Identifier: MIT
#pragma once

// The language alone: layers, networks, and the facts that are known about them at compile time. It takes half a second
// to compile and needs no library.
#include <dsl/detail/compiler.hpp>
#include <dsl/rules/broken.hpp>  // compilers name every file through which an error came
#include <dsl/shape.hpp>
#include <dsl/layer.hpp>
// words
#include <dsl/layers/image.hpp>
#include <dsl/layers/window.hpp>
#include <dsl/layers/conv2d.hpp>
#include <dsl/layers/conv1d.hpp>
#include <dsl/layers/conv2d_transpose.hpp>
#include <dsl/layers/recurrent.hpp>
#include <dsl/layers/attention.hpp>
#include <dsl/layers/tokens.hpp>
#include <dsl/layers/batch_norm.hpp>
#include <dsl/layers/layer_norm.hpp>
#include <dsl/layers/group_norm.hpp>
#include <dsl/layers/local_response_norm.hpp>
#include <dsl/layers/channel_scale.hpp>
#include <dsl/layers/activation.hpp>
#include <dsl/layers/pool2d.hpp>
#include <dsl/layers/pool1d.hpp>
#include <dsl/layers/zero_pad2d.hpp>
#include <dsl/layers/upsample2d.hpp>
#include <dsl/layers/merge_pixels.hpp>
#include <dsl/layers/channels.hpp>
#include <dsl/layers/dropout.hpp>
#include <dsl/layers/flatten.hpp>
#include <dsl/layers/dense.hpp>
#include <dsl/layers/softmax.hpp>
#include <dsl/layers/custom.hpp>
#include <dsl/combinators/sequential.hpp>
#include <dsl/combinators/named.hpp>
#include <dsl/combinators/named_input.hpp>
#include <dsl/combinators/named_output.hpp>
#include <dsl/combinators/tap.hpp>
#include <dsl/combinators/concat.hpp>
#include <dsl/combinators/channel_split.hpp>
#include <dsl/combinators/add.hpp>
#include <dsl/combinators/residual.hpp>
#include <dsl/combinators/bounded_window_attention.hpp>
#include <dsl/combinators/multiply.hpp>
#include <dsl/combinators/frozen.hpp>
#include <dsl/combinators/initialized.hpp>
#include <dsl/combinators/scaled.hpp>
// sentences
#include <dsl/network.hpp>
#include <dsl/memory_budget.hpp>
#include <dsl/modules/conv_module.hpp>
#include <dsl/modules/inception_module.hpp>
#include <dsl/modules/downsample_module.hpp>
#include <dsl/models/minigooglenet.hpp>
