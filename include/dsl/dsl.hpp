// SPDX-License-Identifier: MIT
#pragma once

// The main header, in reading order. It needs no library; executors that need one have headers of their own.
#include <dsl/detail/compiler.hpp>
#include <dsl/rules/broken.hpp>  // compilers name every file through which an error came
#include <dsl/language.hpp>
// data
#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/normalize.hpp>
#include <dsl/data/augment.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/cifar10.hpp>
#include <dsl/data/synthetic.hpp>
// training
#include <dsl/executors/reference.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/training/history.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/schedules.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/training/compile.hpp>
