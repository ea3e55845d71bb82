// SPDX-License-Identifier: MIT
// ONNX files that typenet wrote, read again: the same graph with the same predictions.
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx_import.hpp>

#include <dsl/training/fingerprint.hpp>

#include "support/catch.hpp"
#include "support/onnx_networks.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using dsl::test::drawn_trainer;

dsl::onnx_options const own_operators{.operators = {{"softplus", "Softplus"}}};

/// Returns the predictions of an imported network.
std::vector<float> predicted(dsl::imported_network const& net, dsl::test::drawn_batch const& batch) {
  dsl::trainer t(dsl::reference<float>{}.make_engine(net.view(), {.loss = dsl::loss::mean_squared_error}), 0.01);
  for (int k = 0; k < net.view().size.parameters; ++k) t.engine().write_parameter(k, net.weights(k).data());
  return dsl::test::predicted(t, batch);
}

}  // namespace

TEST_CASE("onnx import: what typenet writes comes back as the same graph with the same predictions", "[onnx]") {
  // Files do not have what does nothing in inference, two flattens, a custom operation, or devices.
  std::set<std::string> const others{"dropout",     "stochastic_depth", "dropout_alone", "dense",
                                     "elementwise", "placed",           "mixed",         "odd"};
  dsl::test::for_each_onnx_network([&]<class Network>(char const* name) {
    INFO(name);
    dsl::trainer t = drawn_trainer<Network>();
    std::string const bytes = dsl::serialize_onnx(t.engine(), own_operators);
    std::string_view const own = name;  // what is not read: an InstanceNormalization of groups, and nothing at all
    if (own == "dropout_alone" || own == "group_norm" || own == "group_norm_flat") {
      CHECK_THROWS_AS(dsl::imported_network(bytes, "x.onnx", ""), dsl::onnx_error);
      return;
    }
    dsl::imported_network const back(bytes, "x.onnx", "");
    INFO(back.header("x"));
    if (others.count(name) == 0)
      CHECK(dsl::detail::fingerprint_of(back.view()) == dsl::detail::fingerprint_of(Network::view()));
    dsl::test::drawn_batch const batch(t.graph(), 3, 5);
    std::vector<float> const ours = dsl::test::predicted(t, batch), theirs = predicted(back, batch);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(theirs[i] == approx(ours[i]).epsilon(1e-5).margin(1e-6));
  });
}
