// SPDX-License-Identifier: MIT
// Tests the names of the weights of published networks, which are those of torchvision's models. To compile it takes
// long: the stage long runs it.
#include "support/catch.hpp"
#include "support/weight_names_of.hpp"

#include <dsl/io/weight_layout.hpp>
#include <dsl/models.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace dsl;
using namespace dsl::test;

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
  CHECK(has<models::mixer_s32<>>("stem.proj.bias"));
  CHECK(has<models::mixer_s32<>>("blocks.7.mlp_tokens.fc2.weight"));
  CHECK(has<models::mixer_s32<>>("blocks.0.mlp_channels.fc1.bias"));
  CHECK(has<models::mixer_s32<>>("head.weight"));
  CHECK(has<models::swin_t<>>("features.0.2.bias"));
  CHECK(has<models::swin_t<>>("features.1.1.attn.relative_position_bias_table"));
  CHECK(has<models::swin_t<>>("features.2.reduction.weight"));
  CHECK(has<models::swin_t<>>("features.5.5.mlp.3.bias"));
  CHECK(has<models::swin_t<>>("head.weight"));
  CHECK(has<models::maxvit_t<>>("stem.0.1.running_var"));
  CHECK(has<models::maxvit_t<>>("blocks.0.layers.0.layers.MBconv.proj.1.bias"));
  CHECK(has<models::maxvit_t<>>("blocks.2.layers.4.layers.MBconv.layers.squeeze_excitation.fc2.weight"));
  CHECK(has<models::maxvit_t<>>("blocks.3.layers.1.layers.grid_attention.attn_layer.1.relative_position_bias_table"));
  CHECK(has<models::maxvit_t<>>("classifier.5.weight"));
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
