// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/io/onnx/import_axes.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/operation.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns depth_to_space or space_to_depth as C++ source; the image has `channels` channels.
inline std::string onnx_squares_text(char const* name, int side, int apart, int channels) {
  bool const is_crd = apart == 1;
  return std::string(name) + "<" + std::to_string(side) + (is_crd || apart != channels ? ">" : ", depth_order::dcr>");
}

template <>
struct onnx_row<op::depth_to_space> {
  template <class Writer>
  static void write(Writer& w) {
    int const apart = w.node_->groups;
    if (apart != 1 && apart != w.out().channels) w.refuse();
    auto& n = w.append("DepthToSpace", {w.form(0, 4)}, 4);
    w.set("blocksize", w.out().height / w.in().height, n);
    w.set("mode", apart == 1 ? "CRD" : "DCR", n);
  }

  /// Reads a DepthToSpace.
  template <class Reader>
  static bool read(Reader& r, std::string const& type) {
    if (type != "DepthToSpace") return false;
    auto const x = r.picture(r.value(0));
    shape const in = r.shape_of(x);
    std::int64_t const side = r.whole("blocksize", 0);
    bool const is_small = side > 0 && side < 0x8000;
    std::int64_t const squares = is_small ? side * side : 0;
    r.need(is_small && in.channels % squares == 0, "must have a square of its blocksize that divides its channels",
           std::to_string(side) + " for " + std::to_string(in.channels) + " channels");
    std::string const mode = r.text("mode", "DCR");
    r.need(mode == "DCR" || mode == "CRD", "must have the mode DCR or CRD", mode);
    int const times = static_cast<int>(side), channels = in.channels / static_cast<int>(squares);
    r.need(1LL * in.height * times <= 0x7fffffff && 1LL * in.width * times <= 0x7fffffff,
           "must have a result of 1 to 2,147,483,647 numbers", "more");
    shape const out{channels, in.height * times, in.width * times};
    onnx_layer l;
    l.what.kind = op::depth_to_space;
    l.what.groups = mode == "CRD" ? 1 : channels;
    r.give(r.append(std::move(l), x, out, onnx_axes_of(out, 4)));
    return true;
  }

  template <class Network>
  static std::string text(Network const& net, onnx_layer const& l) {
    shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
    return onnx_squares_text("depth_to_space", l.out.height / in.height, l.what.groups, l.out.channels);
  }
};

template <>
struct onnx_row<op::space_to_depth> {
  /// Writes a SpaceToDepth, whose order is DCR, and for the order CRD a Gather of its channels.
  template <class Writer>
  static void write(Writer& w) {
    int const apart = w.node_->groups, channels = w.in().channels, side = w.in().height / w.out().height;
    if (apart != 1 && apart != channels) w.refuse();
    if (apart == channels) {
      w.set("blocksize", side, w.append("SpaceToDepth", {w.form(0, 4)}, 4));
      return;
    }
    auto& n = w.add_node("SpaceToDepth", {w.form(0, 4)});
    w.set("blocksize", side, n);
    std::string const deep = w.output_of(n, w.out(), 4);
    std::vector<std::int64_t> order;
    for (int c = 0; c < channels; ++c)
      for (int part = 0; part < side * side; ++part) order.push_back(part * channels + c);
    w.set("axis", 1, w.append("Gather", {deep, w.integers("order", order)}, 4));
  }

  /// Reads a SpaceToDepth.
  template <class Reader>
  static bool read(Reader& r, std::string const& type) {
    if (type != "SpaceToDepth") return false;
    auto const x = r.picture(r.value(0));
    shape const in = r.shape_of(x);
    std::int64_t const side = r.whole("blocksize", 0);
    bool const fits = side > 0 && side < 0x8000 && in.height % side == 0 && in.width % side == 0;
    r.need(fits, "must have a blocksize that divides height and width",
           std::to_string(side) + " for " + std::to_string(in.height) + "x" + std::to_string(in.width));
    r.need(in.channels * side * side <= 0x7fffffff, "must have at most 2,147,483,647 channels", "more");
    int const part = static_cast<int>(side);
    shape const out{in.channels * part * part, in.height / part, in.width / part};
    onnx_layer l;
    l.what.kind = op::space_to_depth;
    l.what.groups = in.channels;
    r.give(r.append(std::move(l), x, out, onnx_axes_of(out, 4)));
    return true;
  }

  template <class Network>
  static std::string text(Network const& net, onnx_layer const& l) {
    shape const& in = net.layers[static_cast<std::size_t>(l.inputs[0])].out;
    return onnx_squares_text("space_to_depth", in.height / l.out.height, l.what.groups, in.channels);
  }
};

}  // namespace dsl::detail::TYPENET_MODE
