// SPDX-License-Identifier: MIT
// A chain of LAYERS convolutions, all of different types, planned for training; with -DVERIFIED the plan is also
// verified.
#include <dsl/language.hpp>

#include <utility>

template <std::size_t I>
using layer = dsl::conv2d<8 + static_cast<int>(I), 3>;
template <class>
struct chain_of;
template <std::size_t... I>
struct chain_of<std::index_sequence<I...>> {
  using type = dsl::network<dsl::image<3, 32, 32>, layer<I>..., dsl::flatten, dsl::dense<10>, dsl::softmax>;
};

using model = chain_of<std::make_index_sequence<LAYERS>>::type;
static_assert(model::trains_in<64, 1LL << 50>);
#ifdef VERIFIED
static_assert(dsl::verified<model>);
#endif
