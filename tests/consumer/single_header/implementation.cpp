// SPDX-License-Identifier: MIT
// The definitions, for a program whose other files are compiled with TYPENET_COMPILED.
#define TYPENET_IMPLEMENTATION
#include "typenet.hpp"
