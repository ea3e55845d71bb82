// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/simulated_device/cudnn_descriptors.hpp"
#include "support/simulated_device/numbers.hpp"

namespace dsl_test::simulated {

/// A tensor of four dimensions, (N, C, H, W) or (K, C, R, S).
struct tensor_info {
  std::int64_t id = 0;
  storage type = storage::f32;
  bool kept = true;  // in memory; not virtual
  std::int64_t alignment = 1;
  std::array<std::int64_t, 4> size{}, stride{};

  /// With channels last, the distance between pixels: for a whole buffer the number of channels, for a slice more. 0
  /// for any other layout.
  std::int64_t pitch() const {
    std::int64_t const p = stride[3];
    return p >= size[1] && stride == std::array{p * size[2] * size[3], std::int64_t{1}, p * size[3], p} ? p : 0;
  }
  bool packed_channels_last() const { return pitch() == size[1]; }
  std::int64_t elements() const { return size[0] * size[1] * size[2] * size[3]; }
  /// Returns the distance from the first element to behind the last one.
  std::size_t reach() const {
    std::int64_t last = 0;
    for (std::size_t d = 0; d < 4; ++d) last += (size[d] - 1) * stride[d];
    return static_cast<std::size_t>(last + 1) * bytes_of(type);
  }
  friend bool operator==(tensor_info const&, tensor_info const&) = default;
};

enum class operation_kind { forward, backward_data, backward_filter, identity, add, relu };

/// forward: out(y) from a(x), b(w). backward_data: out(dx) from a(dy), b(w). backward_filter: out(dw) from a(x), b(dy).
/// Pointwise operations: out from a, and b for add. Values are indices of conv_program::tensors; -1: none.
struct operation {
  operation_kind kind{};
  int a = -1, b = -1, out = -1;
  float alpha = 1, beta = 0;
  std::array<std::int64_t, 2> stride{1, 1}, dilation{1, 1}, before{}, behind{};
};

/// An operation graph and, for a plan, what runs it.
struct conv_program {
  std::vector<tensor_info> tensors;
  std::vector<operation> operations;
  int engine = -1;
  std::int64_t workspace = 0;

  bool is_convolution(operation const& o) const { return o.kind <= operation_kind::backward_filter; }
};

inline bool read_storage(cudnnDataType_t t, storage& s) {
  s = t == CUDNN_DATA_HALF ? storage::f16 : t == CUDNN_DATA_BFLOAT16 ? storage::bf16 : storage::f32;
  return t == CUDNN_DATA_FLOAT || t == CUDNN_DATA_HALF || t == CUDNN_DATA_BFLOAT16;
}

/// Returns false for a type or a rank that the simulated device does not know.
inline bool read_tensor(descriptor const& d, tensor_info& t) {
  auto const size = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto const stride = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (size.size() != 4) return false;
  std::copy(size.begin(), size.end(), t.size.begin());
  std::copy(stride.begin(), stride.end(), t.stride.begin());
  t.id = d.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  t.alignment = d.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  t.kept = !d.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  return read_storage(d.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT), t.type);
}

/// Returns an empty string if a convolution's three tensors fit each other.
inline std::string check_shapes(tensor_info const& x, tensor_info const& w, tensor_info const& y, operation const& o) {
  if (x.size[0] != y.size[0]) return "the batch of x and y";
  if (w.size[0] != y.size[1]) return "the channels of y";
  if (x.size[1] % w.size[1] != 0) return "the channels of x";
  if (w.size[0] % (x.size[1] / w.size[1]) != 0) return "the groups of channels";
  for (std::size_t d = 0; d < 2; ++d) {
    std::int64_t const window = (w.size[d + 2] - 1) * o.dilation[d] + 1;
    std::int64_t const room = x.size[d + 2] + o.before[d] + o.behind[d] - window;
    if (room < 0 || room / o.stride[d] + 1 != y.size[d + 2]) return "the height or width of y";
  }
  return "";
}

// Returns a convolution's attributes in the order x, w, y, window, alpha, beta.
inline std::array<int, 6> convolution_attributes(operation_kind k) {
  switch (k) {
    case operation_kind::forward:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case operation_kind::backward_data:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

/// Reads alpha or beta, a float or a double.
inline float read_scale(descriptor const& d, int name, float otherwise) {
  auto const at = d.attributes.find(name);
  if (at == d.attributes.end()) return otherwise;
  return at->second.type == CUDNN_TYPE_DOUBLE ? static_cast<float>(d.one<double>(name, 0)) : d.one<float>(name, 0);
}

inline bool kind_of(descriptor const& d, operation_kind& k) {
  switch (d.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: k = operation_kind::forward; return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: k = operation_kind::backward_data; return true;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      k = operation_kind::backward_filter;
      return true;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: break;
    default: return false;
  }
  switch (d.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)->one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_MUL)) {
    case CUDNN_POINTWISE_IDENTITY: k = operation_kind::identity; return true;
    case CUDNN_POINTWISE_ADD: k = operation_kind::add; return true;
    case CUDNN_POINTWISE_RELU_FWD: k = operation_kind::relu; return true;
    default: return false;
  }
}

/// Reads an operation and its tensors (a, b, out). Returns a status with a message if it is wrong or unknown.
inline cudnnStatus_t read_operation(state& s, descriptor const& d, operation& o, std::vector<tensor_info>& tensors) {
  tensors.clear();
  if (!kind_of(d, o.kind)) return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "an operation that is not simulated");
  auto const read = [&](int name) { return read_tensor(*d.child(name), tensors.emplace_back()); };
  if (d.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    bool const two = o.kind == operation_kind::add;
    if (two != d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "pointwise: the number of inputs");
    if (!read(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) || (two && !read(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) ||
        !read(CUDNN_ATTR_OPERATION_POINTWISE_YDESC))
      return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "pointwise: a tensor's type or rank");
    auto const& out = tensors.back();
    for (auto const& t : tensors)
      for (std::size_t k = 0; k < 4; ++k)
        if (t.size[k] != out.size[k] && (t.size[k] != 1 || &t == tensors.data()))
          return refuse(s, CUDNN_STATUS_BAD_PARAM, "pointwise: shapes that differ");
    return CUDNN_STATUS_SUCCESS;
  }
  auto const names = convolution_attributes(o.kind);
  for (std::size_t i = 0; i < 3; ++i)
    if (!read(names[i])) return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "convolution: a tensor's type or rank");
  auto const window = d.child(names[3]);
  auto const pair = [&](int name, std::array<std::int64_t, 2>& to) {
    auto const v = window->all<std::int64_t>(name);
    if (v.size() == 2) std::copy(v.begin(), v.end(), to.begin());
    return v.size() == 2;
  };
  if (!pair(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, o.stride) || !pair(CUDNN_ATTR_CONVOLUTION_DILATIONS, o.dilation) ||
      !pair(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, o.before) || !pair(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, o.behind))
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "convolution: only two dimensions are simulated");
  if (window->one(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION) != CUDNN_CROSS_CORRELATION ||
      window->one(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_HALF) != CUDNN_DATA_FLOAT)
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "convolution: only cross-correlation in float is simulated");
  if (auto const wrong = check_shapes(tensors[0], tensors[1], tensors[2], o); !wrong.empty())
    return refuse(s, CUDNN_STATUS_BAD_PARAM, "convolution: " + wrong);
  o.alpha = read_scale(d, names[4], 1);
  o.beta = read_scale(d, names[5], 0);
  if (o.kind == operation_kind::backward_data) std::swap(tensors[0], tensors[2]);    // dy, w, dx
  if (o.kind == operation_kind::backward_filter) std::swap(tensors[1], tensors[2]);  // x, dy, dw
  return CUDNN_STATUS_SUCCESS;
}

/// Connects operations by the ids of their tensors. An input must be in memory or written by an earlier operation.
inline cudnnStatus_t read_graph(state& s, descriptor const& d, conv_program& p) {
  std::map<std::int64_t, int> places;
  std::set<int> written;
  for (auto const& op : d.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    operation o;
    std::vector<tensor_info> tensors;
    if (cudnnStatus_t const status = read_operation(s, *op, o, tensors); status != CUDNN_STATUS_SUCCESS) return status;
    std::vector<int> at;
    for (auto const& t : tensors) {
      auto const [place, added] = places.emplace(t.id, static_cast<int>(p.tensors.size()));
      if (added)
        p.tensors.push_back(t);
      else if (!(p.tensors[static_cast<std::size_t>(place->second)] == t))
        return refuse(s, CUDNN_STATUS_BAD_PARAM, "graph: two tensors with one id");
      at.push_back(place->second);
    }
    o.a = at[0];
    o.b = at.size() == 3 ? at[1] : -1;
    o.out = at.back();
    for (int const in : {o.a, o.b})
      if (in >= 0 && !p.tensors[static_cast<std::size_t>(in)].kept && written.count(in) == 0)
        return refuse(s, CUDNN_STATUS_BAD_PARAM, "graph: a virtual tensor that nothing writes");
    if (!written.insert(o.out).second)
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "graph: a tensor that is written twice");
    p.operations.push_back(o);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace dsl_test::simulated
