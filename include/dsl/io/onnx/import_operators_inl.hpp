// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_operators.hpp>
#include <dsl/io/onnx/operations.hpp>
#include <dsl/io/weight_text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void onnx_reader::read_node() {
  std::string const& domain = node_->domain();
  need(domain.empty() || domain == "ai.onnx", "must be an operator of ONNX itself", "one of " + shown(domain));
  for (auto const& a : node_->attribute())
    need(!a.has_g() && a.graphs_size() == 0, "must not contain a graph, since typenet's networks have no control flow",
         "one in the attribute " + shown(a.name()));
  if (fold() || read_normalization() || read_windows() || read_attention() || read_tokens() || read_with_constant() ||
      read_function() || read_movement() || read_layer())
    return;
  bool const is_own = any_onnx_row([this]<class Row>() {
    if constexpr (requires { Row::read(*this, node_->op_type()); }) return Row::read(*this, node_->op_type());
    return false;
  });
  if (is_own || read_join()) return;
  refuse("must be an operator that typenet has a layer for", shown(node_->op_type()));
}

TYPENET_INLINE bool onnx_reader::read_function() {
  std::string const& type = node_->op_type();
  if (!onnx_is_elementwise(type)) return false;
  onnx_value f = std::make_shared<onnx_function>();
  f->what = type;
  f->place = place_;
  f->path = path_;
  // Some files use the largest float as a bound where there is none.
  auto const checked = [&](double n) {
    need(std::fabs(n) <= onnx_largest_bound || std::fabs(n) > 3.4028234e38,
         "must have bounds from -1e29 to 1e29, or infinite ones", onnx_digits(static_cast<float>(n)));
    return n;
  };
  auto const bound = [&](int i, char const* name, double otherwise) {
    if (!has(i)) return checked(real(name, otherwise));
    constant const c = number(i);
    need(c->count() == 1, "must have one number as each bound", std::to_string(c->count()) + " numbers");
    return checked(c->at(0));
  };
  constexpr double most = std::numeric_limits<double>::infinity();
  bool const is_bound = type == "Max" || type == "Min";
  bool const is_binary = is_bound || type == "Add" || type == "Sub" || type == "Mul" || type == "Div" || type == "Pow";
  int operands = 1;
  if (type == "Clip") {
    f->number = bound(1, "min", -most), f->second = bound(2, "max", most);
  } else if (type == "Gelu") {
    f->number = text("approximate", "none") == "tanh" ? 1 : 0;
  } else if (type == "HardSigmoid") {
    f->number = static_cast<double>(attribute("alpha") ? attribute("alpha")->f() : 0.2F);
    f->second = real("beta", 0.5);
  } else if (type == "LeakyRelu" || type == "Elu" || type == "Celu" || type == "Swish") {
    f->number = real("alpha", type == "LeakyRelu" ? 0.01 : 1);
  } else if (is_binary) {
    operands = 2;
  }
  int const found = node_->input_size();
  if (is_bound && found != 2) refuse("must have two operands", std::to_string(found));
  if (!has(0) || found < operands || found > (type == "Clip" ? 3 : operands))
    damaged("must have " + std::string(is_binary ? "two operands" : "one operand") + "; found " +
            std::to_string(found));
  onnx_value base;
  bool same = true;
  for (int i = 0; i < operands; ++i) {
    onnx_value x = operand(i).value;
    if (!x) {
      constant const c = number(i);
      need(c->count() == 1, "must have one number as its constant", std::to_string(c->count()) + " numbers");
      x = std::make_shared<onnx_function>();
      x->what = "number";
      x->number = is_bound ? checked(c->at(0)) : c->at(0);
    } else {
      if (x->size >= onnx_largest_function || !x->is_function()) made(x);
      onnx_value const its = x->what.empty() ? x : x->base;
      same = same && (!base || (base->node == its->node && base->axes == its->axes));
      base = its;
    }
    f->size += x->size;
    f->inputs.push_back(x);
  }
  if (!same) return false;  // it depends on several values
  need(base != nullptr, "must have an operand that depends on the input", "constants");
  f->base = base;
  give(f);
  return true;
}

TYPENET_INLINE bool onnx_reader::read_normalization() {
  bool const is_mean = node_->op_type() == "Sub";
  if (!file_.is_own() || (!is_mean && node_->op_type() != "Div") || node_->input_size() != 2 || !has(0) || !has(1) ||
      !is_constant(1))
    return false;  // typenet writes Sub and Div for nothing else
  onnx_value const v = operand(0).value;
  auto const inputs = made_.input_names.size();
  if (!v || !v->what.empty() || static_cast<std::size_t>(v->node) >= inputs) return false;
  constant const c = number(1);
  auto const count = static_cast<std::size_t>(shape_of(v).size());
  need(c->count() == count, "must have a constant with a number for each number of the input",
       std::to_string(c->count()) + " instead of " + std::to_string(count));
  made_.moments.resize(inputs);
  input_moments& m = made_.moments[static_cast<std::size_t>(v->node)];
  auto& to = is_mean ? m.mean : m.deviation;
  need(!to && !(is_mean && m.deviation), "must be the one Sub or Div that normalises its input", "a second one");
  auto numbers = std::make_shared<std::vector<float>>(count);
  for (std::size_t i = 0; i < count; ++i) {
    float const n = (*numbers)[i] = static_cast<float>(c->at(i));
    need(std::isfinite(n) && (is_mean || n != 0), "must have finite numbers, and must not divide by 0",
         std::to_string(n));
  }
  to = std::move(numbers);
  --v->readers;  // this one
  give(v);
  return true;
}

TYPENET_INLINE bool onnx_reader::read_with_constant() {
  std::string const& type = node_->op_type();
  bool const adds = type == "Add" || type == "Sub";
  if ((!adds && type != "Mul" && type != "Div") || node_->input_size() != 2 || !has(0) || !has(1)) return false;
  int const at = is_constant(0) ? 0 : is_constant(1) ? 1 : -1;
  if (at < 0) return false;
  constant const c = number(at);
  // typenet writes Sub and Div only to normalise an input.
  bool const is_weight = c->is_weight && !(file_.is_own() && (type == "Sub" || type == "Div"));
  onnx_value const& lazy = operand(1 - at).value;
  if (c->count() == 1 && c->dims.size() <= lazy->axes.size() + 8) {
    // A single number may belong to an activation, unless it is the bias of a single unit.
    onnx_value const& x = lazy;
    bool const is_bias = adds && x->what.empty() && x->readers == 1 && shape_of(x).channels == 1 && !layer(x).has_bias;
    if (!is_bias && !(file_.is_own() && is_weight)) return false;
  }
  onnx_value x = value(1 - at);
  std::size_t const rank = x->axes.size();
  need(rank > 0, "must read a tensor with an axis of channels", "a single number");
  need(c->dims.size() <= rank, "must have a constant with no more axes than the other operand",
       std::to_string(c->dims.size()));
  std::size_t axis = rank;
  bool has_positions = false;
  for (std::size_t d = 0; d < c->dims.size(); ++d)
    if (c->dims[d] != 1) {
      std::size_t const at_axis = rank - c->dims.size() + d;
      has_positions = has_positions || axis != rank;
      for (onnx_atom const& a : x->axes[at_axis]) has_positions = has_positions || a.along != 'c';
      axis = at_axis;
    }
  // One number for each token belongs to a channel of the transposed value.
  if (has_positions && !adds && axis < rank && c->dims[c->dims.size() - rank + axis] > 1 &&
      c->count() == static_cast<std::size_t>(c->dims[c->dims.size() - rank + axis]) &&
      x->axes[axis] == pixels_of(shape_of(x)))
    has_positions = false;
  has_positions = has_positions || (file_.is_own() && node_->doc_string().ends_with("position_embedding)"));
  if (has_positions && adds) {
    if (type == "Sub" && at == 0) x = scaled(x, minus_ones(x), false);
    add_positions(x, c, type == "Sub" && at == 1 ? -1.0F : 1.0F, is_weight);
    return true;
  }
  need(!has_positions, "must have a constant that varies only along the channels", "one that varies along other axes");
  if (axis == rank)
    for (axis = 0; axis + 1 < rank && x->axes[axis].empty();) ++axis;
  onnx_value const before = x;
  x = with_channels(x, axis);
  need(static_cast<std::size_t>(shape_of(x).channels) == c->count(),
       "must have a constant with one number for each channel", std::to_string(c->count()) + " numbers");
  std::vector<float> numbers(c->count());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float const n = static_cast<float>(c->at(i));
    numbers[i] = type == "Sub" && at == 1 ? -n : type == "Div" ? 1 / n : n;
  }
  if (type == "Sub" && at == 0) x = scaled(x, minus_ones(x), false);
  need(type != "Div" || at == 1, "must divide by a constant", "a constant divided by a value");
  if (!adds) {
    if (before == x && x->readers == 1 && layer(x).takes_scale) {
      layer(x).weights[0] = std::move(numbers);
      layer(x).takes_scale = false;
      layer(x).is_constant = layer(x).is_constant && !is_weight;
      layer(x).path = path_of_weight(c);
      give(view(x, x->axes));
      return true;
    }
    std::string const path = path_;
    take_path_of(c);
    onnx_value const v = scaled(x, numbers, is_weight);
    path_ = path;
    give(v);
    return true;
  }
  onnx_layer& l = layer(x);
  if (before == x && x->readers == 1 && l.takes_shift) {
    l.weights[1] = std::move(numbers);
    l.takes_scale = l.takes_shift = false;
    l.is_constant = l.is_constant && !is_weight;
    give(view(x, x->axes));
    return true;
  }
  bool const is_linear = l.what.kind == op::conv2d || l.what.kind == op::conv2d_transpose || l.what.kind == op::dense;
  if (is_linear && !l.has_bias && before == x && x->readers == 1) {
    l.has_bias = true;
    if (l.what.kind == op::dense) l.weights.pop_back();  // zeros
    l.weights.push_back(std::move(numbers));
    // An exporter may have renamed the kernel, but not the bias.
    if (std::string const path = path_of_weight(c); l.path == path_ && path.starts_with(path_ + ".")) l.path = path;
    give(view(x, x->axes));
    return true;
  }
  // A number that each channel is multiplied by and one that is added to it are a 1x1 convolution of each channel.
  if (l.what.kind == op::channel_scale && !l.is_constant && is_weight && before == x && x->readers == 1 &&
      !file_.is_own()) {
    l.what.kind = op::conv2d;
    l.what.groups = shape_of(x).channels;
    l.weights.push_back(std::move(numbers));
    give(view(x, x->axes));
    return true;
  }
  give(shifted(x, numbers, is_weight));
  return true;
}

TYPENET_INLINE onnx_value onnx_reader::scaled(onnx_value const& x, std::vector<float> const& by, bool is_weight) {
  spend(by.size());
  onnx_layer l;
  l.is_constant = !is_weight;
  l.what.kind = op::channel_scale;
  l.weights.push_back(by);
  return append(std::move(l), x, shape_of(x), x->axes);
}

TYPENET_INLINE onnx_value onnx_reader::shifted(onnx_value const& x, std::vector<float> const& by, bool is_weight) {
  spend(2 * by.size());
  onnx_layer l;  // a 1x1 convolution that only adds its bias to every pixel
  l.is_constant = !is_weight;
  l.what.kind = op::conv2d;
  l.what.groups = shape_of(x).channels;
  l.weights = {std::vector<float>(by.size(), 1.0F), by};
  return append(std::move(l), x, shape_of(x), x->axes);
}

TYPENET_INLINE bool onnx_reader::read_join() {
  std::string const& type = node_->op_type();
  if (type == "Concat") return read_concat(), true;
  if (type == "Add" || type == "Sum") {
    std::vector<onnx_value> all;
    all.reserve(static_cast<std::size_t>(node_->input_size()));
    for (int i = 0; i < node_->input_size(); ++i) all.push_back(value(i));
    if (all.empty()) damaged("must have operands; found none");
    give(all.size() == 1 ? view(all[0], all[0]->axes) : sum(std::move(all)));
    return true;
  }
  if (type == "Sub" && node_->input_size() == 2) {
    onnx_value const a = value(0), b = value(1);
    give(sum({a, scaled(b, minus_ones(b), false)}));
    return true;
  }
  if (type == "Mul" && node_->input_size() == 2) {
    onnx_value const a = value(0);
    give(product(a, value(1)));
    return true;
  }
  return false;
}

TYPENET_INLINE onnx_value onnx_reader::sum(std::vector<onnx_value> all) {
  std::size_t axis = 0;  // of the channels
  for (std::size_t i = 0; i < all[0]->axes.size(); ++i)
    for (onnx_atom const& a : all[0]->axes[i])
      if (a.along == 'c') axis = i;
  if (all[0]->axes.size() > 1 && axis == 0) axis = 1;
  for (onnx_value& v : all)
    if (axis < v->axes.size()) v = with_channels(v, axis);
  align_rows(all);
  for (onnx_value const& v : all)
    need(v->axes == all[0]->axes && shape_of(v) == shape_of(all[0]), "must add tensors of the same shape",
         two_shapes(all[0], v));
  onnx_layer l;
  l.what.kind = op::add;
  return append(std::move(l), all, shape_of(all[0]), all[0]->axes);
}

TYPENET_INLINE onnx_value onnx_reader::product(onnx_value a, onnx_value b) {
  std::size_t const rank = a->axes.size() > b->axes.size() ? a->axes.size() : b->axes.size();
  onnx_axes axes(rank);
  for (onnx_value* v : {&a, &b}) {
    onnx_axes wider(rank);
    for (std::size_t i = 0; i < (*v)->axes.size(); ++i) wider[rank - (*v)->axes.size() + i] = (*v)->axes[i];
    *v = view(*v, wider);
    for (std::size_t i = 0; i < rank; ++i) {
      bool has_channels = false;
      for (onnx_atom const& x : wider[i]) has_channels = has_channels || x.along == 'c';
      if (has_channels) *v = with_channels(*v, i);
    }
  }
  auto const channels_of = [](onnx_value const& v) {
    std::size_t found = v->axes.size();
    for (std::size_t i = 0; i < v->axes.size(); ++i)
      if (!v->axes[i].empty() && v->axes[i][0].along == 'c') found = i;
    return found;
  };
  std::size_t const first = channels_of(a), second = channels_of(b);
  if (first != second && first < rank && second < rank && b->axes[first] == pixels_of(shape_of(b)))
    b = with_channels(b, first);
  std::vector<onnx_value> both{a, b};
  align_rows(both);
  a = both[0], b = both[1];
  for (std::size_t i = 0; i < rank; ++i) {
    onnx_axis const &x = a->axes[i], &y = b->axes[i];
    need(x == y || x.empty() || y.empty(), "must multiply tensors whose axes are equal or of size 1", two_shapes(a, b));
    axes[i] = x.empty() ? y : x;
  }
  need(broadcasts(shape_of(a), shape_of(b)),
       "must multiply tensors with the same pixels, or one of them with a single pixel", two_shapes(a, b));
  onnx_layer l;
  l.what.kind = op::multiply;
  return append(std::move(l), {a, b}, broadcast(shape_of(a), shape_of(b)), std::move(axes));
}

TYPENET_INLINE void onnx_reader::read_concat() {
  std::vector<onnx_value> all;
  all.reserve(static_cast<std::size_t>(node_->input_size()));
  std::vector<int> inputs;
  for (int i = 0; i < node_->input_size(); ++i) all.push_back(value(i));
  if (all.empty()) damaged("must have operands; found none");
  if (all.size() == 1) return give(view(all[0], all[0]->axes));
  std::size_t const axis = axis_of(whole("axis", 1), all[0]->axes.size());
  std::int64_t channels = 0;
  for (onnx_value& v : all) {
    if (v->axes.size() != all[0]->axes.size())
      damaged(message(
          {"must join tensors with the same number of axes; found ", all[0]->axes.size(), " and ", v->axes.size()}));
    v = with_channels(v, axis);
    onnx_axes others = rechannelled(v->axes, axis, 1);
    shape const s = shape_of(v), first = shape_of(all[0]);
    need(others == rechannelled(all[0]->axes, axis, 1) && s.height == first.height && s.width == first.width,
         "must join tensors of the same height and width", two_shapes(all[0], v));
    channels += s.channels;
    inputs.push_back(v->node);
  }
  if (channels > 0x7fffffff) refuse("must have at most 2,147,483,647 channels", std::to_string(channels));
  onnx_axes const axes = rechannelled(all[0]->axes, axis, static_cast<int>(channels));
  shape out = shape_of(all[0]);
  out.channels = static_cast<int>(channels);
  concats_.emplace(inputs, static_cast<int>(made_.layers.size()));
  // An earlier concat is used again: concat(a, b, c) becomes concat(concat(a, b), c). The layers of a DenseNet, each of
  // which reads all earlier ones, thus become one chain.
  for (std::size_t count = all.size() - 1; count >= 2 && all.size() <= 512; --count) {
    auto const before = concats_.find({inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count)});
    if (before == concats_.end()) continue;
    onnx_value joined = std::make_shared<onnx_function>();
    joined->node = before->second;
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    all.insert(all.begin(), joined);
    break;
  }
  onnx_layer l;
  l.what.kind = op::concat;
  give(append(std::move(l), all, out, axes));
}

}  // namespace dsl::detail::TYPENET_MODE
