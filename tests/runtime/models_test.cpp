// SPDX-License-Identifier: MIT
// Tests the names of the weights of published networks, which are those of torchvision's models, and names in general.
#include "support/catch.hpp"

#include <dsl/error.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/language.hpp>
#include <dsl/models.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace dsl;

namespace {

using names = std::vector<std::string>;

template <class... Layers>
names names_of() {
  return weight_names(network<image<3, 224, 224>, Layers...>::view());
}
template <class Model>
bool has(std::string const& name) {
  names const all = names_of<Model>();
  return std::find(all.begin(), all.end(), name) != all.end();
}

void add_norm(names& to, std::string const& name) {
  for (char const* part : {".weight", ".bias", ".running_mean", ".running_var"}) to.push_back(name + part);
}

}  // namespace

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

TEST_CASE("models: auxiliary classifiers are outputs, with torchvision's weights and names", "[models]") {
  using googlenet = network<image<3, 224, 224>, models::googlenet_aux<>>;
  static_assert(googlenet::trainable_parameter_count == 13'004'888 && output_count(googlenet::view()) == 3);
  static_assert(network<image<3, 224, 224>, models::googlenet<>>::trainable_parameter_count == 6'624'904);
  CHECK(names_of<models::googlenet_aux<>>().size() == 59 * 5 + 2 * 4 + 2);
  for (char const* name : {"aux1.conv.conv.weight", "aux1.fc1.weight", "aux2.conv.bn.running_var", "aux2.fc2.bias"})
    CHECK(has<models::googlenet_aux<>>(name));
  using inception_v3 = network<image<3, 299, 299>, models::inception_v3_aux<>>;
  static_assert(inception_v3::trainable_parameter_count == 27'161'264 && output_count(inception_v3::view()) == 2);
  static_assert(network<image<3, 299, 299>, models::inception_v3<>>::trainable_parameter_count == 23'834'568);
  names const all = weight_names(inception_v3::view());
  CHECK(all.size() == 96 * 5 + 2 + 2);
  for (char const* name : {"AuxLogits.conv0.conv.weight", "AuxLogits.conv1.bn.bias", "AuxLogits.fc.weight"})
    CHECK(std::find(all.begin(), all.end(), name) != all.end());
  names const wanted = names_of<models::googlenet<>>();  // its weights have the names that they have without heads
  names found;
  for (std::string const& name : names_of<models::googlenet_aux<>>())
    if (!name.starts_with("aux")) found.push_back(name);
  CHECK(found == wanted);
}

TEST_CASE("models: FCN and DeepLabv3, with torchvision's weights and names", "[models]") {
  using fcn = network<image<3, 64, 64>, models::fcn_resnet50<>>;
  using fcn_aux = network<image<3, 64, 64>, models::fcn_resnet50_aux<>>;
  using deeplab = network<image<3, 64, 64>, models::deeplabv3_resnet50<>>;
  using deeplab_aux = network<image<3, 64, 64>, models::deeplabv3_resnet50_aux<>>;
  static_assert(fcn::output == shape{21, 64, 64} && deeplab::output == shape{21, 64, 64});
  static_assert(fcn::trainable_parameter_count == 32'957'013 && deeplab::trainable_parameter_count == 39'638'869);
  static_assert(fcn_aux::trainable_parameter_count == 35'322'218 && output_count(fcn_aux::view()) == 2);
  static_assert(deeplab_aux::trainable_parameter_count == 42'004'074 && output_count(deeplab_aux::view()) == 2);
  static_assert(network<image<3, 64, 64>, models::fcn_resnet50<7>>::output == shape{7, 64, 64});
  names const body = names_of<models::resnet50<>>(), plain = weight_names(fcn::view());
  for (std::string const& name : body)
    if (!name.starts_with("fc.")) CHECK(std::find(plain.begin(), plain.end(), "backbone." + name) != plain.end());
  names head{"classifier.0.weight"};
  add_norm(head, "classifier.1");
  head.insert(head.end(), {"classifier.4.weight", "classifier.4.bias"});
  CHECK(plain.size() == body.size() - 2 + head.size());
  CHECK(std::equal(head.begin(), head.end(), plain.end() - static_cast<std::ptrdiff_t>(head.size())));
  names const with_aux = weight_names(fcn_aux::view());
  CHECK(with_aux.size() == plain.size() + head.size());
  for (std::string const& name : head)
    CHECK(std::find(with_aux.begin(), with_aux.end(), "aux_" + name) != with_aux.end());
  names const pyramid = weight_names(deeplab::view());
  CHECK(pyramid.size() == body.size() - 2 + 6 * 5 + 5 + 2);
  for (char const* name :
       {"backbone.layer4.2.conv2.weight", "classifier.0.convs.0.0.weight", "classifier.0.convs.3.1.running_mean",
        "classifier.0.convs.4.1.weight", "classifier.0.convs.4.2.bias", "classifier.0.project.0.weight",
        "classifier.0.project.1.weight", "classifier.1.weight", "classifier.2.running_var", "classifier.4.bias"})
    CHECK(std::find(pyramid.begin(), pyramid.end(), name) != pyramid.end());
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
  names const twenty = weight_names(resnet20::view());
  CHECK(twenty.size() == 21 * 5 + 2);
  for (char const* name :
       {"conv1.weight", "layer1.2.bn2.bias", "layer2.0.downsample.0.weight", "layer3.2.conv2.weight", "fc.weight"})
    CHECK(std::find(twenty.begin(), twenty.end(), name) != twenty.end());
}

// The counts are those of the entries of a state_dict without num_batches_tracked.
TEST_CASE("models: the number of names, and names from the depth of each model", "[models]") {
  CHECK(names_of<models::alexnet<>>().size() == 16);
  CHECK(has<models::alexnet<>>("features.10.bias"));
  CHECK(has<models::alexnet<>>("classifier.6.weight"));
  CHECK(names_of<models::vgg16<>>().size() == 32);
  CHECK(has<models::vgg16<>>("features.28.weight"));
  CHECK(has<models::vgg16<>>("classifier.3.weight"));
  CHECK(has<models::vgg16_bn<>>("features.41.running_var"));
  CHECK(names_of<models::squeezenet1_0<>>().size() == 52);
  CHECK(has<models::squeezenet1_0<>>("features.12.expand3x3.weight"));
  CHECK(has<models::squeezenet1_1<>>("features.12.squeeze.bias"));
  CHECK(has<models::squeezenet1_1<>>("classifier.1.weight"));
  CHECK(names_of<models::resnet50<>>().size() == 320 - 53);
  CHECK(has<models::resnet50<>>("layer1.0.downsample.0.weight"));
  CHECK(has<models::resnet50<>>("layer3.5.bn3.running_mean"));
  CHECK(names_of<models::googlenet<>>().size() == 57 * 5 + 2);
  CHECK(has<models::googlenet<>>("conv2.conv.weight"));
  CHECK(has<models::googlenet<>>("inception4d.branch2.1.bn.bias"));
  CHECK(has<models::googlenet<>>("inception5b.branch4.1.conv.weight"));
  CHECK(names_of<models::densenet121<>>().size() == 727 - 121);
  CHECK(names_of<models::inception_v3<>>().size() == 94 * 5 + 2);
  CHECK(has<models::inception_v3<>>("Conv2d_4a_3x3.conv.weight"));
  CHECK(has<models::inception_v3<>>("Mixed_7c.branch3x3dbl_3b.bn.running_var"));
  CHECK(has<models::densenet121<>>("features.conv0.weight"));
  CHECK(has<models::densenet121<>>("features.denseblock3.denselayer24.conv2.weight"));
  CHECK(has<models::densenet121<>>("features.transition3.norm.running_var"));
  CHECK(has<models::densenet121<>>("features.norm5.weight"));
  CHECK(has<models::densenet121<>>("classifier.bias"));
  CHECK(has<models::mobilenet_v2<>>("features.1.conv.0.0.weight"));
  CHECK(has<models::mobilenet_v2<>>("features.17.conv.3.running_var"));
  CHECK(has<models::mobilenet_v2<>>("classifier.1.weight"));
  CHECK(has<models::mobilenet_v3_large<>>("features.4.block.2.fc1.bias"));
  CHECK(has<models::mobilenet_v3_small<>>("features.12.0.weight"));
  CHECK(has<models::shufflenet_v2_x1_0<>>("stage2.0.branch1.3.running_mean"));
  CHECK(has<models::shufflenet_v2_x1_0<>>("stage3.7.branch2.5.weight"));
  CHECK(has<models::mnasnet1_0<>>("layers.8.2.layers.3.weight"));
  CHECK(has<models::mnasnet1_0<>>("layers.13.0.layers.7.running_mean"));
  CHECK(has<models::efficientnet_b0<>>("features.1.0.block.1.fc2.weight"));
  CHECK(has<models::efficientnet_b0<>>("features.6.3.block.3.1.weight"));
  CHECK(has<models::efficientnet_b7<>>("features.8.0.weight"));
  CHECK(has<models::efficientnet_v2_s<>>("features.1.1.block.0.0.weight"));
  CHECK(has<models::efficientnet_v2_s<>>("features.3.3.block.1.1.running_mean"));
  CHECK(has<models::efficientnet_v2_s<>>("features.6.14.block.2.fc1.bias"));
  CHECK(has<models::convnext_tiny<>>("features.0.1.weight"));
  CHECK(has<models::convnext_tiny<>>("features.5.8.block.5.bias"));
  CHECK(has<models::convnext_tiny<>>("features.1.0.layer_scale"));
  CHECK(has<models::convnext_tiny<>>("features.6.1.weight"));
  CHECK(has<models::convnext_tiny<>>("classifier.2.weight"));
  CHECK(names_of<conv2d<3, 1, bias<false>>, channel_scale>() == names{"0.weight", "1.weight"});
  CHECK(has<models::regnet_y_400mf<>>("trunk_output.block1.block1-0.proj.0.weight"));
  CHECK(has<models::regnet_y_400mf<>>("trunk_output.block4.block4-5.f.se.fc2.bias"));
  CHECK(has<models::regnet_x_400mf<>>("trunk_output.block3.block3-6.f.c.1.running_var"));
}

TEST_CASE("models: vit_b_16's names and shapes", "[models]") {
  names wanted{"conv_proj.weight", "conv_proj.bias", "class_token", "encoder.pos_embedding"};
  for (int block = 0; block < 12; ++block)
    for (char const* name : {"ln_1.weight", "ln_1.bias", "self_attention.in_proj_weight", "self_attention.in_proj_bias",
                             "self_attention.out_proj.weight", "self_attention.out_proj.bias", "ln_2.weight",
                             "ln_2.bias", "mlp.0.weight", "mlp.0.bias", "mlp.3.weight", "mlp.3.bias"})
      wanted.push_back("encoder.layers.encoder_layer_" + std::to_string(block) + "." + name);
  wanted.insert(wanted.end(), {"encoder.ln.weight", "encoder.ln.bias", "heads.head.weight", "heads.head.bias"});
  CHECK(names_of<models::vit_b_16<>>() == wanted);

  graph_view const g = network<image<3, 224, 224>, models::vit_b_16<>>::view();
  weight_layout const layout(g, weight_convention::torch);
  using dims = std::vector<std::uint64_t>;
  CHECK(layout.shape(0) == dims{768, 3, 16, 16});
  CHECK(layout.shape(2) == dims{1, 1, 768});
  CHECK(layout.shape(3) == dims{1, 197, 768});
  CHECK(layout.shape(6) == dims{2304, 768});
  CHECK(layout.shape(8) == dims{768, 768});
  CHECK(layout.shape(12) == dims{3072, 768});
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

TEST_CASE("names: two weights of one name are refused", "[models]") {
  using twice = add<named<"a", conv2d<2, 1>>, named<"a", conv2d<2, 3>>>;
  CHECK_THROWS_AS(names_of<twice>(), option_error);
  CHECK_THROWS_WITH(names_of<twice>(), Catch::Contains("found two called \"a.weight\""));
}
