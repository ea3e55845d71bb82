// SPDX-License-Identifier: MIT
// What torchvision_test.py asks: loads a model's weights, every one of them, and predicts; or lists the models.
//   torchvision
//   torchvision MODEL reference|onednn|native WEIGHTS PICTURES PROBABILITIES
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
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
template <class Model>
constexpr graph_view view_of = network<image<3, 224, 224>, Model>::view();

model const all[] = {
    {"alexnet", view_of<models::alexnet<>>},
    {"vgg11", view_of<models::vgg11<>>},
    {"vgg16_bn", view_of<models::vgg16_bn<>>},
    {"squeezenet1_0", view_of<models::squeezenet1_0<>>},
    {"squeezenet1_1", view_of<models::squeezenet1_1<>>},
    {"googlenet", view_of<models::googlenet<>>},
    {"resnet18", view_of<models::resnet18<>>},
    {"resnet50", view_of<models::resnet50<>>},
    {"wide_resnet50_2", view_of<models::wide_resnet50_2<>>},
    {"resnext50_32x4d", view_of<models::resnext50_32x4d<>>},
    {"densenet121", view_of<models::densenet121<>>},
    {"densenet161", view_of<models::densenet161<>>},
    {"mobilenet_v2", view_of<models::mobilenet_v2<>>},
    {"mobilenet_v3_large", view_of<models::mobilenet_v3_large<>>},
    {"mobilenet_v3_small", view_of<models::mobilenet_v3_small<>>},
    {"mnasnet1_0", view_of<models::mnasnet1_0<>>},
    {"efficientnet_b0", view_of<models::efficientnet_b0<>>},
    {"regnet_y_400mf", view_of<models::regnet_y_400mf<>>},
    {"regnet_x_400mf", view_of<models::regnet_x_400mf<>>},
};

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
    if (words == 1) std::printf("%s\n", m.name);
    if (words != 6 || std::string(m.name) != word[1]) continue;
    run(m.view, word);
    return 0;
  }
  return words == 1 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
