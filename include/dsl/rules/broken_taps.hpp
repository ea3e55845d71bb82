// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/rules/broken.hpp>

// Rules of skips over a distance: tap<...> and from<...>.
namespace dsl::broken {

/// First and Second are the numbers of the taps, counted from 0 in the order in which they run.
template <class At, class Layer, int First, int Second>
struct taps_are_read_before_their_name_is_used_again {
  static_assert(First == Second,
                "tap: an earlier tap has the same name, and no from<...> between them reads it; give one of them "
                "another name, or put such a from<...> before this tap");
};

/// Before and After list the taps of the network that run before and after the from<...>.
template <class At, class Layer, class Before, class After, bool IsBefore = false>
struct from_reads_an_earlier_tap {
  static_assert(IsBefore,
                "from: it must have the name of a tap that runs before it (compilers list these taps first, then "
                "those after it); use the name of such a tap, or move the tap or the from");
};

}  // namespace dsl::broken
