// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_layers.hpp>
#include <dsl/io/weight_text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_reader::read_layer() {
  std::string const& type = node_->op_type();
  if (type == "Conv") return read_convolution(), true;
  if (type == "ConvTranspose") return read_transposed(), true;
  if (type == "MaxPool" || type == "AveragePool" || type == "GlobalMaxPool") return read_pool(), true;
  if (type == "GlobalAveragePool" || type == "ReduceMean") return read_mean(), true;
  if (read_norm()) return true;
  if (type == "Softmax") return read_softmax(), true;
  if (type == "Gemm") return read_gemm(), true;
  if (type == "MatMul" && is_constant(1)) return read_matmul(), true;
  if (type == "Resize" || type == "Upsample") return read_resize(), true;
  return false;
}

TYPENET_INLINE void onnx_reader::read_window(onnx_layer& l, shape const& in) {
  auto const whole_of = [&](std::int64_t n, char const* what) {
    if (n < 0 || n > 0x7fffffff / 4)
      damaged(message({"must have ", what, " of at least 0 and at most 536,870,911; found ", n}));
    return static_cast<int>(n);
  };
  std::vector<std::int64_t> kernel = list("kernel_shape", {l.what.window.height, l.what.window.width});
  std::vector<std::int64_t> strides = list("strides", {1, 1}), dilations = list("dilations", {1, 1});
  std::vector<std::int64_t> pads = list("pads", {0, 0, 0, 0});
  if (operand(0).value->axes.size() == 3) {  // over the length of a sequence, which is one row
    for (std::vector<std::int64_t>* each : {&kernel, &dilations})
      if (each->size() == 1) each->insert(each->begin(), 1);
    if (strides.size() == 1) strides.push_back(strides[0]);
    if (pads.size() == 2) pads = {0, pads[0], 0, pads[1]};
  }
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4 || dilations.size() != 2)
    damaged("must have a window of two axes; found the kernel " + onnx_dims_text(kernel) + ", strides " +
            onnx_dims_text(strides) + ", pads " + onnx_dims_text(pads) + " and dilations " + onnx_dims_text(dilations));
  window& w = l.what.window;
  w.height = whole_of(kernel[0], "a kernel"), w.width = whole_of(kernel[1], "a kernel");
  w.row_dilation = whole_of(dilations[0], "a dilation"), w.column_dilation = whole_of(dilations[1], "a dilation");
  int const row_stride = whole_of(strides[0], "a stride"), column_stride = whole_of(strides[1], "a stride");
  if (w.height < 1 || w.width < 1 || row_stride < 1 || column_stride < 1 || w.row_dilation < 1 || w.column_dilation < 1)
    damaged("must have a kernel, a stride and a dilation of at least 1; found the kernel " + onnx_dims_text(kernel) +
            ", strides " + onnx_dims_text(strides) + " and dilations " + onnx_dims_text(dilations));
  if (w.height == 1) w.row_dilation = 1;
  if (w.width == 1) w.column_dilation = 1;
  need(l.what.kind == op::conv2d || l.what.kind == op::conv2d_transpose || !w.is_dilated(), "must have no dilation",
       std::to_string(dilations[0]) + "x" + std::to_string(dilations[1]));
  w.stride = row_stride, w.column_stride = column_stride == row_stride ? 0 : column_stride;
  std::string const automatic = text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    need(l.what.kind != op::conv2d_transpose, "must state its padding in numbers", "auto_pad " + automatic);
    for (int axis : {0, 1}) {
      window_side const side = axis == 0 ? w.rows() : w.columns();
      std::int64_t const size = axis == 0 ? in.height : in.width;
      std::int64_t const total = ((size + side.stride - 1) / side.stride - 1) * side.stride + side.span() - size;
      std::int64_t const zeros = total > 0 ? total : 0, less = zeros / 2;
      pads[static_cast<std::size_t>(axis)] = automatic == "SAME_UPPER" ? less : zeros - less;
      pads[static_cast<std::size_t>(axis) + 2] = automatic == "SAME_UPPER" ? zeros - less : less;
    }
  }
  // `zeros` has those of a Pad before the window.
  l.zeros = {l.zeros.top + whole_of(pads[0], "padding"), l.zeros.left + whole_of(pads[1], "padding"),
             l.zeros.bottom + whole_of(pads[2], "padding"), l.zeros.right + whole_of(pads[3], "padding")};
  int const high = w.rows().span(), wide = w.columns().span();
  need(l.zeros.top < high && l.zeros.bottom < high && l.zeros.left < wide && l.zeros.right < wide,
       "must have less padding than the size of its kernel",
       std::to_string(pads[0]) + ", " + std::to_string(pads[1]) + ", " + std::to_string(pads[2]) + ", " +
           std::to_string(pads[3]));
  w.pad_top = l.zeros.top, w.pad_left = l.zeros.left;
  long long const rows = 0LL + in.height + l.zeros.top + l.zeros.bottom;
  long long const columns = 0LL + in.width + l.zeros.left + l.zeros.right;
  need(l.what.kind == op::conv2d_transpose || (rows >= high && columns >= wide),
       "must have a kernel that fits into its padded input",
       std::to_string(high) + "x" + std::to_string(wide) + " for " + std::to_string(rows) + "x" +
           std::to_string(columns));
}

TYPENET_INLINE onnx_value onnx_reader::before_padding(option::pad& zeros, bool is_max) {
  onnx_value const v = operand(0).value;
  std::string const automatic = text("auto_pad", "NOTSET");
  // In files that typenet wrote, a Pad is a layer: windows have their own padding.
  bool const fits = v && v->what == "Pad" && !file_.is_own() && automatic != "SAME_UPPER" &&
                    automatic != "SAME_LOWER" && is_max == (v->number != 0);
  if (!fits) return value(0);
  std::vector<std::int64_t> kernel = list("kernel_shape", {}), dilations = list("dilations", {});
  if (kernel.empty() && has(1) && is_constant(1) && number(1)->dims.size() > 2)
    kernel.assign(number(1)->dims.begin() + 2, number(1)->dims.end());
  std::vector<std::int64_t> const pads = list("pads", std::vector<std::int64_t>(2 * kernel.size()));
  dilations.resize(kernel.size(), 1);
  std::size_t const sides = kernel.size();
  if (sides < 1 || sides > 2 || pads.size() != 2 * sides) return value(0);
  option::pad const& z = v->zeros;
  for (std::size_t i = 0; i < sides; ++i) {
    bool const columns = i + 1 == sides;
    for (std::int64_t const n : {kernel[i], dilations[i], pads[i], pads[i + sides]})
      if (n < 0 || n > 0xffff) return value(0);
    std::int64_t const span = (kernel[i] - 1) * dilations[i] + 1;
    if ((columns ? z.left : z.top) + pads[i] >= span || (columns ? z.right : z.bottom) + pads[i + sides] >= span)
      return value(0);
    // The mean of a window may leave out padding of its own, but not that of the Pad.
    bool const counts = node_->op_type() != "AveragePool" || whole("count_include_pad", 0) != 0;
    if (!counts && (pads[i] != 0 || pads[i + sides] != 0)) return value(0);
  }
  zeros = z;
  return made(v->inputs[0]);
}

TYPENET_INLINE void onnx_reader::read_convolution() {
  onnx_layer l;
  onnx_value const operand_0 = before_padding(l.zeros, false);
  std::size_t const rank = operand_0->axes.size();
  onnx_value const x = picture(operand_0);
  constant kernels = number(1);
  shape const in = shape_of(x);
  if (rank == 3 && kernels->dims.size() == 3) {
    auto wider = std::make_shared<onnx_constant>(*kernels);
    wider->dims.insert(wider->dims.begin() + 2, 1);
    kernels = wider;
  }
  l.what.kind = op::conv2d;
  std::int64_t const groups = whole("group", 1);
  if (kernels->dims.size() != 4 || kernels->dims[0] < 1 || kernels->dims[2] < 1 || kernels->dims[3] < 1 ||
      kernels->dims[2] > 0xffff || kernels->dims[3] > 0xffff || kernels->dims[0] > 0x7fffffff)
    damaged("must have kernels of four axes (out, in, height, width), at most 65,535 high and wide; found " +
            onnx_dims_text(kernels->dims));
  if (groups < 1 || in.channels % groups != 0 || kernels->dims[0] % groups != 0)
    damaged("must have a number of groups that divides its channels; found " + std::to_string(groups));
  l.what.groups = static_cast<int>(groups);
  l.what.window.height = static_cast<int>(kernels->dims[2]), l.what.window.width = static_cast<int>(kernels->dims[3]);
  read_window(l, in);
  auto const filters = static_cast<int>(kernels->dims[0]);
  std::vector<std::int64_t> dims{filters, in.channels / l.what.groups, l.what.window.height, l.what.window.width};
  if (rank == 3) dims.erase(dims.begin() + 2);
  l.weights.push_back(parameter(1, dims));
  auto const is_own = [&](char const* word) { return file_.is_own() && node_->doc_string().ends_with(word); };
  l.kernel_rank = is_own("pointwise_dense)") ? 2 : rank == 3 || is_own("conv1d)") ? 3 : 4;
  l.has_bias = has(2);
  if (l.has_bias) l.weights.push_back(parameter(2, {filters}));
  l.path = path_of_weight(kernels);
  window const& w = l.what.window;
  shape const out{filters, extent_of(in.height, w.rows().span(), w.rows().stride, l.zeros.top, l.zeros.bottom).size,
                  extent_of(in.width, w.columns().span(), w.columns().stride, l.zeros.left, l.zeros.right).size};
  give(as_operand(append(std::move(l), x, out, onnx_axes_of(out, 4)), rank));
}

TYPENET_INLINE void onnx_reader::read_transposed() {
  onnx_value const x = picture(value(0));
  constant const kernels = number(1);
  shape const in = shape_of(x);
  onnx_layer l;
  l.what.kind = op::conv2d_transpose;
  std::int64_t const groups = whole("group", 1);
  if (kernels->dims.size() != 4 || kernels->dims[1] < 1 || kernels->dims[2] < 1 || kernels->dims[3] < 1 ||
      kernels->dims[2] > 0xffff || kernels->dims[3] > 0xffff || kernels->dims[1] > 0xffffff)
    damaged("must have kernels of four axes (in, out, height, width), at most 65,535 high and wide; found " +
            onnx_dims_text(kernels->dims));
  if (groups < 1 || groups > in.channels || in.channels % groups != 0 || groups > 0xffff)
    damaged("must have a number of groups that divides its channels; found " + std::to_string(groups));
  need(attribute("output_shape") == nullptr, "must state its padding in numbers", "an output_shape");
  l.what.groups = static_cast<int>(groups);
  l.what.window.height = static_cast<int>(kernels->dims[2]), l.what.window.width = static_cast<int>(kernels->dims[3]);
  read_window(l, in);
  window const& w = l.what.window;
  std::vector<std::int64_t> const more = list("output_padding", {0, 0});
  if (more.size() != 2 || more[0] < 0 || more[1] < 0 || more[0] >= w.rows().stride || more[1] >= w.columns().stride)
    damaged("must have an output_padding of two numbers from 0 to less than its stride; found " + onnx_dims_text(more) +
            " for the stride " + onnx_dims_text({w.rows().stride, w.columns().stride}));
  // Each row that output_padding adds at the end is one row less of padding to remove.
  l.zeros.bottom -= static_cast<int>(more[0]), l.zeros.right -= static_cast<int>(more[1]);
  need(l.zeros.bottom >= 0 && l.zeros.right >= 0,
       "must have an output_padding that is not larger than its padding at the end",
       onnx_dims_text(more) + " for " + onnx_dims_text({l.zeros.bottom + more[0], l.zeros.right + more[1]}));
  auto const filters = static_cast<int>(kernels->dims[1] * groups);
  l.weights.push_back(parameter(1, {in.channels, filters / l.what.groups, w.height, w.width}));
  l.has_bias = has(2);
  if (l.has_bias) l.weights.push_back(parameter(2, {filters}));
  l.path = path_of_weight(kernels);
  auto const stretched = [&](int size, window_side const& side, int behind) {
    std::int64_t const all = (size - 1LL) * side.stride + side.span() - side.before - behind;
    if (all < 1 || all > 0x7fffffff)
      refuse("must have a result of 1 to 2,147,483,647 rows and columns", std::to_string(all));
    return static_cast<int>(all);
  };
  shape const out{filters, stretched(in.height, w.rows(), l.zeros.bottom),
                  stretched(in.width, w.columns(), l.zeros.right)};
  give(append(std::move(l), x, out, onnx_axes_of(out, 4)));
}

TYPENET_INLINE void onnx_reader::read_pool() {
  onnx_layer l;
  l.what.kind = node_->op_type() == "AveragePool" ? op::avg_pool2d : op::max_pool2d;
  onnx_value const operand_0 = before_padding(l.zeros, l.what.kind == op::max_pool2d);
  bool const had_padding = l.zeros.top + l.zeros.left + l.zeros.bottom + l.zeros.right > 0;
  std::size_t const rank = operand_0->axes.size();
  onnx_value const x = picture(operand_0);
  shape const in = shape_of(x);
  if (node_->op_type() == "GlobalMaxPool")
    l.what.window = {in.height, in.width, 1, 0, 0};
  else
    read_window(l, in);
  window const& w = l.what.window;
  bool const has_zeros = l.zeros.top + l.zeros.left + l.zeros.bottom + l.zeros.right > 0;
  bool const rounds_up = whole("ceil_mode", 0) != 0;
  auto const side = [&](int size, window_side const& s, int behind) {
    int const up = pool_extent(size, s.size, s.stride, s.before, behind, rounds_up).size;
    l.rounds_up = l.rounds_up || up != pool_extent(size, s.size, s.stride, s.before, behind, false).size;
    return up;
  };
  shape const out{in.channels, side(in.height, w.rows(), l.zeros.bottom), side(in.width, w.columns(), l.zeros.right)};
  bool const counts = had_padding || whole("count_include_pad", 0) != 0;
  if (l.what.kind == op::avg_pool2d) {
    l.what.counts_padding = counts || (!has_zeros && !l.rounds_up);
    need(!counts || !l.rounds_up, "must not count padding if its last window may end beyond the image",
         "both count_include_pad and ceil_mode");
  } else {
    need(1LL * w.height * w.width <= 65'536, "must have a window of at most 65,536 pixels",
         std::to_string(w.height) + "x" + std::to_string(w.width));
  }
  give(as_operand(append(std::move(l), x, out, onnx_axes_of(out, 4)), rank));
}

TYPENET_INLINE void onnx_reader::read_mean() {
  std::vector<std::int64_t> which = {};
  bool keeps = true;
  if (node_->op_type() == "ReduceMean") {
    which = list_or_operand("axes", 1);
    keeps = whole("keepdims", 1) != 0;
    if (onnx_value const f = operand(0).value) {
      onnx_value const base = f->what.empty() || !f->is_function() ? f : f->base;
      if (which.empty()) {
        if (whole("noop_with_empty_axes", 0) != 0) {
          onnx_value const same = value(0);
          return give(view(same, same->axes));
        }
        which.resize(base->axes.size());
        std::iota(which.begin(), which.end(), 0);
      }
      bool of_channels = false;
      for (std::int64_t const a : which)
        for (onnx_atom const& part : base->axes[axis_of(a, base->axes.size())])
          of_channels = of_channels || part.along == 'c';
      if (of_channels) return read_mean_of_channels(which);
    }
  }
  onnx_value const x = value(0);
  std::size_t const rank = x->axes.size();
  if (node_->op_type() != "ReduceMean") {
    need(rank == 4 || rank == 3, "must read a tensor of four axes (batch, channels, height, width), or of three",
         std::to_string(rank) + " axes");
    for (std::size_t i = 2; i < rank; ++i) which.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<char> gone(rank);
  for (std::int64_t a : which) gone[axis_of(a, rank)] = 1;
  shape const in = shape_of(x);
  std::int64_t pixels = 1;
  onnx_axes axes;
  for (std::size_t i = 0; i < rank; ++i) {
    for (onnx_atom const& a : x->axes[i]) {
      need(!gone[i] || a.along != 'c', "must be a mean over height and width", "one over channels");
      if (gone[i]) pixels *= a.size;
    }
    if (!gone[i] || keeps) axes.push_back(gone[i] ? onnx_axis{} : x->axes[i]);
  }
  need(pixels == in.area(), "must be a mean over height and width", "one over only one of them");
  onnx_layer l;
  l.what.kind = op::avg_pool2d;
  l.what.window = {in.height, in.width, 1, 0, 0};
  give(append(std::move(l), x, {in.channels}, std::move(axes)));
}

TYPENET_INLINE void onnx_reader::read_batch_norm() {
  onnx_value v = value(0);
  need(v->axes.size() >= 2, "must read a tensor with an axis of channels", std::to_string(v->axes.size()) + " axes");
  onnx_value const x = with_channels(v, 1);
  onnx_layer l;
  l.what.kind = op::batch_norm;
  l.what.epsilon = real("epsilon", 1e-5);
  l.what.momentum = real("momentum", 0.9);
  need(l.what.momentum >= 0 && l.what.momentum < 1, "must have a momentum of at least 0 and below 1",
       std::to_string(l.what.momentum));
  need(l.what.epsilon >= 1e-30 && l.what.epsilon < 1e30, "must have an epsilon of at least 1e-30 and below 1e30",
       message({l.what.epsilon}));
  for (int i = 1; i < 5; ++i) l.weights.push_back(parameter(i, {shape_of(x).channels}));
  l.path = path_of_weight(number(1));
  give(append(std::move(l), x, shape_of(x), x->axes));
}

TYPENET_INLINE void onnx_reader::read_layer_norm() {
  onnx_value v = value(0);
  std::size_t const rank = v->axes.size(), axis = axis_of(whole("axis", -1), rank);
  need(axis + 1 == rank, "must normalise over the last axis", "several axes");
  onnx_value const x = with_channels(v, axis);
  int const channels = shape_of(x).channels;
  onnx_layer l;
  l.what.kind = op::layer_norm;
  l.what.epsilon = real("epsilon", 1e-5);
  need(l.what.epsilon >= 1e-30 && l.what.epsilon < 1e30, "must have an epsilon of at least 1e-30 and below 1e30",
       message({l.what.epsilon}));
  l.weights.push_back(parameter(1, {channels}));
  l.weights.push_back(has(2) ? parameter(2, {channels}) : std::vector<float>(static_cast<std::size_t>(channels)));
  l.path = path_of_weight(number(1));
  give(append(std::move(l), x, shape_of(x), x->axes));
}

TYPENET_INLINE void onnx_reader::read_response_norm() {
  onnx_value v = value(0);
  need(v->axes.size() >= 2, "must read a tensor with an axis of channels", std::to_string(v->axes.size()) + " axes");
  onnx_value const x = with_channels(v, 1);
  long long const size = whole("size", 0);
  need(size > 0 && size < 0x7fffffff && size % 2 == 1, "must have an odd size", std::to_string(size));
  onnx_layer l;
  l.what.kind = op::local_response_norm;
  l.what.groups = static_cast<int>(size);
  l.what.rate = real("alpha", 1e-4), l.what.power = real("beta", 0.75), l.what.epsilon = real("bias", 1);
  for (double const number : {l.what.rate, l.what.power, l.what.epsilon})
    need(number >= 1e-30 && number < 1e30, "must have an alpha, a beta and a bias of at least 1e-30 and below 1e30",
         message({number}));
  give(append(std::move(l), x, shape_of(x), x->axes));
}

TYPENET_INLINE std::size_t onnx_reader::softmax_axis(std::size_t rank, bool& flattens) const {
  for (auto const& set : file_.model().opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") flattens = set.version() < 13;
  return axis_of(whole("axis", flattens ? 1 : -1), rank);
}

TYPENET_INLINE void onnx_reader::read_softmax() {
  onnx_value v = value(0);
  std::size_t const rank = v->axes.size();
  bool flattens = false;
  std::size_t const axis = softmax_axis(rank, flattens);
  for (std::size_t i = axis + 1; i < rank && flattens; ++i)
    need(v->axes[i].empty(), "must be a softmax over one axis", "several, as before opset 13");
  onnx_value const x = with_channels(v, axis);
  onnx_layer l;
  l.what.kind = op::softmax;
  give(append(std::move(l), x, shape_of(x), x->axes));
}

TYPENET_INLINE onnx_value onnx_reader::linear(onnx_value const& v, std::size_t axis, std::vector<float> weights,
                                              int units, std::vector<float> bias, std::string const& path) {
  shape const s = shape_of(v);
  onnx_value x = v;
  onnx_axis const& read = v->axes[axis];
  if (onnx_size(read) == s.size() && s.area() > 1 && !(read == onnx_axes_of(s, 2)[1])) {
    // If the value is flattened in another order than typenet's, such as height, width, channels, the weights are
    // reordered instead.
    std::vector<std::int64_t> from{0};
    for (onnx_atom const& a : read) {
      need(a.shift == 0, "must read an image that is not rolled", "a rolled one");
      std::int64_t const step = a.step * (a.along == 'c' ? s.area() : a.along == 'h' ? s.width : 1);
      std::vector<std::int64_t> next;
      for (std::int64_t f : from)
        for (int i = 0; i < a.size; ++i) next.push_back(f + i * step);
      from = std::move(next);
    }
    std::vector<float> ordered(weights.size());
    std::size_t const each = from.size();
    for (std::size_t o = 0; o < static_cast<std::size_t>(units); ++o)
      for (std::size_t i = 0; i < each; ++i)
        ordered[o * each + static_cast<std::size_t>(from[i])] = weights[o * each + i];
    weights = std::move(ordered);
    x = view(v, rechannelled(v->axes, axis, 1));
    x->axes[axis] = onnx_axes_of(s, 2)[1];
  }
  x = with_channels(x, axis);
  shape const in = shape_of(x);
  onnx_layer l;
  l.what.kind = in.is_flat() ? op::dense : op::conv2d;
  l.has_bias = !bias.empty();
  l.path = path;
  if (!in.is_flat()) l.kernel_rank = 2;
  if (bias.empty() && in.is_flat()) bias.resize(static_cast<std::size_t>(units));
  l.weights.push_back(std::move(weights));
  if (!bias.empty()) l.weights.push_back(std::move(bias));
  return append(std::move(l), x, {units, in.height, in.width}, rechannelled(x->axes, axis, units));
}

TYPENET_INLINE void onnx_reader::read_gemm() {
  onnx_value const x = value(0);
  constant b = number(1);
  need(whole("transA", 0) == 0, "must not transpose its first operand",
       "transA = " + std::to_string(whole("transA", 0)));
  need(x->axes.size() == 2, "must read a tensor with the axes (batch, features)",
       std::to_string(x->axes.size()) + " axes");
  if (b->is_whole || b->dims.size() != 2)
    damaged("must have a matrix of floats as operand 1; found " + onnx_tensor_text(*b));
  onnx_constant const weights = whole("transB", 0) == 0 ? onnx_transposed(*b, {1, 0}) : *b;
  need_matrix(weights.dims[1], weights.dims[0], onnx_size(x->axes[1]));
  auto const units = static_cast<int>(weights.dims[0]);
  auto const alpha = static_cast<float>(real("alpha", 1)), beta = static_cast<float>(real("beta", 1));
  spend(weights.count());
  std::vector<float> kernel = weights.reals, bias;
  for (float& w : kernel) w *= alpha;
  if (has(2)) {
    constant const c = number(2);
    if (c->is_whole || (c->count() != 1 && c->count() != static_cast<std::size_t>(units)) || c->dims.size() > 2)
      damaged("must have one bias for each of " + counted(units, "unit") + "; found " + onnx_tensor_text(*c));
    for (int i = 0; i < units; ++i) bias.push_back(beta * c->reals[c->count() == 1 ? 0 : static_cast<std::size_t>(i)]);
  }
  give(linear(x, 1, std::move(kernel), units, std::move(bias), path_of_weight(b)));
}

TYPENET_INLINE void onnx_reader::read_matmul() {
  onnx_value const x = value(0);
  constant b = number(1);
  need(!b->is_whole && b->dims.size() == 2, "must have a matrix of floats as operand 1", onnx_tensor_text(*b));
  need(!x->axes.empty(), "must read a tensor with axes", "a number");
  need_matrix(b->dims[0], b->dims[1], onnx_size(x->axes.back()));
  spend(b->count());
  give(linear(x, x->axes.size() - 1, onnx_transposed(*b, {1, 0}).reals, static_cast<int>(b->dims[1]), {},
              path_of_weight(b)));
}

TYPENET_INLINE void onnx_reader::read_resize() {
  onnx_value const x = picture(value(0));
  shape const in = shape_of(x);
  bool const is_old = node_->op_type() == "Upsample" || node_->input_size() < 3;
  int const sizes_at = 3, scales_at = is_old ? 1 : 2;
  double high = 0, wide = 0;
  bool whole_factors = true;
  auto const factor = [&](double by) {
    whole_factors = whole_factors && by >= 1 && by < 65536 && by == std::floor(by);
    return whole_factors ? static_cast<std::int64_t>(by) : 0;
  };
  if (!is_old && has(sizes_at)) {
    std::vector<std::int64_t> const sizes = wholes(sizes_at);
    if (sizes.size() != 4) damaged("must have four sizes, one for each axis; found " + onnx_dims_text(sizes));
    need(sizes[0] == 1 && sizes[1] == in.channels, "must enlarge only height and width",
         onnx_dims_text(sizes) + " for " + onnx_dims_text({1, in.channels, in.height, in.width}));
    high = static_cast<double>(sizes[2]) / in.height, wide = static_cast<double>(sizes[3]) / in.width;
  } else {
    constant const scales = number(scales_at);
    if (scales->count() != 4)
      damaged("must have four factors, one for each axis; found " + std::to_string(scales->count()));
    need(scales->at(0) == 1 && scales->at(1) == 1, "must enlarge only height and width",
         message({"the factors ", scales->at(0), " and ", scales->at(1), " for batch and channels"}));
    high = scales->at(2), wide = scales->at(3);
  }
  std::int64_t const rows = factor(high), columns = factor(wide);
  need(whole_factors && rows == columns, "must enlarge height and width by the same integer factor",
       message({high, " and ", wide}));
  std::string const mode = text("mode", "nearest");
  std::string const where = text("coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel");
  std::string const nearest = text("nearest_mode", is_old ? "floor" : "round_prefer_floor");
  bool const is_half = where == "half_pixel" || where == "pytorch_half_pixel";
  bool const rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  bool const is_nearest = mode == "nearest" && ((where == "asymmetric" && nearest == "floor") || (is_half && rounds));
  need(is_nearest || (mode == "linear" && is_half),
       "must repeat pixels, or interpolate linearly in half_pixel coordinates",
       "mode " + shown(mode) + " with " + shown(where) + " and " + shown(nearest));
  onnx_layer l;
  l.what.kind = is_nearest ? op::upsample_nearest : op::upsample_bilinear;
  if (1.0 * in.height * static_cast<double>(rows) > 0x7fffffff ||
      1.0 * in.width * static_cast<double>(rows) > 0x7fffffff)
    refuse("must have a result of 1 to 2,147,483,647 numbers", "more");
  shape const out{in.channels, in.height * static_cast<int>(rows), in.width * static_cast<int>(columns)};
  give(append(std::move(l), x, out, onnx_axes_of(out, 4)));
}

}  // namespace dsl::detail::TYPENET_MODE
