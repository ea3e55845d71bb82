// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_PICTURES)
#error "pictures: <dsl/pictures.hpp> needs libpng and libjpeg; link typenet::pictures or typenet::compiled_pictures"
#endif

// Reads image files as inputs of a network. Needs libpng 1.6 and libjpeg: link typenet::pictures.
#include <dsl/pictures/rgb_picture.hpp>
#include <dsl/pictures/read.hpp>
#include <dsl/pictures/resize.hpp>
#include <dsl/pictures/folder.hpp>
