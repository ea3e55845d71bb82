// SPDX-License-Identifier: MIT
#pragma once

// Callbacks that act around the steps of a training run. None of them needs a library; those that print tables and
// write files are in <dsl/text.hpp>.
#include <dsl/training/callback_state.hpp>
#include <dsl/training/metrics.hpp>
#include <dsl/training/score_metrics.hpp>
#include <dsl/training/of_output.hpp>
#include <dsl/training/annealing.hpp>
#include <dsl/training/early_stopping.hpp>
#include <dsl/training/stop_on_signal.hpp>
#include <dsl/training/terminate_on_nan.hpp>
