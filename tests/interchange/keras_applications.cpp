// SPDX-License-Identifier: MIT
// What keras_applications_test.py asks: loads a model's weights from a file of Keras's, every one of them, and
// predicts; or lists the models, each with its parameters, multiply-adds, nodes, and the height of its images.
//   keras_applications
//   keras_applications MODEL reference|onednn|native WEIGHTS PICTURES PROBABILITIES [GROUP...]
// PICTURES and PROBABILITIES are floats and nothing else.
#include <dsl/dsl.hpp>
#include <dsl/io/keras_h5.hpp>
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
namespace keras = dsl::models::keras;

struct model {
  char const* name;
  graph_view view;
};
template <class Model, int Size = 224>
constexpr graph_view view_of = network<image<3, Size, Size>, Model>::view();

model const all[] = {
    {"ConvNeXtTiny", view_of<keras::convnext_tiny<>>},
    {"ConvNeXtSmall", view_of<keras::convnext_small<>>},
    {"ConvNeXtBase", view_of<keras::convnext_base<>>},
    {"ConvNeXtLarge", view_of<keras::convnext_large<>>},
    {"ConvNeXtXLarge", view_of<keras::convnext_xlarge<>>},
    {"DenseNet121", view_of<keras::densenet121<>>},
    {"DenseNet169", view_of<keras::densenet169<>>},
    {"DenseNet201", view_of<keras::densenet201<>>},
    {"EfficientNetB0", view_of<keras::efficientnet_b0<>>},
    {"EfficientNetB1", view_of<keras::efficientnet_b1<>, 240>},
    {"EfficientNetB2", view_of<keras::efficientnet_b2<>, 260>},
    {"EfficientNetB3", view_of<keras::efficientnet_b3<>, 300>},
    {"EfficientNetB4", view_of<keras::efficientnet_b4<>, 380>},
    {"EfficientNetB5", view_of<keras::efficientnet_b5<>, 456>},
    {"EfficientNetB6", view_of<keras::efficientnet_b6<>, 528>},
    {"EfficientNetB7", view_of<keras::efficientnet_b7<>, 600>},
    {"EfficientNetV2B0", view_of<keras::efficientnet_v2_b0<>>},
    {"EfficientNetV2B1", view_of<keras::efficientnet_v2_b1<>, 240>},
    {"EfficientNetV2B2", view_of<keras::efficientnet_v2_b2<>, 260>},
    {"EfficientNetV2B3", view_of<keras::efficientnet_v2_b3<>, 300>},
    {"EfficientNetV2S", view_of<keras::efficientnet_v2_s<>, 384>},
    {"EfficientNetV2M", view_of<keras::efficientnet_v2_m<>, 480>},
    {"EfficientNetV2L", view_of<keras::efficientnet_v2_l<>, 480>},
    {"InceptionResNetV2", view_of<keras::inception_resnet_v2<>, 299>},
    {"InceptionV3", view_of<keras::inception_v3<>, 299>},
    {"MobileNet", view_of<keras::mobilenet<>>},
    {"MobileNetV2", view_of<keras::mobilenet_v2<>>},
    {"MobileNetV3Large", view_of<keras::mobilenet_v3_large<>>},
    {"MobileNetV3Small", view_of<keras::mobilenet_v3_small<>>},
    {"ResNet50", view_of<keras::resnet50<>>},
    {"ResNet50V2", view_of<keras::resnet50_v2<>>},
    {"ResNet101", view_of<keras::resnet101<>>},
    {"ResNet101V2", view_of<keras::resnet101_v2<>>},
    {"ResNet152", view_of<keras::resnet152<>>},
    {"ResNet152V2", view_of<keras::resnet152_v2<>>},
    {"VGG16", view_of<keras::vgg16<>>},
    {"VGG19", view_of<keras::vgg19<>>},
    {"Xception", view_of<keras::xception<>, 299>},
};

std::unique_ptr<engine> engine_of(graph_view const& g, std::string const& executor) {
  engine_options const o{.update = sgd{.learning_rate = 0.1}.rule()};
  if (executor == "reference") return reference{}.make_engine(g, o);
  if (executor == "native") return native{}.make_engine(g, o);
#ifdef TYPENET_HAS_ONEDNN
  if (executor == "onednn") return onednn{.winograd = false}.make_engine(g, o);
#endif
  throw option_error("keras_applications: there is no executor called " + executor);
}

std::vector<float> floats(char const* path) {
  std::vector<float> numbers;
  std::FILE* const file = std::fopen(path, "rb");
  if (!file) throw file_error(std::string("keras_applications: can't read ") + path);
  for (float f = 0; std::fread(&f, sizeof f, 1, file) == 1;) numbers.push_back(f);
  std::fclose(file);
  return numbers;
}

void run(graph_view const& g, char** word, std::vector<std::string> groups) {
  trainer t{engine_of(g, word[2]), 0.1};
  bool const separable = std::string(word[1]) == "Xception";
  load_keras_h5(t, word[3],
                {.groups = std::move(groups), .separable_convolutions = separable, .unused = {"layers/normalization"}});
  std::vector<float> const pictures = floats(word[4]);
  auto const count = pictures.size() / static_cast<std::size_t>(g.shape_of(0).size());
  std::vector<float> probabilities(count * static_cast<std::size_t>(g.shape_of(g.result()).size()));
  t.predict_on_batch(pictures.data(), static_cast<int>(count), probabilities.data());
  atomic_file to(word[5], "probabilities");
  to.write({reinterpret_cast<char const*>(probabilities.data()), probabilities.size() * sizeof(float)});
  to.commit();
}

}  // namespace

int main(int words, char** word) try {
  for (model const& m : all) {
    if (words == 1)
      std::printf("%s %lld %lld %d %d\n", m.name, parameter_count(m.view), forward_macs(m.view), m.view.size.nodes,
                  m.view.shape_of(0).height);
    if (words < 6 || std::string(m.name) != word[1]) continue;
    run(m.view, word, {word + 6, word + words});
    return 0;
  }
  return words == 1 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
