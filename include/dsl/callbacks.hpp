// SPDX-License-Identifier: MIT
#pragma once

// What may happen around a training's steps. Needs no library; what prints tables and writes files is in
// <dsl/text.hpp>.
#include <dsl/training/callback_state.hpp>
#include <dsl/training/metrics.hpp>
#include <dsl/training/annealing.hpp>
#include <dsl/training/early_stopping.hpp>
#include <dsl/training/stop_on_signal.hpp>
#include <dsl/training/terminate_on_nan.hpp>
