R"cuda(
// SPDX-License-Identifier: MIT
// Learnt numbers that are the same for all samples: a token, and an addend for each number of a sample. Their gradients
// are sums over the samples, in the order of the samples.

namespace dsl_kernels {

// ---- a learnt token before the pixels of each sample ---------------------------------------------------------------
struct class_token_shape {
  int batch, area, channels, lanes;  // area: pixels of a sample of x
  slice x, y;
};

template <int L, class T>
DEVICE void class_token_lanes(class_token_shape const& s, T const* x, float const* token, T* y) {
  int const unit = global_thread();
  if (unit >= s.batch * (s.area + 1) * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  int const sample = p.pixel / (s.area + 1);
  bool const is_token = p.pixel % (s.area + 1) == 0;
  floats<L> const v = is_token ? load<L>(token + p.channel) : load<L>(at(x, s.x, p.pixel - sample - 1, p.channel));
  store<L>(at(y, s.y, p.pixel, p.channel), v);
}

template <class T, int L = 0>
KERNEL void class_token(class_token_shape s, T const* x, float const* token, T* y) {
  if constexpr (L > 0)
    class_token_lanes<L>(s, x, token, y);
  else if (s.lanes == 1)
    class_token_lanes<1>(s, x, token, y);
  else
    class_token_lanes<full_lanes<T>>(s, x, token, y);
}

// ---- a learnt number for each number of a sample -------------------------------------------------------------------
struct position_embedding_shape {
  int batch, area, channels, lanes;
  slice x, y;
};

template <int L, class T>
DEVICE void position_embedding_lanes(position_embedding_shape const& s, T const* x, float const* embedding, T* y) {
  int const unit = global_thread();
  if (unit >= s.batch * s.area * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  floats<L> const added = load<L>(embedding + (p.pixel % s.area * s.channels + p.channel));
  for (int i = 0; i < L; ++i) v.v[i] += added.v[i];
  store<L>(at(y, s.y, p.pixel, p.channel), v);
}

// y may be x.
template <class T, int L = 0>
KERNEL void position_embedding(position_embedding_shape s, T const* x, float const* embedding, T* y) {
  if constexpr (L > 0)
    position_embedding_lanes<L>(s, x, embedding, y);
  else if (s.lanes == 1)
    position_embedding_lanes<1>(s, x, embedding, y);
  else
    position_embedding_lanes<full_lanes<T>>(s, x, embedding, y);
}

// A thread sums L channels of a pixel over the samples.
template <int L, class T>
DEVICE void sample_sums_lanes(position_embedding_shape const& s, T const* y, float* to) {
  int const unit = global_thread();
  if (unit >= s.area * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> sum{};
  UNROLL(8)
  for (int n = 0; n < s.batch; ++n) {
    floats<L> const v = load<L>(at(y, s.y, n * s.area + p.pixel, p.channel));
    for (int i = 0; i < L; ++i) sum.v[i] += v.v[i];
  }
  store<L>(to + (p.pixel * s.channels + p.channel), sum);
}

template <class T, int L = 0>
KERNEL void sample_sums(position_embedding_shape s, T const* y, float* to) {
  if constexpr (L > 0)
    sample_sums_lanes<L>(s, y, to);
  else if (s.lanes == 1)
    sample_sums_lanes<1>(s, y, to);
  else
    sample_sums_lanes<full_lanes<T>>(s, y, to);
}

}  // namespace dsl_kernels
)cuda"
