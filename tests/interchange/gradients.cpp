// SPDX-License-Identifier: MIT
// What gradients_test.py asks: loads a model's weights, trains one step without random numbers, and saves the weights.
//   gradients
//   gradients MODEL double|native RATE WEIGHTS BATCH TRAINED
// BATCH has the tensors `pictures` and `labels`, a class for each picture or pixel. The weights after the step are the
// weights minus RATE times their gradients. Without arguments it lists the models, each with the height of its
// pictures.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/io/safetensors.hpp>
#include <dsl/models.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace dsl;

struct model {
  char const* name;
  graph_view view;
};
template <class Model, int Size = 64>
constexpr graph_view view_of = network<image<3, Size, Size>, Model>::view();

// One of each family; transformers with fewer channels and blocks. Networks whose size torchvision fixes by adaptive
// pooling have images of the size that needs none.
model const all[] = {
    {"alexnet", view_of<models::alexnet<10>, 224>},
    {"vgg11", view_of<models::vgg11<10>, 224>},
    {"squeezenet1_0", view_of<models::squeezenet1_0<10>>},
    {"googlenet", view_of<models::googlenet<10>>},
    {"inception_v3", view_of<models::inception_v3<10>, 139>},
    {"resnet18", view_of<models::resnet18<10>>},
    {"resnet50", view_of<models::resnet50<10>>},
    {"wide_resnet50_2", view_of<models::wide_resnet50_2<10>>},
    {"resnext50_32x4d", view_of<models::resnext50_32x4d<10>>},
    {"densenet121", view_of<models::densenet121<10>>},
    {"mobilenet_v2", view_of<models::mobilenet_v2<10>>},
    {"mobilenet_v3_small", view_of<models::mobilenet_v3_small<10>>},
    {"shufflenet_v2_x0_5", view_of<models::shufflenet_v2_x0_5<10>>},
    {"mnasnet0_5", view_of<models::mnasnet0_5<10>>},
    {"efficientnet_b0", view_of<models::efficientnet_b0<10>>},
    {"efficientnet_v2_s", view_of<models::efficientnet_v2_s<10>>},
    {"regnet_y_400mf", view_of<models::regnet_y_400mf<10>>},
    {"regnet_x_400mf", view_of<models::regnet_x_400mf<10>>},
    {"convnext_tiny", view_of<models::convnext_tiny<10>>},
    {"vit", view_of<models::vit<10, 16, 2, 64, 4>>},
    {"swin", view_of<models::swin<10, 2, 0.2, 32, 2>, 224>},
    {"swin_v2", view_of<models::swin_v2<10, 2, 0.2, 32, 2>, 256>},
    {"maxvit", view_of<models::maxvit<10, 32, 2, 2, 2, 2, 0.2>, 224>},
    {"mlp_mixer", view_of<models::mlp_mixer<10, 16, 2, 64, 64>>},
    {"cifar_resnet20", view_of<models::cifar_resnet20<>, 32>},
    {"fcn_resnet50", view_of<models::fcn_resnet50<5>>},
    {"deeplabv3_resnet50", view_of<models::deeplabv3_resnet50<5>>},
    {"unet", view_of<models::unet<5, 8>>},
};

/// A network without dropout and stochastic depth: layers of both kinds have the rate 0.
class without_dropout {
 public:
  explicit without_dropout(graph_view const& g) : nodes_(g.nodes, g.nodes + g.size.nodes), view_(g) {
    for (node& n : nodes_)
      if (n.kind == op::dropout || n.kind == op::stochastic_depth) n.rate = 0;
    view_.nodes = nodes_.data();
  }
  graph_view const& view() const { return view_; }

 private:
  std::vector<node> nodes_;
  graph_view view_;
};

std::unique_ptr<engine> engine_of(graph_view const& g, std::string const& executor) {
  engine_options const o{.update = sgd{.learning_rate = 1}.rule(), .unbiased_running_variance = true};
  if (executor == "double") return reference<double>{}.make_engine(g, o);
  if (executor == "native") return native{}.make_engine(g, o);
  throw option_error("gradients: there is no executor called " + executor);
}

std::vector<float> floats(safetensors::file const& file, char const* name) {
  safetensors::tensor const* const found = file.find(name);
  if (!found) throw data_error("gradients: " + file.path() + " has no tensor " + name);
  std::vector<float> numbers(file.bytes(*found).size() / sizeof(float));
  if (!safetensors::read_floats(found->type, file.bytes(*found), numbers.data()))
    throw data_error(std::string("gradients: the tensor ") + name + " has no floats");
  return numbers;
}

void run(graph_view const& g, char** word) {
  double const rate = std::strtod(word[3], nullptr);
  without_dropout const network(g);
  trainer t{engine_of(network.view(), word[2]), rate};
  load_safetensors(t, word[4]);
  safetensors::file const file(word[5]);
  std::vector<float> const pictures = floats(file, "pictures"), numbers = floats(file, "labels");
  std::vector<std::int32_t> const labels(numbers.begin(), numbers.end());
  int const batch = static_cast<int>(pictures.size() / static_cast<std::size_t>(g.shape_of(0).size()));
  bool const by_pixel = g.shape_of(g.result()).area() > 1;
  engine& e = t.engine();
  int const program = e.prepare(mode::training, batch, by_pixel ? target_kind::pixel_classes : target_kind::classes);
  float const* const input = pictures.data();
  target_view const target{.labels = labels.data(), .labelled = static_cast<long long>(labels.size())};
  e.run(program, {.inputs = {&input, 1}, .targets = {&target, 1}, .size = batch, .learning_rate = rate});
  save_safetensors(t, word[6]);
}

}  // namespace

int main(int words, char** word) try {
  for (model const& m : all) {
    if (words == 1) std::printf("%s %d\n", m.name, m.view.shape_of(0).height);
    if (words != 7 || std::string(m.name) != word[1]) continue;
    run(m.view, word);
    return 0;
  }
  return words == 1 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
