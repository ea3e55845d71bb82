// SPDX-License-Identifier: MIT
// Tests crops, flips, cutouts, and sequences of them. Shifts are tested in data_test.cpp.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/training/fingerprint.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using row = std::vector<float>;
constexpr dsl::shape cifar{3, 32, 32};

template <class Action>
void require_option_error(Action action, std::vector<std::string> const& words) {
  try {
    action();
  } catch (dsl::option_error const& e) {
    INFO(e.what());
    for (auto const& word : words) {
      INFO("looked for: " << word);
      CHECK(std::string(e.what()).find(word) != std::string::npos);
    }
    return;
  }
  FAIL("no option_error");
}

auto key(dsl::transform const& t) {
  return std::tuple{t.dy, t.dx, t.flip, t.hole.top, t.hole.left, t.hole.height, t.hole.width};
}

dsl::dataset pictures(int count, dsl::shape sample) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(sample.size()));
  dsl::detail::random_stream random{6, dsl::detail::purpose::user, 0};
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
  auto data = dsl::in_memory_dataset(sample, 1, std::move(bytes), std::vector<std::int32_t>(std::size_t(count)));
  data.mean = dsl::mean_picture(data);
  return data;
}

/// Transforms a picture as the papers describe it: pads, crops, flips, and cuts a hole.
row padded_and_cropped(row const& in, dsl::shape const& s, int padding, int dy, int dx, bool flip,
                       dsl::rectangle const& hole) {
  int const h = s.height + 2 * padding, w = s.width + 2 * padding;
  row out;
  for (int c = 0; c < s.channels; ++c) {
    row padded(static_cast<std::size_t>(h * w));
    for (int i = 0; i < s.height; ++i)
      for (int j = 0; j < s.width; ++j)
        padded[static_cast<std::size_t>((i + padding) * w + j + padding)] =
            in[static_cast<std::size_t>((c * s.height + i) * s.width + j)];
    for (int i = 0; i < s.height; ++i)
      for (int j = 0; j < s.width; ++j) {
        int const from = flip ? s.width - 1 - j : j;
        bool const cut = i >= hole.top && i < hole.top + hole.height && j >= hole.left && j < hole.left + hole.width;
        out.push_back(cut ? 0 : padded[static_cast<std::size_t>((i + padding + dy) * w + from + padding + dx)]);
      }
  }
  return out;
}

}  // namespace

TEST_CASE("worked values of what lies outside, and of holes", "[augment]") {
  std::uint8_t const in[] = {1, 2, 3, 4, 5, 6};
  dsl::shape const picture{1, 2, 3};
  auto const result = [&](dsl::transform const& t, float const* mean = nullptr) {
    row out(6, -1.0f), from_floats(6, -1.0f), subtracted;
    dsl::apply(t, in, mean, out.data(), picture);
    for (int i = 0; i < 6; ++i) subtracted.push_back(static_cast<float>(in[i]) - (mean ? mean[i] : 0));
    dsl::apply(t, subtracted.data(), from_floats.data(), picture);
    CHECK(out == from_floats);
    return out;
  };
  auto const zero = dsl::outside::zero, mirror = dsl::outside::mirror;
  CHECK(result({.dx = 1, .outside = zero}) == row{2, 3, 0, 5, 6, 0});
  CHECK(result({.dx = -1, .outside = zero}) == row{0, 1, 2, 0, 4, 5});
  CHECK(result({.dy = 1, .outside = zero}) == row{4, 5, 6, 0, 0, 0});
  CHECK(result({.dy = -1, .dx = 2, .outside = zero}) == row{0, 0, 0, 3, 0, 0});
  CHECK(result({.dx = 1, .flip = true, .outside = zero}) == row{0, 3, 2, 0, 6, 5});  // moved first, then flipped
  CHECK(result({.dx = 3, .outside = zero}) == row(6));
  CHECK(result({.dx = -4, .outside = zero}) == row(6));
  CHECK(result({.dy = 1e9f, .dx = -1e9f, .outside = zero}) == row(6));
  CHECK(result({.dx = 1, .outside = mirror}) == row{2, 3, 2, 5, 6, 5});
  CHECK(result({.dx = -2, .outside = mirror}) == row{3, 2, 1, 6, 5, 4});
  CHECK(result({.dx = 4, .outside = mirror}) == row{1, 2, 3, 4, 5, 6});  // mirrored twice
  CHECK(result({.dy = 1, .outside = mirror}) == row{4, 5, 6, 1, 2, 3});
  CHECK(result({.dx = 0.5f, .interpolation = dsl::interpolation::bilinear, .outside = zero}) ==
        row{1.5f, 2.5f, 1.5f, 4.5f, 5.5f, 3});
  CHECK(result({.dy = -0.5f, .interpolation = dsl::interpolation::bilinear, .outside = zero}) ==
        row{0.5f, 1, 1.5f, 2.5f, 3.5f, 4.5f});
  CHECK(result({.dx = 0.5f, .interpolation = dsl::interpolation::bilinear, .outside = mirror}) ==
        row{1.5f, 2.5f, 2.5f, 4.5f, 5.5f, 5.5f});
  // Zero is the mean's colour, because the mean is subtracted first. Pixel 2 moves with its own mean.
  float const mean[] = {1, 1, 0, 0, 0, 9};
  CHECK(result({.dx = 1, .outside = zero}, mean) == row{1, 3, 0, 5, -3, 0});

  CHECK(result({.hole = {0, 1, 2, 1}}) == row{1, 0, 3, 4, 0, 6});
  CHECK(result({.flip = true, .hole = {0, 0, 1, 1}}) == row{0, 2, 1, 6, 5, 4});  // flipped first, then cut
  CHECK(result({.dx = 1, .outside = zero, .hole = {1, 0, 1, 2}}) == row{2, 3, 0, 0, 0, 0});
  CHECK(result({.hole = {-5, -5, 6, 7}}) == row{0, 0, 3, 4, 5, 6});  // only the part within the picture counts
  CHECK(result({.hole = {1, 2, 100, 100}}) == row{1, 2, 3, 4, 5, 0});
  CHECK(result({.hole = {-7, 0, 7, 3}}) == row{1, 2, 3, 4, 5, 6});
  CHECK(result({.hole = {2, 0, 7, 3}}) == row{1, 2, 3, 4, 5, 6});
  int const most = std::numeric_limits<int>::max();
  CHECK(result({.hole = {1, 1, most, most}}) == row{1, 2, 3, 4, 0, 0});
  CHECK(result({.hole = {0, 0, 0, 3}}) == row{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a picture of one row or column mirrors itself", "[augment]") {
  std::uint8_t const in[] = {7, 8};
  float out[2] = {};
  dsl::apply({.dy = 1, .dx = 1, .outside = dsl::outside::mirror}, in, nullptr, out, {2, 1, 1});
  CHECK(out[0] == 7);
  CHECK(out[1] == 8);
}

TEST_CASE("crops, flips and holes are those of a picture that is padded", "[augment]") {
  dsl::shape const picture{2, 9, 13};
  auto const data = pictures(1, picture);
  auto const n = static_cast<std::size_t>(picture.size());
  row plain(n), out(n), cached(n);
  dsl::apply({}, data.pixels(0), data.mean->data(), plain.data(), picture);
  std::vector<float> mean(n);
  for (std::size_t i = 0; i < n; ++i) mean[i] = static_cast<float>(i) / 3;
  dsl::apply({}, data.pixels(0), mean.data(), plain.data(), picture);
  for (int padding : {0, 1, 4, 12, 20})
    for (std::int64_t sample = 0; sample < 60; ++sample) {
      dsl::in_order const policy{dsl::random_crop{.padding = padding}, dsl::random_flip{}, dsl::cutout{.size = 6}};
      dsl::transform const t = policy.draw(8, 1, sample, picture);
      dsl::apply(t, data.pixels(0), mean.data(), out.data(), picture);
      dsl::apply(t, plain.data(), cached.data(), picture);
      CAPTURE(padding, sample, t.dy, t.dx, t.flip, t.hole.top, t.hole.left);
      REQUIRE(out == cached);
      REQUIRE(out == padded_and_cropped(plain, picture, padding, int(t.dy), int(t.dx), t.flip, t.hole));
    }
}

TEST_CASE("draws are Philox's words, in their order", "[augment]") {
  // Computes the draw from the generator's words: counter = (epoch, purpose, sample), key = seed.
  using dsl::detail::philox;
  std::uint64_t const seed = 0x1234'5678'9abcULL;
  std::int64_t const sample = (std::int64_t{1} << 32) + 77;
  auto const words = [&](std::uint32_t purpose) { return philox(0x5678'9abc, 0x1234, 3, purpose, 77, 1); };
  auto const high = [](std::uint32_t word, std::uint64_t n) { return static_cast<int>(word * n >> 32); };

  auto const crop = dsl::random_crop{}.draw(seed, 3, sample, cifar);
  CHECK(crop.dy == float(high(words(6).x[0], 9) - 4));
  CHECK(crop.dx == float(high(words(6).x[1], 9) - 4));
  CHECK(crop.outside == dsl::outside::zero);
  CHECK(dsl::random_flip{}.draw(seed, 3, sample, cifar).flip == (words(7).x[0] < 0x8000'0000u));
  auto const hole = dsl::cutout{}.draw(seed, 3, sample, {3, 32, 48}).hole;
  CHECK(hole == dsl::rectangle{high(words(8).x[0], 32) - 8, high(words(8).x[1], 48) - 8, 16, 16});
  CHECK(dsl::cutout{.size = 5}.draw(seed, 3, sample, {3, 32, 48}).hole ==
        dsl::rectangle{high(words(8).x[0], 32) - 2, high(words(8).x[1], 48) - 2, 5, 5});
  CHECK(dsl::cutout{.epochs = 4}.draw(seed, 3, sample, {3, 32, 48}).hole == hole);
  CHECK_FALSE(dsl::cutout{.epochs = 3}.draw(seed, 3, sample, {3, 32, 48}).cuts());

  // The values are pinned: a run must be repeatable with the next release. Each row has a sample's dy, dx, flip, top,
  // left.
  dsl::in_order const all{dsl::random_crop{}, dsl::random_flip{}, dsl::cutout{}};
  std::vector<std::vector<int>> drawn;
  for (int i = 0; i < 6; ++i) {
    auto const t = all.draw(1, 0, i, cifar);
    drawn.push_back({int(t.dy), int(t.dx), int(t.flip), t.hole.top, t.hole.left});
  }
  CHECK(drawn == std::vector<std::vector<int>>{{-3, -3, 1, 22, 3},
                                               {-1, -4, 0, 0, 14},
                                               {2, -1, 1, 2, 12},
                                               {-3, -1, 0, 13, 20},
                                               {-2, -3, 1, 17, -2},
                                               {3, 0, 1, 19, 17}});
}

TEST_CASE("parts in order draw what each draws alone", "[augment]") {
  dsl::random_crop const crop{.padding = 3, .outside = dsl::outside::mirror};
  dsl::random_flip const flip{};
  dsl::cutout const hole{.size = 8};
  dsl::shift_and_flip const shift{.width = 0.2, .height = 0.3, .interpolation = dsl::interpolation::bilinear};
  int twice_flipped = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    auto const all = dsl::in_order{crop, flip, hole}.draw(5, 2, i, cifar);
    auto const a = crop.draw(5, 2, i, cifar);
    CHECK(
        key(all) ==
        key({.dy = a.dy, .dx = a.dx, .flip = flip.draw(5, 2, i, cifar).flip, .hole = hole.draw(5, 2, i, cifar).hole}));
    if (a.moves()) CHECK(all.outside == dsl::outside::mirror);
    auto const b = shift.draw(5, 2, i, cifar);
    auto const with_hole = dsl::in_order{shift, hole}.draw(5, 2, i, cifar);
    CHECK(key(with_hole) == key({.dy = b.dy, .dx = b.dx, .flip = b.flip, .hole = hole.draw(5, 2, i, cifar).hole}));
    CHECK(with_hole.interpolation == dsl::interpolation::bilinear);
    auto const again = dsl::in_order{shift, flip}.draw(5, 2, i, cifar);
    CHECK(again.flip == (b.flip != flip.draw(5, 2, i, cifar).flip));  // two flips cancel
    twice_flipped += b.flip && !again.flip;
  }
  CHECK(twice_flipped > 20);
}

TEST_CASE("offsets, flips and holes are uniform and know nothing of each other", "[augment]") {
  dsl::augmentation const all =
      dsl::in_order{dsl::random_crop{.padding = 2}, dsl::random_flip{}, dsl::cutout{.size = 4}};
  constexpr int count = 40'000;
  std::vector<int> offsets(25), rows(32), columns(32);
  int flips = 0, flips_below = 0, holes_above_of_high = 0, high = 0;
  for (int i = 0; i < count; ++i) {
    auto const t = all.draw(3, 1, i, cifar);
    REQUIRE(key(t) == key(all.draw(3, 1, i, cifar)));
    REQUIRE(std::abs(t.dy) <= 2);
    REQUIRE(std::abs(t.dx) <= 2);
    ++offsets[static_cast<std::size_t>(5 * (int(t.dy) + 2) + int(t.dx) + 2)];
    ++rows.at(static_cast<std::size_t>(t.hole.top + 2));
    ++columns.at(static_cast<std::size_t>(t.hole.left + 2));
    flips += t.flip;
    flips_below += t.flip && t.dy > 0;
    high += t.dy < 0;
    holes_above_of_high += t.dy < 0 && t.hole.top + 2 < 16;
  }
  for (int n : offsets) CHECK(std::abs(n - count / 25) < 200);  // 1600, standard deviation 39
  for (int n : rows) CHECK(std::abs(n - count / 32) < 180);     // 1250, 35
  for (int n : columns) CHECK(std::abs(n - count / 32) < 180);  // the same
  CHECK(std::abs(flips - count / 2) < 500);                     // 100
  CHECK(std::abs(flips_below - count / 5) < 400);               // 2/5 * 1/2; 80
  CHECK(std::abs(holes_above_of_high - high / 2) < 350);        // 63
  int rare = 0;
  for (int i = 0; i < count; ++i) rare += dsl::random_flip{.probability = 0.1}.draw(3, 1, i, cifar).flip;
  CHECK(std::abs(rare - count / 10) < 300);  // 60
  for (int i = 0; i < 1000; ++i) {
    CHECK_FALSE(dsl::random_flip{.probability = 0}.draw(3, 1, i, cifar).flip);
    CHECK(dsl::random_flip{.probability = 1}.draw(3, 1, i, cifar).flip);
    CHECK_FALSE(dsl::random_crop{.padding = 0}.draw(3, 1, i, cifar).moves());
  }
  auto const base = key(all.draw(3, 1, 5, cifar));
  CHECK(base != key(all.draw(3, 2, 5, cifar)));
  CHECK(base != key(all.draw(4, 1, 5, cifar)));
  CHECK(base != key(all.draw(3, 1, 6, cifar)));
  CHECK(base != key(all.draw(3, 1, 5 + (std::int64_t{1} << 32), cifar)));
  CHECK(base != key(all.draw(3 + (std::uint64_t{1} << 32), 1, 5, cifar)));
}

namespace {
/// Some samples take 0.1 to 0.3 ms, so that workers overtake each other.
struct dawdling_crop {
  dsl::transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const {
    if (sample % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * (1 + sample % 3)));
    return dsl::random_crop{.padding = 2}.draw(seed, epoch, sample, picture);
  }
};
row run(dsl::dataset const& data, dsl::pipeline_options const& options) {
  dsl::batch_loader loader{data, options};
  row all;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (loader.start(epoch); auto const* b = loader.next();)
      all.insert(all.end(), b->inputs[0], b->inputs[0] + b->size * data.sample.size());
  return all;
}
}  // namespace

TEST_CASE("crops and cutouts are the same for every thread count, prefetch depth and tower", "[augment]") {
  auto const data = pictures(60, {2, 7, 6});
  auto const policy = dsl::in_order{dawdling_crop{}, dsl::random_flip{}, dsl::cutout{.size = 3}};
  dsl::pipeline_options options{.batch_size = 8, .seed = 4, .drop_last = true, .augment = policy, .prefetch = 0};
  row const expected = run(data, options);
  REQUIRE(expected.size() == 2 * 56 * 84);
  for (int prefetch : {0, 1, 3})
    for (int threads : {1, 2, 4})
      for (bool cache : {false, true}) {
        options.prefetch = prefetch, options.threads = threads, options.cache = cache;
        CAPTURE(prefetch, threads, cache);
        REQUIRE((run(data, options) == expected));
      }
  // Two processes load 3 and 5 samples of each batch of 8.
  options.part_first = 0, options.part_size = 3;
  row const first = run(data, options);
  options.part_first = 3, options.part_size = 5;
  row const second = run(data, options);
  row joined;
  for (int b = 0; b < 14; ++b) {
    joined.insert(joined.end(), first.begin() + b * 3 * 84, first.begin() + (b + 1) * 3 * 84);
    joined.insert(joined.end(), second.begin() + b * 5 * 84, second.begin() + (b + 1) * 5 * 84);
  }
  REQUIRE((joined == expected));
  options.part_first = 6;
  require_option_error([&] { run(data, options); }, {"drop_last must be true; found 6 and 5 for a batch of 8; use"});
  options.part_first = 3, options.drop_last = false;
  require_option_error([&] { run(data, options); }, {"found 3 and 5 for a batch of 8, without drop_last; use"});
  options = {.batch_size = 8, .seed = 5, .drop_last = true, .augment = policy, .prefetch = 0};
  REQUIRE((run(data, options) != expected));
}

namespace {
struct own_shift {  // a policy of the user's own
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {.dx = 1}; }
};
struct own_flip {
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {.flip = true}; }
};
struct own_hole {
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {.hole = {0, 0, 1, 1}}; }
};
/// Inherits a describe() that does not know this draw().
struct late_shift : dsl::shift_and_flip {
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {.dx = 1}; }
};
struct late_crop : dsl::random_crop {
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {.dx = 1}; }
};
/// A user's policy with its own describe().
struct told {
  dsl::augmentation_numbers numbers;
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {}; }
  bool describe(dsl::augmentation_numbers& all) const noexcept { return all = numbers, true; }
};
}  // namespace

TEST_CASE("a wrong order of policies is found", "[augment]") {
  dsl::random_crop const crop{};
  dsl::random_flip const flip{};
  dsl::cutout const hole{};
  dsl::shift_and_flip const shift{};
  auto const make = [](auto policy) { return [policy] { dsl::augmentation const a = policy; }; };
  require_option_error(make(dsl::in_order{flip, crop}), {"in_order", "moves", "flipped", "earlier"});
  require_option_error(make(dsl::in_order{hole, crop}), {"moves", "cut"});
  require_option_error(make(dsl::in_order{hole, flip}), {"flips", "cut"});
  require_option_error(make(dsl::in_order{crop, hole, flip}), {"flips", "cut"});
  require_option_error(make(dsl::in_order{crop, shift}), {"moves", "moved"});
  require_option_error(make(dsl::in_order{shift, flip, crop}), {"moves", "flipped"});
  require_option_error(make(dsl::in_order{crop, hole, hole}), {"cuts", "cut"});
  // the second flip would undo the first
  require_option_error(make(dsl::in_order{crop, flip, flip, hole}), {"flips", "flipped"});
  make(dsl::in_order{shift, flip, hole})();
  make(dsl::in_order{hole})();
  make(dsl::in_order{own_hole{}, crop})();  // the first draw shows what it does

  auto const draw = [](auto policy) { return [policy] { policy.draw(1, 0, 1, cifar); }; };
  require_option_error(draw(dsl::in_order{own_flip{}, own_shift{}}), {"in_order", "moves", "flipped"});
  require_option_error(draw(dsl::in_order{own_shift{}, own_shift{}}), {"moves", "moved"});
  require_option_error(draw(dsl::in_order{own_hole{}, own_shift{}}), {"moves", "cut"});
  require_option_error(draw(dsl::in_order{own_hole{}, own_flip{}}), {"flips", "cut"});
  require_option_error(draw(dsl::in_order{own_hole{}, own_hole{}}), {"cuts", "cut"});
  draw(dsl::in_order{own_shift{}, own_flip{}, own_flip{}, own_hole{}})();
  // The error reaches the caller that asks for the batch.
  auto const data = pictures(4, {1, 3, 3});
  dsl::batch_loader loader{data, {.batch_size = 2, .augment = dsl::in_order{own_flip{}, own_shift{}}}};
  loader.start(0);
  require_option_error([&] { loader.next(); }, {"in_order"});
}

TEST_CASE("what a device can draw is known in plain numbers", "[augment]") {
  dsl::augmentation_numbers n;
  CHECK(dsl::augmentation{}.describe(n));
  CHECK(n == dsl::augmentation_numbers{});
  dsl::random_crop const crop{.padding = 3, .outside = dsl::outside::mirror};
  dsl::random_flip const flip{.probability = 0.25};
  dsl::shift_and_flip const shift{.width = 0.2, .height = 0.3, .interpolation = dsl::interpolation::bilinear};
  CHECK(dsl::augmentation(dsl::in_order{crop, flip, dsl::cutout{.size = 5, .epochs = 7}}).describe(n));
  CHECK(n == dsl::augmentation_numbers{.crops = true,
                                       .padding = 3,
                                       .outside = dsl::outside::mirror,
                                       .flips = true,
                                       .flip_probability = 0.25f,
                                       .hole = 5,
                                       .hole_epochs = 7});
  CHECK(dsl::augmentation(dsl::in_order{shift, flip}).describe(n));
  CHECK(n == dsl::augmentation_numbers{.shifts = true,
                                       .shift_flips = true,
                                       .interpolation = dsl::interpolation::bilinear,
                                       .shift_height = 0.3,
                                       .shift_width = 0.2,
                                       .flips = true,
                                       .flip_probability = 0.25f});
  // The operations of a user's policy are unknown.
  CHECK_FALSE(dsl::augmentation(own_shift{}).describe(n));
  CHECK_FALSE(dsl::augmentation(dsl::in_order{own_shift{}, flip}).describe(n));
  CHECK_FALSE(dsl::augmentation(late_shift{}).describe(n));
  CHECK_FALSE(dsl::augmentation(dsl::in_order{late_crop{}, flip}).describe(n));
  CHECK(dsl::augmentation(told{{.crops = true, .padding = 9}}).describe(n));
  CHECK(n.padding == 9);
  for (dsl::augmentation_numbers const& wrong : {dsl::augmentation_numbers{.shifts = true, .crops = true},
                                                 {.crops = true, .padding = -1},
                                                 {.crops = true, .padding = (1 << 20) + 1},
                                                 {.hole = -1},
                                                 {.hole = 5, .hole_epochs = -1},
                                                 {.hole = (1 << 20) + 1}})
    CHECK_FALSE(dsl::augmentation(told{wrong}).describe(n));
}

TEST_CASE("crop, flip and cutout refuse options that make no sense", "[augment]") {
  auto const make = [](auto policy) {
    return [policy] {
      require_option_error([&] { dsl::augmentation const a = dsl::in_order{policy}; }, {});
      dsl::augmentation const a = policy;
    };
  };
  require_option_error(make(dsl::random_crop{.padding = -1}), {"random_crop", "padding", "found -1"});
  require_option_error(make(dsl::random_crop{.padding = std::numeric_limits<int>::max()}), {"random_crop", "1048576"});
  require_option_error(make(dsl::cutout{.size = 0}), {"cutout", "size", "found 0"});
  require_option_error(make(dsl::cutout{.size = -16}), {"found -16"});
  require_option_error(make(dsl::cutout{.epochs = -1}), {"cutout", "epochs", "found -1"});
  require_option_error(make(dsl::cutout{.size = (1 << 20) + 1}), {"found 1048577"});
  for (double p : {-0.1, 1.1, std::nan("")})
    require_option_error(make(dsl::random_flip{.probability = p}), {"random_flip", "probability", "0 to 1"});
  require_option_error(make(dsl::shift_and_flip{.width = 1.5}), {"shift_and_flip", "found 1.5 and 0.1"});
}

TEST_CASE("processes tell every augmentation from every other", "[augment]") {
  using dsl::augmentation;
  using dsl::in_order;
  using dsl::random_crop;
  using dsl::random_flip;
  std::vector<augmentation> const all{augmentation{},
                                      random_crop{},
                                      random_crop{.padding = 3},
                                      random_crop{.outside = dsl::outside::edge},
                                      random_crop{.outside = dsl::outside::mirror},
                                      random_flip{},
                                      random_flip{.probability = 0.4},
                                      dsl::cutout{},
                                      dsl::cutout{.size = 15},
                                      dsl::cutout{.epochs = 25},
                                      dsl::cutout{.epochs = 26},
                                      in_order{random_crop{}, random_flip{}},
                                      in_order{random_crop{}, random_flip{}, dsl::cutout{}},
                                      in_order{random_crop{}, dsl::cutout{}},
                                      dsl::shift_and_flip{},
                                      dsl::shift_and_flip{.interpolation = dsl::interpolation::bilinear},
                                      in_order{dsl::shift_and_flip{}, dsl::cutout{}},
                                      in_order{own_shift{}, dsl::cutout{}},
                                      in_order{own_shift{}, dsl::cutout{.epochs = 25}},
                                      in_order{own_shift{}, dsl::cutout{.epochs = 26}}};
  std::vector<std::uint64_t> prints;
  for (augmentation const& a : all) prints.push_back(dsl::detail::fingerprint_of(a, cifar, 30));
  for (std::size_t i = 0; i < prints.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      CAPTURE(i, k);
      CHECK(prints[i] != prints[k]);
    }
}
