// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_attention.hpp>
#include <dsl/io/onnx/import_function.hpp>
#include <dsl/io/weight_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// The products of queries and keys, and what operators have made of them. After a softmax they are the weights of an
/// attention.
struct onnx_products {
  onnx_value first{}, second{};  // the factors: one has the queries, the other one the keys
  std::string axes{};            // each axis: the tokens of the first factor (f) or of the second one (s), heads (h), 1
  int heads = 1;
  double scale = 1;
  char hidden = 0;  // causal: the axis whose later tokens are hidden, that of the keys
  char keys = 0;    // the axis over which the weights add up to 1
};

TYPENET_INLINE onnx_value onnx_reader::unscaled(int i, double& factor) {
  onnx_value v = operand(i).value;
  if (!v) return value(i);
  double number = 0;
  for (;;) {
    if (onnx_value const other = onnx_beside_number(v, "Mul", number)) {
      factor *= number;
      v = other;
    } else if (v->what == "Div" && v->inputs[1]->what == "number" && v->inputs[1]->number != 0) {
      factor /= v->inputs[1]->number;
      v = v->inputs[0];
    } else {
      return made(v);
    }
  }
}

TYPENET_INLINE bool onnx_reader::has_heads(onnx_value const& v, std::size_t tokens, std::size_t width, int& heads) {
  shape const s = shape_of(v);
  std::int64_t const each = onnx_size(v->axes[width]);
  if (each < 1 || s.channels % each != 0) return false;
  heads = static_cast<int>(s.channels / each);
  onnx_axis const of_heads = heads > 1 ? onnx_axis{{'c', heads, static_cast<int>(each)}} : onnx_axis{};
  bool found = heads == 1;
  for (std::size_t i = 0; i < v->axes.size(); ++i) {
    if (i == tokens || i == width || v->axes[i].empty()) continue;
    if (found || v->axes[i] != of_heads) return false;
    found = true;
  }
  return found && v->axes[tokens] == pixels_of(s) &&
         v->axes[width] == rechannelled(onnx_axes(1), 0, static_cast<int>(each))[0];
}

TYPENET_INLINE void onnx_reader::multiply_queries() {
  auto const p = std::make_shared<onnx_products>();
  p->first = unscaled(0, p->scale), p->second = unscaled(1, p->scale);
  std::size_t const rank = std::max(p->first->axes.size(), p->second->axes.size());
  char const* const must = "must multiply by a matrix of weights, or be the product of an attention's queries and keys";
  need(rank >= 2, must, std::to_string(rank) + " axes");
  for (onnx_value* v : {&p->first, &p->second}) {
    onnx_axes wider((*v)->axes);
    wider.insert(wider.begin(), rank - wider.size(), onnx_axis{});
    *v = view(*v, std::move(wider));
  }
  int others = 0;
  need(has_heads(p->first, rank - 2, rank - 1, p->heads) && has_heads(p->second, rank - 1, rank - 2, others) &&
           p->heads == others && shape_of(p->first) == shape_of(p->second),
       must, "other values or axes");
  for (std::size_t i = 0; i < rank; ++i) {
    need(i + 2 >= rank || p->first->axes[i] == p->second->axes[i], must, "heads in different axes");
    p->axes += i + 2 == rank ? 'f' : i + 1 == rank ? 's' : p->first->axes[i].empty() ? '1' : 'h';
  }
  onnx_value f = std::make_shared<onnx_function>();
  f->what = "products";
  f->place = place_;
  f->products = p;
  give(f);
}

TYPENET_INLINE void onnx_reader::mask_products(onnx_products& p, std::vector<double> const& mask,
                                               std::vector<std::int64_t> dims) {
  bool nothing = true;
  for (double const m : mask) nothing = nothing && m == 0;
  if (nothing) return;
  std::int64_t const tokens = shape_of(p.first).area();
  std::size_t const rank = p.axes.size();
  need(dims.size() <= rank, "must have a mask with no more axes than the products of queries and keys",
       std::to_string(dims.size()));
  dims.insert(dims.begin(), rank - dims.size(), 1);
  bool fits = !mask.empty() && static_cast<std::int64_t>(mask.size()) == tokens * tokens;
  for (std::size_t i = 0; i < rank; ++i) fits = fits && dims[i] == (p.axes[i] == 'f' || p.axes[i] == 's' ? tokens : 1);
  need(fits && p.keys == 0, "must have a mask with one number for each pair of tokens", "a mask of another shape");
  bool above = true, below = true;  // whether what is above the diagonal is hidden, and nothing else
  for (std::int64_t i = 0; i < tokens; ++i)
    for (std::int64_t k = 0; k < tokens; ++k) {
      double const m = mask[static_cast<std::size_t>(i * tokens + k)];
      need(m == 0 || m <= -1e4, "must have a mask of zeros and of numbers of at most -10,000, which hide tokens",
           std::to_string(m));
      above = above && (m != 0) == (k > i);
      below = below && (m != 0) == (k < i);
    }
  bool const first_is_before = p.axes.find('f') < p.axes.find('s');
  need(above != below && p.hidden == 0, "must hide the tokens after each token, as causal_attention does",
       "another mask");
  p.hidden = above == first_is_before ? 's' : 'f';
}

TYPENET_INLINE bool onnx_reader::read_attention() {
  std::string const& type = node_->op_type();
  auto const is_product = [&](int i) { return has(i) && !is_constant(i) && operand(i).value->what == "products"; };
  int at = -1;
  for (int i = node_->input_size(); i-- > 0;)
    if (is_product(i)) at = i;
  if (type == "MatMul" && node_->input_size() == 2 && has(0) && has(1) && !is_constant(0) && !is_constant(1)) {
    if (at < 0) return multiply_queries(), true;
    need(is_product(0) != is_product(1), "must multiply the weights of an attention by its values",
         "the weights of two attentions");
    return attend(at == 0), true;
  }
  if (at < 0) return false;
  auto const p = std::make_shared<onnx_products>(*operand(at).value->products);
  std::size_t const rank = p->axes.size();
  char const* const must =
      "must be part of an attention: scale the products of queries and keys, mask them, or take their softmax";
  std::int64_t const tokens = shape_of(p->first).area();
  auto const other = [&](int i) {
    need(has(i) && is_constant(i), must, "an operand that depends on the input");
    return number(i);
  };
  auto const values_of = [&](constant const& c, double nothing, bool is_condition) {
    bool const whole_mask = static_cast<std::int64_t>(c->count()) == tokens * tokens;
    std::vector<double> mask(whole_mask ? c->count() : 1);
    bool all = true;
    for (std::size_t i = 0; i < c->count(); ++i) {
      double const m = is_condition ? (c->at(i) != 0 ? 0 : nothing) : c->at(i);
      if (whole_mask) mask[i] = m;
      all = all && m == 0;
    }
    need(whole_mask || all, "must have a mask with one number for each pair of tokens", "a mask of another shape");
    spend(c->count());
    return mask;
  };
  if ((type == "Mul" || type == "Div") && node_->input_size() == 2) {
    constant const c = other(1 - at);
    need(c->count() == 1 && p->keys == 0 && (type == "Mul" || (at == 0 && c->at(0) != 0)), must, "another constant");
    p->scale *= type == "Mul" ? c->at(0) : 1 / c->at(0);
  } else if (type == "Add" && node_->input_size() == 2) {
    constant const c = other(1 - at);
    std::vector<double> const mask = values_of(c, 0, false);
    mask_products(*p, mask, c->dims);
  } else if (type == "Where" && node_->input_size() == 3) {
    if (at == 0) {  // NaN becomes 0: the weights of a token that sees none
      need(is_product(2) && p->keys != 0 && other(1)->count() == 1, must, "another condition");
    } else {
      need(is_constant(0), must, "another condition");
      constant const shows = number(0), fill = other(3 - at);
      need(fill->count() == 1 && fill->at(0) <= -1e4, "must fill hidden places with one number of at most -10,000",
           fill->count() == 1 ? std::to_string(fill->at(0)) : std::to_string(fill->count()) + " numbers");
      onnx_constant turned = *shows;
      turned.wholes.resize(turned.count()), turned.is_whole = true;
      for (std::size_t i = 0; i < shows->count(); ++i) turned.wholes[i] = (shows->at(i) != 0) == (at == 1) ? 1 : 0;
      std::vector<double> const mask = values_of(std::make_shared<onnx_constant>(turned), fill->at(0), true);
      mask_products(*p, mask, shows->dims);
    }
  } else if (type == "Softmax") {
    bool flattens = false;
    std::size_t const axis = softmax_axis(rank, flattens);
    need(!flattens || axis + 1 == rank, "must be a softmax over one axis", "several, as before opset 13");
    need((p->axes[axis] == 'f' || p->axes[axis] == 's') && p->keys == 0, "must be a softmax over the keys",
         "another axis");
    p->keys = p->axes[axis];
    need(p->hidden == 0 || p->hidden == p->keys, "must hide the tokens after each token, as causal_attention does",
         "a mask that hides the tokens before each token");
  } else if (type == "Transpose") {
    std::vector<std::int64_t> const order = list("perm", {});
    if (order.size() != rank) damaged("must have as many axes in perm as its operand");
    std::string axes(rank, '1');
    std::vector<char> seen(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      std::size_t const from = axis_of(order[i], rank);
      if (seen[from]++) damaged("must list each axis once in perm");
      axes[i] = p->axes[from];
    }
    p->axes = axes;
  } else if (type == "Reshape" || type == "Squeeze" || type == "Unsqueeze") {
    // Axes of size 1 come and go; the others stay.
    std::vector<std::int64_t> const dims = type == "Reshape" ? wholes(1) : list_or_operand("axes", 1);
    std::string kept, made_axes;
    for (char const a : p->axes)
      if (a != '1') kept += a;
    std::size_t const rank_after = type == "Reshape"   ? dims.size()
                                   : type == "Squeeze" ? rank - std::min(rank, dims.size())
                                                       : rank + dims.size();
    need(rank_after >= kept.size() && rank_after <= static_cast<std::size_t>(onnx_most_axes), must, "another shape");
    if (type == "Reshape") {
      std::size_t next = 0;
      auto const size = [&](char a) { return a == '1' ? 1 : a == 'h' ? p->heads : tokens; };
      for (std::size_t i = 0; i < dims.size(); ++i) {
        std::int64_t const d = dims[i] == 0 && i < rank ? size(p->axes[i]) : dims[i];
        bool const goes_on = next < kept.size() && (d == -1 || d == size(kept[next]));
        need(goes_on || d == 1, must, "another shape");
        made_axes += goes_on ? kept[next++] : '1';
      }
      need(next == kept.size(), must, "another shape");
    } else {
      std::vector<char> listed(std::max(rank, rank_after));
      for (std::int64_t const a : dims) listed[axis_of(a, listed.size())] = 1;
      std::size_t from = 0;
      for (std::size_t i = 0; i < listed.size(); ++i) {
        if (type == "Unsqueeze") {
          made_axes += listed[i] || from == rank ? '1' : p->axes[from++];
        } else if (!listed[i]) {
          made_axes += p->axes[i];
        } else {
          need(p->axes[i] == '1', must, "another shape");
        }
      }
    }
    p->axes = made_axes;
  } else {
    // The dropout of weights does nothing in inference, and attention has none.
    bool const same = type == "Identity" || type == "Dropout" || type == "IsNaN" ||
                      (type == "Cast" && whole("to", 0) == onnx_messages::TensorProto::FLOAT);
    need(same, must, shown(type));
  }
  onnx_value f = std::make_shared<onnx_function>();
  f->what = "products";
  f->place = place_;
  f->products = p;
  give(f);
  return true;
}

TYPENET_INLINE void onnx_reader::attend(bool weights_first) {
  onnx_products const p = *operand(weights_first ? 0 : 1).value->products;
  onnx_value v = value(weights_first ? 1 : 0);
  std::size_t const rank = std::max(p.axes.size(), v->axes.size());
  std::string const letters = std::string(rank - p.axes.size(), '1') + p.axes;
  char const* const must = "must multiply the weights of an attention by its values";
  need(p.keys != 0, must, "products without a softmax");
  char const queries = p.keys == 's' ? 'f' : 's';
  std::size_t const tokens = weights_first ? rank - 2 : rank - 1, width = weights_first ? rank - 1 : rank - 2;
  onnx_axes axes(v->axes);
  axes.insert(axes.begin(), rank - axes.size(), onnx_axis{});
  v = view(v, std::move(axes));
  int heads = 0;
  bool fits = has_heads(v, tokens, width, heads) && shape_of(v) == shape_of(p.first) &&
              letters[rank - 2] == (weights_first ? queries : p.keys) &&
              letters[rank - 1] == (weights_first ? p.keys : queries);
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) fits = (letters[i] == 'h') == !v->axes[i].empty();
  need(fits, must, "other values or axes");
  shape const s = shape_of(v);
  onnx_value q = p.keys == 's' ? p.first : p.second, k = p.keys == 's' ? p.second : p.first;
  int const each = s.channels / heads;
  double const rest = p.scale * std::sqrt(static_cast<double>(each));
  need(std::fabs(rest) > 1e-30 && std::fabs(rest) < 1e30,
       "must scale the products of queries and keys by a factor from 1e-30 to 1e30", std::to_string(p.scale));
  if (std::fabs(rest - 1) > 1e-4) {
    spend(static_cast<std::size_t>(s.channels));
    q = scaled(q, std::vector<float>(static_cast<std::size_t>(s.channels), static_cast<float>(rest)), false);
  }
  auto const is_part = [&](onnx_value const& part, int i) {
    onnx_layer const& l = layer(part);
    return l.what.kind == op::channel_slice && l.what.first_channel == i * s.channels &&
           l.inputs[0] == layer(q).inputs[0] &&
           made_.layers[static_cast<std::size_t>(l.inputs[0])].out.channels == 3LL * s.channels;
  };
  need(s.channels <= 0x7fffffff / 3, "must have at most 715,827,882 channels", std::to_string(s.channels));
  shape const three{3 * s.channels, s.height, s.width};
  onnx_value all;
  if (layer(q).inputs.size() == 1 && is_part(q, 0) && is_part(k, 1) && is_part(v, 2)) {
    all = std::make_shared<onnx_function>();
    all->node = layer(q).inputs[0];
  } else {
    onnx_layer joined;
    joined.what.kind = op::concat;
    all = append(std::move(joined), std::vector<onnx_value>{q, k, v}, three, onnx_axes_of(three, 4));
  }
  onnx_layer l;
  l.what.kind = p.hidden != 0 ? op::causal_attention : op::attention;
  l.what.groups = heads;
  give(append(std::move(l), all, s, v->axes));
}

}  // namespace dsl::detail::TYPENET_MODE
