// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_attention.hpp>
#include <dsl/io/onnx/import_function.hpp>
#include <dsl/io/onnx/import_products.hpp>
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

TYPENET_INLINE onnx_value onnx_reader::unscaled(int i, double& factor) {
  onnx_value v = operand(i).value;
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

/// Returns the shape of a mask and the number of tokens that it would be for.
inline std::string onnx_mask_text(onnx_products const& p, std::vector<std::int64_t> const& dims) {
  std::string const windows = p.windows == 1 ? "" : counted(p.windows, "window") + " of ";
  return "a mask of shape " + onnx_dims_text(dims) + " for " + windows + counted(p.tokens(), "token");
}

/// Finds the rows or columns that the tokens of a window have, or all of them, in the part `at` of an axis, and appends
/// the part that the axis of the windows must have. Returns false if the tokens do not fill the image.
inline bool onnx_window_side(onnx_axis const& tokens, std::size_t& at, onnx_atom const& image, window_side& found,
                             onnx_axis& outside) {
  bool const is_one = at >= tokens.size() || tokens[at].along != image.along;  // row or column
  onnx_atom const a = is_one ? onnx_atom{image.along} : tokens[at++];
  if (image.size % a.size != 0) return false;
  int const count = image.size / a.size;
  bool const spreads = count > 1 && a.size > 1 && a.step == count;
  if (!is_one && a.step != 1 && !spreads) return false;
  if (a.shift != 0 && (spreads || count == 1)) return false;
  found = {a.size, 1, a.shift, spreads ? count : 1};
  if (count > 1) outside.push_back({image.along, count, spreads ? 1 : a.size, a.shift});
  return true;
}

TYPENET_INLINE bool onnx_reader::has_heads(onnx_value const& v, std::size_t tokens, std::size_t width,
                                           onnx_heads& found) {
  shape const s = shape_of(v);
  std::int64_t const each = onnx_size(v->axes[width]);
  if (each < 1 || s.channels % each != 0) return false;
  found = {};
  found.count = static_cast<int>(s.channels / each);
  window_side rows, columns;
  std::size_t at = 0;
  onnx_axis const& inside = v->axes[tokens];
  if (!onnx_window_side(inside, at, {'h', s.height}, rows, found.outside) ||
      !onnx_window_side(inside, at, {'w', s.width}, columns, found.outside) || at != inside.size())
    return false;
  found.over = {rows.size, columns.size, 1, rows.before, columns.before, 0, rows.dilation, columns.dilation};
  onnx_merge(found.outside);
  onnx_axis const of_heads = found.count > 1 ? onnx_axis{{'c', found.count, static_cast<int>(each)}} : onnx_axis{};
  bool has_heads = found.count == 1, has_windows = found.outside.empty();
  found.windows_at = v->axes.size();
  for (std::size_t i = 0; i < v->axes.size(); ++i) {
    if (i == tokens || i == width || v->axes[i].empty()) continue;
    if (!has_heads && v->axes[i] == of_heads) {
      has_heads = true;
    } else if (!has_windows && v->axes[i] == found.outside) {
      has_windows = true;
      found.windows_at = i;
    } else {
      return false;
    }
  }
  return has_heads && has_windows && v->axes[width] == rechannelled(onnx_axes(1), 0, static_cast<int>(each))[0];
}

TYPENET_INLINE void onnx_reader::multiply_queries(bool by_rows) {
  auto const p = std::make_shared<onnx_products>();
  int units = 0;
  auto const factor = [&](int i) {
    onnx_value const v = operand(i).value;
    if (v->what != "unit") return unscaled(i, p->scale);
    ++units;
    return v->inputs[0];
  };
  p->first = factor(0), p->second = factor(1);
  std::size_t const rank = std::max(p->first->axes.size(), p->second->axes.size());
  char const* const must = "must multiply by a matrix of weights, or be the product of an attention's queries and keys";
  need(rank >= 2, must, std::to_string(rank) + " axes");
  for (onnx_value* v : {&p->first, &p->second}) {
    onnx_axes wider((*v)->axes);
    wider.insert(wider.begin(), rank - wider.size(), onnx_axis{});
    if (by_rows && v == &p->second) std::swap(wider[rank - 2], wider[rank - 1]);
    *v = view(*v, std::move(wider));
  }
  onnx_heads one, other;
  need(has_heads(p->first, rank - 2, rank - 1, one) && has_heads(p->second, rank - 1, rank - 2, other) &&
           one.count == other.count && one.over == other.over && shape_of(p->first) == shape_of(p->second),
       must, "other values or axes");
  need(units != 1, must, "only one of the two divided by its length");
  p->unit = units == 2;
  p->heads = one.count;
  p->over = one.over;
  p->windows = static_cast<int>(shape_of(p->first).area() / p->tokens());
  for (std::size_t i = 0; i < rank; ++i) {
    need(i + 2 >= rank || p->first->axes[i] == p->second->axes[i], must, "heads in different axes");
    p->axes += i + 2 == rank               ? 'f'
               : i + 1 == rank             ? 's'
               : p->first->axes[i].empty() ? '1'
               : i == one.windows_at       ? 'w'
                                           : 'h';
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
  std::int64_t const tokens = p.tokens();
  std::size_t const rank = p.axes.size();
  need(dims.size() <= rank, "must have a mask with no more axes than the products of queries and keys",
       std::to_string(dims.size()));
  dims.insert(dims.begin(), rank - dims.size(), 1);
  std::int64_t const windows = p.windows;
  bool fits = !mask.empty() && static_cast<std::int64_t>(mask.size()) == windows * tokens * tokens;
  for (std::size_t i = 0; i < rank; ++i) fits = fits && dims[i] == (p.axes[i] == 'h' ? 1 : p.size(p.axes[i]));
  std::size_t const window_axis = p.axes.find('w');
  fits = fits && (window_axis == std::string::npos || window_axis < std::min(p.axes.find('f'), p.axes.find('s')));
  need(p.keys == 0, "must add its mask before the softmax", "a mask after it");
  need(fits, "must have a mask with one number for each pair of tokens", onnx_mask_text(p, dims));
  if (windows > 1) {
    window const& w = p.over;
    shape const s = shape_of(p.first);
    int const across = s.width / w.width;
    // Whether a token of a window is one that a roll has moved around the end of the image's rows and of its columns.
    auto const wraps = [&](std::int64_t window_number, std::int64_t token) {
      std::int64_t const row = window_number / across * w.height + token / w.width + w.pad_top;
      std::int64_t const column = window_number % across * w.width + token % w.width + w.pad_left;
      return std::pair{row >= s.height, column >= s.width};
    };
    bool same = !w.is_dilated();
    for (std::int64_t i = 0; same && i < windows * tokens * tokens; ++i) {
      std::int64_t const window_number = i / tokens / tokens, a = i / tokens % tokens, b = i % tokens;
      double const m = mask[static_cast<std::size_t>(i)];
      bool const sees = wraps(window_number, a) == wraps(window_number, b);
      same = sees ? m == 0 : m <= -100;
    }
    need(
        same && !p.is_divided,
        "must hide, within each window, exactly the pairs of pixels that a roll brings together from opposite edges of "
        "the image",
        "another mask");
    p.is_divided = true;
    return;
  }
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
  bool const has_values = node_->input_size() == 2 && has(0) && has(1) && !is_constant(0) && !is_constant(1);
  if (type == "Einsum" && has_values) {
    // Each letter is an axis: bhqc,bhkc->bhqk multiplies queries by keys, and bhqk,bhkc->bhqc weights by values.
    std::string equation;
    for (char const c : text("equation", ""))
      if (c != ' ') equation += c;
    std::size_t const rank = equation.find(',');
    bool fits = rank != std::string::npos && rank >= 2 && equation.size() == 3 * rank + 3 &&
                equation.compare(2 * rank + 1, 2, "->") == 0;
    std::string const a = fits ? equation.substr(0, rank) : "", b = fits ? equation.substr(rank + 1, rank) : "",
                      c = fits ? equation.substr(2 * rank + 3) : "";
    fits = fits && a.compare(0, rank - 1, c, 0, rank - 1) == 0 && a.compare(0, rank - 2, b, 0, rank - 2) == 0;
    bool const by_rows = fits && b[rank - 1] == a[rank - 1] && b[rank - 2] == c[rank - 1];
    bool const by_columns = fits && b[rank - 2] == a[rank - 1] && b[rank - 1] == c[rank - 1];
    need(at < 0 ? by_rows || by_columns : by_columns && at == 0,
         "must multiply an attention's queries by its keys, or its weights by its values", shown(text("equation", "")));
    if (at < 0) return multiply_queries(by_rows), true;
    return attend(true), true;
  }
  if (type == "MatMul" && has_values) {
    if (at < 0) return multiply_queries(false), true;
    need(is_product(0) != is_product(1), "must multiply the weights of an attention by its values",
         "the weights of two attentions");
    return attend(at == 0), true;
  }
  if (at < 0) return false;
  auto const p = std::make_shared<onnx_products>(*operand(at).value->products);
  std::size_t const rank = p->axes.size();
  char const* const must =
      "must be part of an attention: scale the products of queries and keys, mask them, or take their softmax";
  std::int64_t const tokens = p->tokens();
  auto const other = [&](int i) {
    need(has(i) && is_constant(i), must, "an operand that depends on the input");
    return number(i);
  };
  auto const values_of = [&](constant const& c, double nothing, bool is_condition) {
    bool const whole_mask = static_cast<std::int64_t>(c->count()) == p->windows * tokens * tokens;
    std::vector<double> mask(whole_mask ? c->count() : 1);
    bool all = true;
    for (std::size_t i = 0; i < c->count(); ++i) {
      double const m = is_condition ? (c->at(i) != 0 ? 0 : nothing) : c->at(i);
      if (whole_mask) mask[i] = m;
      all = all && m == 0;
    }
    need(whole_mask || all, "must have a mask with one number for each pair of tokens", onnx_mask_text(*p, c->dims));
    spend(c->count());
    return mask;
  };
  if ((type == "Mul" || type == "Div") && node_->input_size() == 2) {
    constant const c = other(1 - at);
    need(p->keys == 0 && !p->biases && !p->is_divided && (type == "Mul" || (at == 0 && c->at(0) != 0)), must,
         type + " with " + (c->count() == 1 ? message({c->at(0)}) : onnx_tensor_text(*c)));
    if (c->count() == 1) {
      p->scale *= type == "Mul" ? c->at(0) : 1 / c->at(0);
    } else {
      std::vector<std::int64_t> const dims = onnx_widened(c->dims, rank);
      bool fits = type == "Mul" && p->factors.empty() && !c->is_whole && dims.size() == rank;
      for (std::size_t i = 0; fits && i < rank; ++i) fits = dims[i] == (p->axes[i] == 'h' ? p->heads : 1);
      need(fits, must, type + " with " + onnx_tensor_text(*c));
      p->factors = c->reals;
      p->trains_factors = c->is_weight;
    }
  } else if (type == "Add" && node_->input_size() == 2) {
    constant const c = other(1 - at);
    if (!takes_biases(*p, c)) mask_products(*p, values_of(c, 0, false), c->dims);
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
    need_order(order, rank);
    std::string axes(rank, '1');
    for (std::size_t i = 0; i < rank; ++i) axes[i] = p->axes[axis_of(order[i], rank)];
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
    std::vector<std::int64_t> sizes;
    for (char const a : p->axes) sizes.push_back(p->size(a));
    std::string const found =
        type + (type == "Reshape" ? " to " : " of the axes ") + onnx_dims_text(dims) + " for " + onnx_dims_text(sizes);
    need(rank_after >= kept.size() && rank_after <= static_cast<std::size_t>(onnx_most_axes), must, found);
    if (type == "Reshape") {
      std::size_t next = 0;
      auto const size = [&](char a) { return p->size(a); };
      for (std::size_t i = 0; i < dims.size(); ++i) {
        std::int64_t const d = dims[i] == 0 && i < rank ? size(p->axes[i]) : dims[i];
        bool const goes_on = next < kept.size() && (d == -1 || d == size(kept[next]));
        need(goes_on || d == 1, must, found);
        made_axes += goes_on ? kept[next++] : '1';
      }
      need(next == kept.size(), must, found);
    } else {
      std::vector<char> listed(std::max(rank, rank_after));
      for (std::int64_t const a : dims)
        if (listed[axis_of(a, listed.size())]++) repeated(dims);
      bool const all = type == "Squeeze" && dims.empty();  // of size 1
      std::size_t from = 0;
      for (std::size_t i = 0; i < listed.size(); ++i) {
        if (type == "Unsqueeze") {
          made_axes += listed[i] ? '1' : p->axes[from++];
        } else if (all ? p->axes[i] != '1' : !listed[i]) {
          made_axes += p->axes[i];
        } else {
          need(p->axes[i] == '1', must, found);
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
  onnx_heads found;
  bool fits = has_heads(v, tokens, width, found) && found.over == p.over && shape_of(v) == shape_of(p.first) &&
              letters[rank - 2] == (weights_first ? queries : p.keys) &&
              letters[rank - 1] == (weights_first ? p.keys : queries);
  for (std::size_t i = 0; fits && i + 2 < rank; ++i)
    fits = letters[i] == (v->axes[i].empty() ? '1' : i == found.windows_at ? 'w' : 'h');
  need(fits, must, "other values or axes");
  shape const s = shape_of(v);
  onnx_value q = p.keys == 's' ? p.first : p.second, k = p.keys == 's' ? p.second : p.first;
  int const each = s.channels / found.count;
  bool const has_windows = p.windows > 1 || p.biases;
  need(p.hidden == 0 || !has_windows, "must hide no tokens within a window", "a causal mask");
  need(std::fabs(p.scale) > 1e-30 && std::fabs(p.scale) < 1e30,
       "must scale the products of queries and keys by a factor from 1e-30 to 1e30", message({p.scale}));
  need(s.channels <= 0x7fffffff / 3, "must have at most 715,827,882 channels", std::to_string(s.channels));
  double divisor = each;  // scores are divided by its square root
  if (has_windows && p.unit) divisor = 1;
  if (double const other = std::round(1 / (p.scale * p.scale)); has_windows && !p.unit && p.scale > 0 && other >= 1 &&
                                                                other < 0x7fffffff &&
                                                                std::fabs(p.scale * std::sqrt(other) - 1) < 1e-5)
    divisor = other;
  std::vector<float> factors(static_cast<std::size_t>(p.heads), static_cast<float>(p.scale * std::sqrt(divisor)));
  bool changes = false;
  for (std::size_t h = 0; h < factors.size(); ++h) {
    if (!p.factors.empty()) factors[h] *= p.factors[h];
    changes = changes || !(std::fabs(factors[h] - 1) <= 1e-4F);
  }
  onnx_value all;
  if (p.unit) {
    onnx_layer l;
    l.what.kind = op::head_norm;
    l.what.groups = p.heads;
    l.is_constant = !p.trains_factors;
    for (float& n : factors) {
      need(n > 0 && n < 100.01F, "must multiply the cosines of an attention by factors above 0 and of at most 100",
           std::to_string(n));
      n = std::log(n);
    }
    l.weights.push_back(std::move(factors));
    if (!path_.empty() && p.trains_factors) l.path = path_ + ".logit_scale";
    onnx_value const three = joined_parts(q, k, v);
    all = append(std::move(l), three, shape_of(three), onnx_axes_of(shape_of(three), 4));
  } else {
    if (changes) {
      std::vector<float> by;
      spend(static_cast<std::size_t>(s.channels));
      by.reserve(static_cast<std::size_t>(s.channels));
      for (int c = 0; c < s.channels; ++c) by.push_back(factors[static_cast<std::size_t>(c / each)]);
      q = scaled(q, by, p.trains_factors);
    }
    all = joined_parts(q, k, v);
  }
  onnx_layer l;
  if (has_windows) {
    l = in_windows(p, queries, s, divisor);
  } else {
    l.what.kind = p.hidden != 0 ? op::causal_attention : op::attention;
    l.what.groups = p.heads;
  }
  give(append(std::move(l), all, s, v->axes));
}

TYPENET_INLINE onnx_value onnx_reader::joined_parts(onnx_value const& q, onnx_value const& k, onnx_value const& v) {
  shape const s = shape_of(v);
  auto const is_part = [&](onnx_value const& part, int i) {
    onnx_layer const& l = layer(part);
    return l.what.kind == op::channel_slice && l.what.first_channel == i * s.channels &&
           l.inputs[0] == layer(q).inputs[0] &&
           made_.layers[static_cast<std::size_t>(l.inputs[0])].out.channels == 3LL * s.channels;
  };
  if (layer(q).inputs.size() == 1 && is_part(q, 0) && is_part(k, 1) && is_part(v, 2)) {
    onnx_value all = std::make_shared<onnx_function>();
    all->node = layer(q).inputs[0];
    return all;
  }
  shape const three{3 * s.channels, s.height, s.width};
  onnx_layer joined;
  joined.what.kind = op::concat;
  return append(std::move(joined), std::vector<onnx_value>{q, k, v}, three, onnx_axes_of(three, 4));
}

}  // namespace dsl::detail::TYPENET_MODE
