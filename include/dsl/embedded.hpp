// SPDX-License-Identifier: MIT
#pragma once

// Inference in a program without heap, exceptions, threads and C++ library. All files of such a program include this
// header, before any other of typenet.
#include <dsl/executors/native/embedded.hpp>
#include <dsl/language.hpp>
