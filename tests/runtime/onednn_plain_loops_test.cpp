// SPDX-License-Identifier: MIT
// Tests that steps without a fast kernel are named in the executor's description, and warned about once.
#include "support/catch.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/engine.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace dsl;

namespace {

update_rule const momentum = sgd{.momentum = 0.9}.rule();

/// Makes an engine with its programs for training, evaluation and inference; returns it and the warnings.
struct prepared {
  std::unique_ptr<engine> made{};
  std::vector<std::string> warned{};

  prepared(graph_view const& g, int batch, towers const& t = {}) {
    warned = test::warnings([&] {
      made = make_towers(onednn{.threads = 2}, g, {.update = momentum}, t);
      for (mode m : {mode::training, mode::evaluation, mode::inference, mode::training}) made->prepare(m, batch);
    });
  }
};

/// Returns whether the library has only plain loops for a convolution, as when the environment limits it to an older
/// processor's instructions.
bool has_plain_convolutions(engine& e) {
  auto* const group = dynamic_cast<detail::towers_engine*>(&e);
  return dynamic_cast<dnn::engine&>(group ? group->at(0) : e).implementations().find(": ref") != std::string::npos;
}

template <class... Layers>
using on_pictures = network<image<3, 32, 32>, Layers..., global_avg_pool2d, dense<10>, softmax>;

}  // namespace

TEST_CASE("onednn: steps with kernels are neither named nor warned of", "[onednn]") {
  // the library has no kernels for this processor
  if (!dnn::cpu_device::has_kernels_for(dnn::preferred_block())) return;
  using model = on_pictures<conv_module<32, 3>, zero_pad2d<1>, max_pool2d<2>, conv_module<32, 3>>;
  prepared const p(model::view(), 64);
  if (has_plain_convolutions(*p.made)) return;
  CHECK(p.warned.empty());
  CHECK(p.made->description().find("plain loops") == std::string::npos);
}

TEST_CASE("onednn: plain loops that take time are named, and warned of once", "[onednn]") {
  // dropout reads and writes 32 of 3 + 4 * 32 channels and more in each pass: 64 * 32 * 1024 floats are 8 MiB
  using model = on_pictures<conv2d<32, 3>, dropout<0.5>, conv2d<32, 3>, relu>;
  for (int const count : {1, 2}) {
    INFO(count << " towers");
    prepared const p(model::view(), 64, {.count = count});
    CHECK_THAT(p.made->description(), Catch::Matchers::Contains(", plain loops for dropout"));
    REQUIRE(p.warned.size() == 1);
    CHECK_THAT(p.warned[0], Catch::Matchers::StartsWith("onednn: there is no fast kernel for dropout") &&
                                Catch::Matchers::Contains(" in this network, so slower plain loops"));
  }
  // for one picture dropout moves 128 KiB, which takes less than a millisecond
  prepared const small(model::view(), 1);
  CHECK(small.made->description().find("dropout") == std::string::npos);
}

TEST_CASE("onednn: convolutions in groups are named among the plain loops; native has kernels for them", "[onednn]") {
  using model = on_pictures<conv2d<32, 3>, conv2d<32, 3, 3, 1, padding::same, 32>>;
  std::unique_ptr<engine> made;
  for (bool const has_kernels : {false, true}) {
    auto const warned = test::warnings([&] {
      engine_options const o{.update = momentum};
      made = has_kernels ? native{}.make_engine(model::view(), o) : onednn{}.make_engine(model::view(), o);
      for (mode m : {mode::training, mode::inference, mode::training}) made->prepare(m, {16});
    });
    INFO(made->description());
    CHECK((made->description().find("conv2d with groups") == std::string::npos) == has_kernels);
    for (std::string const& w : warned) CHECK((w.find("conv2d with groups") == std::string::npos) == has_kernels);
    if (has_kernels) continue;
    REQUIRE_FALSE(warned.empty());
    CHECK(warned[0].find("onednn: there is no fast kernel for ") == 0);
  }
}

TEST_CASE("onednn: a plain loop of the library's counts as well", "[onednn]") {
  using model = network<image<3, 64, 64>, conv2d<5, 40>, flatten, dense<3>, softmax>;
  prepared const p(model::view(), 2);
  bool const chosen = has_plain_convolutions(*p.made);
  CHECK((p.made->description().find(", plain loops for conv2d") != std::string::npos) == chosen);
  CHECK(p.warned.size() == (chosen ? 1U : 0U));
}

namespace {

/// A loss that depends on the order of a sample's outputs.
struct weighted_by_place {
  double value(std::span<double const> y, std::span<double const> t) const {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(i) * (y[i] - t[i]) * (y[i] - t[i]);
    return sum;
  }
  void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const {
    for (std::size_t i = 0; i < y.size(); ++i) to[i] += 2 * static_cast<double>(i) * (y[i] - t[i]);
  }
};

}  // namespace

TEST_CASE("onednn: a loss of one's own gives the losses of reference", "[onednn]") {
  using model = network<image<3, 6, 5>, conv2d<17, 3>>;
  std::vector<float> in, wanted;
  for (int i = 0; i < 8 * 90; ++i) in.push_back(static_cast<float>(i * 37 % 23) / 11 - 1);
  for (int i = 0; i < 8 * 510; ++i) wanted.push_back(static_cast<float>(i * 13 % 17) / 8 - 1);
  dataset const data = in_memory_values({3, 6, 5}, std::move(in), 510, std::move(wanted));
  auto const losses = [&](auto const& on) {
    trainer t = compile<model>(on, sgd{.learning_rate = 1e-6}, {.loss = weighted_by_place{}, .seed = 2});
    std::vector<double> all;
    for (epoch_record const& e : t.fit(data, {.epochs = 4, .batch_size = 4}).epochs) all.push_back(e.train.loss);
    return all;
  };
  std::vector<double> const expected = losses(reference<double>{}), found = losses(onednn{.threads = 2});
  CHECK(expected[3] < 0.97 * expected[0]);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(found[i] == approx(expected[i]).epsilon(1e-5));  // sums of 27 products in float
}
