R"cuda(
// SPDX-License-Identifier: MIT
// Channels exchanged with pixels.

namespace dsl_kernels {

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
