// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/name.hpp>
#include <dsl/graph/initializer.hpp>
#include <dsl/operations/table.hpp>
#include <dsl/shape.hpp>

namespace dsl {

/// A sliding window along one side of an image: along its rows or along its columns.
struct window_side {
  int size = 1;
  int stride = 1;
  int before = 0;    // zeros before the first row
  int dilation = 1;  // rows of the image from one row of the window to the next

  /// Returns the number of image rows from the window's first row to its last, at most the largest int.
  constexpr int span() const {
    long long const all = (size - 1LL) * dilation + 1;
    return all > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(all);
  }
  /// Returns how many rows of padding the last of `out` windows needs after an image of `in` rows. If the result is
  /// negative, it is minus the number of rows that no window reaches.
  constexpr long long behind(int in, int out) const { return (out - 1LL) * stride + span() - in - before; }

  friend constexpr bool operator==(window_side const&, window_side const&) = default;
};

/// A sliding window: kernel, stride, padding before the first row and column, and dilation. The padding after the last
/// ones follows from the output's shape.
struct window {
  int height = 1;
  int width = 1;
  int stride = 1;  // of rows, and of columns unless they have their own
  int pad_top = 0;
  int pad_left = 0;
  int column_stride = 0;  // 0: that of rows
  int row_dilation = 1;
  int column_dilation = 1;

  /// Returns the window along the rows.
  constexpr window_side rows() const { return {height, stride, pad_top, row_dilation}; }
  /// Returns the window along the columns.
  constexpr window_side columns() const {
    return {width, column_stride == 0 ? stride : column_stride, pad_left, column_dilation};
  }
  /// Whether the window skips rows or columns of the image.
  constexpr bool is_dilated() const { return row_dilation != 1 || column_dilation != 1; }
  /// Whether the stride is s along both rows and columns.
  constexpr bool strides_by(int s) const { return stride == s && (column_stride == 0 || column_stride == s); }

  friend constexpr bool operator==(window const&, window const&) = default;
};

/// Whether `all` channels can be split into `groups` equal groups.
constexpr bool divides(int groups, int all) { return groups > 0 && all % groups == 0; }

/// Whether `all` channels can be split into queries, keys and values of equal size, and each of these into `heads`
/// equal heads.
constexpr bool has_whole_heads(int all, int heads) { return all > 0 && all % 3 == 0 && divides(heads, all / 3); }

/// Whether windows divide an image completely along one side. Shifted windows wrap around the end of the image; windows
/// with a dilation spread over the whole image, and are not shifted.
constexpr bool windows_fill(window_side const& s, int image) {
  bool const spread = s.dilation > 1;
  return s.size > 0 && image % s.size == 0 && s.before >= 0 && s.before < s.size && s.dilation > 0 &&
         (!spread || (s.before == 0 && image / s.size == s.dilation));
}
/// Whether the windows of a window_attention divide an image completely.
constexpr bool windows_fill(window const& w, shape const& image) {
  return windows_fill(w.rows(), image.height) && windows_fill(w.columns(), image.width);
}
/// Returns the number of different offsets between two pixels of a window. The window must be part of an image.
constexpr int offsets_in(window const& w) {
  long long const all = (2LL * w.height - 1) * (2LL * w.width - 1);
  return all > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(all);
}

/// Returns how many gates a recurrent layer has: an lstm's i, f, g, o, or a gru's r, z, n.
constexpr int recurrent_gates(op kind) { return kind == op::gru ? 3 : 4; }

/// The rows of a window inside the image, or the columns: [first, last) of the window, whose row 0 is the image's
/// row `begin`.
struct window_part {
  int begin = 0;  // negative if it begins in the padding
  int first = 0;
  int last = 0;
};
/// Returns the part of window number `place` inside an image of `input` rows. window_part_of(0, 3, 2, 1, 8) ->
/// {-1, 1, 3}: the first window of 3 rows begins in one row of padding.
constexpr window_part window_part_of(int place, int size, int stride, int before, int input) {
  int const begin = place * stride - before;
  return {begin, begin < 0 ? -begin : 0, size < input - begin ? size : input - begin};
}
/// Returns the part of window number `place` that is inside an image, for a window without dilation.
constexpr window_part window_part_of(int place, window_side const& s, int input) {
  return window_part_of(place, s.size, s.stride, s.before, input);
}

/// The largest number of tokens in a vocabulary. Samples are floats, which represent all integers up to 16777216
/// exactly.
inline constexpr int largest_vocabulary = 1 << 24;

/// Whether a vocabulary can have this number of tokens.
constexpr bool is_vocabulary(long long tokens) { return tokens > 0 && tokens <= largest_vocabulary; }

struct custom_op;

/// An operation of the network. Its inputs are graph.edges[first_input ... first_input + inputs).
struct node {
  op kind = op::input;
  dsl::function function = dsl::function::relu;
  short device = 0;  // where it is computed
  int first_input = 0;
  int inputs = 0;
  int output = -1;          // tensor
  int first_parameter = 0;  // in graph.parameters
  int parameters = 0;
  int scope = 0;  // in graph.scopes: the layer that appended it
  dsl::window window{};
  double rate = 0;      // dropout: probability of a zero; activation, local_response_norm: alpha; window_attention: the
                        // square of the number by which scores are divided, or 0
  double epsilon = 0;   // of normalisations; local_response_norm: k
  double momentum = 0;  // batch_norm: share of the running statistics that a step keeps
  custom_op const* custom = nullptr;
  int groups = 1;              // conv2d, channel_shuffle, group_norm: groups of channels; attentions: heads;
                               // local_response_norm: neighbouring channels; embedding: tokens of the vocabulary
  bool frozen = false;         // the optimizer skips its parameters, and batch_norm uses its running statistics
  bool counts_padding = true;  // avg_pool2d: the mean is over the whole window, padding included
  int first_channel = 0;       // channel_slice: the first channel of its input; token_slice: the first token
  int further_output = 0;      // scope of the named_output<...> whose result this node computes; 0: none
  double power = 0;            // local_response_norm: beta

  friend constexpr bool operator==(node const&, node const&) = default;
};

/// A value that flows between nodes. It is the output of exactly one node.
struct tensor {
  dsl::shape shape{};
  int producer = -1;
  int readers = 0;  // number of operands that are this tensor
};

/// The constants by which an update multiplies the optimizer's learning rate and weight decay for a parameter.
struct update_factors {
  double learning_rate = 1;
  double weight_decay = 1;

  friend constexpr bool operator==(update_factors const&, update_factors const&) = default;
};

/// A parameter. Weights have PyTorch's layout: (out, in, height, width) for conv2d, (out, in, length) for conv1d, (out,
/// in) for dense, (vocabulary, features) for embedding, (1, tokens, channels) for learnt constants, (offsets, heads)
/// for window_attention.
struct parameter {
  dsl::role role = dsl::role::kernel;
  int node = -1;
  int dims[4] = {1, 1, 1, 1};
  int rank = 0;  // number of axes; if 0, append() derives it from the node
  int fan_in = 0;
  int fan_out = 0;
  bool frozen = false;  // as its node
  initializer initial{};
  update_factors factors{};
  bool constant = false;  // a number of its layer that is no weight: never changed, not counted, not in Keras's files

  /// Returns the number of the parameter's elements.
  constexpr long long count() const { return 1LL * dims[0] * dims[1] * dims[2] * dims[3]; }
  /// Returns the size of axis `i` < rank. A kernel of rank 3 has dims (out, in, 1, length).
  constexpr int axis(int i) const { return rank == 3 && i == 2 ? dims[2] * dims[3] : dims[i]; }
  /// Whether the parameter is a running statistic of a batch_norm.
  constexpr bool is_statistic() const { return role == dsl::role::moving_mean || role == dsl::role::moving_variance; }
  /// Whether the parameter has a gradient. The optimizer then changes it, unless it is constant.
  constexpr bool trainable() const { return !frozen && !is_statistic(); }
};

/// A layer that appended nodes, inside its parent: "2.inception_module". Scope 0 is the network.
struct scope {
  int parent = -1;
  int index = 0;
  detail::name name{};
  bool is_named = false;          // `name` comes from named<>, not from the type
  bool numbers_children = false;  // weights of its children are named by the child's index
  bool is_mark = false;           // a tap or a from, which names of weights do not count
};

}  // namespace dsl
