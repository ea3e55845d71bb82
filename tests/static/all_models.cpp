// SPDX-License-Identifier: MIT
// The numbers of parameters of the published networks that models.cpp leaves out: minutes of compile time.
#include "support/published_models.hpp"

using namespace dsl;
using namespace dsl::test;

static_assert(parameters_of<models::vgg11<>> == 132'863'336);
static_assert(parameters_of<models::vgg13<>> == 133'047'848);
static_assert(parameters_of<models::vgg16<>> == 138'357'544);
static_assert(parameters_of<models::vgg19<>> == 143'667'240);
static_assert(parameters_of<models::vgg16_bn<>> == 138'365'992);
static_assert(parameters_of<models::vgg13_bn<>> == 133'053'736);
static_assert(parameters_of<models::vgg19_bn<>> == 143'678'248);
static_assert(parameters_of<models::squeezenet1_0<>> == 1'248'424);
static_assert(parameters_of<models::resnet34<>> == 21'797'672);
static_assert(parameters_of<models::resnet50<>> == 25'557'032);
static_assert(parameters_of<models::resnet101<>> == 44'549'160);
static_assert(parameters_of<models::resnet152<>> == 60'192'808);
static_assert(parameters_of<models::wide_resnet50_2<>> == 68'883'240);
static_assert(parameters_of<models::wide_resnet101_2<>> == 126'886'696);
static_assert(parameters_of<models::resnext101_32x8d<>> == 88'791'336);
static_assert(parameters_of<models::resnext101_64x4d<>> == 83'455'272);
static_assert(parameters_of<models::densenet161<>> == 28'681'000);
static_assert(parameters_of<models::densenet169<>> == 14'149'480);
static_assert(parameters_of<models::densenet201<>> == 20'013'928);
static_assert(parameters_of<models::mobilenet_v3_large<>> == 5'483'032);
static_assert(parameters_of<models::shufflenet_v2_x0_5<>> == 1'366'792);
static_assert(parameters_of<models::shufflenet_v2_x1_5<>> == 3'503'624);
static_assert(parameters_of<models::shufflenet_v2_x2_0<>> == 7'393'996);
static_assert(parameters_of<models::mnasnet0_5<>> == 2'218'512);
static_assert(parameters_of<models::mnasnet0_75<>> == 3'170'208);
static_assert(parameters_of<models::mnasnet1_3<>> == 6'282'256);
static_assert(parameters_of<models::efficientnet_b1<>> == 7'794'184);
static_assert(parameters_of<models::efficientnet_b2<>> == 9'109'994);
static_assert(parameters_of<models::efficientnet_b3<>> == 12'233'232);
static_assert(parameters_of<models::efficientnet_b4<>> == 19'341'616);
static_assert(parameters_of<models::efficientnet_b5<>> == 30'389'784);
static_assert(parameters_of<models::efficientnet_b6<>> == 43'040'704);
static_assert(parameters_of<models::efficientnet_b7<>> == 66'347'960);
static_assert(parameters_of<models::efficientnet_v2_s<>> == 21'458'488);
static_assert(parameters_of<models::efficientnet_v2_m<>> == 54'139'356);
static_assert(parameters_of<models::efficientnet_v2_l<>> == 118'515'272);
static_assert(parameters_of<models::regnet_y_800mf<>> == 6'432'512);
static_assert(parameters_of<models::regnet_y_1_6gf<>> == 11'202'430);
static_assert(parameters_of<models::regnet_y_3_2gf<>> == 19'436'338);
static_assert(parameters_of<models::regnet_y_8gf<>> == 39'381'472);
static_assert(parameters_of<models::regnet_y_16gf<>> == 83'590'140);
static_assert(parameters_of<models::regnet_y_32gf<>> == 145'046'770);
static_assert(parameters_of<models::regnet_y_128gf<>> == 644'812'894);
static_assert(parameters_of<models::regnet_x_800mf<>> == 7'259'656);
static_assert(parameters_of<models::regnet_x_1_6gf<>> == 9'190'136);
static_assert(parameters_of<models::regnet_x_3_2gf<>> == 15'296'552);
static_assert(parameters_of<models::regnet_x_8gf<>> == 39'572'648);
static_assert(parameters_of<models::regnet_x_16gf<>> == 54'278'536);
static_assert(parameters_of<models::regnet_x_32gf<>> == 107'811'560);
static_assert(parameters_of<models::fcn_resnet101<>> == 51'949'141);
static_assert(parameters_of<models::fcn_resnet50_aux<>> == 35'322'218);
static_assert(parameters_of<models::fcn_resnet101_aux<>> == 54'314'346);
static_assert(parameters_of<models::deeplabv3_resnet101<>> == 58'630'997);
static_assert(parameters_of<models::deeplabv3_resnet50_aux<>> == 42'004'074);
static_assert(parameters_of<models::deeplabv3_resnet101_aux<>> == 60'996'202);
static_assert(parameters_of<models::convnext_small<>> == 50'223'688);
static_assert(parameters_of<models::convnext_base<>> == 88'591'464);
static_assert(parameters_of<models::convnext_large<>> == 197'767'336);
static_assert(on_pictures<models::convnext_xlarge<>>::parameter_count ==
              350'196'968);  // Keras's count_params(), without the 7 numbers of the layer that normalises the images of
                             // an EfficientNet
template <class Model, int Size = 224>
inline constexpr long long all_parameters = network<image<3, Size, Size>, Model>::parameter_count;
static_assert(all_parameters<models::keras::densenet121<>> == 8'062'504);
static_assert(all_parameters<models::keras::densenet169<>> == 14'307'880);
static_assert(all_parameters<models::keras::densenet201<>> == 20'242'984);
static_assert(all_parameters<models::keras::efficientnet_b0<>> == 5'330'564);
static_assert(all_parameters<models::keras::efficientnet_b1<>, 240> == 7'856'232);
static_assert(all_parameters<models::keras::efficientnet_b2<>, 260> == 9'177'562);
static_assert(all_parameters<models::keras::efficientnet_b3<>, 300> == 12'320'528);
static_assert(all_parameters<models::keras::efficientnet_b4<>, 380> == 19'466'816);
static_assert(all_parameters<models::keras::efficientnet_b5<>, 456> == 30'562'520);
static_assert(all_parameters<models::keras::efficientnet_b6<>, 528> == 43'265'136);
static_assert(all_parameters<models::keras::efficientnet_b7<>, 600> == 66'658'680);
static_assert(all_parameters<models::keras::efficientnet_v2_s<>, 384> == 21'612'360);
static_assert(all_parameters<models::keras::efficientnet_v2_m<>, 480> == 54'431'388);
static_assert(all_parameters<models::keras::efficientnet_v2_l<>, 480> == 119'027'848);
static_assert(all_parameters<models::keras::inception_resnet_v2<>, 299> == 55'873'736);
static_assert(all_parameters<models::keras::mobilenet_v2<>> == 3'538'984);
static_assert(all_parameters<models::keras::mobilenet_v3_large<>> == 5'507'432);
static_assert(all_parameters<models::keras::resnet50<>> == 25'636'712);
static_assert(all_parameters<models::keras::resnet101<>> == 44'707'176);
static_assert(all_parameters<models::keras::resnet101_v2<>> == 44'675'560);
static_assert(all_parameters<models::keras::resnet152<>> == 60'419'944);
static_assert(all_parameters<models::keras::resnet152_v2<>> == 60'380'648);
static_assert(all_parameters<models::keras::vgg16<>> == 138'357'544);
static_assert(all_parameters<models::keras::vgg19<>> == 143'667'240);
static_assert(parameters_of<models::vit_b_32<>> == 88'224'232);
static_assert(parameters_of<models::vit_l_16<>> == 304'326'632);
static_assert(parameters_of<models::vit_l_32<>> == 306'535'400);
static_assert(parameters_of<models::vit_h_14<>> == 632'045'800);
static_assert(parameters_of<models::mixer_b16<>> == 59'880'472);
static_assert(parameters_of<models::swin_s<>> == 49'606'258);
static_assert(parameters_of<models::swin_b<>> == 87'768'224);
template <class Model>
inline constexpr long long parameters_on_256 = network<image<3, 256, 256>, Model>::trainable_parameter_count;
static_assert(parameters_on_256<models::swin_v2_t<>> == 28'351'570);
static_assert(parameters_on_256<models::swin_v2_s<>> == 49'737'442);
static_assert(parameters_on_256<models::swin_v2_b<>> == 87'930'848);

static_assert(network<image<3, 299, 299>, models::inception_v3<>>::trainable_parameter_count == 23'834'568);

// Keras's count_params()
static_assert(network<image<3, 240, 240>, models::efficientnet_v2_b1<>>::parameter_count == 8'212'124);
static_assert(network<image<3, 260, 260>, models::efficientnet_v2_b2<>>::parameter_count == 10'178'374);
static_assert(network<image<3, 300, 300>, models::efficientnet_v2_b3<>>::parameter_count == 14'467'622);

static_assert(rate_of_last_path(on_pictures<models::efficientnet_v2_s<>>::view()) == 0.2 * 39 / 40);
