// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/symbolic_arithmetic.hpp"

namespace dsl::test::symbolic {

/// Memory as bytes, each a cell: the k-th byte of an element holds the number times an odd constant, so that bytes of
/// different elements are never confused.
class memory {
 public:
  explicit memory(plan const& p) : p_(p) {
    for (int r = 0; r < regions; ++r) {
      demand(p.region_bytes[r] >= 0 && p.region_bytes[r] < 1 << 24);
      auto& cells = cells_[r];
      cells.resize(static_cast<std::size_t>(p.region_bytes[r]));
      if (r == static_cast<int>(region::gradients)) continue;  // the executor's zeros: a skipped bias's gradient
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = i * 0x2545F4914F6CDD1Du + static_cast<number>(r);
    }
    read_by_.resize(cells_[static_cast<int>(region::activations)].size());
  }

  number at(int r, long long byte, int element_bytes) const {
    number const* c = cells_[r].data() + byte;
    number v = c[0];
    for (int k = 1; k < element_bytes; ++k)
      if (c[k] != v * odd(k)) return damaged(c, element_bytes);
    return v;
  }
  void set(int r, long long byte, int element_bytes, number v) {
    for (int k = 0; k < element_bytes; ++k) cells_[r][static_cast<std::size_t>(byte + k)] = v * odd(k);
  }

  /// Calls visit(element, region, byte) for a tensor of `samples` samples in some channels of a buffer.
  template <class Visit>
  void walk(int buffer, int channel, long long size, int samples, Visit visit) const {
    demand(buffer >= 0 && buffer < p_.buffers.size());
    dsl::buffer const& b = p_.buffers[buffer];
    int const r = static_cast<int>(b.where);
    demand(r < regions && b.block > 0 && b.element_bytes > 0 && b.element_bytes <= 8 && b.shape.area() > 0 &&
           b.shape.channels > 0 && channel >= 0);
    demand(b.offset >= 0 && b.offset % p_.options.target.alignment == 0);
    long long const area = b.shape.area();
    long long const blocks = (b.shape.channels + b.block - 1) / b.block;
    long long const limit = std::min(b.bytes, p_.region_bytes[r] - b.offset);
    std::size_t i = 0;
    for (int n = 0; n < samples; ++n)
      for (long long e = 0; e < size; ++e) {
        long long const c = channel + e / area;
        long long const index = ((n * blocks + c / b.block) * area + e % area) * b.block + c % b.block;
        demand(c < blocks * b.block && (index + 1) * b.element_bytes <= limit);
        visit(i++, r, b.offset + index * b.element_bytes);
      }
  }
  /// Who uses the padding around a tensor, and thus how much of it.
  enum class pads { kernel, copy, reader };
  /// Visits the unused channels of the blocks that a tensor touches. Kernels work on whole blocks and write zeros
  /// there. Copies work on channels, and write zeros only after their own in a buffer's last block, whoever owns those.
  template <class Visit>
  void walk_padding(int buffer, int channel, long long size, int samples, pads who, Visit visit) const {
    dsl::buffer const& b = p_.buffers[buffer];
    long long const area = b.shape.area();
    long long const end = channel + size / area;
    long long const filled_up = (end + b.block - 1) / b.block * b.block;
    bool const blocks = b.block > 1 && p_.options.target.channel_block != channels_last;
    if (!blocks || size % area != 0) return;
    if (who == pads::reader && end != b.shape.channels) return;
    if (who == pads::copy && filled_up < b.shape.channels) return;
    auto const pad = [&](long long first, long long count) {
      if (count > 0) walk(buffer, static_cast<int>(first), count * area, samples, visit);
    };
    if (who == pads::kernel) pad(channel / b.block * b.block, channel % b.block);
    pad(end, filled_up - end);
  }
  /// Whether the channels after a tensor's last one, which a kernel also reads, are zero.
  bool padding_is_zero(int buffer, int channel, long long size, int samples) const {
    bool zero = true;
    walk_padding(buffer, channel, size, samples, pads::reader, [&](std::size_t, int r, long long byte) {
      zero = zero && at(r, byte, p_.buffers[buffer].element_bytes) == 0;
    });
    return zero;
  }
  numbers load(int buffer, int channel, long long size, int samples) const {
    numbers out(static_cast<std::size_t>(samples * size));
    int const bytes = element_bytes(buffer);
    walk(buffer, channel, size, samples, [&](std::size_t i, int r, long long byte) { out[i] = at(r, byte, bytes); });
    return out;
  }
  void store(int buffer, int channel, long long size, int samples, numbers const& v) {
    int const bytes = element_bytes(buffer);
    walk(buffer, channel, size, samples, [&](std::size_t i, int r, long long byte) { set(r, byte, bytes, v[i]); });
  }
  int element_bytes(int buffer) const {
    demand(buffer >= 0 && buffer < p_.buffers.size());
    return p_.buffers[buffer].element_bytes;
  }

  /// Marks bytes that a step has read: overwriting them, except element by element in place, would give garbage.
  void mark(std::uint32_t epoch, int buffer, int channel, long long size, int samples) {
    walk(buffer, channel, size, samples, [&](std::size_t i, int r, long long byte) {
      if (r == static_cast<int>(region::activations))
        for (int k = 0; k < element_bytes(buffer); ++k)
          read_by_[static_cast<std::size_t>(byte + k)] = {epoch, static_cast<std::uint32_t>(i)};
    });
  }
  bool spoils(std::uint32_t epoch, int r, long long byte, std::size_t i, bool in_place) const {
    if (r != static_cast<int>(region::activations)) return false;
    reader const& x = read_by_[static_cast<std::size_t>(byte)];
    return x.epoch == epoch && !(in_place && x.element == i);
  }

 private:
  struct reader {
    std::uint32_t epoch = 0;
    std::uint32_t element = 0;
  };
  static constexpr number odd(int k) { return 2 * static_cast<number>(k) * 0x632BE59BD9B4E019u + 1; }
  static number damaged(number const* c, int bytes) {
    number h = 77;
    for (int k = 0; k < bytes; ++k) h = mix(h, c[k]);
    return h;
  }

  plan const& p_;
  std::vector<number> cells_[regions];
  std::vector<reader> read_by_;
};

}  // namespace dsl::test::symbolic
