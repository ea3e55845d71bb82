// SPDX-License-Identifier: MIT
#pragma once

// Picture files as a network takes them. Needs libpng 1.6 and libjpeg: link typenet::pictures.
#include <dsl/pictures/rgb_picture.hpp>
#include <dsl/pictures/read.hpp>
#include <dsl/pictures/resize.hpp>
