// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A number is a
// pure function of a key and a counter, so any thread, replica or device can compute it independently, in any order.

namespace dsl::detail::TYPENET_MODE {

struct philox_block {
  std::uint32_t x[4];
  friend constexpr bool operator==(philox_block const&, philox_block const&) = default;
};

/// Returns 128 random bits for the key (k0, k1) and the counter (c0..c3) in about 10 ns on a CPU.
/// philox(0, 0, 0, 0, 0, 0) == {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
[[gnu::noinline]] constexpr philox_block philox(std::uint32_t k0, std::uint32_t k1, std::uint32_t c0, std::uint32_t c1,
                                                std::uint32_t c2, std::uint32_t c3) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const a = std::uint64_t{0xD2511F53u} * c0;
    std::uint64_t const b = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(b);
    c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(a);
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

/// Returns a number in [0, 1) from the top 24 bits. It is exactly representable in a float, so a GPU gets the same
/// bits. unit_float(0xffffffff) == 1 - 2^-24
constexpr float unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// The use of a random number. It is part of the counter, so that two uses of one seed never share a number.
enum class purpose : std::uint32_t {
  shuffle = 1,
  augment = 2,
  dropout = 3,
  initial_weights = 4,
  synthetic = 5,
  random_crop = 6,
  random_flip = 7,
  cutout = 8,
  user = 1024
};

/// An independent sequence of random numbers for each (seed, purpose, index); the counter is {block, purpose, index}.
/// random_stream{7, purpose::shuffle, 3} gives the order of epoch 3 under seed 7. Period: 2^34 numbers.
struct random_stream {
  std::uint64_t seed = 0;
  purpose what = purpose::user;
  std::uint64_t index = 0;
  std::uint32_t block = 0;
  std::uint32_t used = 4;  // number of words already taken from `words`
  philox_block words{};

  constexpr random_stream(std::uint64_t seed_, purpose what_, std::uint64_t index_)
      : seed(seed_), what(what_), index(index_) {}

  [[gnu::noinline]] constexpr std::uint32_t next_u32() {
    if (used == 4) {
      words = philox(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), block++,
                     static_cast<std::uint32_t>(what), static_cast<std::uint32_t>(index),
                     static_cast<std::uint32_t>(index >> 32));
      used = 0;
    }
    return words.x[used++];
  }

  /// Returns a number in [0, 1) with 24 random bits.
  constexpr float uniform() { return unit_float(next_u32()); }
  /// Returns a number in [low, high), up to the rounding of the float product.
  constexpr float uniform(float low, float high) { return low + (high - low) * uniform(); }

  /// Returns one of 0 .. n-1 with exactly equal probability (Lemire 2019: multiply, reject the short tail); n must not
  /// be 0.
  constexpr std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{next_u32()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      std::uint32_t const tail = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < tail) product = std::uint64_t{next_u32()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
};

}  // namespace dsl::detail::TYPENET_MODE
