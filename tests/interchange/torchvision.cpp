// SPDX-License-Identifier: MIT
// What torchvision_test.py asks: loads a model's weights, every one of them, and predicts; or lists the models, each
// with its weights, multiply-adds, nodes, and the height of its pictures.
//   torchvision
//   torchvision MODEL reference|onednn|native WEIGHTS PICTURES PROBABILITIES
#include <dsl/dsl.hpp>
#include <dsl/io/safetensors.hpp>
#include <dsl/models.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace dsl;

struct model {
  char const* name;
  graph_view view;
};
template <class Model, int Size = 224>
constexpr graph_view view_of = network<image<3, Size, Size>, Model>::view();

model const all[] = {
    {"alexnet", view_of<models::alexnet<>>},
    {"vgg11", view_of<models::vgg11<>>},
    {"vgg13", view_of<models::vgg13<>>},
    {"vgg16", view_of<models::vgg16<>>},
    {"vgg19", view_of<models::vgg19<>>},
    {"vgg11_bn", view_of<models::vgg11_bn<>>},
    {"vgg13_bn", view_of<models::vgg13_bn<>>},
    {"vgg16_bn", view_of<models::vgg16_bn<>>},
    {"vgg19_bn", view_of<models::vgg19_bn<>>},
    {"squeezenet1_0", view_of<models::squeezenet1_0<>>},
    {"squeezenet1_1", view_of<models::squeezenet1_1<>>},
    {"googlenet", view_of<models::googlenet<>>},
    {"inception_v3", view_of<models::inception_v3<>, 299>},
    {"resnet18", view_of<models::resnet18<>>},
    {"resnet34", view_of<models::resnet34<>>},
    {"resnet50", view_of<models::resnet50<>>},
    {"resnet101", view_of<models::resnet101<>>},
    {"resnet152", view_of<models::resnet152<>>},
    {"wide_resnet50_2", view_of<models::wide_resnet50_2<>>},
    {"wide_resnet101_2", view_of<models::wide_resnet101_2<>>},
    {"resnext50_32x4d", view_of<models::resnext50_32x4d<>>},
    {"resnext101_32x8d", view_of<models::resnext101_32x8d<>>},
    {"resnext101_64x4d", view_of<models::resnext101_64x4d<>>},
    {"densenet121", view_of<models::densenet121<>>},
    {"densenet161", view_of<models::densenet161<>>},
    {"densenet169", view_of<models::densenet169<>>},
    {"densenet201", view_of<models::densenet201<>>},
    {"mobilenet_v2", view_of<models::mobilenet_v2<>>},
    {"mobilenet_v3_large", view_of<models::mobilenet_v3_large<>>},
    {"mobilenet_v3_small", view_of<models::mobilenet_v3_small<>>},
    {"shufflenet_v2_x0_5", view_of<models::shufflenet_v2_x0_5<>>},
    {"shufflenet_v2_x1_0", view_of<models::shufflenet_v2_x1_0<>>},
    {"shufflenet_v2_x1_5", view_of<models::shufflenet_v2_x1_5<>>},
    {"shufflenet_v2_x2_0", view_of<models::shufflenet_v2_x2_0<>>},
    {"convnext_tiny", view_of<models::convnext_tiny<>>},
    {"convnext_small", view_of<models::convnext_small<>>},
    {"convnext_base", view_of<models::convnext_base<>>},
    {"convnext_large", view_of<models::convnext_large<>>},
    {"vit_b_16", view_of<models::vit_b_16<>>},
    {"vit_b_32", view_of<models::vit_b_32<>>},
    {"vit_l_16", view_of<models::vit_l_16<>>},
    {"vit_l_32", view_of<models::vit_l_32<>>},
    {"vit_h_14", view_of<models::vit_h_14<>>},
    {"swin_t", view_of<models::swin_t<>>},
    {"swin_s", view_of<models::swin_s<>>},
    {"swin_b", view_of<models::swin_b<>>},
    {"swin_v2_t", view_of<models::swin_v2_t<>, 256>},
    {"swin_v2_s", view_of<models::swin_v2_s<>, 256>},
    {"swin_v2_b", view_of<models::swin_v2_b<>, 256>},
    {"maxvit_t", view_of<models::maxvit_t<>>},
    {"mnasnet0_5", view_of<models::mnasnet0_5<>>},
    {"mnasnet0_75", view_of<models::mnasnet0_75<>>},
    {"mnasnet1_0", view_of<models::mnasnet1_0<>>},
    {"mnasnet1_3", view_of<models::mnasnet1_3<>>},
    {"efficientnet_b0", view_of<models::efficientnet_b0<>>},
    {"efficientnet_b1", view_of<models::efficientnet_b1<>>},
    {"efficientnet_b2", view_of<models::efficientnet_b2<>>},
    {"efficientnet_b3", view_of<models::efficientnet_b3<>>},
    {"efficientnet_b4", view_of<models::efficientnet_b4<>>},
    {"efficientnet_b5", view_of<models::efficientnet_b5<>>},
    {"efficientnet_b6", view_of<models::efficientnet_b6<>>},
    {"efficientnet_b7", view_of<models::efficientnet_b7<>>},
    {"efficientnet_v2_s", view_of<models::efficientnet_v2_s<>>},
    {"efficientnet_v2_m", view_of<models::efficientnet_v2_m<>>},
    {"efficientnet_v2_l", view_of<models::efficientnet_v2_l<>>},
    {"regnet_y_400mf", view_of<models::regnet_y_400mf<>>},
    {"regnet_y_800mf", view_of<models::regnet_y_800mf<>>},
    {"regnet_y_1_6gf", view_of<models::regnet_y_1_6gf<>>},
    {"regnet_y_3_2gf", view_of<models::regnet_y_3_2gf<>>},
    {"regnet_y_8gf", view_of<models::regnet_y_8gf<>>},
    {"regnet_y_16gf", view_of<models::regnet_y_16gf<>>},
    {"regnet_y_32gf", view_of<models::regnet_y_32gf<>>},
    {"regnet_y_128gf", view_of<models::regnet_y_128gf<>>},
    {"regnet_x_400mf", view_of<models::regnet_x_400mf<>>},
    {"regnet_x_800mf", view_of<models::regnet_x_800mf<>>},
    {"regnet_x_1_6gf", view_of<models::regnet_x_1_6gf<>>},
    {"regnet_x_3_2gf", view_of<models::regnet_x_3_2gf<>>},
    {"regnet_x_8gf", view_of<models::regnet_x_8gf<>>},
    {"regnet_x_16gf", view_of<models::regnet_x_16gf<>>},
    {"regnet_x_32gf", view_of<models::regnet_x_32gf<>>},
    {"fcn_resnet50", view_of<models::fcn_resnet50<>>},
    {"fcn_resnet101", view_of<models::fcn_resnet101<>>},
    {"deeplabv3_resnet50", view_of<models::deeplabv3_resnet50<>>},
    {"deeplabv3_resnet101", view_of<models::deeplabv3_resnet101<>>},
};

/// The numbers that are learnt; running statistics are none of them.
long long weight_count(graph_view const& g) {
  long long count = 0;
  for (int k = 0; k < g.size.parameters; ++k)
    if (!g.parameters[k].is_statistic()) count += g.parameters[k].count();
  return count;
}

std::unique_ptr<engine> engine_of(graph_view const& g, std::string const& executor) {
  engine_options const o{.update = sgd{.learning_rate = 0.1}.rule()};
  if (executor == "reference") return reference{}.make_engine(g, o);
  if (executor == "native") return native{}.make_engine(g, o);
#ifdef TYPENET_HAS_ONEDNN
  if (executor == "onednn") return onednn{.winograd = false}.make_engine(g, o);
#endif
  throw option_error("torchvision: there is no executor called " + executor);
}

void run(graph_view const& g, char** word) {
  trainer t{engine_of(g, word[2]), 0.1};
  load_safetensors(t, word[3]);
  safetensors::file const file(word[4]);
  safetensors::tensor const& pictures = *file.find("pictures");  // (n, channels, height, width)
  std::vector<float> numbers(file.bytes(pictures).size() / sizeof(float));
  safetensors::read_floats(pictures.type, file.bytes(pictures), numbers.data());
  auto const classes = static_cast<std::uint64_t>(g.shape_of(g.result()).size());
  std::vector<float> probabilities(pictures.shape[0] * classes);
  t.predict_on_batch(numbers.data(), static_cast<int>(pictures.shape[0]), probabilities.data());
  safetensors::write(word[5],
                     {{"probabilities",
                       safetensors::dtype::f32,
                       {pictures.shape[0], classes},
                       {reinterpret_cast<char const*>(probabilities.data()), probabilities.size() * sizeof(float)}}});
}

}  // namespace

int main(int words, char** word) try {
  for (model const& m : all) {
    if (words == 1)
      std::printf("%s %lld %lld %d %d\n", m.name, weight_count(m.view), forward_macs(m.view), m.view.size.nodes,
                  m.view.shape_of(0).height);
    if (words != 6 || std::string(m.name) != word[1]) continue;
    run(m.view, word);
    return 0;
  }
  return words == 1 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
