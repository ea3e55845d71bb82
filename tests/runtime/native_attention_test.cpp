// SPDX-License-Identifier: MIT
// Compares the native executor's attention with its definition in double, with every instruction set of this processor,
// number by number within the bounds of rounding. Tensors end at pages that cannot be accessed.
#include "support/native_convolutions.hpp"

#include <dsl/executors/native/attention.hpp>

#include <limits>

using namespace dsl;
using namespace dsl::test;

namespace {

struct sizes {
  int batch, heads, width, tokens;
  bool causal;
  int first = 0;  // channel of the buffers
};

// Heads with and without whole vectors, of one channel up to more than a tile of three vectors; one token, fewer than a
// vector, a block of keys and one key more, several blocks; few heads, whose queries are divided, and many.
sizes const layers[] = {
    {2, 2, 16, 8, false},       {2, 2, 16, 8, true},     {1, 1, 1, 1, false},    {1, 2, 64, 1, true},
    {3, 3, 5, 37, false, 16},   {1, 3, 5, 37, true, 32}, {2, 2, 32, 300, false}, {1, 2, 32, 300, true, 16},
    {1, 1, 70, 530, false, 16}, {1, 1, 70, 530, true},   {1, 2, 24, 256, true},  {1, 2, 24, 257, false},
    {2, 5, 48, 33, true},       {1, 8, 17, 100, false},  {1, 1, 80, 129, true},  {2, 1, 112, 61, false},
    {1, 1, 4, 770, true},       {1, 1, 3, 1025, false},
};

/// The definition, in double, with bounds: sums of the magnitudes of all terms.
struct exact {
  numbers y, dx, y_size, dx_size;
  double weights = 0;  // how far a weight may be off, relatively, in roundings

  exact(sizes const& l, block_tensor const& x, block_tensor const& dy, block_tensor const& old, bool accumulate)
      : y(dy.values.size()), dx(x.values.size()), y_size(y.size()), dx_size(dx.size()) {
    int const channels = l.heads * l.width;
    double const scale = 1 / std::sqrt(static_cast<double>(l.width));
    double largest = 0;
    for (int n = 0; n < l.batch; ++n)
      for (int first = 0; first < channels; first += l.width) {
        auto const in = [&](int part, int c, int i) { return x.index(n, part * channels + first + c, i); };
        auto const out = [&](int c, int i) { return dy.index(n, first + c, i); };
        for (int i = 0; i < l.tokens; ++i) {
          int const seen = l.causal ? i + 1 : l.tokens;
          numbers p(static_cast<std::size_t>(seen)), t(p.size()), t_size(p.size());
          double top = -HUGE_VAL, sum = 0, mean = 0, mean_size = 0;
          for (int j = 0; j < seen; ++j) {
            double score = 0, size = 0;
            auto const at = static_cast<std::size_t>(j);
            for (int c = 0; c < l.width; ++c) {
              double const term = x.values[in(0, c, i)] * x.values[in(1, c, j)] * scale;
              double const slope = dy.values[out(c, i)] * x.values[in(2, c, j)];
              score += term, size += std::fabs(term), t[at] += slope, t_size[at] += std::fabs(slope);
            }
            p[at] = score, top = std::fmax(top, score), largest = std::fmax(largest, size);
          }
          for (double& v : p) v = std::exp(v - top), sum += v;
          for (std::size_t j = 0; j < p.size(); ++j) {
            p[j] /= sum;
            mean += p[j] * t[j], mean_size += p[j] * t_size[j];
          }
          for (int j = 0; j < seen; ++j) {
            auto const at = static_cast<std::size_t>(j);
            double const d = p[at] * (t[at] - mean) * scale, size = p[at] * (t_size[at] + mean_size) * scale;
            for (int c = 0; c < l.width; ++c) {
              double const q = x.values[in(0, c, i)], k = x.values[in(1, c, j)], v = x.values[in(2, c, j)];
              y[out(c, i)] += p[at] * v, y_size[out(c, i)] += p[at] * std::fabs(v);
              dx[in(0, c, i)] += d * k, dx_size[in(0, c, i)] += size * std::fabs(k);
              dx[in(1, c, j)] += d * q, dx_size[in(1, c, j)] += size * std::fabs(q);
              dx[in(2, c, j)] += p[at] * dy.values[out(c, i)];
              dx_size[in(2, c, j)] += p[at] * std::fabs(dy.values[out(c, i)]);
            }
          }
        }
      }
    if (accumulate)
      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += old.values[i], dx_size[i] += std::fabs(old.values[i]);
    // A score is a sum of `width` products of rounded factors; its error is a relative one of the weight. The weight is
    // a power of 2, right to three roundings, and is divided by the sum of all, which has the same errors.
    weights = 2 * ((l.width + 4) * largest + 8);
  }
};

/// The steps of a layer on a device of its own.
struct pass {
  native_cpu::cpu_device at;
  node what;
  step forward{}, backward{};
  host::bound_step<float> f, b;

  pass(sizes const& l, host::instructions set, int threads, block_tensor const& x, block_tensor const& y,
       block_tensor const& dy, block_tensor const& dx, bool accumulate)
      : at(set, threads), what{.kind = l.causal ? op::causal_attention : op::attention, .groups = l.heads} {
    forward.what = action::forward, backward.what = action::backward;
    f.step = &forward, f.node = &what, f.x = x.read(), f.to = y.floats();
    b.step = &backward, b.node = &what, b.x = x.read(), b.dy = dy.read(), b.to = dx.floats();
    b.accumulate = accumulate, f.ends_block = b.ends_block = true;
    host::task const y_task = native_cpu::attention_task(at, f), dx_task = native_cpu::attention_task(at, b);
    REQUIRE(y_task);
    REQUIRE(dx_task);
    y_task();
    dx_task();
  }
};

struct data {
  block_tensor x, y, dy, dx;
  data(sizes const& l, int lanes)
      : x(l.batch, {3 * l.heads * l.width, 1, l.tokens}, lanes, l.first),
        y(l.batch, {l.heads * l.width, 1, l.tokens}, lanes, l.first),
        dy(l.batch, {l.heads * l.width, 1, l.tokens}, lanes, l.first, lanes),
        dx(l.batch, {3 * l.heads * l.width, 1, l.tokens}, lanes, l.first) {
    x.draw(1), dy.draw(2), dx.draw(3);
    for (double& v : x.values) v *= 2;
    x.write();
  }
};

}  // namespace

TEST_CASE("attention against its definition in double, with every instruction set", "[native]") {
  for (sizes const& l : layers)
    for (bool accumulate : {false, true}) {
      data const plain(l, 1);
      exact const wanted(l, plain.x, plain.dy, plain.dx, accumulate);
      for (auto set : instruction_sets()) {
        INFO(host::name_of(set) << ", " << l.batch << " samples, " << l.heads << " heads of " << l.width << ", "
                                << l.tokens << " tokens" << (l.causal ? ", causal" : "")
                                << (accumulate ? ", added" : ""));
        data const d(l, host::lanes_of(set));
        pass const done(l, set, 2, d.x, d.y, d.dy, d.dx, accumulate);
        check_within(d.y.found(), wanted.y, wanted.y_size, (l.tokens + 4 + wanted.weights) * 0x1p-24);
        check_within(d.dx.found(), wanted.dx, wanted.dx_size,
                     (2 * l.tokens + l.width + 8 + 2 * wanted.weights) * 0x1p-24);
        CHECK(d.y.others_are_untouched());
        CHECK(d.dx.others_are_untouched());
      }
    }
}

TEST_CASE("attention: the same bits for any number of threads", "[native]") {
  for (auto set : instruction_sets())
    for (sizes const& l : {sizes{1, 1, 20, 300, false}, sizes{2, 3, 16, 150, true}, sizes{3, 4, 9, 40, false}}) {
      std::vector<float> y, dx;
      for (int threads : {1, 2, 3, 4, 7}) {
        INFO(host::name_of(set) << ", " << l.heads << " heads, threads " << threads);
        data d(l, host::lanes_of(set));
        pass const done(l, set, threads, d.x, d.y, d.dy, d.dx, false);
        if (threads == 1) y = d.y.found(), dx = d.dx.found();
        CHECK(std::memcmp(y.data(), d.y.found().data(), y.size() * sizeof(float)) == 0);
        CHECK(std::memcmp(dx.data(), d.dx.found().data(), dx.size() * sizeof(float)) == 0);
      }
    }
}

TEST_CASE("attention: large scores do not overflow", "[native]") {
  for (auto set : instruction_sets())
    for (bool causal : {false, true}) {
      sizes const l{1, 2, 16, 300, causal};
      data d(l, host::lanes_of(set));
      for (int c = 0; c < 64; ++c)  // queries and keys: scores up to 4e5, of which one is the largest by far
        for (int i = 0; i < l.tokens; ++i) d.x.values[d.x.index(0, c, i)] *= 200;
      d.x.write();
      pass const done(l, set, 2, d.x, d.y, d.dy, d.dx, false);
      INFO(host::name_of(set));
      for (float v : d.y.found()) REQUIRE(std::fabs(v) <= 2);
      for (float v : d.dx.found()) REQUIRE(std::isfinite(v));
    }
}

TEST_CASE("attention: a NaN stays one, in its head and sample, and for tokens that see it", "[native]") {
  sizes const whole{2, 2, 16, 70, false}, causal{2, 2, 16, 70, true};
  int const channels = 32, at = 41;
  for (auto set : instruction_sets())
    for (sizes const& l : {whole, causal})
      for (int part : {0, 1, 2}) {
        INFO(host::name_of(set) << (l.causal ? ", causal" : "") << ", part " << part);
        data d(l, host::lanes_of(set));
        d.x.values[d.x.index(1, part * channels + 16 + 3, at)] = std::numeric_limits<double>::quiet_NaN();
        d.x.write();
        pass const done(l, set, 2, d.x, d.y, d.dy, d.dx, false);
        std::vector<float> const y = d.y.found(), dx = d.dx.found();
        bool others = true, shown = true, gradients = true;
        for (int n = 0; n < l.batch; ++n)
          for (int c = 0; c < channels; ++c)
            for (int i = 0; i < l.tokens; ++i) {
              bool const nan = std::isnan(y[d.y.index(n, c, i)]);
              bool const same_head = n == 1 && c >= 16;
              bool const sees = part == 0 ? i == at : i >= at || !l.causal;
              if (!same_head) others = others && !nan;
              if (same_head && sees && (part < 2 || c == 16 + 3)) shown = shown && nan;
              if (same_head && part == 2 && c != 16 + 3) others = others && !nan;
              if (same_head && part < 2 && !l.causal && !sees) others = others && !nan;
              // what the gradient of the last query must show: it sees all
              if (same_head && i == l.tokens - 1 && part > 0)
                gradients = gradients && std::isnan(dx[d.x.index(n, c, i)]);
            }
        CHECK(others);
        CHECK(shown);
        CHECK(gradients);
      }
}
