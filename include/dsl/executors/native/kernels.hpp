// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm_kernels.hpp>
#include <dsl/executors/host/widths.hpp>
#include <dsl/executors/native/attention_gradient.hpp>
#include <dsl/executors/native/attention_rows.hpp>
#include <dsl/executors/native/depthwise_kernel.hpp>
#include <dsl/executors/native/matrix_kernel.hpp>
#include <dsl/executors/native/recurrent_cells.hpp>
#include <dsl/executors/native/tiles.hpp>
#include <dsl/executors/native/toom_cook.hpp>
#include <dsl/graph/operation_set.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

inline constexpr int most_rows = 12;
inline constexpr int most_vectors = 3;

/// The functions that are compiled once for each instruction set, in a table like host::vector_kernels. All other code
/// is compiled once, for any processor.
struct kernels {
  int lanes;
  int rows[most_vectors + 1];  // of the largest product tile, by its vectors
  int outer_rows;
  void (*product[most_vectors + 1][most_rows + 1])(product_call const&);              // [vectors][rows]
  void (*outer_product[most_vectors + 1])(outer_product_call const&);                 // [vectors], of outer_rows rows
  void (*depthwise[most_depthwise_pixels + 1])(depthwise_call const&);                // [pixels]
  void (*depthwise_weights[most_depthwise_taps + 1])(depthwise_weights_call const&);  // [taps]
  void (*moments)(host::moments_call const&);
  void (*read_head)(head_call const&);
  void (*write_head)(head_call const&);
  void (*turn_head)(head_call const&);
  void (*softmax)(softmax_call const&);
  void (*weighted)(weighted_call const&);
  void (*finish_rows)(finish_rows_call const&);
  void (*score_gradient)(score_gradient_call const&);
  void (*lstm_cell)(cell_call const&);
  void (*gru_cell)(cell_call const&);
  void (*lstm_gradient)(cell_gradient_call const&);
  void (*gru_gradient)(cell_gradient_call const&);
  void (*tiles_in)(tiles_in_call const&);        // of an input; this and all below are for F(4x4, 3x3)
  void (*gradients_in)(tiles_in_call const&);    // of an output's gradient
  void (*tiles_out)(tiles_out_call const&);      // to an output
  void (*kernels_in)(kernels_in_call const&);    // of a kernel
  void (*kernels_out)(kernels_out_call const&);  // to a kernel's gradient
};

}  // namespace dsl::native_cpu::TYPENET_MODE

namespace dsl::native_cpu::widths::TYPENET_MODE {

using namespace host::widths;

/// The matrices with which inputs, gradients of outputs, outputs, kernels and gradients of kernels are multiplied.
template <class Algorithm>
struct matrices_of {
  struct input {
    static constexpr linear_map map{Algorithm::matrices.bt};
  };
  struct gradient {
    static constexpr linear_map map{transposed(Algorithm::matrices.at).at};
  };
  struct output {
    static constexpr linear_map map{Algorithm::matrices.at};
  };
  struct kernel {
    static constexpr linear_map map{Algorithm::matrices.g};
  };
  struct kernel_gradient {
    static constexpr linear_map map{transposed(Algorithm::matrices.g).at};
  };
};

template <int L, class Matrix>
struct tiles_in {
  using call = tiles_in_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_tiles_in<L, Matrix>(c); }
};
template <int L, class Matrix>
struct tiles_out {
  using call = tiles_out_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_tiles_out<L, Matrix>(c); }
};
template <int L, class Matrix>
struct kernels_in {
  using call = kernels_in_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_kernels_in<L, Matrix>(c); }
};
template <int L, class Matrix>
struct kernels_out {
  using call = kernels_out_call;
  [[gnu::always_inline]] static inline void run(call const& c) { transform_kernels_out<L, Matrix>(c); }
};

template <class Width, int Vectors, int Rows>
constexpr void add_products(kernels& k) {
  k.product[Vectors][Rows] = &Width::template run<product<Width::lanes, Rows, Vectors>>;
  if constexpr (Rows > 1) add_products<Width, Vectors, Rows - 1>(k);
}

template <class Width, int Vectors>
constexpr void add_tiles(kernels& k) {
  using sizes = tile_sizes<Width::lanes>;
  k.rows[Vectors] = sizes::rows[Vectors];
  add_products<Width, Vectors, sizes::rows[Vectors]>(k);
  k.outer_product[Vectors] = &Width::template run<outer_product<Width::lanes, sizes::outer_rows, Vectors>>;
  if constexpr (Vectors > 1) add_tiles<Width, Vectors - 1>(k);
}

template <class Width, int Pixels>
constexpr void add_depthwise(kernels& k) {
  k.depthwise[Pixels] = &Width::template run<depthwise_product<Width::lanes, Pixels>>;
  if constexpr (Pixels > 1) add_depthwise<Width, Pixels - 1>(k);
}
template <class Width, int Taps>
constexpr void add_depthwise_weights(kernels& k) {
  k.depthwise_weights[Taps] = &Width::template run<depthwise_weights_product<Width::lanes, Taps>>;
  if constexpr (Taps > 1) add_depthwise_weights<Width, Taps - 1>(k);
}

/// Whether a set has operations that attend, or whose tokens attend in windows.
constexpr bool attends(operation_set all) {
  return detail::has(all, op::attention, op::causal_attention, op::window_attention, op::bounded_window_attention);
}

/// Returns the kernels that the operations of a set need. The others are null.
template <class Width, operation_set Only>
constexpr kernels make_kernels() {
  constexpr int L = Width::lanes;
  kernels k{};
  k.lanes = L;
  k.outer_rows = tile_sizes<L>::outer_rows;
  add_tiles<Width, most_vectors>(k);
  if constexpr ((Only & detail::grouped_convolutions) != 0) {
    add_depthwise<Width, most_depthwise_pixels>(k);
    add_depthwise_weights<Width, most_depthwise_taps>(k);
  }
  k.moments = &Width::template run<host::moments<L>>;
  if constexpr (attends(Only)) {
    k.read_head = &Width::template run<read_head<L>>;
    k.write_head = &Width::template run<write_head<L>>;
    k.turn_head = &Width::template run<turn_head<L>>;
    k.softmax = &Width::template run<softmax_rows<L>>;
    k.weighted = &Width::template run<weighted_rows<L>>;
    k.finish_rows = &Width::template run<finish_rows<L>>;
    k.score_gradient = &Width::template run<score_gradient_rows<L>>;
  }
  if constexpr (detail::has(Only, op::lstm, op::gru)) {
    k.lstm_cell = &Width::template run<lstm_cell<L>>;
    k.gru_cell = &Width::template run<gru_cell<L>>;
    k.lstm_gradient = &Width::template run<lstm_gradient<L>>;
    k.gru_gradient = &Width::template run<gru_gradient<L>>;
  }
  if constexpr (detail::has(Only, op::conv2d, op::conv2d_transpose)) {
    using matrices = matrices_of<f43>;
    k.tiles_in = &Width::template run<tiles_in<L, typename matrices::input>>;
    k.gradients_in = &Width::template run<tiles_in<L, typename matrices::gradient>>;
    k.tiles_out = &Width::template run<tiles_out<L, typename matrices::output>>;
    k.kernels_in = &Width::template run<kernels_in<L, typename matrices::kernel>>;
    k.kernels_out = &Width::template run<kernels_out<L, typename matrices::kernel_gradient>>;
  }
  return k;
}

template <class Width, operation_set Only = all_operations>
inline constexpr kernels of = make_kernels<Width, Only>();

}  // namespace dsl::native_cpu::widths::TYPENET_MODE

namespace dsl::native_cpu::TYPENET_MODE {

/// Returns the kernels of an instruction set for a set of operations. The processor must have the instructions.
template <operation_set Only = all_operations>
kernels const& kernels_of([[maybe_unused]] instructions set) {
#ifdef __x86_64__
  if (set == instructions::avx512) return widths::of<widths::avx512, Only>;
  if (set == instructions::avx2) return widths::of<widths::avx2, Only>;
#endif
  return widths::of<widths::baseline, Only>;
}

/// A tile of the columns of a product, counted in vectors. Each tile has two vectors, and the last one has three if
/// their number is odd. A single vector is a tile of its own.
struct column_tile {
  int first;
  int vectors;
};
constexpr int column_tiles(int vectors) { return vectors <= 3 ? 1 : vectors / 2; }
constexpr column_tile column_tile_at(int tile, int vectors) {
  return {2 * tile, tile + 1 == column_tiles(vectors) ? vectors - 2 * tile : 2};
}

/// Returns the vectors of the next tile of an outer product. It has no packed factor, so the tile may be as wide as
/// possible: three vectors, or two if one would be left over.
constexpr int next_outer_vectors(int left) { return left <= 3 ? left : left == 4 ? 2 : 3; }

/// Returns the rows of the next tile. Rows are divided among tiles as evenly as possible: 13 rows with at most 6 in a
/// tile are 5, 4 and 4.
constexpr int next_rows(int left, int most) {
  int const tiles = (left + most - 1) / most;
  return (left + tiles - 1) / tiles;
}

}  // namespace dsl::native_cpu::TYPENET_MODE
