R"cuda(
// SPDX-License-Identifier: MIT
// Kernels that write the images of a batch to the network's input: images from the host, or images that are gathered,
// shifted, flipped and cut from a data set in device memory. The results have the same bits as those of
// data/augment.hpp, data/crop_and_cutout.hpp and data/pipeline.hpp.

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

// ---- gathering from a data set of bytes ----------------------------------------------------------------------------
struct gather_shape {
  int batch, channels, height, width;
  int shifts, shift_flips, bilinear;
  float shift_height, shift_width;  // pixels
  int crops, padding, outside;      // outside: 0: the edge is repeated, 1: zeros, 2: mirrored
  int flips;
  float flip_probability;
  int hole, hole_epochs;  // hole_epochs: 0 stands for all epochs
};

// A source position along a row or column. If low < 0, there is no source, and the value is 0.
struct tap {
  int low, high;
  float fraction;
};

// Returns the nearest position, floor(i + shift + 0.5), with the edge repeated, as order 0 of scipy.ndimage does.
DEVICE tap nearest_tap(int i, float shift, int size) {
  double const whole = MATH(floor)(static_cast<double>(shift) + 0.5);
  double const limit = static_cast<double>(size);
  int const from = i + static_cast<int>(MATH(fmin)(MATH(fmax)(whole, -limit), limit));
  int const clamped = from < 0 ? 0 : from < size ? from : size - 1;
  return {clamped, clamped, 0.0f};
}

// Returns the positions for linear interpolation, (1 - fraction) of `low` and fraction of `high`, as order 1 of
// scipy.ndimage does.
DEVICE tap bilinear_tap(int i, float shift, int size) {
  double const wanted = static_cast<double>(i) + static_cast<double>(shift);
  double const at = MATH(fmin)(MATH(fmax)(wanted, 0.0), static_cast<double>(size - 1));
  int const low = static_cast<int>(at);
  return {low, low + 1 < size ? low + 1 : size - 1, static_cast<float>(at - static_cast<double>(low))};
}

// Returns the pixel of `size` pixels that is at position i + move. For example, position 5 of 4 pixels, mirrored, is
// pixel 1.
DEVICE tap whole_tap(int i, int move, int size, int outside) {
  int const limit = 4 * size;
  int const at = i + (move < -limit ? -limit : move > limit ? limit : move);
  int found = at;
  if (at < 0 || at >= size) {
    if (outside == 0 || (outside == 2 && size == 1)) {
      found = at < 0 ? 0 : size - 1;
    } else if (outside == 1) {
      found = -1;
    } else {
      int const period = 2 * (size - 1);
      int const in_period = (at % period + period) % period;
      found = in_period < size ? in_period : period - in_period;
    }
  }
  return {found, found, 0.0f};
}

// Scales a random word to a number from 0 to n - 1.
DEVICE int scaled(unsigned word, int n) {
  return static_cast<int>(static_cast<unsigned long long>(word) * static_cast<unsigned>(n) >> 32);
}

DEVICE float between(float low, float high, float fraction) {
  return sum_of(product(low, 1 - fraction), product(high, fraction));
}

// A thread computes one pixel. pictures: (all, channels, height, width) bytes. order: the index of the image at each
// position of the epoch, or null for the stored order. mean: one image, or null.
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

  auto const words_for = [&](unsigned purpose) {
    return philox(static_cast<unsigned>(state->seed), static_cast<unsigned>(state->seed >> 32),
                  static_cast<unsigned>(state->epoch), purpose, static_cast<unsigned>(sample),
                  static_cast<unsigned>(sample >> 32));
  };
  float shift_y = 0, shift_x = 0;
  int crop_y = 0, crop_x = 0;
  bool flipped = false, in_hole = false;
  if (s.shifts) {
    philox_block const words = words_for(2u);
    shift_y = (2.0f * unit_float(words.x[0]) - 1.0f) * s.shift_height;
    shift_x = (2.0f * unit_float(words.x[1]) - 1.0f) * s.shift_width;
    flipped = s.shift_flips && unit_float(words.x[2]) < 0.5f;
  }
  if (s.crops) {
    philox_block const words = words_for(6u);
    crop_y = scaled(words.x[0], 2 * s.padding + 1) - s.padding;
    crop_x = scaled(words.x[1], 2 * s.padding + 1) - s.padding;
  }
  if (s.flips && unit_float(words_for(7u).x[0]) < s.flip_probability) flipped = !flipped;
  if (s.hole > 0 && (s.hole_epochs == 0 || state->epoch < s.hole_epochs)) {
    philox_block const words = words_for(8u);
    int const down = i - (scaled(words.x[0], s.height) - s.hole / 2);
    int const right = j - (scaled(words.x[1], s.width) - s.hole / 2);
    in_hole = down >= 0 && down < s.hole && right >= 0 && right < s.hole;
  }
  int const from_j = flipped ? s.width - 1 - j : j;
  tap y, x;
  if (s.crops) {
    y = whole_tap(i, crop_y, s.height, s.outside);
    x = whole_tap(from_j, crop_x, s.width, s.outside);
  } else {
    y = s.bilinear ? bilinear_tap(i, shift_y, s.height) : nearest_tap(i, shift_y, s.height);
    x = s.bilinear ? bilinear_tap(from_j, shift_x, s.width) : nearest_tap(from_j, shift_x, s.width);
  }
  bool const nothing = in_hole || y.low < 0 || x.low < 0;

  unsigned char const* const picture = pictures + sample * static_cast<unsigned long long>(s.channels * area);
  for (int c = 0; c < s.channels; ++c) {
    auto const pixel = [&](int row, int column) {
      int const k = (c * s.height + row) * s.width + column;
      float const value = static_cast<float>(picture[k]);
      return mean ? value - mean[k] : value;
    };
    float value;
    if (nothing)
      value = 0;
    else if (s.bilinear)
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
