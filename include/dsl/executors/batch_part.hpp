// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// A device's part of a batch: samples first ... first + size - 1 of `whole`. If only a size is given, the part is the
/// whole batch. In training on several devices, a part may be empty; its device then only takes part in the sums and
/// the update.
struct batch_part {
  int size = 1;
  int first = 0;
  int whole = 1;

  constexpr batch_part(int all) : size(all), whole(all) {}  // NOLINT(google-explicit-constructor): a batch is a part
  constexpr batch_part(int samples, int begin, int of) : size(samples), first(begin), whole(of) {}
  friend constexpr bool operator==(batch_part const&, batch_part const&) = default;
};

/// The ways to merge the means and variances of batch_norm if every tower normalises its own part of the batch.
enum class tower_moments : unsigned char {
  in_turn,       // each tower uses its part's moments; the running ones are updated tower by tower, in rank order
  averaged,      // each tower uses its part's moments; the running ones are updated with their average
  synchronized,  // every tower uses the moments of the whole batch
};

}  // namespace dsl
