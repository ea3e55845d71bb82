// SPDX-License-Identifier: MIT
#pragma once

// One network's layers on several devices: on<device<I>, ...> and pipeline<M, ...>. Needs no library.
#include <dsl/placement/on.hpp>
#include <dsl/placement/pipeline.hpp>
#include <dsl/placement/share.hpp>
