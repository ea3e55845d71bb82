// SPDX-License-Identifier: MIT
// depth_to_space and space_to_depth: where their numbers go, and the ONNX files that they are read from.
#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/onnx_import.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace dsl;
using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;

namespace {

/// Returns what a network makes of 0, 1, 2, ...
template <class Network>
std::vector<float> moved() {
  trainer t(reference<float>{}.make_engine(Network::view(), {.loss = loss::mean_squared_error}), 0.01);
  std::vector<float> x(static_cast<std::size_t>(Network::input.size()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<float> const wanted(static_cast<std::size_t>(Network::output.size()));
  return t.predict(in_memory_values(Network::input, x, static_cast<int>(wanted.size()), wanted));
}

}  // namespace

TEST_CASE("depth_to_space moves numbers as PyTorch's pixel_shuffle does, and in the order DCR") {
  // Channels 0 ... 3 become the first output channel in CRD; channels 0, 2, 4, 6 do in DCR.
  CHECK(moved<network<image<8, 1, 2>, depth_to_space<2>>>() ==
        std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  CHECK(moved<network<image<8, 1, 2>, depth_to_space<2, depth_order::dcr>>>() ==
        std::vector<float>{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
}

TEST_CASE("space_to_depth is the inverse of depth_to_space in both orders") {
  std::vector<float> all(72);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  CHECK(moved<network<image<18, 2, 2>, depth_to_space<3>, space_to_depth<3>>>() == all);
  CHECK(moved<network<image<18, 2, 2>, depth_to_space<3, depth_order::dcr>, space_to_depth<3, depth_order::dcr>>>() ==
        all);
  CHECK(moved<network<image<2, 2, 4>, space_to_depth<2>>>() ==
        std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
}

TEST_CASE("onnx import: DepthToSpace and SpaceToDepth", "[onnx]") {
  auto const read = [](char const* type, std::int64_t side, char const* mode, std::vector<std::int64_t> const& dims) {
    model m(dims);
    auto& n = m.add(type, {"x"}, "y");
    if (side != 0) model::set(n, "blocksize", side);
    if (*mode) {
      auto& a = *n.add_attribute();
      a.set_name("mode"), a.set_type(dsl::test::pb::AttributeProto::STRING), a.set_s(mode);
    }
    return m.bytes();
  };
  std::vector<std::int64_t> const deep{1, 8, 4, 6}, odd{1, 6, 3, 6};
  CHECK(layers_of(read("DepthToSpace", 2, "CRD", deep)) == "network<image<8, 4, 6>, depth_to_space<2>>;");
  CHECK(layers_of(read("DepthToSpace", 2, "", deep)) ==
        "network<image<8, 4, 6>, depth_to_space<2, depth_order::dcr>>;");
  CHECK(layers_of(read("DepthToSpace", 2, "DCR", {1, 4, 4, 6})) == "network<image<4, 4, 6>, depth_to_space<2>>;");
  CHECK(layers_of(read("SpaceToDepth", 2, "", deep)) ==
        "network<image<8, 4, 6>, space_to_depth<2, depth_order::dcr>>;");
  auto const refused = [&](char const* type, std::int64_t side, char const* mode, std::vector<std::int64_t> const& dims,
                           char const* why) {
    CHECK_THAT(complaint(read(type, side, mode, dims), onnx_fault::unsupported), Catch::Contains(why));
  };
  refused("DepthToSpace", 2, "CRD", odd, "must have a square of its blocksize that divides its channels");
  refused("DepthToSpace", 0, "CRD", deep, "must have a square of its blocksize that divides its channels");
  refused("DepthToSpace", std::int64_t{1} << 40, "CRD", deep, "must have a square of its blocksize");
  refused("DepthToSpace", 2, "RDC", deep, "must have the mode DCR or CRD");
  refused("SpaceToDepth", 2, "", odd, "must have a blocksize that divides height and width");
  refused("SpaceToDepth", -2, "", deep, "must have a blocksize that divides height and width");
}
