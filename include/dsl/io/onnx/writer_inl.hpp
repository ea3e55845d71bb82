// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/operations.hpp>
#include <dsl/io/onnx/writer.hpp>
#include <dsl/view.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE onnx_writer::onnx_writer(graph_view const& g, onnx_options const& o, double momentum,
                                        onnx_messages::GraphProto& to, normalization const* by)
    : graph_(g), options_(o), momentum_(momentum), to_(to), names_(g, o), by_(by), made_(at(g.size.tensors)) {}

TYPENET_INLINE void onnx_writer::write() {
  for (node_ = graph_.nodes; node_ != graph_.nodes + graph_.size.nodes; ++node_) write_node();
  name_outputs();
  for (std::string const& own : outputs_)
    for (named const& v : values_)
      if (v.name == own) describe(v, *to_.add_output());
  for (named const& v : values_) {
    bool given = false;
    for (std::string const& own : outputs_) given = given || v.name == own;
    if (!given) describe(v, *to_.add_value_info());
  }
}

TYPENET_INLINE void onnx_writer::write_node() {
  switch (node_->kind) {
    case op::input: return write_input();
    case op::conv2d: return write_convolution();
    case op::conv2d_transpose: return write_transposed();
    case op::batch_norm: return write_batch_norm();
    case op::max_pool2d: return write_pool("MaxPool");
    case op::avg_pool2d: return write_pool("AveragePool");
    case op::dropout:
    case op::stochastic_depth:
    case op::transfer: made_[at(node_->output)] = operand(); return;
    case op::flatten: made_[at(node_->output)] = {{form(0, 2), ""}, 2}; return;
    case op::dense: set("transB", 1, parameters(append("Gemm", {form(0, 2)}, 2))); return;
    case op::softmax: return write_softmax();
    case op::concat: set("axis", 1, join("Concat")); return;
    case op::add: join(node_->inputs == 2 ? "Add" : "Sum"); return;
    case op::multiply: return write_product();
    case op::layer_norm: return write_layer_norm();
    case op::upsample_nearest:
    case op::upsample_bilinear: return write_upsampling();
    case op::channel_scale: return write_scale();
    case op::channel_slice: return write_slice();
    case op::channel_shuffle: return write_shuffle();
    case op::group_norm: return write_group_norm();
    case op::local_response_norm: return write_response_norm();
    case op::attention:
    case op::causal_attention: return write_attention();
    case op::class_token: return write_class_token();
    case op::position_embedding: return write_positions();
    case op::token_slice: return write_token_slice();
    case op::embedding: return write_embedding();
    case op::transpose_tokens: return write_transposed_tokens();
    case op::zero_pad2d: return write_zero_padding();
    case op::custom: return write_custom();
    default: {
      bool const written = with_onnx_row(node_->kind, [this]<class Row>() {
        if constexpr (requires { Row::write(*this); }) return Row::write(*this), true;
        return false;
      });
      if (!written) refuse();
    }
  }
}

TYPENET_INLINE void onnx_writer::write_input() {
  int const rank = out().is_flat() ? 2 : 4;
  scope const& own = graph_.scopes[node_->scope];
  bool const further = node_ != graph_.nodes;
  std::string const name =
      further ? std::string(own.name.data, static_cast<std::size_t>(own.name.size)) : options_.input;
  describe({name, dims_of(out(), rank)}, *to_.add_input());
  keep(node_->output, name, rank);
  input_moments const* const moments = by_ ? by_->find(further ? name : "") : nullptr;
  if (moments && moments->mean) normalize("Sub", "mean", *moments->mean, rank);
  if (moments && moments->deviation) normalize("Div", "deviation", *moments->deviation, rank);
}

TYPENET_INLINE void onnx_writer::refuse() {
  throw onnx_error(onnx_fault::no_operator, "onnx: " + layer_place(graph_, node_->scope) +
                                                " must consist of operators that typenet writes; found \"" +
                                                facts_of(*node_).name +
                                                "\", which it does not write yet; save the weights with "
                                                "save_safetensors instead");
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::join(char const* type) {
  int rank = operand().rank;
  for (int i = 1; i < node_->inputs; ++i)
    if (operand(i).rank != rank) rank = 2;
  std::vector<std::string> all(at(node_->inputs));
  for (int i = 0; i < node_->inputs; ++i) all[at(i)] = form(i, rank);
  return append(type, all, rank);
}

TYPENET_INLINE std::string onnx_writer::form(int i, int rank) {
  forms& f = operand(i);
  std::string& name = f.name[rank == 4];
  if (!name.empty()) return name;
  dsl::shape const& s = graph_.input_shape(*node_, i);
  std::string const from = f.name[rank != 4];
  onnx_messages::NodeProto& n =
      rank == 2 ? add_node("Flatten", {from}) : add_node("Unsqueeze", {from, height_and_width()});
  if (rank == 2) set("axis", 1, n);
  return name = output_of(n, rank == 2 ? dsl::shape{static_cast<int>(s.size())} : s, rank);
}

TYPENET_INLINE std::string onnx_writer::integers(char const* name, std::vector<std::int64_t> const& values) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::INT64);
  t.add_dims(static_cast<std::int64_t>(values.size()));
  t.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return t.name();
}

TYPENET_INLINE std::string onnx_writer::number(char const* name, float value) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::FLOAT);
  t.set_raw_data(&value, sizeof value);
  return t.name();
}

TYPENET_INLINE std::string onnx_writer::numbers(char const* name, std::vector<float> const& values) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::FLOAT);
  t.add_dims(static_cast<std::int64_t>(values.size()));
  t.set_raw_data(values.data(), values.size() * sizeof(float));
  return t.name();
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::add_node(std::string const& type,
                                                               std::vector<std::string> const& inputs) {
  onnx_messages::NodeProto& n = *to_.add_node();
  n.set_name(names_.operation(node_->scope, type));
  n.set_op_type(type);
  n.set_doc_string(layer_place(graph_, node_->scope));
  for (std::string const& name : inputs) n.add_input(name);
  return n;
}

TYPENET_INLINE std::string onnx_writer::output_of(onnx_messages::NodeProto& n, dsl::shape const& s, int rank) {
  return numbers_of(n, dims_of(s, rank));
}

TYPENET_INLINE std::string onnx_writer::numbers_of(onnx_messages::NodeProto& n, std::vector<std::int64_t> const& dims) {
  return described(n, {names_.unused(n.name() + "_output_0"), dims});
}

TYPENET_INLINE std::string onnx_writer::integers_of(onnx_messages::NodeProto& n,
                                                    std::vector<std::int64_t> const& dims) {
  return described(n, {names_.unused(n.name() + "_output_0"), dims, onnx_messages::TensorProto::INT64});
}

TYPENET_INLINE std::string onnx_writer::described(onnx_messages::NodeProto& n, named v) {
  n.add_output(v.name);
  values_.push_back(std::move(v));
  return values_.back().name;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_writer::dims_of(dsl::shape const& s, int rank) {
  std::vector<std::int64_t> dims{of_batch, s.channels, s.height, s.width};
  dims.resize(at(rank));
  return dims;
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::append(std::string const& type,
                                                             std::vector<std::string> const& inputs, int rank) {
  onnx_messages::NodeProto& n = add_node(type, inputs);
  keep(node_->output, output_of(n, out(), rank), rank);
  return n;
}

TYPENET_INLINE void onnx_writer::keep(int tensor, std::string const& name, int rank) {
  forms& f = made_[at(tensor)];
  f.name[rank == 4] = name;
  f.rank = rank;
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::parameters(onnx_messages::NodeProto& n) {
  for (int k = node_->first_parameter; k < node_->first_parameter + node_->parameters; ++k)
    n.add_input(names_.weights[at(k)]);
  return n;
}

TYPENET_INLINE void onnx_writer::name_outputs() {
  --node_;  // write() has advanced it beyond the last node
  for (int k = 0; k < output_count(graph_); ++k) {
    node const& x = graph_.nodes[output_node(graph_, k)];
    name const& own = graph_.scopes[x.further_output].name;
    outputs_.push_back(k == 0 ? options_.output : std::string(own.data, static_cast<std::size_t>(own.size)));
    name_output(x.output, outputs_.back());
  }
}

TYPENET_INLINE void onnx_writer::name_output(int tensor, std::string const& own) {
  forms const& f = made_[at(tensor)];
  std::string const before = f.name[f.rank == 4];
  bool renames = false;  // true: the value is renamed, since it is an operator's result that nothing else reads
  for (onnx_messages::NodeProto const& n : to_.node()) renames = renames || n.output(0) == before;
  for (onnx_messages::NodeProto const& n : to_.node())
    for (std::string const& read : n.input()) renames = renames && read != before;
  for (std::string const& other : outputs_) renames = renames && other != before;
  if (!renames) {
    add_node("Identity", {before}).add_output(own);
    values_.push_back({own, dims_of(graph_.shape_of(tensor), f.rank)});
    return;
  }
  for (onnx_messages::NodeProto& n : *to_.mutable_node())
    if (n.output(0) == before) n.set_output(0, own);
  for (named& v : values_)
    if (v.name == before) v.name = own;
  for (forms& other : made_)
    for (std::string& name : other.name)
      if (name == before) name = own;
}

TYPENET_INLINE void onnx_writer::describe(named const& v, onnx_messages::ValueInfoProto& to) const {
  to.set_name(v.name);
  onnx_messages::TypeProto_Tensor& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(v.type);
  for (std::int64_t const d : v.dims) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (d == of_batch)
      dim.set_dim_param(options_.batch);
    else
      dim.set_dim_value(d);
  }
}

TYPENET_INLINE onnx_messages::AttributeProto& onnx_writer::attribute(char const* name, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  return a;
}

TYPENET_INLINE void onnx_writer::set(char const* name, int value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::INT);
  a.set_i(value);
}

TYPENET_INLINE void onnx_writer::set(char const* name, char const* value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::STRING);
  a.set_s(value);
}

TYPENET_INLINE void onnx_writer::set(char const* name, double value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::FLOAT);
  a.set_f(static_cast<float>(value));
}

TYPENET_INLINE void onnx_writer::set(char const* name, std::initializer_list<long long> values,
                                     onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::INTS);
  for (long long v : values) a.add_ints(v);
}

}  // namespace dsl::detail::TYPENET_MODE
