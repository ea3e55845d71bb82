// SPDX-License-Identifier: MIT
// Compares the kernels by which devices use each other's numbers, compiled as C++, with plain loops over the whole
// batch.
#include "support/catch.hpp"

#include "cuda/batch_norm_layers.hpp"

#include <array>
#include <deque>

using namespace dsl_test;

namespace {

/// One device's part of a group's batch: the same buffers, from a later sample on.
template <class T>
struct part_of_batch {
  int first, size;
  long long pixels;
  std::vector<float> moments{}, dgammas{}, dbetas{}, sums{};

  part_of_batch(group const& g, int first_, int size_)
      : first(first_), size(size_), pixels(1LL * size_ * g.height * g.width) {
    moments.assign(static_cast<std::size_t>(kernels::moments_of_part(g.layers)), 0);
    dgammas = dbetas = sums = std::vector<float>(moments.size() - 1);
    moments.back() = static_cast<float>(pixels);
  }
  dsl::cu::element* from(tensor<T>& t) const { return elements(t.data() + first * t.shape.area() * t.place.channels); }
};

/// Checks that three devices, one of them without samples, normalise a batch as one would.
template <class T>
void normalise_in_parts(group const& g, bool unbiased) {
  constexpr auto storage = storage_of<T>;
  INFO(g.layers.size() << " layers, batch " << g.batch << ", first " << g.layers[0].channels << " channels");
  std::deque<layer<T>> all;
  for (std::size_t k = 0; k < g.layers.size(); ++k)
    all.emplace_back(g.batch, dsl::shape{g.layers[k].channels, g.height, g.width}, g.layers[k], k % 2 == 0);
  int const early = g.batch / 3;
  std::array<part_of_batch<T>, 3> parts{{{g, 0, early}, {g, early, 0}, {g, early, g.batch - early}}};

  kernels::batch_norm_forwards whole{};
  for (std::size_t k = 0; k < all.size(); ++k) whole.layer[k] = all[k].forward();
  auto const shifted = [&](part_of_batch<T> const& p, auto to, std::size_t k) {
    to.x = p.from(all[k].x);
    return to;
  };
  std::vector<float> gathered;
  for (auto& p : parts) {
    kernels::batch_norm_forwards to = whole;
    float* next = p.moments.data();
    for (std::size_t k = 0; k < all.size(); ++k) {
      to.layer[k] = shifted(p, to.layer[k], k);
      to.layer[k].statistics = next;
      next += 2 * g.layers[k].channels;
    }
    if (p.size > 0) {
      auto const spec = kernels::batch_norm_part(storage, p.pixels, g.layers);
      meeting_place m(spec);
      run(spec, to, m.floats(), m.counters());
    }
    gathered.insert(gathered.end(), p.moments.begin(), p.moments.end());
  }
  for (auto& l : all) l.moving_mean.check(0), l.moving_variance.check(0);  // they have not changed yet
  run(kernels::join_moments(storage, g.layers, 3, unbiased), whole, gathered.data());
  for (auto const& p : parts) {
    kernels::batch_norm_forwards to = whole;
    for (std::size_t k = 0; k < all.size(); ++k) {
      to.layer[k] = shifted(p, to.layer[k], k);
      to.layer[k].y = p.from(all[k].y);
    }
    if (p.size > 0) run(kernels::batch_norm_apply(storage, p.pixels, g.layers), to);
  }
  for (auto& l : all) {
    dsl::plain::batch_norm_forward<double>(l.x.read(), l.parameters(), l.statistics.wanted(), l.y.wanted(),
                                           l.spec.epsilon, l.spec.momentum, unbiased, l.spec.relu);
    l.statistics.check();
    l.moving_mean.check();
    l.moving_variance.check();
    l.y.check();
    l.avoid_edge();
  }

  auto const gradients_of = [&](part_of_batch<T>& p, float* dgammas, float* dbetas, float* sums) {
    kernels::batch_norm_gradients_of to{};
    std::ptrdiff_t at = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      to.layer[k] = shifted(p, all[k].backward(false), k);
      to.layer[k].dy = p.from(all[k].dy);
      to.layer[k].dx = p.from(all[k].dx);
      to.layer[k].dgamma = dgammas ? dgammas + at : nullptr;
      to.layer[k].dbeta = dbetas ? dbetas + at : nullptr;
      to.layer[k].sums = sums ? sums + at : nullptr;
      at += 2 * g.layers[k].channels;
    }
    return to;
  };
  std::vector<float> total(parts[0].sums.size());
  for (auto& p : parts) {
    if (p.size == 0) continue;
    auto const spec = kernels::batch_norm_gradients(storage, p.pixels, g.layers);
    meeting_place m(spec);
    run(spec, gradients_of(p, p.dgammas.data(), p.dbetas.data(), p.sums.data()), m.floats(), m.counters());
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += p.sums[i];
  }
  long long const values = 1LL * g.batch * g.height * g.width;
  for (auto& p : parts) {
    if (p.size == 0) continue;
    kernels::batch_norm_gradients_of to = gradients_of(p, total.data(), nullptr, nullptr);
    for (std::size_t k = 0; k < all.size(); ++k) to.layer[k].dbeta = to.layer[k].dgamma + g.layers[k].channels;
    run(kernels::batch_norm_backward(storage, p.pixels, g.layers, values), to);
  }
  std::size_t at = 0;
  for (auto& l : all) {
    l.plain_backward(l.dx.wanted(), l.spec.accumulate);
    auto const channels = static_cast<std::size_t>(l.x.shape.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      l.dgamma.values[c] = l.dbeta.values[c] = 0;
      for (auto const& p : parts) l.dgamma.values[c] += p.dgammas[at + c], l.dbeta.values[c] += p.dbetas[at + c];
      CHECK(total[at + c] == approx(l.dgamma.values[c]).margin(1e-4));
      CHECK(total[at + channels + c] == approx(l.dbeta.values[c]).margin(1e-4));
    }
    l.dgamma.check(1e-5);
    l.dbeta.check(1e-5);
    if (values > 1) l.dx.check(2e-5);
    at += 2 * channels;
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a batch_norm in parts is that of the whole batch", "[kernels]", float, bf16) {
  for (auto const& g : groups)
    for (bool const unbiased : {false, true}) normalise_in_parts<TestType>(g, unbiased);
}

TEST_CASE("a part of a batch far from the others joins without loss", "[kernels]") {
  std::vector<kernels::batch_norm_layer> const layers{{2, {2}, {2}, {2}, false, false, 1e-9, 0.5}};
  // Channel 0: 1000 values around 1e4, 2000 around -1e4, each within 1e-2. Channel 1: the same mean in both.
  std::vector<float> const parts{1e4F, 3, 1000 * 1e-4F, 1000 * 0.25F, 1000, -1e4F, 3, 2000 * 1e-4F, 2000 * 0.75F, 2000};
  std::vector<float> statistics(4), mean{1, 1}, variance{1, 1};
  kernels::batch_norm_forwards to{};
  to.layer[0].moving_mean = mean.data(), to.layer[0].moving_variance = variance.data();
  to.layer[0].statistics = statistics.data();
  run(kernels::join_moments(dsl::cu::storage::f32, layers, 2, false), to, parts.data());
  double const far = 1e8 - 1e8 / 9 + 1e-4;  // mean of squares about -1e4 / 3
  CHECK(statistics[0] == approx(-1e4 / 3).epsilon(1e-6));
  CHECK(statistics[1] == 3);
  CHECK(statistics[2] == approx(1 / std::sqrt(far)).epsilon(1e-6));
  CHECK(statistics[3] == approx(1 / std::sqrt(1750.0 / 3000)).epsilon(1e-6));
  CHECK(mean[0] == approx(0.5 - 1e4 / 6).epsilon(1e-6));
  CHECK(variance[1] == approx(0.5 + 1750.0 / 6000).epsilon(1e-6));
}

TEST_CASE("running moments move by every part in turn, by none that is empty", "[kernels]") {
  int const count = 5;
  std::vector<float> running{1, 2, 3, 4, std::nanf("")}, keep{0.9F, 0.5F, 0, 1, 0}, parts;
  auto const part = [&](float value, float towers) {
    for (int i = 0; i < count; ++i) parts.push_back(towers > 0 ? value + static_cast<float>(i) : std::nanf(""));
    parts.push_back(towers);
  };
  part(10, 1), part(0, 0), part(40, 2);
  std::vector<double> wanted;
  for (std::size_t i = 0; i < count; ++i) {
    double const k = static_cast<double>(keep[i]), d = static_cast<double>(i);
    double const first = i == 4 ? 14 : k * static_cast<double>(running[i]) + (1 - k) * (10 + d);
    wanted.push_back(k * first + (1 - k) * (40 + d) / 2);
  }
  auto const move = [&] {
    run(kernels::move_moments(dsl::cu::storage::f32, count, 3), parts.data(), keep.data(), running.data());
  };
  move();
  for (std::size_t i = 0; i < count; ++i) CHECK(static_cast<double>(running[i]) == approx(wanted[i]).epsilon(1e-6));
}

TEST_CASE("a momentum of 0 keeps nothing, no NaN either", "[kernels]") {
  kernels::batch_norm_layer const how{4, {4}, {4}, {4}, false, false, 1e-3, 0};
  layer<float> l(2, {4, 3, 3}, how, false);
  l.moving_mean.values.assign(4, std::nanf("")), l.moving_variance.values.assign(4, std::nanf(""));
  kernels::batch_norm_forwards const forwards{{l.forward()}};
  auto const spec = kernels::batch_norm_statistics(dsl::cu::storage::f32, l.x.pixels(), {&how, 1}, false);
  meeting_place m(spec);
  run(spec, forwards, m.floats(), m.counters());
  for (std::size_t c = 0; c < 4; ++c) {
    CHECK(l.moving_mean.values[c] == l.statistics.values[c]);
    CHECK(std::isfinite(l.moving_variance.values[c]));
  }
}

TEMPLATE_TEST_CASE("gradients are widened where the map says so", "[kernels]", float, bf16) {
  for (int const count : {64, 1024, 333}) {
    auto const size = static_cast<std::size_t>(count);
    std::vector<TestType> stage(size);
    std::vector<float> gradients(size), before(size);
    std::vector<unsigned char> map((size + 15) / 16);
    for (std::size_t i = 0; i < map.size(); ++i) map[i] = i % 3 == 1;
    for (std::size_t i = 0; i < size; ++i) {
      stage[i] = stored<TestType>(uniform(-2, 2));
      before[i] = gradients[i] = static_cast<float>(uniform(-2, 2));
    }
    run(kernels::widen_staged(storage_of<TestType>, count), stage.data(), map.data(), gradients.data());
    bool right = true;
    for (std::size_t i = 0; i < size; ++i)
      right = right && gradients[i] == (map[i / 16] ? value_of(stage[i]) : before[i]);
    CHECK(right);
  }
}
