// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>
#include <dsl/io/weight_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string onnx_clean_path(std::string const& text) {
  std::string path;
  for (char c : text.substr(0, 200)) {
    bool const plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (c == '.' || c == '/') {
      if (!path.empty() && path.back() != '.') path += '.';
    } else {
      path += plain ? c : '_';
    }
  }
  while (!path.empty() && path.back() == '.') path.pop_back();
  // Each name is a level of nested types, and compilers accept about a hundred levels.
  return std::count(path.begin(), path.end(), '.') < 16 ? path : std::string();
}

template <class Node>
std::string onnx_find_name_scopes(Node const& n) {
  auto const is_scopes = [](auto const& entry) { return entry.key() == "pkg.torch.onnx.name_scopes"; };
  if constexpr (requires { n.metadata_props(); }) {
    for (auto const& entry : n.metadata_props())
      if (is_scopes(entry)) return entry.value();
  } else if constexpr (requires { n.unknown_fields().field_count(); }) {
    constexpr int metadata_props = 9;
    for (int i = 0; i < n.unknown_fields().field_count(); ++i) {
      auto const& field = n.unknown_fields().field(i);
      onnx_messages::StringStringEntryProto entry;
      if (field.number() == metadata_props && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
          entry.ParseFromString(field.length_delimited()) && is_scopes(entry))
        return entry.value();
    }
  }
  return {};
}

TYPENET_INLINE std::string onnx_name_scopes(onnx_messages::NodeProto const& n) { return onnx_find_name_scopes(n); }

TYPENET_INLINE onnx_reader::onnx_reader(onnx_file& file, shape const& input) : file_(file), wanted_(input) {}

TYPENET_INLINE onnx_network onnx_reader::read() {
  onnx_messages::GraphProto const& g = file_.graph();
  for (auto const& n : g.node())
    for (std::string const& name : n.input()) ++readers_[name];
  for (auto const& o : g.output()) ++readers_[o.name()];
  read_initializers();
  read_inputs();
  for (index_ = 0; index_ < g.node_size(); ++index_) {
    node_ = &g.node(index_);
    place_ = place_of_node();
    path_ = path_of_node();
    read_node();
  }
  node_ = nullptr;
  for (auto const& o : g.output()) {
    place_ = "output " + shown(o.name());
    auto const found = known_.find(o.name());
    if (found == known_.end()) damaged("must be computed by a node; found none that computes it");
    if (found->second.number) refuse("must depend on the input", "a constant");
    onnx_value v = made(found->second.value);
    for (std::size_t axis = 0; axis < v->axes.size(); ++axis) {
      bool has_channels = false;
      for (onnx_atom const& a : v->axes[axis]) has_channels = has_channels || a.along == 'c';
      if (has_channels) v = with_channels(v, axis);
    }
    if (v->node == 0) refuse("must be the result of a layer", "the input");
    onnx_axis pixels;
    for (onnx_axis const& axis : v->axes)
      for (onnx_atom const& each : axis)
        if (each.along != 'c') pixels.push_back(each);
    onnx_merge(pixels);
    need(pixels == pixels_of(shape_of(v)), "must have the pixels of an image row by row", "another order");
    if (!made_.outputs.empty()) require_name(o.name());
    made_.outputs.emplace_back(o.name(), v->node);
  }
  made_.is_own = file_.is_own();
  made_.summary = file_.model().producer_name();
  if (!file_.model().producer_version().empty()) made_.summary += " " + file_.model().producer_version();
  return std::move(made_);
}

TYPENET_INLINE void onnx_reader::read_initializers() {
  allowed_ = std::int64_t{1} << 26;
  for (auto const& t : file_.graph().initializer()) {
    if (!unread_.emplace(t.name(), &t).second)
      file_.fail(onnx_fault::damaged,
                 "must define each tensor only once; found two " + shown(t.name()) + "; give another file");
    std::int64_t const count = onnx_count({t.dims().begin(), t.dims().end()});
    if (count > 0 && count < onnx_most_numbers) allowed_ += 4 * count;
  }
  allowed_ = std::min(allowed_, std::int64_t{1} << 40);  // the largest count of onnx_count
}

TYPENET_INLINE void onnx_reader::read_inputs() {
  auto const& g = file_.graph();
  for (auto const& in : g.input()) {
    if (unread_.count(in.name()) > 0) continue;  // a weight: files of IR version 3 list weights here, too
    place_ = "the graph";
    need(made_.layers.size() < 64, "must have at most 64 inputs", "more");  // each is looked for in all nodes
    place_ = "input " + shown(in.name());
    path_.clear();
    auto const type = in.type().tensor_type().elem_type();
    bool const is_whole = type == onnx_messages::TensorProto::INT64 || type == onnx_messages::TensorProto::INT32;
    if (!in.type().has_tensor_type() || (type != onnx_messages::TensorProto::FLOAT && !is_whole))
      refuse("must be a tensor of float32, or of int32 or int64 for token numbers", "another type");
    auto const& dims = in.type().tensor_type().shape().dim();
    std::string text = "a tensor of " + std::to_string(dims.size()) + " axes";
    need(dims.size() >= 2 && dims.size() <= 4,
         "must have the axes (batch, features), (batch, channels, length) or (batch, channels, height, width)", text);
    need(!is_whole || dims.size() == 2, "must have the axes (batch, tokens)", text);
    if (dims[0].has_dim_value() && dims[0].dim_value() > 1)
      refuse("must have a batch of 1, or of no fixed size", "a batch of " + std::to_string(dims[0].dim_value()),
             "export the network with a single sample as example input");
    bool const last = dims.size() == 4   ? moves_channels_to_front(in.name(), 0)
                      : dims.size() == 3 ? !reads_channels_first(in.name())
                                         : false;
    bool const first = made_.layers.empty();
    auto const size = [&](int d, int asked) {
      std::int64_t const n = dims[d].has_dim_value() ? dims[d].dim_value() : 0;
      if (n <= 0 && (asked <= 0 || !first))
        refuse("must have a known shape without a size of 0",
               "axis " + std::to_string(d) +
                   (dims[d].has_dim_value() ? " of size " + std::to_string(n) : std::string(" without a size")),
               "give the shape, as in --input 3x224x224");
      if (n > 0x7fffffff) refuse("must have axes of size 1 to 2,147,483,647", std::to_string(n));
      return n > 0 ? static_cast<int>(n) : asked;
    };
    onnx_layer l;
    l.what.kind = op::input;
    int const rank = dims.size();
    shape s;
    if (is_whole) {
      s = {1, 1, size(1, wanted_.width)};
    } else {
      s = {size(last ? rank - 1 : 1, wanted_.channels)};
      if (rank == 4) s.height = size(last ? 1 : 2, wanted_.height);
      if (rank > 2) s.width = size(last ? rank - 2 : rank - 1, wanted_.width);
    }
    onnx_axes axes = onnx_axes_of(s, rank == 2 ? 2 : 4);
    if (rank == 3) axes.erase(axes.begin() + 2);
    if (last) axes.push_back(axes[1]), axes.erase(axes.begin() + 1);
    if (!first) require_name(in.name());
    made_.input_names.push_back(in.name());
    onnx_value const v = append(std::move(l), std::vector<onnx_value>{}, s, std::move(axes));
    v->readers = readers_[in.name()];
    if (!known_.emplace(in.name(), known{v, nullptr}).second)
      damaged("must have a unique name; found two inputs of this name");
  }
  place_ = "the graph";
  if (made_.layers.empty()) refuse("must have an input", "none");
}

TYPENET_INLINE void onnx_reader::require_name(std::string const& name) const {
  if (name.empty() || name.size() > 1000)
    damaged("must have a name of 1 to 1,000 bytes, since it becomes part of a type; found " +
            std::to_string(name.size()));
}

TYPENET_INLINE bool onnx_reader::moves_channels_to_front(std::string const& name, int depth) {
  spend(static_cast<std::size_t>(file_.graph().node_size()));
  bool is_read = false;
  for (auto const& n : file_.graph().node())
    for (std::string const& read : n.input()) {
      if (read != name) continue;
      is_read = true;
      std::string const& type = n.op_type();
      bool passes = false;
      for (char const* each : {"Add", "Sub", "Mul", "Div", "Cast", "Identity", "Pad"}) passes = passes || type == each;
      if (passes && depth < 32 && n.output_size() == 1 && moves_channels_to_front(n.output(0), depth + 1)) continue;
      if (type != "Transpose" || n.attribute_size() != 1 || n.attribute(0).ints_size() != 4 ||
          n.attribute(0).ints(1) != 3 || n.attribute(0).ints(2) != 1 || n.attribute(0).ints(3) != 2)
        return false;
    }
  return is_read;
}

TYPENET_INLINE bool onnx_reader::reads_channels_first(std::string const& input) const {
  for (auto const& n : file_.graph().node())
    for (std::string const& read : n.input())
      for (char const* type : {"Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization",
                               "GroupNormalization", "MaxPool", "AveragePool", "Pad", "Unsqueeze"})
        if (read == input && n.op_type() == type) return true;
  return false;
}

TYPENET_INLINE std::string onnx_reader::place_of_node() const {
  std::string const name = node_->name().empty() ? "" : ", " + shown(node_->name());
  std::string type = shown(node_->op_type());
  return "node " + std::to_string(index_) + name + " (" + type.substr(1, type.size() - 2) + ")";
}

TYPENET_INLINE std::string onnx_reader::path_of_node() const {
  if (std::string const scopes = onnx_name_scopes(*node_); !scopes.empty()) {
    std::vector<std::string> names{""};  // "['', 'layer1', 'layer1.0', 'relu']"
    bool in_name = false;
    for (char c : scopes) {
      if (c == '\'') {
        in_name = !in_name;
        if (in_name) names.emplace_back();
      } else if (in_name) {
        names.back() += c;
      }
    }
    return onnx_clean_path(names.size() > 2 ? names[names.size() - 2] : "");
  }
  std::string const& name = node_->name();
  if (name.find('/') == std::string::npos) return "";
  std::vector<std::string> parts{""};  // "/layer1/layer1.0/conv1/Conv" is layer1.0.conv1
  for (char c : name) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::string path, before;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    std::string const& part = parts[i];
    if (part.empty()) continue;
    bool const repeats = !before.empty() && part.compare(0, before.size() + 1, before + ".") == 0;
    path += (path.empty() ? "" : ".") + (repeats ? part.substr(before.size() + 1) : part);
    before = part;
  }
  return onnx_clean_path(path);
}

TYPENET_INLINE std::string onnx_reader::path_of_weight(constant const& c) const {
  std::string const& name = c->name;
  std::size_t const dot = name.rfind('.');
  std::size_t const slash = name.rfind('/');
  std::size_t const end = dot != std::string::npos && (slash == std::string::npos || dot > slash) ? dot : slash;
  // Exporters write equal weights once, so that a name may be that of another module.
  auto const reads = readers_.find(name);
  bool const is_shared = reads != readers_.end() && reads->second > 1 && !path_.empty();
  if (end == std::string::npos || end == 0 || is_shared || name.find("::") != std::string::npos) return path_;
  return onnx_clean_path(name.substr(0, end));
}

}  // namespace dsl::detail::TYPENET_MODE
