R"cuda(
// SPDX-License-Identifier: MIT
// Reduces all pixels of a batch to two numbers per channel in one launch. The results are joined over threads, then
// over blocks by the block that finishes last, always in the same order.

namespace dsl_kernels {

constexpr int reduce_threads = 512;

// How blocks share a batch: block_x() counts chunks of pixels, and block_y() counts tiles of channels. The threads of a
// block form rows of `columns` threads. A thread processes L channels of every `rows`-th pixel of its chunk, so
// neighbouring threads read neighbouring memory.
struct tiling {
  int chunk_pixels, columns, rows, tiles;
};

struct span {
  int begin, end, step;  // in pixels
  int channel;
  bool works;
};

template <int L>
DEVICE span span_of(tiling const& t, int pixels, int channels, int tile) {
  int const row = thread() / t.columns;
  int const channel = (tile * t.columns + thread() - row * t.columns) * L;
  int const first = block_x() * t.chunk_pixels;
  int const last = pixels - first < t.chunk_pixels ? pixels : first + t.chunk_pixels;
  return {first + row, last, t.rows, channel, row < t.rows && channel < channels && first + row < last};
}

// ---- joining -------------------------------------------------------------------------------------------------------
struct pair {
  float first, second;
};

// The pairs of an entry in shared memory, one for each row of threads, `step` apart. Row r stands for every `rows`-th
// of `pixels` pixels, beginning with pixel r. `parts` threads share an entry: each joins every `parts`-th row,
// beginning with row `part`.
struct row_pairs {
  float const *firsts, *seconds;
  int step, rows, pixels, part, parts;
};
DEVICE float count_of(row_pairs const& r, int row, int whole) {
  return static_cast<float>(row < r.pixels - whole * r.rows ? whole + 1 : whole);
}
// Returns the sum of the results of an entry's threads, in the order of the threads. All threads of the block must call
// it. `shared` has an element for each thread; the elements of one entry are `entries` apart.
DEVICE float sum_of_parts(float mine, float* shared, int entry, int entries, int parts) {
  barrier();  // waits until the old content has been read
  shared[thread()] = mine;
  barrier();
  float all = 0;
  UNROLL(8)
  for (int k = 0; k < parts; ++k) all += shared[k * entries + entry];
  return all;
}

// Joins pairs by summing both numbers.
struct sums {};
DEVICE pair join_rows(sums, row_pairs const& r, float* shared, int entry, int entries) {
  pair all{0, 0};
  UNROLL(4)
  for (int row = r.part; row < r.rows; row += r.parts) {
    all.first += r.firsts[row * r.step];
    all.second += r.seconds[row * r.step];
  }
  all.first = sum_of_parts(all.first, shared, entry, entries, r.parts);
  all.second = sum_of_parts(all.second, shared, entry, entries, r.parts);
  return all;
}
DEVICE float origin_of(sums, float) { return 0; }
DEVICE pair share_of(sums, pair part, float, float) { return part; }
DEVICE pair whole_of(sums, pair all, float, float) { return all; }

// Joins pairs of a mean and the sum of squared deviations from it: adds the sums of the parts, and the squared
// deviations of the parts' means from the whole mean (Chan, Golub, LeVeque 1979). All means are taken as differences
// from the first one, which are exact if the means are large.
struct moments {};
DEVICE pair join_rows(moments, row_pairs const& r, float* shared, int entry, int entries) {
  int const whole = r.pixels / r.rows;
  float const origin = r.firsts[0];
  float sum = 0;
  UNROLL(4)
  for (int row = r.part; row < r.rows; row += r.parts)
    sum += count_of(r, row, whole) * (r.firsts[row * r.step] - origin);
  float const mean = sum_of_parts(sum, shared, entry, entries, r.parts) / static_cast<float>(r.pixels);
  float squares = 0;
  UNROLL(4)
  for (int row = r.part; row < r.rows; row += r.parts) {
    float const d = r.firsts[row * r.step] - origin - mean;
    float const n = count_of(r, row, whole);
    squares += n > 0 ? r.seconds[row * r.step] + n * d * d : 0.0f;
  }
  return {origin + mean, sum_of_parts(squares, shared, entry, entries, r.parts)};
}
// For parts that are read only once, sums n d and n d^2, where d is the difference from `origin`, the mean of one of
// the parts. The final subtraction loses at most a factor of the number of parts in precision.
DEVICE float origin_of(moments, float first) { return first; }
DEVICE pair share_of(moments, pair part, float n, float origin) {
  float const d = part.first - origin;
  return {n * d, part.second + n * d * d};
}
DEVICE pair whole_of(moments, pair all, float n, float origin) {
  float const d = all.first / n;
  float const squares = all.second - all.first * d;
  return {origin + d, squares < 0 ? 0.0f : squares};  // NaN stays NaN
}

// The memory in which a launch joins the results of its blocks. partial: 2 * entries floats per chunk. counters: one
// per tile of the launch, all 0.
struct meeting {
  float* partial;
  unsigned* counters;
  int entries;  // columns * L of all tiles of the launch
  int first;    // first entry of this tensor's first tile
};

// Joins the pairs of all threads. Each thread passes the pairs of its L channels over the pixels of its span. In the
// block that finishes a tile last, columns * L threads return true, each with the result of one channel over the whole
// batch; some of these channels may be beyond the last one.
template <class How, int L>
DEVICE bool reduce_channels(How how, tiling const& t, int pixels, int tile, floats<L> const& first,
                            floats<L> const& second, meeting const& m, pair& result, int& channel) {
  SHARED float firsts[reduce_threads * L], seconds[reduce_threads * L], shared[reduce_threads];
  int const me = thread();
  for (int k = 0; k < L; ++k) {
    firsts[k * reduce_threads + me] = first.v[k];
    seconds[k * reduce_threads + me] = second.v[k];
  }
  barrier();

  int const mine = t.columns * L;  // number of entries of this tile; channel (column, i) is entry i * columns + column
  int const parts = reduce_threads / mine;  // number of threads that share an entry
  int const part = me / mine;
  int const entry = me - part * mine;
  int const i = entry / t.columns;
  int const column = entry - i * t.columns;
  auto const pixels_of = [&](int chunk) {
    int const left = pixels - chunk * t.chunk_pixels;
    return left < t.chunk_pixels ? left : t.chunk_pixels;
  };
  float* const own = m.partial + m.first + tile * mine;
  // Threads that have no entry get a part after the last one; nothing reads their results.
  int const from = i * reduce_threads + column;
  pair const here =
      join_rows(how, {firsts + from, seconds + from, t.columns, t.rows, pixels_of(block_x()), part, parts}, shared,
                entry, mine);
  if (me < mine) {
    float* const to = own + 2LL * block_x() * m.entries + me;
    to[0] = here.first;
    to[m.entries] = here.second;
  }

  if (!is_last_block(m.counters + block_y(), blocks_x())) return false;
  float const origin = origin_of(how, fresh(own + entry));
  pair all{0, 0};
  if (part < parts) {
    UNROLL(8)
    for (int chunk = part; chunk < blocks_x(); chunk += parts) {
      float const* const from_chunk = own + 2LL * chunk * m.entries + entry;
      float const n = static_cast<float>(pixels_of(chunk));
      pair const share = share_of(how, {fresh(from_chunk), fresh(from_chunk + m.entries)}, n, origin);
      all.first += share.first;
      all.second += share.second;
    }
  }
  all.first = sum_of_parts(all.first, shared, entry, mine, parts);
  all.second = sum_of_parts(all.second, shared, entry, mine, parts);
  if (me >= mine) return false;
  result = whole_of(how, all, static_cast<float>(pixels), origin);
  channel = (tile * t.columns + column) * L + i;
  return true;
}

// ---- sums of the channels of y: the gradient of a bias -------------------------------------------------------------
struct channel_sums_shape {
  int pixels, channels, lanes;
  tiling tiles;
  slice y;
};

template <int L, class T>
DEVICE void channel_sums_lanes(channel_sums_shape const& s, T const* y, float* to, float* partial, unsigned* counters) {
  span const p = span_of<L>(s.tiles, s.pixels, s.channels, block_y());
  floats<L> all{}, nothing{};
  if (p.works) {
    UNROLL(4)
    for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
      floats<L> const v = load<L>(at(y, s.y, pixel, p.channel));
      for (int i = 0; i < L; ++i) all.v[i] += v.v[i];
    }
  }
  pair result{};
  int channel = 0;
  if (reduce_channels(sums{}, s.tiles, s.pixels, block_y(), all, nothing,
                      {partial, counters, s.tiles.columns * L * s.tiles.tiles, 0}, result, channel) &&
      channel < s.channels)
    to[channel] = result.first;
}

template <class T, int L = 0>
KERNEL void channel_sums(channel_sums_shape s, T const* y, float* to, float* partial, unsigned* counters) {
  if constexpr (L > 0)
    channel_sums_lanes<L>(s, y, to, partial, counters);
  else if (s.lanes == 1)
    channel_sums_lanes<1>(s, y, to, partial, counters);
  else
    channel_sums_lanes<full_lanes<T>>(s, y, to, partial, counters);
}

}  // namespace dsl_kernels
)cuda"
