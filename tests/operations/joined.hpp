// SPDX-License-Identifier: MIT
#pragma once

#include "operations/all.hpp"

namespace dsl::test {

template <class... Bodies>
using joined_bodies = network<image<3, 4, 4>, conv2d<16, 3>, Bodies..., flatten, dense<10>, softmax>;
/// Returns a network with the first body of each operation that has a fixture.
constexpr auto join_fixtures() {
  constexpr auto with = []<class... Before, class... Layers, class... Others>(types<Before...>,
                                                                              types<types<Layers...>, Others...>) {
    return types<Before..., conv2d<16, 1>, Layers...>{};
  };
  constexpr auto next = [=]<op Kind, class Before>(Before before) {
    if constexpr (has_fixture<Kind>)
      return with(before, typename fixture<Kind>::template bodies<16>{});
    else
      return before;
  };
  constexpr auto all = [=]<int Kind>(auto self, auto before) {
    if constexpr (Kind < operations::count)
      return self.template operator()<Kind + 1>(self, next.template operator()<static_cast<op>(Kind)>(before));
    else
      return before;
  };
  return []<class... Layers>(types<Layers...>) {
    return joined_bodies<Layers...>{};
  }(all.template operator()<0>(all, types<>{}));
}
using joined_fixtures = decltype(join_fixtures());

}  // namespace dsl::test
