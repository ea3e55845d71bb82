// SPDX-License-Identifier: MIT
// Philox4x32-10 against the known-answer vectors published with Random123 (kat_vectors, "philox4x32 10").
#include <dsl/detail/philox.hpp>

using dsl::detail::philox;
using dsl::detail::philox_block;
using dsl::detail::purpose;
using dsl::detail::random_stream;
using dsl::detail::unit_float;

static_assert(philox(0, 0, 0, 0, 0, 0) == philox_block{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff) ==
              philox_block{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
// The digits of pi: the vectors list the counter first, then the key.
static_assert(philox(0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344) ==
              philox_block{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

static_assert(unit_float(0) == 0.0f);
static_assert(unit_float(0x80000000) == 0.5f);
static_assert(unit_float(0xffffffff) == 1.0f - 0x1p-24f);

// A stream consists of the blocks of its counter, in order.
constexpr bool stream_is_the_blocks() {
  random_stream stream{0x0000000200000001, purpose::shuffle, 0x0000000400000003};
  for (std::uint32_t block = 0; block < 3; ++block) {
    auto const expected = philox(1, 2, block, 1, 3, 4);
    for (auto word : expected.x)
      if (stream.next_u32() != word) return false;
  }
  return true;
}
static_assert(stream_is_the_blocks());

constexpr bool below_stays_below_and_reaches_all() {
  random_stream stream{42, purpose::user, 0};
  bool seen[7] = {};
  for (int i = 0; i < 200; ++i) {
    auto const n = stream.below(7);
    if (n >= 7) return false;
    seen[n] = true;
  }
  for (bool s : seen)
    if (!s) return false;
  return random_stream{1, purpose::user, 0}.below(1) == 0;
}
static_assert(below_stays_below_and_reaches_all());
