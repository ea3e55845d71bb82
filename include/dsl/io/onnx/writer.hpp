// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/view.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Writes a network's nodes, in inference, as ONNX's operators (opset 17). Here every sample is channels x height x
/// width; there operators want (batch, channels, height, width) or (batch, units), and a value is kept as the operator
/// that makes it gives it, until one wants the other form. Dropout, and transfers between devices, do nothing: who
/// reads them reads what they read.
class onnx_writer {
 public:
  [[gnu::cold]] onnx_writer(graph_view const& g, onnx_options const& o, double momentum, onnx_messages::GraphProto& to);

  std::vector<std::string> const& weights() const { return names_.weights; }

  /// Throws onnx_error for an operation of a user's own that the options don't translate.
  [[gnu::cold]] void write();

 private:
  /// One form of a tensor: its name there, empty where nothing has asked for it.
  struct forms {
    std::array<std::string, 2> name{};  // (batch, units), (batch, channels, height, width)
    int rank = 4;                       // of the first one
  };
  struct named {
    std::string name{};
    dsl::shape shape{};
    int rank = 4;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  forms& operand(int i = 0) { return made_[at(graph_.input(*node_, i))]; }
  dsl::shape const& in() const { return graph_.input_shape(*node_); }
  dsl::shape const& out() const { return graph_.output_shape(*node_); }

  [[gnu::cold]] void write_node();

  [[gnu::cold]] void write_input();

  [[gnu::cold]] void write_convolution();
  /// The zeros after the last row are as many as the last window needs; rows that no window reaches stay without.
  [[gnu::cold]] void set_window(onnx_messages::NodeProto& n, bool always_pads);

  [[gnu::cold]] void write_batch_norm();

  [[gnu::cold]] void write_activation();

  [[gnu::cold]] void write_pool(char const* type);

  [[gnu::cold]] void write_custom();

  /// Of all operands, in the form that all of them have. Where they differ they are flat.
  [[gnu::cold]] onnx_messages::NodeProto& join(char const* type);

  /// LayerNormalization takes the last dimensions: a picture's channels go there, and back.
  [[gnu::cold]] void write_layer_norm();
  [[gnu::cold]] onnx_messages::NodeProto& finish(onnx_messages::NodeProto& n);

  /// Mul broadcasts as multiply does, if both operands have four dimensions.
  [[gnu::cold]] void write_product();

  std::string as_it_is() { return form(0, operand().rank); }
  /// The name of operand i in that form; appends what makes it.
  [[gnu::cold]] std::string form(int i, int rank);
  /// The axes that a flat value lacks.
  [[gnu::cold]] std::string const& height_and_width();

  /// Makes the two numbers between which a relu6 lies, once, and returns the name of the first.
  [[gnu::cold]] std::string const& zero_and_six();
  [[gnu::cold]] std::string number(char const* name, float value);

  [[gnu::cold]] onnx_messages::NodeProto& add_node(std::string const& type, std::vector<std::string> const& inputs);
  [[gnu::cold]] std::string output_of(onnx_messages::NodeProto& n, dsl::shape const& s, int rank);
  /// The operator that makes this node's value.
  [[gnu::cold]] onnx_messages::NodeProto& append(std::string const& type, std::vector<std::string> const& inputs,
                                                 int rank);
  void keep(int tensor, std::string const& name, int rank);
  [[gnu::cold]] onnx_messages::NodeProto& parameters(onnx_messages::NodeProto& n);

  /// Gives the network's result the name that it was promised. No node reads it.
  [[gnu::cold]] void name_result();

  [[gnu::cold]] void describe(named const& v, onnx_messages::ValueInfoProto& to) const;

  [[gnu::cold]] static onnx_messages::AttributeProto& attribute(char const* name, onnx_messages::NodeProto& n);
  [[gnu::cold]] static void set(char const* name, int value, onnx_messages::NodeProto& n);
  [[gnu::cold]] static void set(char const* name, double value, onnx_messages::NodeProto& n);
  [[gnu::cold]] static void set(char const* name, std::initializer_list<long long> values, onnx_messages::NodeProto& n);

  graph_view const& graph_;
  onnx_options const& options_;
  double momentum_;  // that replaces every layer's own, or below 0
  onnx_messages::GraphProto& to_;
  onnx_names names_;
  std::vector<forms> made_;  // by tensor
  std::vector<named> values_{};
  std::string axes_{}, zero_{}, six_{};
  node const* node_ = nullptr;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/writer_inl.hpp>
#endif
