// SPDX-License-Identifier: MIT
// One published network of each family has the number of parameters that torchvision documents, for 1000 classes.
// torchvision does not count batch_norm's running statistics, which parameter_count does. The other networks are in
// all_models.cpp.
#include "support/published_models.hpp"

using namespace dsl;
using namespace dsl::test;

static_assert(parameters_of<models::alexnet<>> == 61'100'840);
static_assert(parameters_of<models::vgg11_bn<>> == 132'868'840);
static_assert(parameters_of<models::squeezenet1_1<>> == 1'235'496);
static_assert(parameters_of<models::resnet18<>> == 11'689'512);
static_assert(parameters_of<models::resnext50_32x4d<>> == 25'028'904);
static_assert(parameters_of<models::googlenet<>> == 6'624'904);
static_assert(parameters_of<models::densenet121<>> == 7'978'856);
static_assert(parameters_of<models::mobilenet_v2<>> == 3'504'872);
static_assert(parameters_of<models::mobilenet_v3_small<>> == 2'542'856);
static_assert(parameters_of<models::shufflenet_v2_x1_0<>> == 2'278'604);
static_assert(parameters_of<models::mnasnet1_0<>> == 4'383'312);
static_assert(parameters_of<models::efficientnet_b0<>> == 5'288'548);

static_assert(rate_of_last_path(on_pictures<models::efficientnet_b0<>>::view()) == 0.2 * 14 / 16);  // the 15th of 16
static_assert(rate_of_last_path(on_pictures<models::convnext_tiny<>>::view()) == 0.1);

static_assert(parameters_of<models::regnet_y_400mf<>> == 4'344'144);
static_assert(parameters_of<models::regnet_x_400mf<>> == 5'495'976);
static_assert(parameters_of<models::convnext_tiny<>> == 28'589'128);
static_assert(parameters_of<models::fcn_resnet50<>> == 32'957'013);
static_assert(parameters_of<models::deeplabv3_resnet50<>> == 39'638'869);
static_assert(on_pictures<models::deeplabv3_resnet50<>>::output == shape{21, 224, 224});

static_assert(parameters_of<models::vit_b_16<>> == 86'567'656);
static_assert(on_pictures<models::vit_b_16<>>::forward_macs == 17'563'828'224);  // 17.56 GFLOPS, as published

static_assert(parameters_of<models::swin_t<>> == 28'288'354);
static_assert(rate_of_last_path(on_pictures<models::swin_t<>>::view()) == 0.2);
static_assert(parameters_of<models::maxvit_t<>> == 30'919'624);
static_assert(on_pictures<models::keras::mobilenet_v3_small<>>::parameter_count ==
              2'554'968);  // Keras's count_params()
static_assert(on_pictures<models::keras::resnet50_v2<>>::parameter_count == 25'613'800);
static_assert(network<image<3, 299, 299>, models::keras::inception_v3<>>::parameter_count == 23'851'784);
static_assert(parameters_of<models::mixer_s32<>> == 19'104'624);  // as in timm
static_assert(on_pictures<models::mixer_s32<>>::output == shape{1000});

static_assert(on_pictures<models::resnet18<>>::output == shape{1000});
static_assert(network<image<3, 64, 64>, models::resnet18<10>>::output == shape{10});  // any size
static_assert(on_pictures<models::resnet18<>>::forward_macs == 1'814'073'344);        // 1.81 GFLOPS, as published
