// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_windows_inl.hpp>
#endif
