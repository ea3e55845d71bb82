// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/training/fit_options.hpp>

/// Checks that the inputs that embeddings read consist of token numbers. A token outside of the vocabulary would
/// otherwise be a row of NaNs, and become a loss that is none. `what` begins the message.
namespace dsl::detail::TYPENET_MODE {

/// Throws data_error unless the numbers of `samples` samples of an input, from sample `first` on, are tokens that the
/// network has, if an embedding reads them.
void require_tokens(graph_view const& g, int input, float const* numbers, long long samples, long long first,
                    char const* what);
/// Requires this of the first input and of all further ones, whose addresses are in the network's order; null: there
/// are none.
void require_tokens(graph_view const& g, float const* first_input, float const* const* further, int samples,
                    char const* what);
/// Requires this of a batch of samples that a source has made; those in memory have been checked before.
void require_tokens(graph_view const& g, dataset const& data, batch const& b, int samples, char const* what);
/// Requires this of a data set in memory, and that its token numbers are not normalised, which throws option_error.
[[gnu::cold]] void require_tokens(graph_view const& g, dataset const& data, char const* what);
/// Throws option_error if an augmentation would move or flip tokens.
[[gnu::cold]] void require_tokens_stay(graph_view const& g, fit_options const& o);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/token_checks_inl.hpp>
#endif
