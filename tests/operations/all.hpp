// SPDX-License-Identifier: MIT
#pragma once

// The fixtures of all operations that have one.
#include "operations/depth_to_space.hpp"
#include "operations/head_norm.hpp"
#include "operations/merge_pixels.hpp"
#include "operations/rms_norm.hpp"
#include "operations/transpose_tokens.hpp"
