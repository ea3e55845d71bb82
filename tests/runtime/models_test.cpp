// SPDX-License-Identifier: MIT
// Tests the names of the weights of one published network of a family with torchvision's names, and names in general.
// The other networks are in all_models_test.cpp.
#include "support/catch.hpp"
#include "support/weight_names_of.hpp"

#include <dsl/error.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/models.hpp>

#include <algorithm>
#include <string>

using namespace dsl;
using namespace dsl::test;

TEST_CASE("models: all of resnet18's names", "[models]") {
  names wanted{"conv1.weight"};
  add_norm(wanted, "bn1");
  for (int stage = 1; stage <= 4; ++stage)
    for (int block = 0; block < 2; ++block) {
      std::string const at = "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
      for (char const* number : {"1", "2"}) {
        wanted.push_back(at + "conv" + number + ".weight");
        add_norm(wanted, at + "bn" + number);
      }
      if (stage == 1 || block == 1) continue;
      wanted.push_back(at + "downsample.0.weight");
      add_norm(wanted, at + "downsample.1");
    }
  wanted.insert(wanted.end(), {"fc.weight", "fc.bias"});
  CHECK(names_of<models::resnet18<>>() == wanted);
}

TEST_CASE("models: networks that torchvision does not have", "[models]") {
  using unet = network<image<3, 64, 64>, models::unet<>>;
  static_assert(unet::output == shape{2, 64, 64} && unet::trainable_parameter_count == 31'037'698);
  static_assert(network<image<1, 32, 48>, models::unet<5, 8>>::output == shape{5, 32, 48});
  names const all = weight_names(unet::view());
  CHECK(all.size() == 9 * 2 * 5 + 4 * 2 + 2);
  for (char const* name :
       {"inc.double_conv.0.weight", "inc.double_conv.4.running_var", "down1.maxpool_conv.1.double_conv.0.weight",
        "down4.maxpool_conv.1.double_conv.3.weight", "up1.up.weight", "up1.conv.double_conv.1.weight", "up4.up.bias",
        "up4.conv.double_conv.3.weight", "outc.conv.bias"})
    CHECK(std::find(all.begin(), all.end(), name) != all.end());
  graph_view const g = unet::view();
  for (int k = 0; k < g.size.parameters; ++k) {  // the deepest comes up first
    if (all[static_cast<std::size_t>(k)] == "up1.up.weight") CHECK(g.parameters[k].dims[0] == 1024);
    if (all[static_cast<std::size_t>(k)] == "up4.up.weight") CHECK(g.parameters[k].dims[0] == 128);
    if (all[static_cast<std::size_t>(k)] == "up4.conv.double_conv.0.weight") CHECK(g.parameters[k].dims[1] == 128);
  }
  using resnet20 = network<image<3, 32, 32>, models::cifar_resnet20<>>;
  static_assert(resnet20::trainable_parameter_count == 272'474 && resnet20::output == shape{10});
  static_assert(network<image<3, 32, 32>, models::cifar_resnet32<>>::trainable_parameter_count == 466'906);
  static_assert(network<image<3, 32, 32>, models::cifar_resnet44<>>::trainable_parameter_count == 661'338);
  static_assert(network<image<3, 32, 32>, models::cifar_resnet56<>>::trainable_parameter_count == 855'770);
  static_assert(network<image<3, 32, 32>, models::cifar_resnet56<100>>::output == shape{100});
  using mobilenet = network<image<3, 224, 224>, models::mobilenet<>>;
  static_assert(mobilenet::parameter_count == 4'253'864 && mobilenet::output == shape{1000});  // Keras's count_params()
  using xception = network<image<3, 299, 299>, models::xception<>>;
  static_assert(xception::parameter_count == 22'910'480 && xception::output == shape{1000});
  using efficientnet_v2_b0 = network<image<3, 224, 224>, models::efficientnet_v2_b0<>>;
  static_assert(efficientnet_v2_b0::parameter_count == 7'200'312 && efficientnet_v2_b0::output == shape{1000});
  names const twenty = weight_names(resnet20::view());
  CHECK(twenty.size() == 21 * 5 + 2);
  for (char const* name :
       {"conv1.weight", "layer1.2.bn2.bias", "layer2.0.downsample.0.weight", "layer3.2.conv2.weight", "fc.weight"})
    CHECK(std::find(twenty.begin(), twenty.end(), name) != twenty.end());
}

TEST_CASE("models: gpt's names and shapes", "[models]") {
  using small = network<token_numbers<24>, models::gpt<50, 3, 16, 4>>;
  static_assert(small::output == shape{50, 1, 24});
  static_assert(small::trainable_parameter_count == (50 + 24) * 16 + 3 * (12 * 16 * 16 + 13 * 16) + 2 * 16 + 17 * 50);
  names wanted{"wte.weight", "wpe"};
  for (char const* block : {"h.0.", "h.1.", "h.2."})
    for (char const* name : {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"})
      for (char const* kind : {".weight", ".bias"}) wanted.push_back(std::string(block) + name + kind);
  wanted.insert(wanted.end(), {"ln_f.weight", "ln_f.bias", "lm_head.weight", "lm_head.bias"});
  CHECK(weight_names(small::view()) == wanted);
  weight_layout const layout(small::view(), weight_convention::torch);
  using dims = std::vector<std::uint64_t>;
  CHECK(layout.shape(0) == dims{50, 16});
  CHECK(layout.shape(1) == dims{1, 24, 16});
  CHECK(layout.shape(4) == dims{48, 16});
}

TEST_CASE("names: between two names places do not count, but for numbered ones", "[models]") {
  using inner = named<"in", conv2d<3, 1, bias<false>>>;
  CHECK(names_of<relu, inner>() == names{"in.weight"});
  CHECK(names_of<named<"out", sequential<relu, add<inner, identity>>>>() == names{"out.in.weight"});
  CHECK(names_of<named<"out", relu, inner>>() == names{"out.in.weight"});  // a name comes before a number
  CHECK(names_of<numbered<relu, inner>>() == names{"in.weight"});
  CHECK(names_of<named<"out", relu, sequential<relu, inner>>>() == names{"out.1.in.weight"});
  CHECK(names_of<named<"out", numbered<sequential<inner>>>>() == names{"out.0.in.weight"});
  CHECK(names_of<named<"out", repeat<1, sequential<inner>>>>() == names{"out.0.in.weight"});
  CHECK(names_of<named<"out", conv2d<2, 1, bias<false>>, repeat<2, relu, conv2d<2, 1, bias<false>>>>>() ==
        names{"out.0.weight", "out.2.weight", "out.4.weight"});
  CHECK(names_of<relu, repeat<2, conv2d<2, 1, bias<false>>>, inner>() == names{"1.weight", "2.weight", "in.weight"});
  CHECK(names_of<numbered<relu, sequential<inner>>>() == names{"1.in.weight"});
  using kernel = conv2d<2, 1, bias<false>>;
  CHECK(names_of<frozen<kernel, relu, kernel>, kernel>() == names_of<kernel, relu, kernel, kernel>());
  CHECK(names_of<relu, frozen<repeat<2, relu, kernel>>, kernel>() == names_of<relu, repeat<2, relu, kernel>, kernel>());
  CHECK(names_of<named<"out", frozen<kernel, relu>, kernel>>() == names_of<named<"out", kernel, relu, kernel>>());
  CHECK(names_of<frozen<named<"out", kernel>, relu>, inner>() == names{"out.weight", "in.weight"});
  CHECK(weight_names(network<image<3, 8, 8>, inner>::view(), {.prefix = "model."}) == names{"model.in.weight"});
}

TEST_CASE("names: channel_scale has a weight", "[models]") {
  CHECK(names_of<conv2d<3, 1, bias<false>>, channel_scale>() == names{"0.weight", "1.weight"});
}

TEST_CASE("names: two weights of one name are refused", "[models]") {
  using twice = add<named<"a", conv2d<2, 1>>, named<"a", conv2d<2, 3>>>;
  CHECK_THROWS_AS(names_of<twice>(), option_error);
  CHECK_THROWS_WITH(names_of<twice>(), Catch::Contains("found two called \"a.weight\""));
}
