R"cuda(
// SPDX-License-Identifier: MIT
// Squares of pixels that become the channels of one pixel, or the other way round.

namespace dsl_kernels {

struct copy_squares_shape {
  int batch, channels, lanes;  // channels: of the image
  int height, width, side;     // height, width: of the image
  int apart;                   // the distance between the channels of neighbouring pixels
  int to_depth;                // 0: from the channels to the image
  slice image, deep;
  int accumulate;
};

template <int L, class T>
DEVICE void copy_squares_lanes(copy_squares_shape const& s, T const* from, T* to) {
  int const unit = global_thread();
  if (unit >= s.batch * s.height * s.width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  int const row = p.pixel / s.width;  // counted over the whole batch
  int const column = p.pixel % s.width;
  int const part = row % s.side * s.side + column % s.side;
  int const square = row / s.side * (s.width / s.side) + column / s.side;
  int const channel = p.channel / s.apart * s.apart * s.side * s.side + part * s.apart + p.channel % s.apart;
  if (s.to_depth)
    put<L>(at(to, s.deep, square, channel), load<L>(at(from, s.image, p.pixel, p.channel)), s.accumulate);
  else
    put<L>(at(to, s.image, p.pixel, p.channel), load<L>(at(from, s.deep, square, channel)), s.accumulate);
}

template <class T, int L = 0>
KERNEL void copy_squares(copy_squares_shape s, T const* from, T* to) {
  if constexpr (L > 0)
    copy_squares_lanes<L>(s, from, to);
  else if (s.lanes == 1)
    copy_squares_lanes<1>(s, from, to);
  else
    copy_squares_lanes<full_lanes<T>>(s, from, to);
}

}  // namespace dsl_kernels
)cuda"
