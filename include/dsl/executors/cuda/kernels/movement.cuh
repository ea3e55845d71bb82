R"cuda(
// SPDX-License-Identifier: MIT
// Copies whose values change their places but not their sizes. A gradient is a copy back, so each thread writes what no
// other thread writes.

namespace dsl_kernels {

// ---- an image that is shifted: pads, slices, and their gradients ---------------------------------------------------
struct shifted_copy_shape {
  int batch, channels, lanes;  // channels: of `to`
  int from_channels, from_height, from_width, to_height, to_width;
  int front, top, left;  // channel 0, row 0, column 0 of `from` is at this place of `to`
  slice from, to;
  int accumulate;
};

template <int L, class T>
DEVICE void shifted_copy_lanes(shifted_copy_shape const& s, T const* from, T* to) {
  int const unit = global_thread();
  if (unit >= s.batch * s.to_height * s.to_width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  int const area = s.to_height * s.to_width;
  int const channel = p.channel - s.front;
  int const row = p.pixel % area / s.to_width - s.top;
  int const column = p.pixel % s.to_width - s.left;
  bool const inside = channel >= 0 && channel < s.from_channels && row >= 0 && row < s.from_height && column >= 0 &&
                      column < s.from_width;
  if (!inside && s.accumulate) return;
  floats<L> v{};
  if (inside) v = load<L>(at(from, s.from, (p.pixel / area * s.from_height + row) * s.from_width + column, channel));
  put<L>(at(to, s.to, p.pixel, p.channel), v, s.accumulate);
}

template <class T, int L = 0>
KERNEL void shifted_copy(shifted_copy_shape s, T const* from, T* to) {
  if constexpr (L > 0)
    shifted_copy_lanes<L>(s, from, to);
  else if (s.lanes == 1)
    shifted_copy_lanes<1>(s, from, to);
  else
    shifted_copy_lanes<full_lanes<T>>(s, from, to);
}

// ---- channels in another order -------------------------------------------------------------------------------------
struct channel_shuffle_shape {
  int pixels, channels, lanes, groups;
  slice from, to;
  int accumulate;
};

template <int L, class T>
DEVICE void channel_shuffle_lanes(channel_shuffle_shape const& s, T const* from, T* to) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> v;
  for (int i = 0; i < L; ++i) {
    int const channel = p.channel + i;
    v.v[i] = widened(*at(from, s.from, p.pixel, channel % s.groups * (s.channels / s.groups) + channel / s.groups));
  }
  put<L>(at(to, s.to, p.pixel, p.channel), v, s.accumulate);
}

template <class T, int L = 0>
KERNEL void channel_shuffle(channel_shuffle_shape s, T const* from, T* to) {
  if constexpr (L > 0)
    channel_shuffle_lanes<L>(s, from, to);
  else if (s.lanes == 1)
    channel_shuffle_lanes<1>(s, from, to);
  else
    channel_shuffle_lanes<full_lanes<T>>(s, from, to);
}

}  // namespace dsl_kernels
)cuda"
