// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>
#include <dsl/io/weight_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
[[gnu::cold]] std::string onnx_find_name_scopes(Node const& n) {
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
    made_.outputs.emplace_back(o.name(), v->node);
  }
  made_.is_own = file_.is_own();
  made_.summary = file_.model().producer_name();
  if (!file_.model().producer_version().empty()) made_.summary += " " + file_.model().producer_version();
  return std::move(made_);
}

TYPENET_INLINE void onnx_reader::refuse(std::string const& must, std::string const& found, char const* advice) const {
  throw onnx_error(onnx_fault::unsupported,
                   "onnx: " + file_.name() + ": " + place_ + " " + must + "; found " + found + "; " + advice);
}

TYPENET_INLINE void onnx_reader::damaged(std::string const& what) const {
  throw onnx_error(onnx_fault::damaged, "onnx: " + file_.name() + ": " + place_ + " " + what + "; give another file");
}

TYPENET_INLINE void onnx_reader::outside(std::int64_t index, std::size_t axis, std::int64_t size) const {
  damaged("must have indices within axis " + std::to_string(axis) + " of size " + std::to_string(size) + "; found " +
          std::to_string(index));
}

TYPENET_INLINE void onnx_reader::other_count(std::vector<std::int64_t> const& asked,
                                             std::vector<std::int64_t> const& dims) const {
  damaged("must have a shape with as many elements as its operand; found " + onnx_dims_text(asked) + " for " +
          onnx_dims_text(dims));
}

TYPENET_INLINE void onnx_reader::repeated(std::vector<std::int64_t> const& axes) const {
  damaged("must list each axis once; found " + onnx_dims_text(axes));
}

TYPENET_INLINE void onnx_reader::need_order(std::vector<std::int64_t> const& order, std::size_t rank) const {
  std::vector<char> seen(rank);
  if (order.size() != rank)
    damaged("must have " + std::to_string(rank) + " axes in perm, as many as its operand; found " +
            onnx_dims_text(order));
  for (std::int64_t const axis : order)
    if (seen[axis_of(axis, rank)]++) damaged("must list each axis once in perm; found " + onnx_dims_text(order));
}

TYPENET_INLINE void onnx_reader::need_slices(std::size_t begins, std::size_t ends, std::size_t axes, std::size_t steps,
                                             std::size_t rank) const {
  if (begins != ends || begins != axes || begins != steps)
    damaged(message(
        {"must have as many starts as ends, axes and steps; found ", begins, ", ", ends, ", ", axes, " and ", steps}));
  if (axes > rank)  // each makes a copy
    damaged(message({"must slice no more axes than its operand has, ", rank, "; found ", axes}));
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
        refuse("must have a known shape", "axis " + std::to_string(d) + " without a size",
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
    made_.input_names.push_back(in.name());
    onnx_value const v = append(std::move(l), std::vector<onnx_value>{}, s, std::move(axes));
    v->readers = readers_[in.name()];
    if (!known_.emplace(in.name(), known{v, nullptr}).second)
      damaged("must have a unique name; found two inputs of this name");
  }
  place_ = "the graph";
  if (made_.layers.empty()) refuse("must have an input", "none");
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

TYPENET_INLINE onnx_reader::known& onnx_reader::operand(int i) {
  if (!has(i))
    damaged("must have an operand " + std::to_string(i) + "; found " +
            (i < node_->input_size() ? "an empty name in its place" : counted(node_->input_size(), "operand")));
  std::string const& name = node_->input(i);
  auto const found = known_.find(name);
  if (found != known_.end()) return found->second;
  auto const tensor = unread_.find(name);
  if (tensor == unread_.end()) damaged("must read values that earlier nodes compute; found " + shown(name));
  auto c = std::make_shared<onnx_constant>(file_.read(*tensor->second));
  // Files do not say which of their tensors were trained. A single number is rarely a weight; in files that typenet
  // wrote, it is one if its name is a path.
  bool const is_path = file_.is_own() && c->name.find_first_of("./") != std::string::npos;
  c->is_weight = !c->is_whole && (c->count() > 1 || is_path);
  return known_.emplace(name, known{nullptr, std::move(c)}).first->second;
}

TYPENET_INLINE onnx_reader::constant onnx_reader::number(int i) {
  constant const c = operand(i).number;
  if (!c) refuse("must have a constant as operand " + std::to_string(i), "an operand that depends on the input");
  return c;
}

TYPENET_INLINE onnx_value onnx_reader::value(int i) {
  onnx_value const v = operand(i).value;
  if (!v) refuse("must have an operand " + std::to_string(i) + " that depends on the input", "a constant");
  return made(v);
}

TYPENET_INLINE std::vector<std::int64_t> onnx_reader::wholes(int i) {
  constant const c = number(i);
  if (!c->is_whole || c->dims.size() > 1)
    refuse("must have a list of integers as operand " + std::to_string(i), onnx_tensor_text(*c));
  return c->wholes;
}

TYPENET_INLINE onnx_messages::AttributeProto const* onnx_reader::attribute(char const* name) const {
  for (auto const& a : node_->attribute())
    if (a.name() == name) return &a;
  return nullptr;
}
TYPENET_INLINE std::int64_t onnx_reader::whole(char const* name, std::int64_t otherwise) const {
  auto const* const a = attribute(name);
  return a ? a->i() : otherwise;
}
TYPENET_INLINE double onnx_reader::real(char const* name, double otherwise) const {
  auto const* const a = attribute(name);
  return a ? onnx_decimal(a->f()) : otherwise;
}
TYPENET_INLINE std::string onnx_reader::text(char const* name, char const* otherwise) const {
  auto const* const a = attribute(name);
  return a ? a->s() : otherwise;
}
TYPENET_INLINE std::vector<std::int64_t> onnx_reader::list(char const* name,
                                                           std::vector<std::int64_t> otherwise) const {
  auto const* const a = attribute(name);
  if (!a) return otherwise;
  return {a->ints().begin(), a->ints().end()};
}
TYPENET_INLINE std::vector<std::int64_t> onnx_reader::list_or_operand(char const* name, int i) {
  return has(i) ? wholes(i) : list(name, {});
}

TYPENET_INLINE std::size_t onnx_reader::axis_of(std::int64_t axis, std::size_t rank) const {
  auto const count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    damaged("must name one of " + std::to_string(rank) + " axes; found " + std::to_string(axis));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

TYPENET_INLINE void onnx_reader::give(known k, int output) {
  if (output >= node_->output_size() || node_->output(output).empty()) return;
  std::string const& name = node_->output(output);
  if (k.value) k.value->readers += readers_[name];
  if (unread_.count(name) > 0 || !known_.emplace(name, std::move(k)).second)
    damaged("must compute a value with a new name; found " + shown(name) + ", which exists already");
}

TYPENET_INLINE void onnx_reader::afford(double numbers) const {
  double const all = static_cast<double>(spent_) + numbers;
  if (all <= static_cast<double>(allowed_)) return;
  refuse("must keep the numbers that typenet computes for the file to at most " + std::to_string(allowed_) +
             " (four times the numbers in the file, plus 67,108,864)",
         message({all < 1e15 ? piece(static_cast<long long>(all)) : piece(all), " up to here"}),
         "simplify the file first, for example with onnxsim");
}

TYPENET_INLINE void onnx_reader::need_dims(std::vector<std::int64_t> const& dims) const {
  need(dims.size() <= static_cast<std::size_t>(onnx_most_axes), "must have a result of at most 8 axes",
       std::to_string(dims.size()));
  double count = 1;  // a file can ask for more numbers than an integer can count
  for (std::int64_t const d : dims) {
    need(d >= 0, "must have a result whose axes have sizes of 0 or more", onnx_dims_text(dims));
    count *= static_cast<double>(d);
  }
  afford(count);
}

TYPENET_INLINE std::string onnx_reader::two_shapes(onnx_value const& a, onnx_value const& b) const {
  std::vector<std::int64_t> const one = onnx_dims(a->axes), other = onnx_dims(b->axes);
  if (one == other) return "two of " + onnx_dims_text(one) + " with their elements in different orders";
  return onnx_dims_text(one) + " and " + onnx_dims_text(other);
}

TYPENET_INLINE void onnx_reader::need_matrix(std::int64_t inputs, std::int64_t units, std::int64_t wanted) const {
  if (inputs != wanted)
    damaged("must have a matrix for " + counted(wanted, "feature") + "; found one for " + std::to_string(inputs));
  if (units < 1 || units > 0x7fffffff)
    damaged("must have a matrix with 1 to 2,147,483,647 units; found " + std::to_string(units));
}

TYPENET_INLINE void onnx_reader::spend(std::size_t numbers) {
  afford(static_cast<double>(numbers) + 16);
  spent_ += static_cast<std::int64_t>(numbers) + 16;
}

TYPENET_INLINE void onnx_reader::give(onnx_constant c) {
  spend(c.count());
  for (int i = 0; i < node_->input_size() && !c.is_whole; ++i)
    if (is_constant(i)) c.is_weight = c.is_weight || operand(i).number->is_weight;
  give(known{nullptr, std::make_shared<onnx_constant>(std::move(c))});
}

TYPENET_INLINE onnx_value onnx_reader::append(onnx_layer l, std::vector<onnx_value> const& in, shape const& out,
                                              onnx_axes axes) {
  if (out.channels < 1 || out.height < 1 || out.width < 1 || out.size() > 0x7fffffff)
    refuse("must have a result of 1 to 2,147,483,647 numbers",
           std::to_string(out.channels) + "x" + std::to_string(out.height) + "x" + std::to_string(out.width));
  for (onnx_value const& v : in) l.inputs.push_back(v->node);
  l.out = out;
  l.place = place_;
  if (l.path.empty()) l.path = path_;
  onnx_value v = std::make_shared<onnx_function>();
  v->node = static_cast<int>(made_.layers.size());
  v->axes = std::move(axes);
  made_.layers.push_back(std::move(l));
  return v;
}
TYPENET_INLINE onnx_value onnx_reader::append(onnx_layer l, onnx_value const& in, shape const& out, onnx_axes axes) {
  return append(std::move(l), std::vector<onnx_value>{in}, out, std::move(axes));
}

TYPENET_INLINE onnx_value onnx_reader::made(onnx_value const& v) {
  if (v->what.empty()) return v;
  std::string const place = std::exchange(place_, v->place), path = std::exchange(path_, v->path);
  onnx_activation is;
  onnx_value result;
  if (!v->is_function()) {
    if (v->what == "Pad") {
      need(v->number == 0, "must pad with zeros, or be followed by a max_pool2d", std::to_string(v->number));
      result = padded(made(v->inputs[0]), v->zeros);
    } else if (v->what == "Slice") {
      refuse("must slice the channels or the tokens", "a slice of rows or columns");
    } else if (v->what != "products") {
      refuse("must be an L2 normalisation of the queries and the keys of an attention, the only one that typenet has",
             "another operator that reads the result");
    } else {
      refuse("must be a product of queries and keys, or of their weights and values, which only an attention may read",
             "another operator that reads it");
    }
    return become(v, result, place, path);
  }
  bool const first = v->inputs[0]->what == "number", second = v->inputs.size() > 1 && v->inputs[1]->what == "number";
  if (onnx_value const from = onnx_recognise(v, is)) {
    onnx_value const in = made(from);
    onnx_layer l;
    l.what.kind = op::activation;
    l.what.function = is.function;
    l.what.rate = onnx_decimal(static_cast<float>(is.rate));
    result = append(std::move(l), in, shape_of(in), in->axes);
  } else if (double epsilon = 0; onnx_value const normal = onnx_normalised(v, epsilon)) {
    result = normalised(made(normal), op::layer_norm, 1, onnx_decimal(static_cast<float>(epsilon)));
  } else if (v->inputs.size() == 2 && !first && !second && (v->what == "Add" || v->what == "Mul" || v->what == "Sub")) {
    std::vector<onnx_value> both{made(v->inputs[0]), made(v->inputs[1])};
    if (v->what == "Sub") both[1] = scaled(both[1], minus_ones(both[1]), false);
    result = v->what == "Mul" ? product(both[0], both[1]) : sum(both);
  } else if (v->inputs.size() == 2 && (first || second) && !(first && v->what == "Div")) {
    onnx_value const in = made(v->inputs[first ? 1 : 0]);
    double const n = v->inputs[first ? 0 : 1]->number;
    auto const all = [&](double x) {
      spend(static_cast<std::size_t>(shape_of(in).channels));
      return std::vector<float>(static_cast<std::size_t>(shape_of(in).channels), static_cast<float>(x));
    };
    if (v->what == "Mul" || v->what == "Div")
      result = scaled(in, all(v->what == "Mul" ? n : 1 / n), false);
    else if (v->what == "Add" || (v->what == "Sub" && second))
      result = shifted(in, all(v->what == "Add" ? n : -n), false);
  }
  if (!result) refuse("must be part of an activation that typenet has", "an unknown function");
  return become(v, result, place, path);
}

TYPENET_INLINE onnx_value onnx_reader::become(onnx_value const& v, onnx_value const& result, std::string const& place,
                                              std::string const& path) {
  place_ = place;
  path_ = path;
  int const readers = v->readers;
  // *v may own the value, which must outlive the assignment.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  onnx_value const made_value = result;
  *v = *made_value;  // other functions of this value read this layer, too
  v->readers = readers;
  return v;
}

TYPENET_INLINE onnx_value onnx_reader::view(onnx_value const& v, onnx_axes axes) {
  onnx_value seen = std::make_shared<onnx_function>();
  seen->node = v->node;
  seen->axes = std::move(axes);
  seen->readers = v->readers > 1 ? 1 : 0;  // the number of readers besides the reader of the view
  return seen;
}

TYPENET_INLINE onnx_axes onnx_reader::rechannelled(onnx_axes axes, std::size_t axis, int channels) {
  axes[axis].clear();
  if (channels > 1) axes[axis].push_back({'c', channels, 1});
  return axes;
}

TYPENET_INLINE onnx_value onnx_reader::with_channels(onnx_value const& v, std::size_t axis) {
  shape const s = shape_of(v);
  onnx_axis const& a = v->axes[axis];
  bool others_are_pixels = true, others_are_empty = true;
  for (std::size_t i = 0; i < v->axes.size(); ++i)
    for (onnx_atom const& x : v->axes[i]) {
      others_are_pixels = others_are_pixels && (i == axis || x.along != 'c');
      others_are_empty = others_are_empty && i == axis;
    }
  if (others_are_pixels && a == rechannelled(v->axes, axis, s.channels)[axis]) return v;
  onnx_axes made_axes(v->axes.size());
  if (others_are_empty && a == onnx_axes_of(s, 2)[1]) {
    onnx_value& flat = rearranged_[{v->node, 0}];
    onnx_layer l;
    l.what.kind = op::flatten;
    shape const out{static_cast<int>(s.size())};
    if (!flat) flat = append(std::move(l), v, out, onnx_axes_of(out, 2));
    return view(flat, rechannelled(made_axes, axis, out.channels));
  }
  if (others_are_pixels && a.size() == 2 && a[0].along == 'c' && a[1].along == 'c' && a[0].step == 1 &&
      a[1].step == a[0].size && onnx_size(a) == s.channels) {
    onnx_value& shuffled = rearranged_[{v->node, a[1].size}];
    onnx_layer l;
    l.what.kind = op::channel_shuffle;
    l.what.groups = a[1].size;
    if (!shuffled) shuffled = append(std::move(l), v, s, onnx_axes_of(s, 4));
    return view(shuffled, rechannelled(v->axes, axis, s.channels));
  }
  std::size_t other = v->axes.size();  // that has the channels, if this axis has the pixels
  bool is_turned = s.area() > 1 && a == pixels_of(s);
  for (std::size_t i = 0; i < v->axes.size(); ++i) {
    if (i == axis || v->axes[i].empty()) continue;
    is_turned = is_turned && other == v->axes.size() && v->axes[i] == rechannelled(v->axes, i, s.channels)[i];
    other = i;
  }
  if (is_turned && other < v->axes.size()) {
    onnx_value& turned = rearranged_[{v->node, -1}];
    if (!turned) turned = transposed(v);
    shape const out = shape_of(turned);
    made_axes = rechannelled(made_axes, axis, out.channels);
    made_axes[other] = pixels_of(out);
    return view(turned, std::move(made_axes));
  }
  refuse("must read a tensor whose channels are one of its axes",
         "other axes, after a reshape or a transpose to " + onnx_dims_text(onnx_dims(v->axes)));
}

TYPENET_INLINE onnx_value onnx_reader::transposed(onnx_value const& v) {
  shape const s = shape_of(v);
  need(s.area() <= 0x7fffffff, "must have at most 2,147,483,647 tokens", std::to_string(s.area()));
  onnx_layer l;
  l.what.kind = op::transpose_tokens;
  shape const out{static_cast<int>(s.area()), 1, s.channels};
  return append(std::move(l), v, out, onnx_axes_of(out, 4));
}

TYPENET_INLINE void onnx_reader::align_rows(std::vector<onnx_value>& all) {
  long long row = 0;
  for (onnx_value const& v : all)
    if (shape_of(v).height == 1 && shape_of(v).width > 1) row = shape_of(v).width;
  for (onnx_value& v : all) {
    shape const s = shape_of(v);
    if (s.height == 1 || s.area() != row) continue;
    for (std::size_t i = 0; i < v->axes.size(); ++i)
      if (v->axes[i] == pixels_of(s)) {
        v = in_row(v, i, 0, s.area());
        break;
      }
  }
}

TYPENET_INLINE onnx_value onnx_reader::picture(onnx_value const& v) {
  need(v->axes.size() == 4 || v->axes.size() == 3,
       "must read a tensor of four axes (batch, channels, height, width), or of three (batch, channels, length)",
       std::to_string(v->axes.size()) + " axes");
  onnx_value p = with_channels(v, 1);
  if (p->axes.size() == 3) {
    shape const s = shape_of(p);
    if (s.height > 1 && p->axes[2] == pixels_of(s)) p = in_row(p, 2, 0, s.area());
    onnx_axes axes = p->axes;
    axes.insert(axes.begin() + 2, onnx_axis{});
    p = view(p, std::move(axes));
  }
  need(p->axes == onnx_axes_of(shape_of(p), 4), "must read a tensor with the axes (batch, channels, height, width)",
       "other axes, in a tensor of " + onnx_dims_text(onnx_dims(p->axes)));
  return p;
}

TYPENET_INLINE onnx_value onnx_reader::as_operand(onnx_value const& v, std::size_t rank) {
  if (rank == 4) return v;
  onnx_axes axes = v->axes;
  axes.erase(axes.begin() + 2);
  return view(v, std::move(axes));
}

TYPENET_INLINE std::vector<float> onnx_reader::parameter(int i, std::vector<std::int64_t> const& dims) {
  constant const c = number(i);
  std::vector<std::uint64_t> wanted(dims.begin(), dims.end()), found(c->dims.begin(), c->dims.end());
  if (c->is_whole || found != wanted)
    damaged("must have floats of shape " + shown(wanted) + " as operand " + std::to_string(i) + "; found " +
            (c->is_whole ? "whole numbers" : shown(found)));
  spend(c->count());
  return c->reals;
}

}  // namespace dsl::detail::TYPENET_MODE
