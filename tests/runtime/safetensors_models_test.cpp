// SPDX-License-Identifier: MIT
// Loads weights from a formula into small published networks, by torchvision's names, and compares the probabilities
// with those that tests/fixtures/make_torch_models.py has computed with torchvision.
#include <dsl/dsl.hpp>
#include <dsl/io/safetensors.hpp>
#include <dsl/models.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/trajectory.hpp"

using namespace dsl;

namespace {

template <class Model>
constexpr graph_view view_of = network<image<3, 64, 64>, Model>::view();

struct model {
  char const* name;
  graph_view view;
};
model const all[] = {
    {"resnet18", view_of<models::resnet18<>>},
    {"squeezenet1_0", view_of<models::squeezenet1_0<>>},
    {"squeezenet1_1", view_of<models::squeezenet1_1<>>},
    {"mobilenet_v2", view_of<models::mobilenet_v2<>>},
    {"mobilenet_v3_small", view_of<models::mobilenet_v3_small<>>},
    {"mobilenet_v3_large", view_of<models::mobilenet_v3_large<>>},
    {"shufflenet_v2_x0_5", view_of<models::shufflenet_v2_x0_5<>>},
    {"shufflenet_v2_x1_0", view_of<models::shufflenet_v2_x1_0<>>},
    {"mnasnet0_5", view_of<models::mnasnet0_5<>>},
    {"efficientnet_b0", view_of<models::efficientnet_b0<>>},
    {"regnet_y_400mf", view_of<models::regnet_y_400mf<>>},
    {"regnet_x_400mf", view_of<models::regnet_x_400mf<>>},
    {"densenet121", view_of<models::densenet121<>>},
    {"googlenet", view_of<models::googlenet<>>},
};

/// Returns the numbers of tensor k, in the order of the names.
std::vector<float> numbers_of(std::uint32_t k, safetensors::tensor const& t) {
  std::size_t count = 1;
  for (std::uint64_t const n : t.shape) count *= static_cast<std::size_t>(n);
  bool const variance = t.name.ends_with("running_var");
  double const spread = t.shape.size() > 1 ? std::sqrt(4.0 / static_cast<double>(count / t.shape[0])) : 0.1;
  double const middle = t.shape.size() == 1 && t.name.ends_with("weight") ? 1 : 0;
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const n = static_cast<std::uint32_t>(i);
    numbers[i] = static_cast<float>(variance ? 1 + 0.5 * test::unit(k, n) : test::symmetric(k, n) * spread + middle);
  }
  return numbers;
}

/// Writes the weights of the formula, under the names that a file of the network has.
void write_weights(trainer& t, test::temporary_directory const& here) {
  save_safetensors(t, here / "names");
  safetensors::file const names(here / "names");
  std::vector<safetensors::tensor> tensors = names.tensors();
  std::sort(tensors.begin(), tensors.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  std::vector<std::vector<float>> numbers;
  std::vector<safetensors::source> sources;
  for (safetensors::tensor const& one : tensors) {
    std::string_view bytes = names.bytes(one);  // of a num_batches_tracked
    if (one.type == safetensors::dtype::f32) {
      numbers.push_back(numbers_of(static_cast<std::uint32_t>(numbers.size()), one));
      bytes = {reinterpret_cast<char const*>(numbers.back().data()), numbers.back().size() * sizeof(float)};
    }
    sources.push_back({one.name, one.type, one.shape, bytes});
  }
  safetensors::write(here / "weights", std::move(sources));
}

}  // namespace

TEST_CASE("published networks load torchvision's names and give its probabilities", "[models]") {
  std::ifstream in(TYPENET_TEST_DATA "/torch_models.txt");
  std::vector<float> image(3 * 64 * 64), found(1000);
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<float>(test::symmetric(1000, static_cast<std::uint32_t>(i)));
  std::string line;
  for (model const& m : all) {
    INFO(m.name);
    REQUIRE(std::getline(in, line));
    std::istringstream words(line);
    std::string name;
    double largest = 0, wanted = 0;
    REQUIRE((words >> name >> largest));
    REQUIRE(name == m.name);
    test::temporary_directory const here;
    trainer t{native{}.make_engine(m.view, {.update = sgd{}.rule()}), 0.1};
    write_weights(t, here);
    load_safetensors(t, here / "weights");
    t.predict_on_batch(image.data(), 1, found.data());
    CHECK(std::fabs(static_cast<double>(*std::max_element(found.begin(), found.end())) - largest) <= 1e-4 * largest);
    double worst = 0;
    for (std::size_t i = 0; i < 1000; i += 50) {
      REQUIRE((words >> wanted));
      double const apart = std::fabs(static_cast<double>(found[i]) - wanted) / largest;
      if (!(apart <= worst)) worst = apart;
    }
    CHECK(worst <= 1e-4);
  }
}
