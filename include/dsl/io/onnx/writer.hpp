// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/operation.hpp>
#include <dsl/view.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Writes a network's nodes, in inference, as ONNX operators (opset 17). In typenet every sample is channels x height x
/// width; operators expect (batch, channels, height, width) or (batch, units). A value has the form of the operator
/// that computes it, and is converted if an operator needs the other form. Dropout and transfers between devices are
/// omitted: a node that would read the output of such a node reads its input instead.
class onnx_writer {
 public:
  /// `by` is the normalisation that becomes part of the network, or null.
  onnx_writer(graph_view const& g, onnx_options const& o, double momentum, onnx_messages::GraphProto& to,
              normalization const* by = nullptr);

  std::vector<std::string> const& weights() const { return names_.weights; }

  /// Writes all nodes. Throws onnx_error for a custom operation for which the options name no operator.
  void write();

 private:
  template <op Kind>
  friend struct onnx_row;

  /// The two forms of a tensor, each by its name in the file. A name is empty until the form is needed.
  struct forms {
    std::array<std::string, 2> name{};  // (batch, units), (batch, channels, height, width)
    int rank = 4;                       // rank of the form that its operator makes
  };
  static constexpr std::int64_t of_batch = -1;
  /// The description of a value in a file.
  struct named {
    std::string name{};
    std::vector<std::int64_t> dims{};  // of_batch where the batch's size is
    onnx_messages::TensorProto_DataType type = onnx_messages::TensorProto::FLOAT;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  forms& operand(int i = 0) { return made_[at(graph_.input(*node_, i))]; }
  dsl::shape const& in() const { return graph_.input_shape(*node_); }
  dsl::shape const& out() const { return graph_.output_shape(*node_); }

  void write_node();

  void write_input();
  /// Appends a Sub or a Div with a constant for each number of the current node, which is an input.
  void normalize(char const* type, char const* name, std::vector<float> const& numbers, int rank);

  void write_convolution();
  /// Sets the attributes kernel, stride and dilation.
  void set_steps(onnx_messages::NodeProto& n);
  /// Sets the same attributes and the padding. The padding at the end is what the last window needs, and 0 if there are
  /// input rows that no window reads.
  void set_window(onnx_messages::NodeProto& n, bool always_pads);

  void write_transposed();

  void write_batch_norm();

  /// Appends an operator that multiplies x by a number, which is the same for every input. Returns the product's name.
  std::string multiplied(std::string const& x, char const* name, float by, int rank);

  void write_pool(char const* type);

  void write_custom();

  /// Appends an operator on all operands of the node. They are in their common form, or in the flat form if their forms
  /// differ.
  onnx_messages::NodeProto& join(char const* type);

  /// Appends a LayerNormalization. This operator works on the last dimensions, so an image's channels are moved there
  /// before it and back after it.
  void write_layer_norm();
  /// Appends an InstanceNormalization between two Reshape operators, so that each group becomes one channel, and a
  /// BatchNormalization that only scales and shifts.
  void write_group_norm();
  void write_response_norm();
  void refuse();
  onnx_messages::NodeProto& finish(onnx_messages::NodeProto& n);

  void write_softmax();
  /// Appends a Mul, which broadcasts like the layer multiply if both operands have four dimensions.
  void write_product();

  void write_upsampling();
  void write_scale();
  void write_slice();
  void write_shuffle();

  /// Appends a Gather of the kernel's rows, by the tokens' numbers as integers.
  void write_embedding();
  void write_positions();
  /// Appends a Concat with the token, as often as the batch has samples.
  void write_class_token();
  void write_token_slice();
  void write_transposed_tokens();
  void write_zero_padding();
  /// Appends the matrix products and the Softmax that attention consists of, since opset 17 has no operator for
  /// attention. With these operators, a runtime needs memory for one number per pair of tokens.
  void write_attention();
  /// Returns the name of the input with all pixels in one row.
  std::string as_row();
  std::string weight() const;
  std::string scalar(char const* name, std::int64_t value);

  std::string as_it_is() { return form(0, operand().rank); }
  /// Returns the name of operand i in the form with this rank. Appends the operators that convert it, if necessary.
  std::string form(int i, int rank);
  /// Returns the name of the constant with the axes that a flat value lacks, height and width.
  std::string const& height_and_width();

  /// Adds the constants 0 and 6, the bounds of relu6, if they have not been added yet. Returns the name of the constant
  /// 0.
  std::string const& zero_and_six();
  std::string number(char const* name, float value);
  /// Adds a constant tensor of one dimension, and returns its name.
  std::string integers(char const* name, std::vector<std::int64_t> const& values);
  std::string numbers(char const* name, std::vector<float> const& values);

  onnx_messages::NodeProto& add_node(std::string const& type, std::vector<std::string> const& inputs);
  static std::vector<std::int64_t> dims_of(dsl::shape const& s, int rank);
  /// Names and describes the output of a node, and returns its name.
  std::string output_of(onnx_messages::NodeProto& n, dsl::shape const& s, int rank);
  std::string numbers_of(onnx_messages::NodeProto& n, std::vector<std::int64_t> const& dims);
  std::string integers_of(onnx_messages::NodeProto& n, std::vector<std::int64_t> const& dims);
  std::string described(onnx_messages::NodeProto& n, named v);
  /// Appends the operator that computes the value of the current node.
  onnx_messages::NodeProto& append(std::string const& type, std::vector<std::string> const& inputs, int rank);
  void keep(int tensor, std::string const& name, int rank);
  onnx_messages::NodeProto& parameters(onnx_messages::NodeProto& n);

  /// Gives the outputs their names. The result's name comes from the options; the names of further outputs come from
  /// named_output<...>.
  void name_outputs();
  void name_output(int tensor, std::string const& own);

  void describe(named const& v, onnx_messages::ValueInfoProto& to) const;

  static onnx_messages::AttributeProto& attribute(char const* name, onnx_messages::NodeProto& n);
  static void set(char const* name, int value, onnx_messages::NodeProto& n);
  static void set(char const* name, char const* value, onnx_messages::NodeProto& n);
  static void set(char const* name, double value, onnx_messages::NodeProto& n);
  static void set(char const* name, std::initializer_list<long long> values, onnx_messages::NodeProto& n);

  graph_view const& graph_;
  onnx_options const& options_;
  double momentum_;  // replaces every layer's own unless below 0
  onnx_messages::GraphProto& to_;
  onnx_names names_;
  normalization const* by_;
  std::vector<forms> made_;  // per tensor
  std::vector<named> values_{};
  std::vector<std::string> outputs_{};
  std::string axes_{}, zero_{}, six_{};
  node const* node_ = nullptr;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/writer_inl.hpp>
#include <dsl/io/onnx/writer_layers_inl.hpp>
#include <dsl/io/onnx/writer_tokens_inl.hpp>
#endif
