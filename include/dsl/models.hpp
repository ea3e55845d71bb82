// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/alexnet.hpp>
#include <dsl/models/vgg.hpp>
#include <dsl/models/vit.hpp>
#include <dsl/models/gpt.hpp>
#include <dsl/models/time_series.hpp>
#include <dsl/models/squeezenet.hpp>
#include <dsl/models/googlenet.hpp>
#include <dsl/models/inception_v3.hpp>
#include <dsl/models/resnet.hpp>
#include <dsl/models/cifar_resnet.hpp>
#include <dsl/models/densenet.hpp>
#include <dsl/models/mobilenet.hpp>
#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/mobilenet_v3.hpp>
#include <dsl/models/xception.hpp>
#include <dsl/models/shufflenet_v2.hpp>
#include <dsl/models/mnasnet.hpp>
#include <dsl/models/efficientnet.hpp>
#include <dsl/models/efficientnet_v2.hpp>
#include <dsl/models/regnet.hpp>
#include <dsl/models/convnext.hpp>
#include <dsl/models/fcn.hpp>
#include <dsl/models/deeplabv3.hpp>
#include <dsl/models/unet.hpp>
