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

// ---- a square of pixels as one pixel, and its gradient -------------------------------------------------------------
struct merge_pixels_shape {
  int batch, channels, lanes;  // channels: of the image
  int height, width, side;     // height, width: of the image
  slice image, merged;
  int accumulate;
};

// Returns the merged pixel and channel to which channel p.channel of the image's pixel p.pixel belongs.
DEVICE place merged_place_of(merge_pixels_shape const& s, place const& p) {
  int const row = p.pixel / s.width;  // counted over the whole batch
  int const column = p.pixel % s.width;
  int const square = column % s.side * s.side + row % s.side;
  return {row / s.side * (s.width / s.side) + column / s.side, square * s.channels + p.channel};
}

template <int L, class T>
DEVICE void merge_pixels_lanes(merge_pixels_shape const& s, T const* image, T* merged) {
  int const unit = global_thread();
  if (unit >= s.batch * s.height * s.width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  place const to = merged_place_of(s, p);
  store<L>(at(merged, s.merged, to.pixel, to.channel), load<L>(at(image, s.image, p.pixel, p.channel)));
}

template <class T, int L = 0>
KERNEL void merge_pixels(merge_pixels_shape s, T const* image, T* merged) {
  if constexpr (L > 0)
    merge_pixels_lanes<L>(s, image, merged);
  else if (s.lanes == 1)
    merge_pixels_lanes<1>(s, image, merged);
  else
    merge_pixels_lanes<full_lanes<T>>(s, image, merged);
}

template <int L, class T>
DEVICE void merge_pixels_backward_lanes(merge_pixels_shape const& s, T const* merged, T* image) {
  int const unit = global_thread();
  if (unit >= s.batch * s.height * s.width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  place const from = merged_place_of(s, p);
  put<L>(at(image, s.image, p.pixel, p.channel), load<L>(at(merged, s.merged, from.pixel, from.channel)), s.accumulate);
}

template <class T, int L = 0>
KERNEL void merge_pixels_backward(merge_pixels_shape s, T const* merged, T* image) {
  if constexpr (L > 0)
    merge_pixels_backward_lanes<L>(s, merged, image);
  else if (s.lanes == 1)
    merge_pixels_backward_lanes<1>(s, merged, image);
  else
    merge_pixels_backward_lanes<full_lanes<T>>(s, merged, image);
}

// ---- channels exchanged with pixels --------------------------------------------------------------------------------
struct transpose_tokens_shape {
  int batch, pixels, channels;  // of `to`; `from` has as many pixels as `to` has channels
  slice from, to;
  int accumulate;
};

// A block transposes a tile of 32 x 32 numbers, so that neighbouring threads read and write neighbouring memory.
template <class T>
KERNEL void transpose_tokens(transpose_tokens_shape s, T const* from, T* to) {
  SHARED float tile[32][33];
  int const across = (s.channels + 31) / 32;
  int const down = (s.pixels + 31) / 32;
  int const sample = block_x() / (across * down);
  int const first_pixel = block_x() / across % down * 32;
  int const first_channel = block_x() % across * 32;
  int const lane = thread() % 32;
  for (int i = thread() / 32; i < 32; i += threads() / 32)
    if (first_channel + i < s.channels && first_pixel + lane < s.pixels)
      tile[i][lane] = widened(*at(from, s.from, sample * s.channels + first_channel + i, first_pixel + lane));
  barrier();
  for (int i = thread() / 32; i < 32; i += threads() / 32)
    if (first_pixel + i < s.pixels && first_channel + lane < s.channels)
      put<1>(at(to, s.to, sample * s.pixels + first_pixel + i, first_channel + lane), {tile[lane][i]}, s.accumulate);
}

}  // namespace dsl_kernels
)cuda"
