// SPDX-License-Identifier: MIT
// A network of 1,000 nodes is planned and checked within the compilers' default limits.
#include <dsl/language.hpp>

#include <utility>

namespace {

using namespace dsl;

template <std::size_t I>
using layer = conv2d<8 + static_cast<int>(I), 3>;
template <class>
struct chain_of;
template <std::size_t... I>
struct chain_of<std::index_sequence<I...>> {
  using type = network<image<3, 32, 32>, layer<I>..., flatten, dense<10>, softmax>;
};
using large = chain_of<std::make_index_sequence<996>>::type;
static_assert(large::view().size.nodes == 1000);
static_assert(verified<large>);

}  // namespace
