R"cuda(
// SPDX-License-Identifier: MIT
// How pictures get into a network: a batch from the host, or chosen, shifted and flipped from a data set that stays in
// device memory. The numbers, exactly, of data/augment.hpp and data/pipeline.hpp.

namespace dsl_kernels {

// ---- (sample, channel, pixel) floats -> channels-last ---------------------------------------------------------------
struct load_shape {
  int batch, channels, area;
};

template <class T>
KERNEL void load_pictures(load_shape s, float const* from, T* to) {
  int const unit = global_thread();
  if (unit >= s.batch * s.channels * s.area) return;
  int const channel = unit % s.channels;
  int const pixel = unit / s.channels % s.area;
  int const sample = unit / (s.channels * s.area);
  assign(to[unit], from[(static_cast<long long>(sample) * s.channels + channel) * s.area + pixel]);
}

// ---- from a data set of bytes ---------------------------------------------------------------------------------------
struct gather_shape {
  int batch, channels, height, width;
  int augment, flip, bilinear;
  float shift_height, shift_width;  // pixels
  int seed_low, seed_high;
};

// One clamped source position along a row or column.
struct tap {
  int low, high;
  float fraction;
};

// Order 0 of scipy.ndimage: floor(i + shift + 0.5), the edge repeated.
DEVICE tap nearest_tap(int i, float shift, int size) {
  double const whole = MATH(floor)(static_cast<double>(shift) + 0.5);
  double const limit = static_cast<double>(size);
  int const from = i + static_cast<int>(MATH(fmin)(MATH(fmax)(whole, -limit), limit));
  int const clamped = from < 0 ? 0 : from < size ? from : size - 1;
  return {clamped, clamped, 0.0f};
}

// Order 1: (1 - fraction) of `low` and fraction of `high`.
DEVICE tap bilinear_tap(int i, float shift, int size) {
  double const wanted = static_cast<double>(i) + static_cast<double>(shift);
  double const at = MATH(fmin)(MATH(fmax)(wanted, 0.0), static_cast<double>(size - 1));
  int const low = static_cast<int>(at);
  return {low, low + 1 < size ? low + 1 : size - 1, static_cast<float>(at - static_cast<double>(low))};
}

DEVICE float between(float low, float high, float fraction) {
  return sum_of(product(low, 1 - fraction), product(high, fraction));
}

// A thread has one pixel. pictures: (all, channels, height, width) bytes; order: which picture comes at each position
// of the epoch, null for the first ones first; mean: of a picture, or null.
template <class T>
KERNEL void gather_pictures(gather_shape s, unsigned char const* pictures, int const* all_labels, float const* mean,
                            unsigned const* order, step_state const* state, T* images, int* labels) {
  int const unit = global_thread();
  int const area = s.height * s.width;
  if (unit >= s.batch * area) return;
  int const n = unit / area;
  int const i = unit % area / s.width;
  int const j = unit % s.width;
  unsigned long long const position = state->position + static_cast<unsigned long long>(n);
  unsigned long long const sample = order ? order[position] : position;

  float shift_y = 0, shift_x = 0;
  bool flipped = false;
  if (s.augment) {
    philox_block const words = philox(static_cast<unsigned>(s.seed_low), static_cast<unsigned>(s.seed_high),
                                      static_cast<unsigned>(state->epoch), 2u, static_cast<unsigned>(sample),
                                      static_cast<unsigned>(sample >> 32));
    shift_y = (2.0f * unit_float(words.x[0]) - 1.0f) * s.shift_height;
    shift_x = (2.0f * unit_float(words.x[1]) - 1.0f) * s.shift_width;
    flipped = s.flip && unit_float(words.x[2]) < 0.5f;
  }
  int const from_j = flipped ? s.width - 1 - j : j;
  tap const y = s.bilinear ? bilinear_tap(i, shift_y, s.height) : nearest_tap(i, shift_y, s.height);
  tap const x = s.bilinear ? bilinear_tap(from_j, shift_x, s.width) : nearest_tap(from_j, shift_x, s.width);

  unsigned char const* const picture = pictures + sample * static_cast<unsigned long long>(s.channels * area);
  for (int c = 0; c < s.channels; ++c) {
    auto const pixel = [&](int row, int column) {
      int const k = (c * s.height + row) * s.width + column;
      float const value = static_cast<float>(picture[k]);
      return mean ? value - mean[k] : value;
    };
    float value;
    if (s.bilinear)
      value = between(between(pixel(y.low, x.low), pixel(y.low, x.high), x.fraction),
                      between(pixel(y.high, x.low), pixel(y.high, x.high), x.fraction), y.fraction);
    else
      value = pixel(y.low, x.low);
    assign(images[static_cast<long long>(unit) * s.channels + c], value);
  }
  if (labels && unit % area == 0) labels[n] = all_labels[sample];
}

}  // namespace dsl_kernels
)cuda"
