// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/training/fit_options.hpp>

#include <span>

/// Checks that an input that an embedding reads consists of token numbers. A token outside the vocabulary would
/// otherwise become a row of NaNs, and the loss would be NaN. `what` begins the message.
namespace dsl::detail::TYPENET_MODE {

/// If an embedding reads this input, requires that its numbers are tokens of the network's vocabulary. `numbers` are
/// `samples` samples; the first of them has the number `first`. Throws data_error.
void require_tokens(graph_view const& g, int input, float const* numbers, long long samples, long long first,
                    char const* what);
/// Requires the same of all inputs, in the network's order.
void require_tokens(graph_view const& g, std::span<float const* const> inputs, int samples, char const* what);
/// Requires the same of a batch of samples that a source has made. Samples in memory have been checked before.
void require_tokens(graph_view const& g, dataset const& data, batch const& b, int samples, char const* what);
/// Requires the same of a data set in memory. Also throws option_error if the data set's token numbers would be
/// normalised.
void require_tokens(graph_view const& g, dataset const& data, char const* what);
/// Throws option_error if an augmentation would move or flip tokens.
void require_tokens_stay(graph_view const& g, fit_options const& o);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/token_checks_inl.hpp>
#endif
