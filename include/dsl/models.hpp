// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/alexnet.hpp>
#include <dsl/models/vgg.hpp>
#include <dsl/models/squeezenet.hpp>
#include <dsl/models/googlenet.hpp>
#include <dsl/models/resnet.hpp>
#include <dsl/models/densenet.hpp>
