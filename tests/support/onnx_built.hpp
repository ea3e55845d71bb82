// SPDX-License-Identifier: MIT
// ONNX files that tests build operator by operator, and what the import makes of them.
#pragma once

#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::test {

namespace pb = dsl::detail::onnx_messages;

/// A file with one input "x", built operator by operator.
class built_model {
 public:
  explicit built_model(std::vector<std::int64_t> const& dims = {1, 2, 4, 4}) {
    file.set_ir_version(8);
    file.add_opset_import()->set_version(17);
    file.set_producer_name("test");
    describe("x", dims, *graph().add_input());
  }
  pb::GraphProto& graph() { return *file.mutable_graph(); }

  pb::NodeProto& add(std::string const& type, std::vector<std::string> const& in, std::string const& out) {
    pb::NodeProto& n = *graph().add_node();
    n.set_op_type(type);
    for (std::string const& name : in) n.add_input(name);
    n.add_output(out);
    return n;
  }
  pb::TensorProto& tensor(std::string const& name, std::vector<std::int64_t> const& dims, std::vector<float> values) {
    pb::TensorProto& t = *graph().add_initializer();
    t.set_name(name);
    t.set_data_type(pb::TensorProto::FLOAT);
    for (std::int64_t d : dims) t.add_dims(d);
    t.set_raw_data(values.data(), values.size() * sizeof(float));
    return t;
  }
  pb::TensorProto& numbers(std::string const& name, std::vector<float> const& values) {
    return tensor(name,
                  values.size() == 1 ? std::vector<std::int64_t>{}
                                     : std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())},
                  values);
  }
  void wholes(std::string const& name, std::vector<std::int64_t> const& values) {
    pb::TensorProto& t = *graph().add_initializer();
    t.set_name(name);
    t.set_data_type(pb::TensorProto::INT64);
    t.add_dims(static_cast<std::int64_t>(values.size()));
    for (std::int64_t v : values) t.add_int64_data(v);
  }
  void whole(std::string const& name, std::int64_t value) {
    pb::TensorProto& t = *graph().add_initializer();
    t.set_name(name);
    t.set_data_type(pb::TensorProto::INT64);
    t.add_int64_data(value);
  }
  static void set(pb::NodeProto& n, char const* name, std::vector<std::int64_t> const& values) {
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(pb::AttributeProto::INTS);
    for (std::int64_t v : values) a.add_ints(v);
  }
  static void set(pb::NodeProto& n, char const* name, std::int64_t value) {
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(pb::AttributeProto::INT);
    a.set_i(value);
  }
  static void set_real(pb::NodeProto& n, char const* name, float value) {
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(pb::AttributeProto::FLOAT);
    a.set_f(value);
  }
  static void describe(std::string const& name, std::vector<std::int64_t> const& dims, pb::ValueInfoProto& to) {
    to.set_name(name);
    auto& type = *to.mutable_type()->mutable_tensor_type();
    type.set_elem_type(pb::TensorProto::FLOAT);
    for (std::int64_t d : dims) type.mutable_shape()->add_dim()->set_dim_value(d);
  }
  std::string bytes(std::string const& output = "y") const {
    pb::ModelProto whole = file;
    whole.mutable_graph()->add_output()->set_name(output);
    return whole.SerializeAsString();
  }

  pb::ModelProto file{};
};

/// Returns the layers of a file as its header has them, without the blanks in front of a line.
inline std::string layers_of(std::string const& bytes, std::string const& folder = "") {
  std::string const text = dsl::imported_network(bytes, "x.onnx", folder).header("x");
  std::size_t const begin = text.find("using model"), end = text.find("\nstatic_assert");
  std::string all;
  bool in_comment = false;
  for (std::size_t i = begin; i < end; ++i) {
    in_comment = text[i] != '\n' && (in_comment || text.compare(i, 2, "//") == 0);
    bool const repeats = text[i] == ' ' && !all.empty() && all.back() == ' ';
    if (!in_comment && !repeats) all += text[i] == '\n' ? ' ' : text[i];
  }
  while (!all.empty() && all.back() == ' ') all.pop_back();
  for (std::size_t at; (at = all.find("  ")) != std::string::npos;) all.erase(at, 1);
  return all.substr(all.find('=') + 2);
}

/// Returns what is wrong with a file; "" if nothing is.
inline std::string complaint(std::string const& bytes, dsl::onnx_fault which, std::string const& folder = "") {
  try {
    dsl::imported_network const net(bytes, "x.onnx", folder);
  } catch (dsl::onnx_error const& e) {
    CHECK(static_cast<int>(e.which) == static_cast<int>(which));
    return e.what();
  }
  return "";
}

}  // namespace dsl::test
