// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_axes.hpp>
#include <dsl/io/onnx/import_file.hpp>
#include <dsl/io/onnx/import_function.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/operation.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

struct onnx_heads;

/// Converts text to the path of a module: letters, digits, _ and -, with dots between the names.
std::string onnx_clean_path(std::string const& text);

/// Returns the names of the modules that a node is in, which PyTorch's exporter writes as metadata; empty if there are
/// none. In releases of onnx before 1.16, this metadata is an unknown field of the message.
std::string onnx_name_scopes(onnx_messages::NodeProto const& n);

/// Reads the operators of an ONNX file as layers. The batch is assumed to be 1, since typenet's shapes are those of one
/// sample. Operators that read only shapes and weights are computed during the import.
class onnx_reader {
 public:
  /// `input` is the shape of the first input for files that leave this shape open, and zeros for files that contain it.
  onnx_reader(onnx_file& file, shape const& input);

  /// Returns the layers. If typenet has no layer for an operator, throws an onnx_error that names the operator.
  onnx_network read();

 private:
  template <op Kind>
  friend struct onnx_row;

  using node_proto = onnx_messages::NodeProto;
  using constant = std::shared_ptr<onnx_constant const>;
  /// The value or the constant that a name in the file refers to.
  struct known {
    onnx_value value{};
    constant number{};
  };

  [[noreturn, gnu::cold]] void refuse(std::string const& must, std::string const& found,
                                      char const* advice = onnx_advice) const;
  void need(bool holds, char const* must, std::string const& found) const {
    if (!holds) refuse(must, found);
  }
  [[noreturn, gnu::cold]] void damaged(std::string const& what) const;
  /// Reports an index outside an axis.
  [[noreturn, gnu::cold]] void outside(std::int64_t index, std::size_t axis, std::int64_t size) const;
  /// Requires that a permutation lists each axis of an operand once.
  void need_order(std::vector<std::int64_t> const& order, std::size_t rank) const;
  /// Reports a shape that does not have as many elements as the operand.
  [[noreturn, gnu::cold]] void other_count(std::vector<std::int64_t> const& asked,
                                           std::vector<std::int64_t> const& dims) const;
  /// Reports axes that are listed twice.
  [[noreturn, gnu::cold]] void repeated(std::vector<std::int64_t> const& axes) const;
  /// Requires the lists of a Slice to be of equal length, and no longer than the operand has axes.
  void need_slices(std::size_t begins, std::size_t ends, std::size_t axes, std::size_t steps, std::size_t rank) const;

  // The file.
  void read_initializers();
  void read_inputs();
  void read_node();
  std::string place_of_node() const;
  std::string path_of_node() const;
  std::string path_of_weight(constant const& c) const;

  // The operands of the operator that is being read, and its attributes.
  bool has(int i) const { return i < node_->input_size() && !node_->input(i).empty(); }
  known& operand(int i);
  bool is_constant(int i) { return has(i) && operand(i).number != nullptr; }
  constant number(int i);
  /// Makes the layer that computes operand i, if necessary, and returns the operand's value.
  onnx_value value(int i);
  std::vector<std::int64_t> wholes(int i);
  onnx_messages::AttributeProto const* attribute(char const* name) const;
  std::int64_t whole(char const* name, std::int64_t otherwise) const;
  double real(char const* name, double otherwise) const;
  std::string text(char const* name, char const* otherwise) const;
  std::vector<std::int64_t> list(char const* name, std::vector<std::int64_t> otherwise) const;
  /// Returns a list that is an attribute in earlier opsets and operand i in later opsets. Returns an empty list if the
  /// node has neither.
  std::vector<std::int64_t> list_or_operand(char const* name, int i);
  std::size_t axis_of(std::int64_t axis, std::size_t rank) const;

  // The results.
  void give(known k, int output = 0);
  void give(onnx_value v) { give(known{std::move(v), nullptr}); }
  void give(onnx_constant c);
  /// Throws if the import would compute more numbers for constants and weights than a valid file needs.
  void afford(double numbers) const;
  /// Throws if the import cannot compute a constant with these dims.
  void need_dims(std::vector<std::int64_t> const& dims) const;
  /// Adds to the count of these numbers. Throws if the count becomes too large.
  void spend(std::size_t numbers);
  /// Returns the shapes of two values for a message, or what else differs between them.
  std::string two_shapes(onnx_value const& a, onnx_value const& b) const;
  /// Throws if a matrix is not for as many features, or if its number of units is 0 or too large for a shape.
  void need_matrix(std::int64_t inputs, std::int64_t units, std::int64_t wanted) const;
  /// Appends a layer for the operator that is being read. The layer's output has the given axes.
  onnx_value append(onnx_layer l, onnx_value const& in, shape const& out, onnx_axes axes);
  onnx_value append(onnx_layer l, std::vector<onnx_value> const& in, shape const& out, onnx_axes axes);
  onnx_layer& layer(onnx_value const& v) { return made_.layers[static_cast<std::size_t>(v->node)]; }
  shape const& shape_of(onnx_value const& v) { return layer(v).out; }

  // Values in the form that an operator needs.
  onnx_value made(onnx_value const& v);
  /// Replaces what v is by the value that a layer has made of it.
  onnx_value become(onnx_value const& v, onnx_value const& result, std::string const& place, std::string const& path);
  onnx_value view(onnx_value const& v, onnx_axes axes);
  /// Appends a zero_pad2d.
  onnx_value padded(onnx_value const& x, option::pad const& zeros);
  /// Returns the value with all its channels, in order, in one axis. Appends the layers that this needs.
  onnx_value with_channels(onnx_value const& v, std::size_t axis);
  /// Appends a layer that exchanges channels and pixels.
  onnx_value transposed(onnx_value const& v);
  /// If one of the values has its pixels in one row, puts those of the others in one row, too.
  void align_rows(std::vector<onnx_value>& all);
  /// Returns the value as a tensor of (1, channels, height, width). A sequence is (1, channels, length): one row.
  onnx_value picture(onnx_value const& v);
  /// Returns the output of a layer that reads a picture, with as many axes as the operator's operand has.
  onnx_value as_operand(onnx_value const& v, std::size_t rank);
  /// Returns the value that operand i is a multiple of, and multiplies `factor`.
  onnx_value unscaled(int i, double& factor);
  /// Returns the parts of an axis that has all pixels of a value, in row order.
  static onnx_axis pixels_of(shape const& s) { return onnx_axes_of({1, s.height, s.width}, 2)[1]; }
  /// Returns `axes` changed so that axis `axis` has `channels` channels.
  static onnx_axes rechannelled(onnx_axes axes, std::size_t axis, int channels);

  // Operators, by family. Each function returns whether the operator belongs to its family.
  bool fold();
  bool read_function();
  bool read_movement();
  bool read_layer();
  bool read_join();
  bool read_attention();
  bool read_windows();
  bool read_tokens();
  bool read_norm();

  bool fold_arithmetic(std::string const& type);
  /// Computes sums, products, means and bounds over axes of a constant.
  bool fold_reduction(std::string const& type);
  /// Computes the operators that masks of attention are made with.
  bool fold_mask(std::string const& type);
  /// Returns the dims of the result of an operator on tensors with these dims.
  std::vector<std::int64_t> common_dims(std::vector<std::int64_t> const& a, std::vector<std::int64_t> const& b);
  std::vector<float> minus_ones(onnx_value const& x) {
    spend(static_cast<std::size_t>(shape_of(x).channels));
    return std::vector<float>(static_cast<std::size_t>(shape_of(x).channels), -1.0F);
  }
  /// Multiplies each channel by a number. If these numbers are not weights, training does not change them.
  onnx_value scaled(onnx_value const& x, std::vector<float> const& by, bool is_weight);
  /// Adds a number to each channel.
  onnx_value shifted(onnx_value const& x, std::vector<float> const& by, bool is_weight);
  /// Whether an operator is part of the normalisation of an input that the option .normalize of save_onnx writes. If
  /// so, keeps its numbers; it is not a layer.
  bool read_normalization();
  /// Reads an operator with two operands: a value, and a constant that has one number or one per channel.
  bool read_with_constant();
  onnx_value sliced(onnx_value const& x, std::size_t axis, std::int64_t begin, std::int64_t end);
  /// Returns pixels begin to end - 1 in one row, if an axis has all pixels.
  onnx_value in_row(onnx_value const& x, std::size_t axis, std::int64_t begin, std::int64_t end);
  void read_gather();
  void read_mean();
  void read_mean_of_channels(std::vector<std::int64_t> const& which);
  void read_pad();
  void give_padded(onnx_value const& x, option::pad const& zeros, double fill);
  /// Returns the value of operand 0 before a Pad whose zeros the window of the next layer can have, and those zeros.
  onnx_value before_padding(option::pad& zeros, bool is_max);
  /// Whether a value is read by nothing but the lookups of embeddings.
  bool only_looks_up(std::string const& name);
  /// Whether the operators that read an input with four axes expect the channels in the last one: they only move that
  /// axis to the front, perhaps after elementwise operators.
  bool moves_channels_to_front(std::string const& name, int depth);
  bool reads_channels_first(std::string const& input) const;
  /// Throws onnx_error if the name of a further input or output is empty, or longer than a type's should be.
  void require_name(std::string const& name) const;
  void read_resize();
  void read_convolution();
  void read_transposed();
  void read_pool();
  void read_window(onnx_layer& l, shape const& in);
  void read_batch_norm();
  void read_layer_norm();
  /// Makes a normalisation whose gamma and beta are 1 and 0 until operators with constants follow.
  onnx_value normalised(onnx_value const& x, op kind, int groups, double epsilon);
  void read_instance_norm();
  void read_group_norm();
  /// If a BatchNormalization only scales and shifts the normalisation before it, takes its numbers as that
  /// normalisation's gamma and beta, and returns true.
  bool read_scale_and_shift();
  void read_response_norm();
  /// Returns the axis of a softmax. Sets `flattens` if the softmax is over all axes from that one on, as before
  /// opset 13.
  std::size_t softmax_axis(std::size_t rank, bool& flattens) const;
  void read_softmax();
  void read_gemm();
  void read_matmul();
  /// Appends a dense layer or, if the value has several pixels, a 1x1 convolution. `weights` are (out, in).
  onnx_value linear(onnx_value const& x, std::size_t axis, std::vector<float> weights, int units,
                    std::vector<float> bias, std::string const& path);
  void read_concat();
  void read_class_token();
  void read_embedding();
  /// Adds a constant that differs between pixels, times `sign`.
  void add_positions(onnx_value const& x, constant const& c, float sign, bool is_weight);
  /// Sets the path of the next layer to the name of a weight that has no module of its own.
  void take_path_of(constant const& c);
  /// Multiplies queries by keys; `by_rows` if both have the channels in their last axis.
  void multiply_queries(bool by_rows);
  void mask_products(onnx_products& p, std::vector<double> const& mask, std::vector<std::int64_t> dims);
  void attend(bool weights_first);
  /// Returns whether a value's axes are those of attention, and finds its heads and windows.
  bool has_heads(onnx_value const& v, std::size_t tokens, std::size_t width, onnx_heads& found);
  /// Reads a slice of rows and columns, which becomes part of a roll or of merged pixels.
  bool read_rows();
  /// Reads a Concat of such slices.
  bool read_joined_rows();
  /// Reads the operators that divide queries and keys by their lengths.
  bool read_unit_vectors();
  /// Gives a value that later operators make part of a layer.
  void give_part(char const* what, onnx_value const& of, onnx_axes axes, double number = 0);
  /// Whether the next operator adds biases to products; if so, keeps them.
  bool takes_biases(onnx_products& p, constant const& c);
  /// Makes the operand of an attention: queries, keys and values in one axis.
  onnx_value joined_parts(onnx_value const& q, onnx_value const& k, onnx_value const& v);
  /// Makes an attention in windows, whose scores are those of `p`; its queries are axis `queries` of the products.
  onnx_layer in_windows(onnx_products const& p, char queries, shape const& s, double divisor);
  bool fold_scatter();
  bool fold_product();
  /// Normalises a constant: weights that a network standardises before it uses them.
  bool fold_batch_norm();
  onnx_value product(onnx_value a, onnx_value b);
  onnx_value sum(std::vector<onnx_value> all);
  std::vector<float> parameter(int i, std::vector<std::int64_t> const& dims);

  onnx_file& file_;
  shape wanted_;
  onnx_network made_{};
  std::map<std::string, known> known_{};
  std::map<std::string, onnx_messages::TensorProto const*> unread_{};
  std::map<std::string, int> readers_{};  // of each name
  std::map<std::string, int> paths_{};
  std::map<std::pair<int, int>, onnx_value> rearranged_{};  // flattens and shuffles that have been made
  std::map<std::vector<int>, int> concats_{};               // by the layers that they join
  node_proto const* node_ = nullptr;
  int index_ = 0;
  std::string place_{}, path_{};
  std::int64_t allowed_ = 0, spent_ = 0;  // numbers that the import may compute and has computed
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_reader_inl.hpp>
#include <dsl/io/onnx/import_reader_operands_inl.hpp>
#include <dsl/io/onnx/import_reader_values_inl.hpp>
#endif
