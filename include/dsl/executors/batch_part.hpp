// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// A device's part of a batch: samples first ... first + size - 1 of `whole`. All of it, where only the size is given.
/// In training on several devices a part may be empty; such a device takes part in the sums and the update alone.
struct batch_part {
  int size = 1;
  int first = 0;
  int whole = 1;

  constexpr batch_part(int all) : size(all), whole(all) {}  // NOLINT(google-explicit-constructor): a batch is a part
  constexpr batch_part(int samples, int begin, int of) : size(samples), first(begin), whole(of) {}
  friend constexpr bool operator==(batch_part const&, batch_part const&) = default;
};

/// What happens to a batch_norm's moments where every tower normalises a part of the batch.
enum class tower_moments : unsigned char {
  in_turn,       // each tower's own; all towers' moments move the running ones, one after the other in rank order
  averaged,      // each tower's own; their average moves the running ones
  synchronized,  // those of the whole batch, in every tower
};

}  // namespace dsl
