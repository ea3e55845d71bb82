// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/name.hpp>
#include <dsl/operations/operation.hpp>
#include <dsl/shape.hpp>

namespace dsl {

/// A sliding window: kernel, stride, and the zeros in front of the first row and column. What is missing after the
/// last ones follows from the output's shape.
struct window {
  int height = 1;
  int width = 1;
  int stride = 1;
  int pad_top = 0;
  int pad_left = 0;
};

/// Whether `all` channels can be cut into so many equal groups.
constexpr bool divides(int groups, int all) { return groups > 0 && all % groups == 0; }

/// The rows of a window that lie on the picture, [first, last) of its own, counted from the picture's row `begin` on;
/// or the columns.
struct window_part {
  int begin = 0;  // negative in the padding
  int first = 0;
  int last = 0;
};
/// window_part_of(0, 3, 2, 1, 8) -> {-1, 1, 3}: the first window of 3 rows begins in one row of padding
constexpr window_part window_part_of(int place, int size, int stride, int before, int input) {
  int const begin = place * stride - before;
  return {begin, begin < 0 ? -begin : 0, size < input - begin ? size : input - begin};
}

struct custom_op;

/// One operation of the network. Inputs are graph.edges[first_input ... first_input + inputs).
struct node {
  op kind = op::input;
  dsl::function function = dsl::function::relu;
  short device = 0;  // where it computes
  int first_input = 0;
  int inputs = 0;
  int output = -1;          // tensor
  int first_parameter = 0;  // in graph.parameters
  int parameters = 0;
  int scope = 0;  // in graph.scopes: the layer that appended this node
  dsl::window window{};
  double rate = 0;      // dropout: share of zeros; activation: alpha
  double epsilon = 0;   // batch_norm
  double momentum = 0;  // batch_norm: what the running statistics keep each step
  custom_op const* custom = nullptr;
  int groups = 1;       // conv2d: parts of the channels that have nothing to do with each other
  bool frozen = false;  // no optimizer changes its parameters, and batch_norm normalises by its running statistics
  bool counts_padding = true;  // avg_pool2d: the mean is over all of a window, zeros too
};

/// A value that flows between nodes: the output of exactly one of them.
struct tensor {
  dsl::shape shape{};
  int producer = -1;
  int readers = 0;  // operands that are this tensor
};

/// Weights are stored as PyTorch does: kernels of conv2d as (out, in, height, width), of dense as (out, in).
struct parameter {
  dsl::role role = dsl::role::kernel;
  int node = -1;
  int dims[4] = {1, 1, 1, 1};
  int rank = 1;  // how many of them there are: append() says so, from what its node is
  int fan_in = 0;
  int fan_out = 0;
  bool frozen = false;  // as its node

  constexpr long long count() const { return 1LL * dims[0] * dims[1] * dims[2] * dims[3]; }
  /// Whether it is one of batch_norm's running statistics.
  constexpr bool is_statistic() const { return role == dsl::role::moving_mean || role == dsl::role::moving_variance; }
  /// Whether the optimizer changes it.
  constexpr bool trainable() const { return !frozen && !is_statistic(); }
};

/// The layer a node came from: "2.inception_module", inside its parent. Scope 0 is the network.
struct scope {
  int parent = -1;
  int index = 0;
  detail::name name{};
  bool is_named = false;          // `name` is what named<> calls it, and not the type
  bool numbers_children = false;  // weights of the layers in it are called by their index
};

}  // namespace dsl
