// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/io/onnx/import_constant.hpp>
#include <dsl/io/onnx/import_names.hpp>
#include <dsl/io/onnx/import_text.hpp>
#include <dsl/io/onnx/import_words.hpp>
#include <dsl/io/onnx/operations.hpp>
#include <dsl/layers/conv2d.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_pads_same(onnx_network const& net, onnx_layer const& l) {
  shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
  window const& w = l.what.window;
  auto const side = [](int size, window_side const& s, int behind) {
    extent const same = extent_of(size, s.span(), s.stride, padding::same);
    int const zeros = same.padded - size;
    return extent_of(size, s.span(), s.stride, s.before, behind).size == same.size && s.before == same.before &&
           (behind == zeros - same.before || zeros == 0);
  };
  return meets(w.rows().span(), w.columns().span(), in) && side(in.height, w.rows(), l.zeros.bottom) &&
         side(in.width, w.columns(), l.zeros.right);
}

/// Returns a layer's option that has a number for rows and a number for columns: stride<2> if both are equal, otherwise
/// stride<2, 1>.
inline std::string onnx_pair_text(char const* name, int rows, int columns) {
  std::string const second = rows == columns ? "" : ", " + std::to_string(columns);
  return std::string(name) + "<" + std::to_string(rows) + second + ">";
}

inline std::string onnx_pad_text(option::pad const& p) {
  std::string const top = std::to_string(p.top), left = std::to_string(p.left), bottom = std::to_string(p.bottom),
                    right = std::to_string(p.right);
  if (p.bottom != p.top || p.right != p.left) return "pad<" + top + ", " + left + ", " + bottom + ", " + right + ">";
  return p.top == p.left ? "pad<" + top + ">" : "pad<" + top + ", " + left + ">";
}

/// Returns a convolution along a sequence as C++ source.
inline std::string onnx_conv1d_text(onnx_network const& net, onnx_layer const& l) {
  window_side const side = l.what.window.columns();
  option::pad const& z = l.zeros;
  std::string text = "conv1d<" + std::to_string(l.out.channels) + ", " + std::to_string(side.size);
  if (side.stride != 1) text += ", " + std::to_string(side.stride);
  if (!onnx_pads_same(net, l)) {
    std::string const before = std::to_string(z.left), behind = std::to_string(z.right);
    text += z.left == 0 && z.right == 0 ? ", padding::valid"
            : z.left == z.right         ? ", pad<" + before + ">"
                                        : ", pad<0, " + before + ", 0, " + behind + ">";
  }
  if (side.dilation != 1) text += ", dilation<" + std::to_string(side.dilation) + ">";
  if (l.what.groups != 1) text += ", groups<" + std::to_string(l.what.groups) + ">";
  return text + (l.has_bias ? ">" : ", bias<false>>");
}

/// Returns a layer as C++ source, without frozen<...>.
inline std::string onnx_plain_text(onnx_network const& net, onnx_layer const& l) {
  node const& x = l.what;
  window const& w = x.window;
  auto const size = [&] {
    return w.height == w.width ? std::to_string(w.height)
                               : "kernel<" + std::to_string(w.height) + ", " + std::to_string(w.width) + ">";
  };
  bool const has_zeros = l.zeros.top + l.zeros.left + l.zeros.bottom + l.zeros.right > 0;
  auto const digits = [](double n) { return onnx_number_text(n); };
  switch (x.kind) {
    case op::conv2d:
    case op::conv2d_transpose: {
      if (x.kind == op::conv2d && l.kernel_rank == 2)
        return "pointwise_dense<" + std::to_string(l.out.channels) + (l.has_bias ? ">" : ", bias<false>>");
      if (x.kind == op::conv2d && l.kernel_rank == 3) return onnx_conv1d_text(net, l);
      std::string text =
          (x.kind == op::conv2d ? "conv2d<" : "conv2d_transpose<") + std::to_string(l.out.channels) + ", " + size();
      if (!w.strides_by(1)) text += ", " + onnx_pair_text("stride", w.rows().stride, w.columns().stride);
      if (w.is_dilated()) text += ", " + onnx_pair_text("dilation", w.row_dilation, w.column_dilation);
      if (x.kind == op::conv2d && !onnx_pads_same(net, l))
        text += ", " + (has_zeros ? onnx_pad_text(l.zeros) : std::string("padding::valid"));
      if (x.kind == op::conv2d_transpose && has_zeros) text += ", " + onnx_pad_text(l.zeros);
      if (x.groups != 1) text += ", groups<" + std::to_string(x.groups) + ">";
      if (!l.has_bias) text += ", bias<false>";
      return text + ">";
    }
    case op::max_pool2d:
    case op::avg_pool2d: {
      shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
      bool const all = w.height == in.height && w.width == in.width && w.strides_by(1) && !has_zeros;
      if (x.kind == op::avg_pool2d && all) return "global_avg_pool2d";
      std::string text = (x.kind == op::max_pool2d ? "max_pool2d<" : "avg_pool2d<") + size();
      if (w.rows().stride != w.height || w.columns().stride != w.width)
        text += ", " + (w.height == w.width && w.strides_by(w.stride)
                            ? std::to_string(w.stride)
                            : onnx_pair_text("stride", w.rows().stride, w.columns().stride));
      if (has_zeros) text += ", " + onnx_pad_text(l.zeros);
      if (!x.counts_padding) text += ", count_padding<false>";
      if (l.rounds_up) text += ", ceil_mode";
      return text + ">";
    }
    case op::dense: return "dense<" + std::to_string(l.out.channels) + ">";
    case op::batch_norm: return "batch_norm<" + digits(x.momentum) + ", " + digits(x.epsilon) + ">";
    case op::layer_norm: return x.epsilon == 1e-5 ? "layer_norm<>" : "layer_norm<" + digits(x.epsilon) + ">";
    case op::group_norm:
      return "group_norm<" + std::to_string(x.groups) + (x.epsilon == 1e-5 ? ">" : ", " + digits(x.epsilon) + ">");
    case op::attention: return "attention<" + std::to_string(x.groups) + ">";
    case op::causal_attention: return "causal_attention<" + std::to_string(x.groups) + ">";
    case op::window_attention: {
      bool const is_grid = w.is_dilated();
      int const shift = std::max(w.pad_top, w.pad_left);
      bool const divides = static_cast<int>(x.rate) * x.groups != l.out.channels;  // by another number than usual
      std::string text = is_grid ? "grid_attention<" : "window_attention<";
      text += std::to_string(x.groups) + ", " + std::to_string(w.height);
      if (!is_grid && (shift > 0 || divides)) text += ", " + std::to_string(shift);
      if (divides) text += ", " + std::to_string(static_cast<int>(x.rate));
      return text + ">";
    }
    case op::head_norm: return "head_norm<" + std::to_string(x.groups) + ">";
    case op::merge_pixels: {
      shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
      return "merge_pixels<" + std::to_string(in.height / l.out.height) + ">";
    }
    case op::class_token: return "class_token";
    case op::position_embedding: return "position_embedding";
    case op::transpose_tokens: return "transpose_tokens";
    case op::token_slice: {
      std::string const count = l.out.width == 1 ? "" : ", " + std::to_string(l.out.width);
      return "token_slice<" + std::to_string(x.first_channel) + count + ">";
    }
    case op::embedding: return "embedding<" + std::to_string(x.groups) + ", " + std::to_string(l.out.channels) + ">";
    case op::local_response_norm:
      return "local_response_norm<" + std::to_string(x.groups) + ", " + digits(x.rate) + ", " + digits(x.power) + ", " +
             digits(x.epsilon) + ">";
    case op::dropout: return "dropout<" + digits(x.rate) + ">";
    case op::channel_slice:
      return "channel_slice<" + std::to_string(x.first_channel) + ", " + std::to_string(l.out.channels) + ">";
    case op::channel_shuffle: return "channel_shuffle<" + std::to_string(x.groups) + ">";
    case op::channel_scale: return "channel_scale";
    case op::flatten: return "flatten";
    case op::softmax: return l.out.is_flat() ? "softmax" : "softmax2d";
    case op::zero_pad2d: return "zero_pad2d" + onnx_pad_text(l.zeros).substr(std::string("pad").size());
    case op::upsample_nearest:
    case op::upsample_bilinear: {
      shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
      return "upsample2d<" + std::to_string(l.out.height / in.height) +
             (x.kind == op::upsample_bilinear ? ", interpolation::bilinear>" : ">");
    }
    default: break;
  }
  std::string text = "identity";
  with_onnx_row(x.kind, [&]<class Row>() {
    if constexpr (requires { Row::text(net, l); }) text = Row::text(net, l);
    return true;
  });
  return text;
}

TYPENET_INLINE std::string onnx_layer_text(onnx_network const& net, onnx_layer const& l) {
  std::string const text = onnx_plain_text(net, l);
  return l.is_constant ? "frozen<" + text + ">" : text;
}

TYPENET_INLINE bool onnx_same_type(onnx_network const& net, onnx_tree const& a, onnx_tree const& b) {
  if (a.what != b.what || a.name != b.name || a.count != b.count || a.children.size() != b.children.size())
    return false;
  if (a.what == onnx_tree::word::layer) {
    auto const text = [&](onnx_tree const& t) {
      return onnx_layer_text(net, net.layers[static_cast<std::size_t>(t.layer)]);
    };
    if (text(a) != text(b)) return false;
  }
  for (std::size_t i = 0; i < a.children.size(); ++i)
    if (!onnx_same_type(net, a.children[i], b.children[i])) return false;
  return true;
}

TYPENET_INLINE std::string onnx_input_text(shape const& s) {
  if (s.is_flat()) return "features<" + std::to_string(s.channels) + ">";
  return "image<" + std::to_string(s.channels) + ", " + std::to_string(s.height) + ", " + std::to_string(s.width) + ">";
}

/// Returns text as a C++ string literal that stands for exactly these bytes, since two names must stay different.
/// Characters of UTF-8 are written as they are; control characters and other bytes are escaped.
inline std::string onnx_quoted(std::string_view text) {
  std::string all = "\"";
  while (!text.empty()) {
    std::size_t const size = utf8_size(text);
    std::string_view const character = text.substr(0, size == 0 ? 1 : size);
    bool const shown = size > 0 && control_at(text, 0) == 0;
    if (text[0] == '"' || text[0] == '\\' || text[0] == '?') all += '\\';
    if (shown) all += character;
    for (char c : character) {
      if (shown) break;
      auto const byte = static_cast<unsigned char>(c);
      all += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
              static_cast<char>('0' + byte % 8)};
    }
    text.remove_prefix(character.size());
  }
  return all + "\"";
}

TYPENET_INLINE std::pair<std::string, std::vector<onnx_tree const*>> onnx_printer::parts(onnx_tree const& t) const {
  using word = onnx_tree::word;
  std::vector<onnx_tree const*> children;
  std::size_t const shown =
      t.what == word::repeat ? t.children.size() / static_cast<std::size_t>(t.count) : t.children.size();
  children.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i) children.push_back(&t.children[i]);
  switch (t.what) {
    case word::layer: return {onnx_layer_text(net_, net_.layers[static_cast<std::size_t>(t.layer)]), {}};
    case word::identity: return {"identity", {}};
    case word::tap: return {"tap<" + onnx_quoted(t.name) + ">", {}};
    case word::from: return {"from<" + onnx_quoted(t.name) + ">", {}};
    case word::sequential:
      // A branch with a single layer is written as that layer.
      if (children.size() == 1 && children[0]->what != word::repeat) return parts(*children[0]);
      return {"sequential<", children};
    case word::numbered: return {"numbered<", children};
    case word::named: return {"named<" + onnx_quoted(t.name), children};
    case word::named_output: return {"named_output<" + onnx_quoted(t.name), children};
    case word::named_input:
      return {"named_input<" + onnx_quoted(t.name) + ", " +
                  onnx_input_text(net_.layers[static_cast<std::size_t>(t.layer)].out) + ">",
              {}};
    case word::residual: return {"residual<", children};
    case word::concat: return {"concat<", children};
    case word::add: return {"add<", children};
    case word::multiply: return {"multiply<", children};
    case word::channel_split: return {"channel_split<", children};
    case word::repeat: return {"repeat<" + std::to_string(t.count), children};
  }
  return {"identity", {}};
}

TYPENET_INLINE std::string onnx_printer::flat(onnx_tree const& t, bool with_aliases) const {
  auto const [head, children] = parts(t);
  std::string text = head;
  for (std::size_t i = 0; i < children.size(); ++i) {
    std::string inner = flat(*children[i], with_aliases);
    if (with_aliases)
      if (auto const own = aliases_.find(flat(*children[i], false)); own != aliases_.end()) inner = own->second;
    text += (text.back() == '<' ? "" : ", ") + inner;
  }
  return children.empty() ? text : text + ">";
}

TYPENET_INLINE std::string onnx_printer::wrapped(onnx_tree const& t, std::size_t indent, bool is_definition) const {
  if (!is_definition)
    if (auto const own = aliases_.find(flat(t, false)); own != aliases_.end()) return own->second;
  std::string line = flat(t);
  auto const [head, children] = parts(t);
  if (indent + line.size() <= 110 || children.empty()) return line;
  std::string text = head;
  std::string const space(indent + 2, ' ');
  for (std::size_t i = 0; i < children.size(); ++i)
    text += (text.back() == '<' ? "\n" : ",\n") + space + wrapped(*children[i], indent + 2, false);
  return text + ">";
}

TYPENET_INLINE void onnx_printer::count(onnx_tree const& t, bool is_repeated) {
  auto const [head, children] = parts(t);
  if (children.empty()) return;
  std::string const text = flat(t, false);
  counts_[text] += is_repeated ? 2 : 1;
  if (counts_[text] > (is_repeated ? 2 : 1)) return;  // its parts have been counted
  bool const repeats = t.what == onnx_tree::word::repeat && children.size() == 1;
  for (onnx_tree const* each : children) count(*each, repeats);
}

TYPENET_INLINE std::string onnx_identifier(std::string const& name) {
  std::string text;
  for (char c : name.substr(0, 60)) {
    bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      text += c;
    else if (!text.empty() && text.back() != '_')
      text += '_';
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.empty()) return "imported";
  if (text[0] >= '0' && text[0] <= '9') text.insert(0, "net_");
  return onnx_is_taken(text) ? text + "_" : text;
}

TYPENET_INLINE std::string onnx_printer::unused(std::string name) {
  name = onnx_identifier(name);
  std::string found = name;
  for (int i = 2; !taken_.insert(found).second; ++i) found = name + "_" + std::to_string(i);
  return found;
}

TYPENET_INLINE void onnx_printer::define_inner(onnx_tree const& t) {
  auto const [head, children] = parts(t);
  std::string const before = around_;
  if (t.what == onnx_tree::word::named && (t.name[0] < '0' || t.name[0] > '9')) around_ = t.name + "_block";
  for (onnx_tree const* each : children) {
    define_inner(*each);
    std::string const text = flat(*each, false);
    auto const found = counts_.find(text);
    if (found != counts_.end() && found->second > 1 && text.size() > 60 && aliases_.count(text) == 0)
      define(*each, around_);
  }
  around_ = before;
}

TYPENET_INLINE void onnx_printer::define(onnx_tree const& t, std::string const& name) {
  std::string const own = unused(name);
  text_ += "using " + own + " =\n    " + wrapped(t, 4, true) + ";\n";
  aliases_[flat(t, false)] = own;
}

TYPENET_INLINE std::string onnx_printer::print(onnx_tree const& tree, std::string const& input) {
  std::vector<onnx_tree const*> layers;
  bool const is_numbered = tree.children.size() == 1 && tree.children[0].what == onnx_tree::word::numbered;
  for (onnx_tree const& each : is_numbered ? tree.children[0].children : tree.children) layers.push_back(&each);
  taken_ = {"model"};
  for (onnx_tree const* each : layers) count(*each, false);
  for (onnx_tree const* each : layers) {
    define_inner(*each);
    bool const is_named = each->what == onnx_tree::word::named;
    if (flat(*each).size() > 80) {
      if (aliases_.count(flat(*each, false)) == 0) define(*each, is_named ? each->name : "part");
    }
  }
  // The shapes are comments at the ends of the lines, aligned in one column.
  std::vector<std::pair<std::string, std::string>> lines;
  for (onnx_tree const* each : layers) {
    onnx_tree const* last = each;
    while (last->layer < 0 && !last->children.empty()) last = &last->children.back();
    std::string shape_text;
    if (last->layer >= 0 && each->what != onnx_tree::word::named_output) {
      shape const& s = net_.layers[static_cast<std::size_t>(last->layer)].out;
      shape_text = s.is_flat()
                       ? std::to_string(s.channels)
                       : std::to_string(s.channels) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width);
    }
    lines.emplace_back(wrapped(*each, 4, false), shape_text);
  }
  std::string const close = is_numbered ? ">>;" : ">;";
  std::size_t column = 0;
  for (std::size_t i = 0; i < lines.size(); ++i)
    column = std::max(column, lines[i].first.size() + (i + 1 < lines.size() ? 1 : close.size()));
  text_ += "using model = network<" + input + (is_numbered ? ", numbered<" : ",") + "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i].first + (i + 1 < lines.size() ? "," : close);
    if (!lines[i].second.empty()) line.append(column - line.size() + 2, ' ') += "// " + lines[i].second;
    text_ += "    " + line + "\n";
  }
  return text_;
}

}  // namespace dsl::detail::TYPENET_MODE
