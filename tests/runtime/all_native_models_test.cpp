// SPDX-License-Identifier: MIT
// Tests that native has a kernel, or plain loops on all threads, for every step that matters in a published network. To
// compile it takes a long time: the stage long runs it.
#include "support/catch.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/models.hpp>

#include <string>

using namespace dsl;

namespace {

template <class Model, int Size = 224>
constexpr graph_view view_of = network<image<3, Size, Size>, Model>::view();
template <class Input, class Model>
constexpr graph_view behind = network<Input, Model>::view();

struct square {
  static constexpr char const* name = "square";
  template <class T>
  static T value(T x) {
    return x * x;
  }
  template <class T>
  static T derivative(T x) {
    return 2 * x;
  }
};

/// Returns what the executor says after it has prepared a training step and an inference.
std::string described(graph_view const& g) {
  std::string said;
  shape const result = g.shape_of(g.result());
  target_kind const targets = result.area() > 1    ? target_kind::pixel_classes
                              : result.size() == 1 ? target_kind::values
                                                   : target_kind::classes;
  auto const warned = test::warnings([&] {
    engine_options o{.update = sgd{.momentum = 0.9}.rule()};
    if (targets == target_kind::values) o.loss = loss::mean_squared_error;
    auto const e = native{.threads = 2}.make_engine(g, o);
    e->prepare(mode::training, 2, targets);
    e->prepare(mode::inference, 1);
    said = e->description();
  });
  CHECK(warned.empty() == (said.find("plain loops") == std::string::npos));
  return said;
}

}  // namespace

TEST_CASE("native: no network of models.hpp spends its time in plain loops on one thread", "[models][native]") {
  struct {
    char const* name;
    graph_view view;
  } const all[] = {
      {"alexnet", view_of<models::alexnet<>>},
      {"vgg11_bn", view_of<models::vgg11_bn<>>},
      {"squeezenet1_0", view_of<models::squeezenet1_0<>>},
      {"googlenet_aux", view_of<models::googlenet_aux<>>},
      {"inception_v3_aux", view_of<models::inception_v3_aux<>, 299>},
      {"resnet18", view_of<models::resnet18<>>},
      {"resnet50", view_of<models::resnet50<>>},
      {"resnext50_32x4d", view_of<models::resnext50_32x4d<>>},
      {"densenet121", view_of<models::densenet121<>>},
      {"mobilenet_v2", view_of<models::mobilenet_v2<>>},
      {"mobilenet_v3_small", view_of<models::mobilenet_v3_small<>>},
      {"shufflenet_v2_x0_5", view_of<models::shufflenet_v2_x0_5<>>},
      {"shufflenet_v2_x1_0", view_of<models::shufflenet_v2_x1_0<>>},
      {"mnasnet0_5", view_of<models::mnasnet0_5<>>},
      {"efficientnet_b0", view_of<models::efficientnet_b0<>>},
      {"efficientnet_v2_s", view_of<models::efficientnet_v2_s<>>},
      {"regnet_y_400mf", view_of<models::regnet_y_400mf<>>},
      {"regnet_x_400mf", view_of<models::regnet_x_400mf<>>},
      {"convnext_tiny", view_of<models::convnext_tiny<>>},
      {"vit_b_32", view_of<models::vit_b_32<>>},
      {"swin_t", view_of<models::swin_t<>>},
      {"swin_v2_t", view_of<models::swin_v2_t<>, 256>},
      {"maxvit_t", view_of<models::maxvit_t<>>},
      {"fcn_resnet50", view_of<models::fcn_resnet50<>>},
      {"deeplabv3_resnet50", view_of<models::deeplabv3_resnet50<>>},
      {"unet", view_of<models::unet<2>>},
      {"cifar_resnet20", view_of<models::cifar_resnet20<>, 32>},
      {"resnet50_v2", view_of<models::keras::resnet50_v2<>>},
      {"mobilenet", view_of<models::mobilenet<>>},
      {"xception", view_of<models::xception<>, 299>},
      {"efficientnet_v2_b0", view_of<models::efficientnet_v2_b0<>>},
      {"mixer_s16", view_of<models::mixer_s16<>>},
      {"gpt", behind<token_numbers<64>, models::gpt<96, 4, 128, 4>>},
      {"time_series_fcn", behind<sequence<3, 128>, models::time_series_fcn<4>>},
      {"time_series_lstm", behind<sequence<1, 40>, models::time_series_lstm<1, 32>>},
  };
  for (auto const& m : all) {
    INFO(m.name);
    CHECK(described(m.view).find("plain loops") == std::string::npos);
  }
}

TEST_CASE("native: an operation of one's own is named among the plain loops", "[models][native]") {
  using model = network<image<3, 64, 64>, conv2d<32, 3>, elementwise<square>, global_avg_pool2d, dense<10>, softmax>;
  CHECK(described(model::view()).find("plain loops for square") != std::string::npos);
}
