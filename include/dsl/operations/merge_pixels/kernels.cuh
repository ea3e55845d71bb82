R"cuda(
// SPDX-License-Identifier: MIT
// A square of pixels as one pixel, and its gradient.

namespace dsl_kernels {

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

}  // namespace dsl_kernels
)cuda"
