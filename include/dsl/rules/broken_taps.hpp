// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/rules/broken.hpp>

// Rules of skips over a distance: tap<...> and from<...>.
namespace dsl::broken {

template <class At, class Layer, bool IsRead = false>
struct taps_are_read_before_their_name_is_used_again {
  static_assert(IsRead,
                "tap: an earlier tap has the same name, and nothing reads its value before this tap replaces it; give "
                "one of the two taps another name, or put a from<...> of this name between them");
};

/// Before and After list the taps of the network that run before and after the from<...>.
template <class At, class Layer, class Before, class After, bool IsBefore = false>
struct from_reads_an_earlier_tap {
  static_assert(IsBefore,
                "from: a tap of the same name must run before it; the error's template arguments list the taps before "
                "it, then those after it; use the name of a tap before it, or move one of the two");
};

}  // namespace dsl::broken
