R"cuda(
// SPDX-License-Identifier: MIT
// Direct convolutions, for cases in which cuDNN has no plan: they are correct for every shape, and not fast. x and y
// are packed channels-last, kernels are packed (out, height, width, in / groups).

namespace dsl_kernels {

struct convolution_shape {
  int batch;
  int in_channels, in_height, in_width;
  int out_channels, out_height, out_width;
  int window_height, window_width, stride, column_stride, pad_top, pad_left, row_dilation, column_dilation;
  int groups;  // of channels: each group of outputs depends on one group of inputs
  int lanes;   // channels of the input that a thread reads at once, which are in one group
  int relu, accumulate;
};

// Returns the number of a group's input channels, or of its output channels.
DEVICE int group_in(convolution_shape const& s) { return s.in_channels / s.groups; }
DEVICE int group_out(convolution_shape const& s) { return s.out_channels / s.groups; }

// Returns the number of values in a kernel before (o, i, j, 0).
DEVICE long long kernel_at(convolution_shape const& s, int o, int i, int j) {
  return ((static_cast<long long>(o) * s.window_height + i) * s.window_width + j) * group_in(s);
}

// A thread computes one output. bias may be null.
template <int L, class T>
DEVICE void convolution_forward_lanes(convolution_shape const& s, T const* x, T const* kernel, float const* bias,
                                      T* y) {
  int const unit = global_thread();
  if (unit >= s.batch * s.out_height * s.out_width * s.out_channels) return;
  int const o = unit % s.out_channels;
  int const pixel = unit / s.out_channels;
  int const first_column = pixel % s.out_width * s.column_stride - s.pad_left;
  int const first_row = pixel / s.out_width % s.out_height * s.stride - s.pad_top;
  int const sample = pixel / (s.out_width * s.out_height);
  slice const packed{s.in_channels, 0};
  int const first_channel = o / group_out(s) * group_in(s);
  float sum = 0;
  for (int i = 0; i < s.window_height; ++i)
    for (int j = 0; j < s.window_width; ++j) {
      int const row = first_row + i * s.row_dilation;
      int const column = first_column + j * s.column_dilation;
      if (row < 0 || row >= s.in_height || column < 0 || column >= s.in_width) continue;
      T const* const from = at(x, packed, (sample * s.in_height + row) * s.in_width + column, first_channel);
      T const* const k = kernel + kernel_at(s, o, i, j);
      float part = 0;
      for (int c = 0; c < group_in(s); c += L) {
        floats<L> const a = load<L>(from + c);
        floats<L> const b = load<L>(k + c);
        for (int l = 0; l < L; ++l) part += a.v[l] * b.v[l];
      }
      sum += part;
    }
  if (bias) sum += bias[o];
  if (s.relu) sum = sum < 0 ? 0.0f : sum;
  if (s.accumulate) sum += widened(y[unit]);
  assign(y[unit], sum);
}

template <class T, int L = 0>
KERNEL void convolution_forward(convolution_shape s, T const* x, T const* kernel, float const* bias, T* y) {
  if constexpr (L > 0)
    convolution_forward_lanes<L>(s, x, kernel, bias, y);
  else if (s.lanes == 1)
    convolution_forward_lanes<1>(s, x, kernel, bias, y);
  else
    convolution_forward_lanes<full_lanes<T>>(s, x, kernel, bias, y);
}

// A thread computes L channels of an input pixel.
template <int L, class T>
DEVICE void convolution_backward_data_lanes(convolution_shape const& s, T const* dy, T const* kernel, T* dx) {
  int const unit = global_thread();
  if (unit >= s.batch * s.in_height * s.in_width * (s.in_channels / L)) return;
  place const p = place_of<L>(unit, s.in_channels);
  int const column = p.pixel % s.in_width + s.pad_left;
  int const row = p.pixel / s.in_width % s.in_height + s.pad_top;
  int const sample = p.pixel / (s.in_width * s.in_height);
  slice const packed{s.out_channels, 0};
  int const group = p.channel / group_in(s);
  int const first_output = group * group_out(s);
  int const channel = p.channel - group * group_in(s);
  floats<L> sum{};
  for (int i = 0; i < s.window_height; ++i)
    for (int j = 0; j < s.window_width; ++j) {
      int const down = row - i * s.row_dilation;
      int const right = column - j * s.column_dilation;
      int const y_row = down / s.stride;
      int const y_column = right / s.column_stride;
      if (down < 0 || right < 0 || y_row * s.stride != down || y_column * s.column_stride != right) continue;
      if (y_row >= s.out_height || y_column >= s.out_width) continue;
      T const* const from = at(dy, packed, (sample * s.out_height + y_row) * s.out_width + y_column, first_output);
      floats<L> part{};
      for (int o = 0; o < group_out(s); ++o) {
        float const d = widened(from[o]);
        floats<L> const k = load<L>(kernel + kernel_at(s, first_output + o, i, j) + channel);
        for (int l = 0; l < L; ++l) part.v[l] += d * k.v[l];
      }
      for (int l = 0; l < L; ++l) sum.v[l] += part.v[l];
    }
  put<L>(at(dx, slice{s.in_channels, 0}, p.pixel, p.channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void convolution_backward_data(convolution_shape s, T const* dy, T const* kernel, T* dx) {
  if constexpr (L > 0)
    convolution_backward_data_lanes<L>(s, dy, kernel, dx);
  else if (s.lanes == 1)
    convolution_backward_data_lanes<1>(s, dy, kernel, dx);
  else
    convolution_backward_data_lanes<full_lanes<T>>(s, dy, kernel, dx);
}

// A thread computes L neighbouring numbers of dkernel. channel_sums of dy computes the gradient of the bias.
template <int L, class T>
DEVICE void convolution_backward_weights_lanes(convolution_shape const& s, T const* x, T const* dy, float* dkernel) {
  int const unit = global_thread();
  int const places = s.window_height * s.window_width;
  if (unit >= s.out_channels * places * (group_in(s) / L)) return;
  place const p = place_of<L>(unit, group_in(s));
  int const o = p.pixel / places;
  int const i = p.pixel % places / s.window_width * s.row_dilation - s.pad_top;
  int const j = p.pixel % s.window_width * s.column_dilation - s.pad_left;
  int const channel = o / group_out(s) * group_in(s) + p.channel;
  floats<L> sum{};
  for (int n = 0; n < s.batch; ++n)
    for (int y_row = 0; y_row < s.out_height; ++y_row) {
      int const row = y_row * s.stride + i;
      if (row < 0 || row >= s.in_height) continue;
      floats<L> part{};  // the sum over a row, since a single sum over a million pixels would lose digits
      for (int y_column = 0; y_column < s.out_width; ++y_column) {
        int const column = y_column * s.column_stride + j;
        if (column < 0 || column >= s.in_width) continue;
        float const d =
            widened(*at(dy, slice{s.out_channels, 0}, (n * s.out_height + y_row) * s.out_width + y_column, o));
        floats<L> const v =
            load<L>(at(x, slice{s.in_channels, 0}, (n * s.in_height + row) * s.in_width + column, channel));
        for (int l = 0; l < L; ++l) part.v[l] += d * v.v[l];
      }
      for (int l = 0; l < L; ++l) sum.v[l] += part.v[l];
    }
  store<L>(dkernel + static_cast<long long>(p.pixel) * group_in(s) + p.channel, sum);
}

template <class T, int L = 0>
KERNEL void convolution_backward_weights(convolution_shape s, T const* x, T const* dy, float* dkernel) {
  if constexpr (L > 0)
    convolution_backward_weights_lanes<L>(s, x, dy, dkernel);
  else if (s.lanes == 1)
    convolution_backward_weights_lanes<1>(s, x, dy, dkernel);
  else
    convolution_backward_weights_lanes<full_lanes<T>>(s, x, dy, dkernel);
}

}  // namespace dsl_kernels
)cuda"
