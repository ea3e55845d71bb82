// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_TEXT)
#error "text: <dsl/text.hpp> needs fmt; link typenet::text or typenet::compiled_text"
#endif

// Tables, logs and files of a training run. Needs fmt 9 or later: link typenet::text.
#include <dsl/text/summary.hpp>
#include <dsl/text/epoch_log.hpp>
#include <dsl/text/confusion_table.hpp>
#include <dsl/text/progress_bar.hpp>
// callbacks
#include <dsl/callbacks.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/csv_logger.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/io/plot_each_epoch.hpp>
// files
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/io/plot.hpp>
