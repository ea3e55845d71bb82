R"cuda(
// SPDX-License-Identifier: MIT
// The tensors of the kernels: they are channels-last in memory, in float or bf16, and floats in registers.

namespace dsl_kernels {

// ---- the numbers that change from step to step; each replay of a captured graph reads them again -------------------
struct step_state {
  unsigned long long step;      // counted over the whole training; a key of dropout; update() increments it
  unsigned long long seed;      // the engine's seed; a key of dropout and augmentation
  unsigned long long position;  // of the batch's first image in the epoch's order; update() advances it
  int epoch;                    // a key of augmentation
  float learning_rate;          // of the update; for Adam, multiplied by its bias corrections
  unsigned first_sample;        // of this device's part of the whole batch; a key of dropout
  float shrink;                 // see update_numbers
  float epsilon;
};

// Tensors are channels-last: channel c at pixel p (of the whole batch) is data[p * channels + offset + c], where
// `channels` is the number of channels of the whole buffer.
struct slice {
  int channels, offset;
};

template <class T>
DEVICE T* at(T* data, slice s, int pixel, int channel) {
  return data + (static_cast<long long>(pixel) * s.channels + s.offset + channel);
}

// ---- L neighbouring channels as floats: one access of 16 bytes (or two, or half of one) where L > 1 -----------------
template <int L>
struct floats {
  float v[L];
};

template <class T>
constexpr int full_lanes = static_cast<int>(16 / sizeof(T));

DEVICE float widened(float x) { return x; }
DEVICE float widened(bf16 x) { return float_of(static_cast<unsigned>(x.bits) << 16); }
DEVICE void assign(float& to, float x) { to = x; }
DEVICE void assign(bf16& to, float x) { to.bits = static_cast<unsigned short>(bf16_bits(x)); }

DEVICE void unpack(unsigned two, float* to) {
  to[0] = float_of(two << 16);
  to[1] = float_of(two & 0xffff0000u);
}

template <int L>
DEVICE floats<L> load(float const* p) {
  floats<L> f;
  if constexpr (L % 4 == 0) {
    for (int i = 0; i < L; i += 4) {
      uint4 const w = raw_load<uint4>(p + i);
      f.v[i] = float_of(w.x), f.v[i + 1] = float_of(w.y), f.v[i + 2] = float_of(w.z), f.v[i + 3] = float_of(w.w);
    }
  } else {
    for (int i = 0; i < L; ++i) f.v[i] = p[i];
  }
  return f;
}
template <int L>
DEVICE floats<L> load(bf16 const* p) {
  floats<L> f;
  if constexpr (L == 8) {
    uint4 const w = raw_load<uint4>(p);
    unpack(w.x, f.v), unpack(w.y, f.v + 2), unpack(w.z, f.v + 4), unpack(w.w, f.v + 6);
  } else if constexpr (L == 4) {
    uint2 const w = raw_load<uint2>(p);
    unpack(w.x, f.v), unpack(w.y, f.v + 2);
  } else {
    for (int i = 0; i < L; ++i) f.v[i] = widened(p[i]);
  }
  return f;
}

template <int L>
DEVICE void store(float* p, floats<L> const& f) {
  if constexpr (L % 4 == 0) {
    for (int i = 0; i < L; i += 4)
      raw_store(p + i, uint4{bits_of(f.v[i]), bits_of(f.v[i + 1]), bits_of(f.v[i + 2]), bits_of(f.v[i + 3])});
  } else {
    for (int i = 0; i < L; ++i) p[i] = f.v[i];
  }
}
template <int L>
DEVICE void store(bf16* p, floats<L> const& f) {
  if constexpr (L == 8) {
    raw_store(p, uint4{two_bf16_bits(f.v[0], f.v[1]), two_bf16_bits(f.v[2], f.v[3]), two_bf16_bits(f.v[4], f.v[5]),
                       two_bf16_bits(f.v[6], f.v[7])});
  } else if constexpr (L == 4) {
    raw_store(p, uint2{two_bf16_bits(f.v[0], f.v[1]), two_bf16_bits(f.v[2], f.v[3])});
  } else {
    for (int i = 0; i < L; ++i) assign(p[i], f.v[i]);
  }
}

// Writes f, or adds f to the old value.
template <int L, class T>
DEVICE void put(T* p, floats<L> f, int accumulate) {
  if (accumulate) {
    floats<L> const old = load<L>(p);
    for (int i = 0; i < L; ++i) f.v[i] += old.v[i];
  }
  store<L>(p, f);
}

// Returns the pixel and the L channels that this thread works on. Channels change fastest, so that neighbouring threads
// access neighbouring memory.
struct place {
  int pixel, channel;
};
template <int L>
DEVICE place place_of(int unit, int channels) {
  int const groups = channels / L;
  return {unit / groups, unit % groups * L};
}
DEVICE int global_thread() { return block_x() * threads() + thread(); }

}  // namespace dsl_kernels
)cuda"
