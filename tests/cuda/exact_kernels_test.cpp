// SPDX-License-Identifier: MIT
// Tests kernels whose results equal the CPU's to the last bit: the optimizer's update, and pictures from a data set;
// also what happens to parameters outside the step.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/executors/host/squares.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/training/optimizers.hpp>

#include <bit>
#include <cmath>
#include <numeric>

#include "support/catch.hpp"
#include "support/run_kernel.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;

namespace {

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
  return same;
}

dsl::dataset random_pictures(dsl::shape const& s, int count) {
  std::vector<std::uint8_t> pixels;
  for (long long i = 0; i < count * s.size(); ++i) pixels.push_back(static_cast<std::uint8_t>(generator()()));
  std::vector<std::int32_t> labels;
  for (int i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(generator()() % 7));
  dsl::dataset d = dsl::in_memory_dataset(s, 7, std::move(pixels), std::move(labels));
  d.mean = dsl::mean_picture(d);
  return d;
}

}  // namespace

TEMPLATE_TEST_CASE("update has the bits of host::update for every rule", "[kernels]", float, bf16) {
  struct rule {
    dsl::update_rule rule;
    double rate;
  };
  rule const rules[] = {
      {{}, 0.1},
      {{.weight_decay = 5e-4}, 0.05},
      {{.momentum = 0.9}, 5e-3},
      {{.momentum = 0.9, .weight_decay = 1e-3}, 5e-3},
      {{.momentum = 0.9, .nesterov = true}, 1e-2},
      {{.momentum = 0.8, .weight_decay = 1e-2, .nesterov = true}, 1e-2},
      {{.momentum = 0.9, .rate_in_velocity = false}, 1e-2},
      {{.momentum = 0.7, .weight_decay = 1e-3, .nesterov = true, .rate_in_velocity = false}, 0.3},
      {dsl::sgd{.momentum = 0.9, .nesterov = true, .clip = {.norm = 2, .value = 0.3}}.rule(), 1e-2},
      {dsl::adam{}.rule(), 1e-2},
      {dsl::adam{.epsilon = 1e-3, .corrected_epsilon = true, .weight_decay = 1e-2, .clip = {.value = 0.5}}.rule(),
       1e-2},
      {dsl::adamw{.weight_decay = 0.1, .clip = {.norm = 3}}.rule(), 1e-2},
      {dsl::rmsprop{}.rule(), 1e-3},
      {dsl::rmsprop{.epsilon_in_root = true, .weight_decay = 1e-3}.rule(), 1e-3},
      {dsl::rmsprop{.momentum = 0.9, .centered = true}.rule(), 1e-3},
      {dsl::rmsprop{.momentum = 0.9, .rate_in_velocity = false, .clip = {.norm = 1, .norm_epsilon = 1e-6}}.rule(),
       1e-2},
      {dsl::rmsprop{.centered = true, .epsilon_in_root = true}.rule(), 1e-3},
  };
  std::uint64_t const step = 0xffffffffu;
  for (auto const& [r, rate] : rules)
    for (int const count : {1, 67, 1024}) {
      INFO("method " << static_cast<int>(r.method) << ", momentum " << r.momentum << ", nesterov " << r.nesterov << ", "
                     << count << " numbers");
      bool const adaptive = r.method != dsl::update_method::sgd;  // mean squares are not negative
      numbers p(count, -1, 1), g(count, -1, 1), v(3 * count, adaptive ? 0 : -1, 1);
      float scale = 0.37F;
      dsl::update_numbers const now = r.at(rate, step);
      auto const by_host = [&](std::vector<float>& to, float const* gradients, std::vector<float>& slots) {
        double const scaled = r.clip.norm > 0 ? static_cast<double>(scale) : 1;
        dsl::host::update<float>({&r, rate, step, scaled, to.data(), gradients, slots.data(), count, count});
      };
      float const* const by = r.clip.norm > 0 ? &scale : nullptr;
      std::vector<float> const p0 = p.values, v0 = v.values;
      std::vector<float> wanted_p = p.values, wanted_v = v.values;
      by_host(wanted_p, g.data(), wanted_v);
      dsl::cu::step_state state{.step = step,
                                .position = 640,
                                .learning_rate = static_cast<float>(now.rate),
                                .shrink = static_cast<float>(now.shrink),
                                .epsilon = static_cast<float>(now.epsilon)};
      std::vector<TestType> copy(static_cast<std::size_t>(count));
      run(kernels::update(storage_of<TestType>, r, count, {.copies = true, .advance = 64}), p.data(), g.data(),
          r.slots() > 0 ? v.data() : nullptr, copy.data(), nullptr, nullptr, by, &state);
      CHECK(same_bits(p.values, wanted_p));
      CHECK(same_bits(v.values, wanted_v));
      for (std::size_t i = 0; i < copy.size(); ++i)
        CHECK(value_of(copy[i]) == value_of(stored<TestType>(static_cast<double>(wanted_p[i]))));
      CHECK(state.step == 0x100000000u);
      CHECK(state.position == 704);
      CHECK(state.learning_rate == static_cast<float>(now.rate));

      // Every second group of 16 gradients comes from the staging arena.
      std::vector<TestType> stage;
      std::vector<unsigned char> map(static_cast<std::size_t>(count + 15) / 16);
      std::vector<float> mixed = g.values;
      for (std::size_t i = 0; i < mixed.size(); ++i) {
        stage.push_back(stored<TestType>(uniform(-1, 1)));
        map[i / 16] = i / 16 % 2 == 0;
        if (map[i / 16]) mixed[i] = value_of(stage[i]);
      }
      p.values = wanted_p = p0;
      v.values = wanted_v = v0;
      by_host(wanted_p, mixed.data(), wanted_v);
      run(kernels::update(storage_of<TestType>, r, count, {.staged = true}), p.data(), g.data(),
          r.slots() > 0 ? v.data() : nullptr, nullptr, stage.data(), map.data(), by, &state);
      CHECK(same_bits(p.values, wanted_p));
      CHECK(same_bits(v.values, wanted_v));
      CHECK(state.position == 704);
    }
}

TEMPLATE_TEST_CASE("measure has the bits of host::sum_of_squares", "[kernels]", float, bf16) {
  dsl::update_rule const rule{.clip = {.norm = 2, .norm_epsilon = 1e-6}};
  for (long long const count : {1LL, 255LL, 16'384LL, 3 * 16'384LL + 1000, 300 * 16'384LL})
    for (double const size : {1e-4, 1.0}) {
      INFO(count << " numbers of " << size);
      auto const n = static_cast<std::size_t>(count);
      std::vector<float> g(n), mixed;
      std::vector<TestType> stage(n);
      std::vector<unsigned char> map(n / 16 + 1);
      for (float& x : g) x = static_cast<float>(uniform(-size, size));
      mixed = g;
      for (std::size_t i = 0; i < n; ++i) {
        stage[i] = stored<TestType>(uniform(-size, size));
        map[i / 16] = i / 16 % 3 == 0;
        if (map[i / 16]) mixed[i] = value_of(stage[i]);
      }
      for (bool const staged : {false, true}) {
        auto const spec = kernels::measure(storage_of<TestType>, rule, count, staged);
        meeting_place place(spec);
        float scale = 0;
        run(spec, g.data(), staged ? stage.data() : nullptr, staged ? map.data() : nullptr, &scale, place.doubles(),
            place.counters());
        double const squares = dsl::host::sum_of_squares((staged ? mixed : g).data(), count);
        CHECK(scale == static_cast<float>(rule.scale_for(squares)));
        CHECK((scale == 1) == (std::sqrt(squares) <= 2));
      }
    }
}

TEMPLATE_TEST_CASE("pictures from the data set are the pipeline's", "[kernels]", float, bf16) {
  dsl::shape const s{3, 13, 10};
  int const batch = 6;
  dsl::dataset const data = random_pictures(s, 40);
  std::uint64_t const seed = 0x123456789abcdefu;
  std::vector<float> mean = *data.mean;
  std::vector<int> all_labels;
  for (int i = 0; i < 40; ++i) all_labels.push_back(data.label(i));
  using dsl::shift_and_flip, dsl::random_crop, dsl::random_flip, dsl::cutout, dsl::in_order;
  dsl::augmentation const policies[] = {
      {},
      shift_and_flip{},
      shift_and_flip{
          .width = 0.9, .height = 0.7, .horizontal_flip = true, .interpolation = dsl::interpolation::bilinear},
      shift_and_flip{.width = 1, .height = 0, .horizontal_flip = false},
      shift_and_flip{.width = 0, .height = 0.3, .horizontal_flip = true, .interpolation = dsl::interpolation::bilinear},
      random_crop{},
      random_crop{.padding = 14, .outside = dsl::outside::mirror},
      random_crop{.padding = 100, .outside = dsl::outside::edge},
      random_crop{.padding = dsl::detail::largest_augmentation, .outside = dsl::outside::mirror},
      random_flip{.probability = 0.7},
      cutout{.size = 5},
      cutout{.size = 5, .epochs = 3},  // from epoch 3 on: none
      cutout{.size = 5, .epochs = 4},
      in_order{random_crop{.padding = 2}, random_flip{}, cutout{.size = 4}},
      in_order{shift_and_flip{}, random_flip{}, cutout{.size = 40}},
      in_order{shift_and_flip{.interpolation = dsl::interpolation::bilinear}, cutout{.size = 3}}};
  int policy = 0;
  for (dsl::augmentation const& augment : policies) {
    dsl::augmentation_numbers numbers;
    REQUIRE(augment.describe(numbers));
    for (bool const with_mean : {true, false}) {
      dsl::dataset given = data;
      if (!with_mean) given.mean = nullptr;
      dsl::batch_loader loader(given, {.batch_size = batch, .seed = seed, .augment = augment, .prefetch = 0});
      int const epoch = 3;
      std::vector<std::int64_t> permutation(40);
      dsl::epoch_order(seed, epoch, permutation);
      std::vector<unsigned> const order(permutation.begin(), permutation.end());
      dsl::cu::step_state state{.seed = seed, .position = 12, .epoch = epoch};
      std::vector<TestType> images(static_cast<std::size_t>(batch * s.size()));
      std::vector<int> labels(batch);
      run(kernels::gather_pictures(storage_of<TestType>, batch, s, numbers), data.pixels(0), all_labels.data(),
          with_mean ? mean.data() : nullptr, order.data(), &state, images.data(), labels.data());
      loader.start(epoch, 2);
      dsl::batch const* const wanted = loader.next();
      REQUIRE(wanted);
      bool same = true;
      for (int n = 0; n < batch; ++n) {
        CHECK(labels[static_cast<std::size_t>(n)] == wanted->targets[0].labels[n]);
        for (int c = 0; c < 3; ++c)
          for (int i = 0; i < s.area(); ++i) {
            float const w = wanted->inputs[0][n * s.size() + c * s.area() + i];
            float const found = value_of(images[static_cast<std::size_t>((n * s.area() + i) * 3 + c)]);
            same = same && found == value_of(stored<TestType>(static_cast<double>(w)));
          }
      }
      INFO("policy " << policy << ", mean " << with_mean);
      CHECK(same);
    }
    ++policy;
  }

  // Pictures in their order and without labels, as in a test set.
  dsl::cu::step_state state{.seed = seed, .position = 5};
  std::vector<TestType> images(static_cast<std::size_t>(s.size()));
  run(kernels::gather_pictures(storage_of<TestType>, 1, s, dsl::augmentation_numbers{}), data.pixels(0), nullptr,
      nullptr, nullptr, &state, images.data(), nullptr);
  CHECK(value_of(images[4]) == static_cast<float>(data.pixels(5)[s.area() + 1]));
}

TEST_CASE("shifts are rounded as the CPU rounds them, over many draws", "[kernels]") {
  dsl::shape const s{1, 6, 5};
  int const count = 5000;
  dsl::dataset const data = random_pictures(s, count);
  dsl::shift_and_flip const policy{.width = 0.8, .height = 0.8};
  dsl::cu::step_state state{.seed = 4, .epoch = 9};
  std::vector<float> images(static_cast<std::size_t>(count * s.size())), wanted(images.size());
  dsl::augmentation_numbers numbers;
  REQUIRE(policy.describe(numbers));
  run(kernels::gather_pictures(dsl::cu::storage::f32, count, s, numbers), data.pixels(0), nullptr, nullptr, nullptr,
      &state, images.data(), nullptr);
  for (int n = 0; n < count; ++n)
    dsl::apply(policy.draw(4, 9, n, s), data.pixels(n), nullptr, wanted.data() + n * s.size(), s);
  CHECK(same_bits(images, wanted));
}

TEMPLATE_TEST_CASE("a host batch becomes channels-last", "[kernels]", float, bf16) {
  for (dsl::shape const& s : {dsl::shape{3, 4, 5}, dsl::shape{1, 2, 2}, dsl::shape{20, 1, 1}}) {
    numbers from(static_cast<int>(2 * s.size()), -300, 300);
    tensor<TestType> to(2, s);
    run(kernels::load_pictures(storage_of<TestType>, 2, s), from.data(), to.data());
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < s.channels; ++c)
        for (int i = 0; i < s.area(); ++i) {
          double const wanted = from.expected[static_cast<std::size_t>((n * s.channels + c) * s.area() + i)];
          CHECK(value_of(to.got()(n, c, i)) == value_of(stored<TestType>(wanted)));
        }
  }
}

TEMPLATE_TEST_CASE("a folded convolution gives what batch_norm after it gave", "[kernels]", float, bf16) {
  int const filters = 5;
  int const inner = 12;
  numbers kernel(filters * inner, -1, 1), bias(filters, -1, 1), gamma(filters, -2, 2), beta(filters, -1, 1);
  numbers mean(filters, -1, 1), variance(filters, 0.1, 3), x(inner, -1, 1), folded_bias(filters, 0, 0);
  std::vector<TestType> folded(static_cast<std::size_t>(filters * inner));
  for (bool const with_bias : {true, false}) {
    run(kernels::fold_batch_norm(storage_of<TestType>, filters, inner, 1e-3), kernel.data(),
        with_bias ? bias.data() : nullptr, gamma.data(), beta.data(), mean.data(), variance.data(), folded.data(),
        folded_bias.data());
    for (std::size_t o = 0; o < filters; ++o) {
      double const scale = gamma.expected[o] / std::sqrt(variance.expected[o] + 1e-3);
      double y = with_bias ? bias.expected[o] : 0;
      double found = static_cast<double>(folded_bias.values[o]);
      double bound = 2e-6;
      for (std::size_t i = 0; i < inner; ++i) {
        double const w = kernel.expected[o * inner + i];
        y += w * x.expected[i];
        found += static_cast<double>(value_of(folded[o * inner + i])) * x.expected[i];
        if (sizeof(TestType) == 2) bound += 0x1.02p-8 * std::fabs(w * scale * x.expected[i]);
      }
      y = (y - mean.expected[o]) * scale + beta.expected[o];
      CHECK(std::fabs(found - y) <= bound * (1 + std::fabs(scale)));
    }
  }
}
