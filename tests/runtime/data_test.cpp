// SPDX-License-Identifier: MIT
#include <dsl/data/augment.hpp>
#include <dsl/data/cifar10.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/synthetic.hpp>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using dsl::test::temporary_directory;

namespace {

namespace fs = std::filesystem;

struct environment_variable {  // set during one test, restored afterwards
  std::string name, before;
  bool was_set;
  environment_variable(std::string n, std::string const& value) : name(std::move(n)), was_set(false) {
    if (char const* old = std::getenv(name.c_str())) {
      before = old;
      was_set = true;
    }
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  environment_variable(environment_variable const&) = delete;
  environment_variable& operator=(environment_variable const&) = delete;
  ~environment_variable() {
    if (was_set)
      ::setenv(name.c_str(), before.c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
};

// Requires that `action` throws a data_error whose message contains all `words`.
template <class Error = dsl::data_error, class Action>
void require_error(Action action, std::vector<std::string> const& words) {
  try {
    action();
  } catch (Error const& e) {
    std::string const message = e.what();
    for (auto const& word : words) {
      INFO(message);
      INFO("looked for: " << word);
      REQUIRE(message.find(word) != std::string::npos);
    }
    return;
  }
  FAIL("no error, or one of another type");
}

std::vector<std::uint8_t> bytes_of(std::size_t count, std::uint64_t seed) {
  dsl::detail::random_stream random{seed, dsl::detail::purpose::user, 0};
  std::vector<std::uint8_t> bytes(count);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

dsl::dataset small_dataset(int pictures, dsl::shape sample = {2, 5, 7}) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < pictures; ++i) labels.push_back(i % 3);
  auto data = dsl::in_memory_dataset(
      sample, 3, bytes_of(static_cast<std::size_t>(pictures) * static_cast<std::size_t>(sample.size()), 1), labels);
  data.mean = dsl::mean_picture(data);
  return data;
}

// Returns a whole file with CIFAR-10's size and label counts, and its own pixels.
void write_cifar_file(fs::path const& path, int number, std::function<void(std::vector<char>&)> const& spoil = {}) {
  std::vector<char> file(30'730'000);
  for (std::size_t i = 0; i < 10'000; ++i) {
    file[i * 3073] = static_cast<char>(i % 10);
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(i * 3073 + 1), 3072, static_cast<char>(number));
  }
  if (spoil) spoil(file);
  std::ofstream(path, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
}

}  // namespace

TEST_CASE("an epoch's order is a permutation that depends on (seed, epoch) alone", "[data]") {
  std::vector<std::int64_t> a(1000), b(1000), sorted(1000);
  dsl::epoch_order(7, 3, a);
  dsl::epoch_order(7, 3, b);
  REQUIRE(a == b);
  sorted = a;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int64_t>(i));
  dsl::epoch_order(7, 4, b);
  REQUIRE(a != b);
  dsl::epoch_order(8, 3, b);
  REQUIRE(a != b);
  // The values are pinned: a run must be repeatable with the next release.
  std::vector<std::int64_t> ten(10);
  dsl::epoch_order(1, 0, ten);
  REQUIRE(ten == std::vector<std::int64_t>{2, 7, 4, 6, 3, 9, 0, 8, 1, 5});
}

TEST_CASE("every order of three is equally likely", "[data]") {
  std::vector<int> counts(27);
  std::vector<std::int64_t> order(3);
  for (int epoch = 0; epoch < 6000; ++epoch) {
    dsl::epoch_order(11, epoch, order);
    ++counts[static_cast<std::size_t>(order[0] * 9 + order[1] * 3 + order[2])];
  }
  int seen = 0;
  for (int count : counts)
    if (count) {
      ++seen;
      REQUIRE(count > 850);  // 1000 expected, standard deviation 29
      REQUIRE(count < 1150);
    }
  REQUIRE(seen == 6);
}

TEST_CASE("a data set's views share its memory", "[data]") {
  auto const data = small_dataset(10);
  auto const view = data.subset(4, 3);
  REQUIRE(view.size == 3);
  REQUIRE(view.pixels(0) == data.pixels(4));
  REQUIRE(view.label(2) == data.label(6));
  REQUIRE(view.subset(1, 2).pixels(1) == data.pixels(6));
  REQUIRE(view.mean == data.mean);
  REQUIRE(data.first(0).size == 0);
  require_error<dsl::option_error>([&] { data.first(11); },
                                   {"dataset: a subset must lie within the 10 samples; found a subset of 11 samples "
                                    "from sample 0; choose 0 to 10 samples"});
  require_error<dsl::option_error>([&] { view.subset(2, 2); },
                                   {"within the 3 samples; found a subset of 2 samples from sample 2"});
  require_error<dsl::option_error>([&] { data.subset(-1, 2); },
                                   {"found a subset of 2 samples from sample -1; choose a first sample from 0 to 10"});
  require_error<dsl::option_error>([&] { data.first(-2); },
                                   {"found a subset of -2 samples from sample 0; choose 0 to 10 samples"});
}

TEST_CASE("a data set refuses what doesn't fit", "[data]") {
  require_error([] { dsl::in_memory_dataset({1, 2, 2}, 2, bytes_of(7, 0), {0, 1}); },
                {"2 samples of 4 bytes each", "found 7"});
  require_error([] { dsl::in_memory_dataset({1, 2, 2}, 2, {1}, {0}); }, {"be 1 sample of 4 bytes; found 1 byte;"});
  require_error([] { dsl::in_memory_dataset({1, 2, 2}, 2, bytes_of(8, 0), {0, 2}); },
                {"0 to 1", "found 2", "sample 1"});
  require_error([] { dsl::in_memory_dataset({1, 2, 2}, 2, bytes_of(8, 0), {-1, 0}); }, {"found -1"});
  require_error([] { dsl::make_dataset({1, 2, 2}, 2, {{{nullptr, 4, 3}}, {0, 1}, {}, {}}); },
                {"3 samples and 2 labels"});
}

TEST_CASE("a data set whose bytes are more than any number refuses them", "[data][hostile]") {
  std::vector<std::int32_t> const labels(65536);
  constexpr int most = 0x7fffffff;
  // 2^16 pictures of 2^48 bytes: in 64 bits the product would be 0, the number of bytes there are.
  require_error([&] { dsl::in_memory_dataset({65536, 65536, 65536}, 1, {}, labels); },
                {"65536 samples of 281474976710656 bytes each; found 0 bytes"});
  require_error([&] { dsl::in_memory_dataset({most, most, most}, 1, {}, {0, 0, 0}); }, {"3 samples of 9223372036854"});
  for (dsl::shape const none : {dsl::shape{0, 4, 4}, {-1, -4, 4}, {1, -1, -1}})
    require_error([&] { dsl::in_memory_dataset(none, 1, bytes_of(16, 0), {0}); },
                  {"must have at least one number; found "});
  std::int64_t const all = std::numeric_limits<std::int64_t>::max();
  require_error(
      [&] { dsl::make_dataset({1, 1, 1}, 1, {{{nullptr, 1, all}, {nullptr, 1, all}, {nullptr, 1, 2}}, {}, {}, {}}); },
      {"found 9223372036854775807 samples and 0 labels"});
  require_error([&] { dsl::make_dataset({1, 1, 1}, 1, {{{nullptr, 1, -1}, {nullptr, 1, 1}}, {}, {}, {}}); },
                {"found -1"});
}

TEST_CASE("the mean picture", "[data]") {
  auto const data = dsl::in_memory_dataset({1, 1, 3}, 1, {0, 10, 255, 1, 20, 255, 1, 40, 255}, {0, 0, 0});
  auto const mean = dsl::mean_picture(data);
  REQUIRE((*mean)[0] == static_cast<float>(2.0 / 3.0));
  REQUIRE((*mean)[1] == static_cast<float>(70.0 / 3.0));
  REQUIRE((*mean)[2] == 255.0f);
}

TEST_CASE("worked values of shift and flip", "[augment]") {
  std::uint8_t const in[] = {1, 2, 3, 4, 5, 6};
  dsl::shape const picture{1, 2, 3};
  auto const result = [&](dsl::transform const& t, float const* mean = nullptr) {
    std::vector<float> out(6);
    dsl::apply(t, in, mean, out.data(), picture);
    return out;
  };
  using row = std::vector<float>;
  REQUIRE(result({}) == row{1, 2, 3, 4, 5, 6});
  REQUIRE(result({.dy = 0, .dx = 1}) == row{2, 3, 3, 5, 6, 6});
  REQUIRE(result({.dy = 0, .dx = -1}) == row{1, 1, 2, 4, 4, 5});
  REQUIRE(result({.dy = 1, .dx = 0}) == row{4, 5, 6, 4, 5, 6});
  REQUIRE(result({.dy = 0, .dx = 0, .flip = true}) == row{3, 2, 1, 6, 5, 4});
  REQUIRE(result({.dy = 0, .dx = 1, .flip = true}) == row{3, 3, 2, 6, 6, 5});  // shift first, then flip
  REQUIRE(result({.dy = 0, .dx = 0.5f}) == row{2, 3, 3, 5, 6, 6});             // halves round up ...
  REQUIRE(result({.dy = 0, .dx = -0.5f}) == row{1, 2, 3, 4, 5, 6});            // ... also below zero
  REQUIRE(result({.dy = 0, .dx = 0.4999f}) == row{1, 2, 3, 4, 5, 6});
  REQUIRE(result({.dy = 1e9f, .dx = -1e9f}) == row{4, 4, 4, 4, 4, 4});
  REQUIRE(result({.dy = -1e9f, .dx = 1e9f, .flip = true}) == row{3, 3, 3, 3, 3, 3});
  REQUIRE(result({.dy = 0.5f, .dx = 0.25f, .interpolation = dsl::interpolation::bilinear}) ==
          row{2.75f, 3.75f, 4.5f, 4.25f, 5.25f, 6});
  // The mean is subtracted before the shift: pixel 2 moves with its own mean.
  float const mean[] = {1, 1, 0, 0, 0, 0};
  REQUIRE(result({.dy = 0, .dx = 1}, mean) == row{1, 3, 3, 5, 6, 6});
}

TEST_CASE("augmentation equals a naive scipy.ndimage", "[augment]") {
  dsl::shape const picture{3, 9, 13};
  auto const n = static_cast<std::size_t>(picture.size());
  auto const in = bytes_of(n, 5);
  std::vector<float> mean(n);
  for (std::size_t i = 0; i < n; ++i) mean[i] = 100 + static_cast<float>(i) / 7;
  std::vector<float> out(n), cached(n), subtracted(n);
  for (std::size_t i = 0; i < n; ++i) subtracted[i] = static_cast<float>(in[i]) - mean[i];

  for (auto mode : {dsl::interpolation::nearest, dsl::interpolation::bilinear})
    for (std::int64_t sample = 0; sample < 200; ++sample) {
      dsl::shift_and_flip const policy{.width = 0.4, .height = 0.3, .horizontal_flip = true, .interpolation = mode};
      auto const t = policy.draw(99, 2, sample, picture);
      dsl::apply(t, in.data(), mean.data(), out.data(), picture);
      dsl::apply(t, subtracted.data(), cached.data(), picture);
      REQUIRE(out == cached);
      for (int c = 0; c < picture.channels; ++c)
        for (int i = 0; i < picture.height; ++i)
          for (int j = 0; j < picture.width; ++j) {
            auto const at = [&](int y, int x) {
              return double{subtracted[static_cast<std::size_t>((c * picture.height + y) * picture.width + x)]};
            };
            double const y = std::clamp<double>(i + double{t.dy}, 0, picture.height - 1);
            double const x = std::clamp<double>(j + double{t.dx}, 0, picture.width - 1);
            double expected = 0;
            if (mode == dsl::interpolation::nearest) {
              expected = at(static_cast<int>(std::floor(y + 0.5)), static_cast<int>(std::floor(x + 0.5)));
            } else {
              int const y0 = static_cast<int>(y), x0 = static_cast<int>(x);
              int const y1 = std::min(y0 + 1, picture.height - 1), x1 = std::min(x0 + 1, picture.width - 1);
              expected = (1 - (y - y0)) * ((1 - (x - x0)) * at(y0, x0) + (x - x0) * at(y0, x1)) +
                         (y - y0) * ((1 - (x - x0)) * at(y1, x0) + (x - x0) * at(y1, x1));
            }
            int const column = t.flip ? picture.width - 1 - j : j;
            double const found =
                double{out[static_cast<std::size_t>((c * picture.height + i) * picture.width + column)]};
            if (!(std::abs(found - expected) <= (mode == dsl::interpolation::nearest ? 0.0 : 1e-3))) {
              CAPTURE(sample, c, i, j, t.dy, t.dx, t.flip);
              REQUIRE(found == expected);
            }
          }
    }
}

TEST_CASE("transforms are uniform and depend on (seed, epoch, sample)", "[augment]") {
  dsl::shape const picture{3, 32, 40};
  dsl::augmentation const augment = dsl::shift_and_flip{};
  REQUIRE(augment);
  REQUIRE_FALSE(dsl::augmentation{});
  auto const key = [](dsl::transform const& t) { return std::tuple{t.dy, t.dx, t.flip}; };
  double sum_y = 0, sum_x = 0, most_y = 0, most_x = 0;
  int flips = 0, flips_to_the_right = 0;
  constexpr int count = 20'000;
  for (int i = 0; i < count; ++i) {
    auto const t = augment.draw(3, 1, i, picture);
    REQUIRE(key(t) == key(augment.draw(3, 1, i, picture)));
    sum_y += double{t.dy};
    sum_x += double{t.dx};
    most_y = std::max(most_y, std::abs(double{t.dy}));
    most_x = std::max(most_x, std::abs(double{t.dx}));
    flips += t.flip;
    flips_to_the_right += t.flip && t.dx > 0;
  }
  REQUIRE(most_y <= 3.2000001);
  REQUIRE(most_y > 3.19);
  REQUIRE(most_x <= 4.0000001);
  REQUIRE(most_x > 3.99);
  REQUIRE(std::abs(sum_y / count) < 0.06);
  REQUIRE(std::abs(sum_x / count) < 0.08);
  REQUIRE(std::abs(flips - count / 2) < 300);               // standard deviation 71
  REQUIRE(std::abs(flips_to_the_right - count / 4) < 250);  // 61: the flip is independent of the shift
  REQUIRE(key(augment.draw(3, 1, 5, picture)) != key(augment.draw(3, 2, 5, picture)));
  REQUIRE(key(augment.draw(3, 1, 5, picture)) != key(augment.draw(4, 1, 5, picture)));
  REQUIRE(key(augment.draw(3, 1, 5, picture)) != key(augment.draw(3, 1, 6, picture)));
  REQUIRE(key(augment.draw(3, 1, 5, picture)) != key(augment.draw(3, 1, 5 + (std::int64_t{1} << 32), picture)));
  REQUIRE(key(augment.draw(3, 1, 5, picture)) != key(augment.draw(3 + (std::uint64_t{1} << 32), 1, 5, picture)));
  auto const never = dsl::shift_and_flip{.width = 0, .height = 0, .horizontal_flip = false}.draw(1, 2, 3, picture);
  REQUIRE(key(never) == std::tuple{0.0f, 0.0f, false});
}

namespace {
// Some samples take 0.1 to 0.3 ms, so that workers overtake each other and are at work when the test looks, on any
// machine.
struct dawdling_shift {
  dsl::transform draw(std::uint64_t seed, int epoch, std::int64_t sample, dsl::shape const& picture) const {
    if (sample % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * (1 + sample % 3)));
    return dsl::shift_and_flip{.width = 0.3}.draw(seed, epoch, sample, picture);
  }
};
struct everything {  // what a run produces, in order
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> samples, firsts;
  std::vector<int> sizes;
  friend bool operator==(everything const&, everything const&) = default;
};
everything run(dsl::batch_loader& loader, int epochs) {
  everything all;
  auto const picture = loader.data().sample.size();
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (loader.start(epoch); auto const* b = loader.next();) {
      all.images.insert(all.images.end(), b->inputs[0], b->inputs[0] + b->size * picture);
      all.labels.insert(all.labels.end(), b->targets[0].labels, b->targets[0].labels + b->size);
      all.samples.insert(all.samples.end(), b->samples, b->samples + b->size);
      all.firsts.push_back(b->first);
      all.sizes.push_back(b->size);
    }
  return all;
}
}  // namespace

TEST_CASE("batches are the same for every thread count and prefetch depth", "[pipeline]") {
  auto const data = small_dataset(61);
  dsl::pipeline_options options{.batch_size = 8, .seed = 21, .augment = dawdling_shift{}, .prefetch = 0};
  dsl::batch_loader plain{data, options};
  REQUIRE(plain.steps_per_epoch() == 8);
  auto const expected = run(plain, 2);
  REQUIRE(expected.sizes.size() == 16);
  REQUIRE(expected.sizes[7] == 5);
  REQUIRE(expected.firsts[7] == 56);
  for (int prefetch = 0; prefetch <= 4; ++prefetch)
    for (int threads = 1; threads <= 4; ++threads)
      for (bool cache : {false, true}) {
        CAPTURE(prefetch, threads, cache);
        options.prefetch = prefetch;
        options.threads = threads;
        options.cache = cache;
        dsl::batch_loader loader{data, options};
        REQUIRE((run(loader, 2) == expected));
      }
}

TEST_CASE("the cache keeps what the first pass read", "[pipeline]") {
  auto pixels = bytes_of(60, 8);
  auto const data = dsl::make_dataset({1, 2, 3}, 1, {{{pixels.data(), 6, 10}}, std::vector<std::int32_t>(10), {}, {}});
  for (int prefetch : {0, 2}) {
    dsl::batch_loader cached{data, {.batch_size = 3, .shuffle = false, .prefetch = prefetch, .cache = true}};
    dsl::batch_loader plain{data, {.batch_size = 3, .shuffle = false, .prefetch = prefetch}};
    auto const before = run(cached, 1);
    REQUIRE((run(plain, 1) == before));
    for (auto& p : pixels) p = static_cast<std::uint8_t>(p + 1);
    REQUIRE((run(cached, 1) == before));
    REQUIRE_FALSE((run(plain, 1) == before));
  }
}

TEST_CASE("a batch is the data set's pictures, mean-subtracted, with their labels", "[pipeline]") {
  auto const data = small_dataset(20);
  dsl::batch_loader loader{data, {.batch_size = 6, .shuffle = false, .drop_last = true}};
  REQUIRE(loader.steps_per_epoch() == 3);
  auto const all = run(loader, 1);
  REQUIRE(all.samples.size() == 18);
  for (std::size_t k = 0; k < all.samples.size(); ++k) {
    REQUIRE(all.samples[k] == static_cast<std::int64_t>(k));
    REQUIRE(all.labels[k] == data.label(all.samples[k]));
    for (std::size_t p = 0; p < 70; ++p)
      REQUIRE(all.images[k * 70 + p] == static_cast<float>(data.pixels(all.samples[k])[p]) - (*data.mean)[p]);
  }
}

TEST_CASE("a shuffled epoch visits every sample once", "[pipeline]") {
  dsl::batch_loader loader{small_dataset(50), {.batch_size = 7, .seed = 2}};
  auto const all = run(loader, 2);
  std::vector<std::int64_t> const one(all.samples.begin(), all.samples.begin() + 50);
  std::vector<std::int64_t> const two(all.samples.begin() + 50, all.samples.end());
  REQUIRE(std::set<std::int64_t>(one.begin(), one.end()).size() == 50);
  REQUIRE(std::set<std::int64_t>(two.begin(), two.end()).size() == 50);
  REQUIRE(one != two);
}

TEST_CASE("an epoch can begin in its middle, and be left there", "[pipeline]") {
  auto const data = small_dataset(60);
  for (int prefetch : {0, 3}) {
    dsl::batch_loader loader{
        data, {.batch_size = 7, .seed = 5, .augment = dawdling_shift{}, .prefetch = prefetch, .threads = 2}};
    REQUIRE(loader.next() == nullptr);  // before the first start()
    std::vector<std::vector<float>> whole;
    for (loader.start(4); auto const* b = loader.next();) whole.emplace_back(b->inputs[0], b->inputs[0] + b->size * 70);
    REQUIRE(loader.next() == nullptr);
    REQUIRE(whole.size() == 9);
    for (std::int64_t from = 0; from <= 9; ++from) {
      loader.start(1);  // abandoned after one batch
      REQUIRE(loader.next() != nullptr);
      loader.start(4, from);
      auto step = static_cast<std::size_t>(from);
      while (auto const* b = loader.next()) {
        REQUIRE(b->first == static_cast<std::int64_t>(step) * 7);
        REQUIRE(std::vector<float>(b->inputs[0], b->inputs[0] + b->size * 70) == whole[step++]);
      }
      REQUIRE(step == 9);
    }
    require_error<dsl::option_error>([&] { loader.start(0, 10); }, {"0 to 9", "step 10"});
    require_error<dsl::option_error>([&] { loader.start(-1); }, {"epoch -1"});
  }
}

TEST_CASE("a loader may be destroyed at any moment", "[pipeline]") {
  auto const data = small_dataset(200);
  for (int taken = 0; taken < 12; ++taken)
    for (int threads : {1, 3}) {
      dsl::batch_loader loader{data, {.batch_size = 4, .augment = dawdling_shift{}, .prefetch = 4, .threads = threads}};
      if (taken == 11) continue;  // never started
      loader.start(0);
      for (int i = 0; i < taken; ++i) REQUIRE(loader.next() != nullptr);
    }
}

namespace {
struct breaks_at {  // a user's own augmentation, which throws
  std::int64_t sample;
  dsl::transform draw(std::uint64_t, int epoch, std::int64_t i, dsl::shape const&) const {
    if (epoch == 1 && i == sample) throw std::runtime_error("no luck with sample " + std::to_string(i));
    return {.flip = true};
  }
};
}  // namespace

TEST_CASE("an error in a worker reaches the consumer, in order, and the loader goes on", "[pipeline]") {
  auto const data = small_dataset(40);
  for (int prefetch : {0, 1, 4})
    for (int threads : {1, 3}) {
      dsl::batch_loader loader{
          data,
          {.batch_size = 4, .shuffle = false, .augment = breaks_at{22}, .prefetch = prefetch, .threads = threads}};
      loader.start(1);
      for (int i = 0; i < 5; ++i) REQUIRE(loader.next() != nullptr);
      require_error<std::runtime_error>([&] { loader.next(); }, {"no luck with sample 22"});
      REQUIRE(loader.next() == nullptr);
      int batches = 0;
      for (loader.start(2); loader.next();) ++batches;
      REQUIRE(batches == 10);
    }
}

TEST_CASE("a batch larger than the data takes no memory for more pictures", "[pipeline][hostile]") {
  dsl::batch_loader loader{small_dataset(5), {.batch_size = 0x7fffffff}};  // 4 GiB for the labels alone
  loader.start(0);
  dsl::batch const* const all = loader.next();
  REQUIRE(all);
  CHECK(all->size == 5);
  CHECK(loader.next() == nullptr);
}

TEST_CASE("the pipeline refuses options that make no sense", "[pipeline]") {
  auto const data = small_dataset(5);
  auto const load = [&](dsl::pipeline_options options) { dsl::batch_loader{data, options}; };
  require_error<dsl::option_error>([&] { load({.batch_size = 0}); }, {"batch_loader: batch_size", "found 0"});
  require_error<dsl::option_error>([&] { load({.prefetch = -1}); }, {"prefetch", "found -1"});
  require_error<dsl::option_error>([&] { load({.threads = 0}); }, {"threads", "found 0"});
  require_error<dsl::option_error>([&] { load({.threads = 1025}); }, {"threads must be 1,024 or fewer", "found 1025"});
  require_error<dsl::option_error>([&] { load({.batch_size = 6, .drop_last = true}); }, {"batch_size", "found 6"});
  require_error<dsl::option_error>([&] { dsl::batch_loader{data.first(0), {}}; }, {"data set", "found 0"});
  require_error<dsl::option_error>([&] { dsl::batch_loader{dsl::dataset{}, {}}; }, {"data set"});
  dsl::dataset moved = data;
  dsl::dataset const last = std::move(moved);
  require_error<dsl::option_error>([&] { dsl::batch_loader{moved, {}}; },  // NOLINT(bugprone-use-after-move)
                                   {"must have its samples; found none of its " + std::to_string(data.size),
                                    "as after std::move", "use the data set it was moved to"});
  require_error<dsl::option_error>([] { dsl::in_memory_dataset({1, 1, 1}, 0, {1}, {0}); },
                                   {"dataset: classes must be 1 or more; found 0"});
  auto wrong = data;
  wrong.mean = std::make_shared<std::vector<float> const>(3);
  require_error<dsl::option_error>([&] { dsl::batch_loader{wrong, {}}; }, {"mean", "found 3"});
}

TEST_CASE("small files in CIFAR-10's format", "[cifar10]") {
  temporary_directory const directory;
  auto const write = [&](std::string const& name, std::vector<int> const& labels, int extra = 0) {
    std::string file;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      file += static_cast<char>(labels[i]);
      for (int p = 0; p < 3072; ++p) file += static_cast<char>(labels[i] * 16 + p / 1024);
    }
    file.resize(static_cast<std::size_t>(static_cast<int>(file.size()) + extra));
    std::ofstream(directory.path / name, std::ios::binary) << file;
    return (directory.path / name).string();
  };
  auto const data = dsl::read_cifar_files({write("a.bin", {3, 9}), write("b.bin", {0, 5})}, 2);
  REQUIRE(data.size == 4);
  REQUIRE((data.sample == dsl::shape{3, 32, 32}));
  REQUIRE(data.classes == 10);
  for (std::int64_t i = 0; i < 4; ++i) {
    int const label = std::vector{3, 9, 0, 5}[static_cast<std::size_t>(i)];
    REQUIRE(data.label(i) == label);
    for (int c = 0; c < 3; ++c) REQUIRE(data.pixels(i)[c * 1024 + 1023] == label * 16 + c);
  }
  REQUIRE(data.class_name(data.label(0)) == "cat");
  REQUIRE(data.class_name(11) == "11");
  fs::remove_all(directory.path / "a.bin");  // the mapping outlives the name
  REQUIRE(data.pixels(0)[0] == 48);

  auto const read = [](std::string const& path) { return [path] { dsl::read_cifar_files({path}, 2); }; };
  auto const missing = (directory.path / "none.bin").string();
  require_error(read(missing), {missing, "No such file", "download_cifar10"});
  auto const shorter = write("short.bin", {1, 2}, -1);
  require_error(read(shorter), {shorter, "found 6145", "6146 bytes", "too short", "download_cifar10"});
  auto const longer = write("long.bin", {1, 2}, 1);
  require_error(read(longer), {longer, "found 6147", "6146 bytes", "too long"});
  auto const empty = write("empty.bin", {});
  require_error(read(empty), {empty, "found 0", "6146 bytes"});
  auto const mislabelled = write("label.bin", {1, 10});
  require_error(read(mislabelled), {mislabelled, "0 to 9", "found 10", "record 1"});
  auto const negative = write("negative.bin", {-1, 1});
  require_error(read(negative), {negative, "found 255", "record 0"});
  require_error(read(directory.path.string()), {directory.path.string(), "a directory"});
  auto const pipe = (directory.path / "pipe.bin").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  require_error(read(pipe), {pipe, "not a regular file"});
  if (::geteuid() != 0) {  // root may read everything
    auto const secret = write("secret.bin", {1, 2});
    fs::permissions(secret, fs::perms::none);
    require_error(read(secret), {secret, "Permission denied"});
  }
}

TEST_CASE("a small file that is cut short after it was opened ends no program", "[cifar10][hostile]") {
  temporary_directory const directory;
  auto const path = (directory.path / "f").string();
  std::string const content(100'000, 'x');
  std::ofstream(path) << content;
  dsl::detail::mapped_file const file{path, "test", "write it"};
  dsl::detail::input_file opened{path, "test", "write it"};
  fs::resize_file(path, 1000);
  REQUIRE(std::string(file.data(), file.data() + file.size()) == content);
  std::vector<char> bytes(opened.size());
  require_error([&] { opened.read(bytes.data(), bytes.size()); }, {"test: ", path, "was truncated while it was read"});
}

TEST_CASE("a mapped file", "[cifar10]") {
  temporary_directory const directory;
  auto const path = (directory.path / "f").string();
  std::ofstream(path) << "typenet";
  dsl::detail::mapped_file const file{path, "test", "write it"};
  REQUIRE(file.size() == 7);
  REQUIRE(std::string(file.data(), file.data() + file.size()) == "typenet");
  REQUIRE(file.path() == path);
  require_error([&] { dsl::detail::mapped_file{path + "/x", "test", "write it"}; }, {"test: ", path, "; write it"});
}

TEST_CASE("CIFAR-10 is found, loaded and checked whole", "[cifar10]") {
  temporary_directory const directory;
  auto const files = directory.path / "typenet" / "cifar-10-batches-bin";
  fs::create_directories(files);
  environment_variable const no_data{"TYPENET_DATA", ""};
  environment_variable const cache{"XDG_CACHE_HOME", directory.path.string()};
  REQUIRE(dsl::cifar10::find().empty());
  REQUIRE(dsl::cifar10::find(directory.path.string()).empty());
  require_error([] { dsl::cifar10::load(); }, {"data_batch_1.bin", "TYPENET_DATA", "download_cifar10"});
  require_error([&] { dsl::cifar10::load(directory.path.string()); }, {directory.path.string(), "found none"});

  for (int k = 1; k <= 5; ++k) write_cifar_file(files / ("data_batch_" + std::to_string(k) + ".bin"), k);
  REQUIRE(dsl::cifar10::find() == files.string());
  require_error([] { dsl::cifar10::load(); }, {"test_batch.bin", "No such file"});
  write_cifar_file(files / "test_batch.bin", 9);

  auto const check = [](dsl::cifar10 const& data) {
    REQUIRE(data.train.size == 50'000);
    REQUIRE(data.test.size == 10'000);
    REQUIRE(data.train.label(49'999) == 9);
    REQUIRE(int{data.train.pixels(20'000)[0]} == 3);
    REQUIRE(int{data.test.pixels(9'999)[3071]} == 9);
    REQUIRE(data.train.mean == data.test.mean);
    for (float m : *data.train.mean) REQUIRE(m == 3.0f);  // the mean of 1, 2, 3, 4, 5
  };
  check(dsl::cifar10::load());
  check(dsl::cifar10::load((directory.path / "typenet").string()));
  check(dsl::cifar10::load(files.string()));
  {
    environment_variable const elsewhere{"XDG_CACHE_HOME", "/nowhere"};
    REQUIRE(dsl::cifar10::find().empty());
    environment_variable const data{"TYPENET_DATA", (directory.path / "typenet").string()};
    REQUIRE(dsl::cifar10::find() == files.string());
  }

  // Each damaged file is found before the one damaged earlier: files are checked first, in order, then the counts of
  // train and test.
  write_cifar_file(files / "test_batch.bin", 9, [](auto& file) { file[0] = 6; });
  require_error([] { dsl::cifar10::load(); }, {"test_batch.bin", "1000", "found 999 of class 0 (airplane)"});
  write_cifar_file(files / "data_batch_3.bin", 3, [](auto& file) { file[4 * 3073] = 5; });
  require_error([] { dsl::cifar10::load(); }, {"data_batch_", "5000", "found 4999 of class 4 (deer)"});
  fs::resize_file(files / "data_batch_4.bin", 30'729'999);
  require_error([] { dsl::cifar10::load(); }, {"data_batch_4.bin", "30730000", "found 30729999"});
  fs::remove(files / "data_batch_2.bin");
  fs::create_directory(files / "data_batch_2.bin");
  require_error([] { dsl::cifar10::load(); }, {"data_batch_2.bin", "a directory"});
}

namespace {

/// Runs a command in a shell, and returns its output and exit code; TYPENET_TEST_DATA is tests/fixtures.
std::pair<int, std::string> shell(std::string const& command) {
  std::FILE* const pipe = ::popen(("cd " TYPENET_TEST_DATA "/../.. && { " + command + "; } 2>&1").c_str(), "r");
  REQUIRE(pipe);
  std::string said;
  char some[4096];
  for (std::size_t n = 0; (n = std::fread(some, 1, sizeof some, pipe)) > 0;) said.append(some, n);
  int const status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, said};
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("download_cifar10 looks into the files it finds, and its advice can be pasted", "[cifar10]") {
  temporary_directory const scratch;
  auto const home = scratch.path / "my data";  // a name that a shell splits in two unless it is quoted
  auto const files = home / "cifar-10-batches-bin";
  fs::create_directories(files);
  std::string const pasted = "scripts/download_cifar10 " + scratch.path.string() + "/my\\ data";
  std::string const remove = "rm -r " + scratch.path.string() + "/my\\ data/cifar-10-batches-bin && ";
  // A curl that fails as without a network.
  std::ofstream(scratch / "curl") << "#!/bin/sh\necho no network >&2\nexit 6\n";
  fs::permissions(scratch.path / "curl", fs::perms::owner_all);
  auto const download = [&](std::string const& directory) {
    return shell("PATH=" + scratch.path.string() + ":$PATH scripts/download_cifar10 " + directory);
  };
  std::string const quoted = "'" + home.string() + "'";

  std::string sums;
  for (std::string const name :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"}) {
    std::ofstream(files / (name + ".bin")).close();
    fs::resize_file(files / (name + ".bin"), 30'730'000);  // sparse files: they take no disk space
    sums += "c64e11b59f7cf44a2e1b7c0e2b8a6a8a0f7b1c9e8d2f3a4b5c6d7e8f90a1b2c3  " + name + ".bin\n";
  }
  auto const [unknown, said] = download(quoted);
  INFO(said);
  CHECK(unknown == 0);
  CHECK(has(said, "right sizes"));
  CHECK(has(said, remove + pasted));

  std::ofstream(files / "SHA256SUMS") << sums;  // checksums of other files
  auto const [changed, complaint] = download(quoted);
  INFO(complaint);
  CHECK(changed == 1);
  CHECK(has(complaint, "data_batch_1.bin: SHA-256 must be c64e11b5"));
  CHECK(has(complaint, remove + pasted));

  auto const [code, digests] = shell("cd " + quoted + "/cifar-10-batches-bin && sha256sum *.bin > SHA256SUMS");
  REQUIRE(code == 0);
  auto const [good, confirmed] = download(quoted);
  INFO(confirmed);
  CHECK(good == 0);
  CHECK(has(confirmed, "CIFAR-10 is complete in"));
  {
    std::fstream file(files / "test_batch.bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(12'345'678);
    file.put(1);
  }
  auto const [flipped, found] = download(quoted);
  INFO(found);
  CHECK(flipped == 1);
  CHECK(has(found, "test_batch.bin: SHA-256 must be"));
  CHECK(has(found, remove + pasted));

  // Runs the command that the message advises: the folder is removed, and only the network is missing then.
  auto const from = found.find("rm -r");
  REQUIRE(from != std::string::npos);
  auto const [again, offline] =
      shell("PATH=" + scratch.path.string() + ":$PATH && " + found.substr(from, found.find('\n', from) - from));
  INFO(offline);
  CHECK(again == 1);
  CHECK_FALSE(fs::exists(files));
  CHECK(has(offline, "no network"));
  CHECK(has(offline, pasted));
  CHECK(has(offline, (home / "cifar-10-binary.tar.gz").string()));

  fs::create_directories(files);  // what another program has left
  std::ofstream(files / "notes") << "mine";
  auto const [kept, incomplete] = download(quoted);
  INFO(incomplete);
  CHECK(kept == 1);
  CHECK(has(incomplete, "found others, which are kept"));
  CHECK(has(incomplete, remove + pasted));
  CHECK(fs::exists(files / "notes"));
  fs::remove_all(files);

  std::ofstream(home / "cifar-10-binary.tar.gz") << "half an archive";
  auto const [half, broken] = download(quoted);
  INFO(broken);
  CHECK(half == 1);
  CHECK(has(broken, "rm " + scratch.path.string() + "/my\\ data/cifar-10-binary.tar.gz && " + pasted));
}

TEST_CASE("synthetic pictures depend on (seed, index) alone and are balanced", "[synthetic]") {
  auto const a = dsl::synthetic_pictures(200, 50, 3);
  auto const b = dsl::synthetic_pictures(100, 20, 3);
  auto const c = dsl::synthetic_pictures(100, 20, 4);
  REQUIRE(a.train.size == 200);
  REQUIRE(a.test.size == 50);
  REQUIRE(a.train.class_name(5) == "star");
  auto const same = [](dsl::dataset const& x, std::int64_t i, dsl::dataset const& y, std::int64_t j) {
    return std::equal(x.pixels(i), x.pixels(i) + 3072, y.pixels(j));
  };
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < 100; ++i) {
    REQUIRE(same(a.train, i, b.train, i));
    REQUIRE_FALSE(same(a.train, i, c.train, i));
    ++counts[static_cast<std::size_t>(b.train.label(i))];
  }
  for (int count : counts) REQUIRE(count == 10);
  // picture k is the same wherever the sets are divided
  for (std::int64_t i = 0; i < 20; ++i) REQUIRE(same(b.test, i, a.train, 100 + i));
  for (std::int64_t i = 0; i < 200; ++i) REQUIRE_FALSE(same(a.test, 0, a.train, i));
  REQUIRE(a.train.mean == a.test.mean);
  REQUIRE(a.train.mean->size() == 3072);
  for (float m : *a.train.mean) {  // every pixel is sometimes figure and sometimes background, light and dark
    REQUIRE(m > 80);
    REQUIRE(m < 175);
  }
  require_error<dsl::option_error>([] { dsl::synthetic_pictures(0, 5, 1); }, {"found 0 and 5"});
  require_error<dsl::option_error>([] { dsl::synthetic_pictures(5, -1, 1); }, {"found 5 and -1"});
}

TEST_CASE("each synthetic class is the figure that its name says", "[synthetic]") {
  using dsl::detail::figure;
  struct place {
    figure what;
    float x, y;
    float distance;  // distance to the nearest edge in units of the figure's radius; negative inside
  };
  float const cosine = std::cos(0.62831853F), sine = std::sin(0.62831853F);  // cosine and sine of 36 degrees
  place const places[] = {
      {figure::disc, 0, 0, -0.9F},  // filled, of radius 0.9
      {figure::disc, -0.6F, 0.8F, 0.1F},
      {figure::ring, 0, 0, 0.5F},  // a hole of radius 0.5 in a disc of radius 0.94
      {figure::ring, 0.72F, 0, -0.22F},
      {figure::ring, 0.6F, -0.8F, 0.06F},
      {figure::square, 0, 0, -0.78F},  // half a side is 0.78; it has the corners that a disc lacks
      {figure::square, 0.7F, -0.7F, -0.08F},
      {figure::square, 0.9F, 0.7F, 0.12F},
      {figure::triangle, 0, 0, -0.5F},  // equal sides, corners at radius 1, one of them straight up
      {figure::triangle, 0, -1, 0},
      {figure::triangle, 0.8660254F, 0.5F, 0},
      {figure::triangle, 0, 1, 0.5F},
      {figure::cross, 0, 0, -0.28F},  // bars of half width 0.28 from -1 to 1
      {figure::cross, 0.8F, 0, -0.2F},
      {figure::cross, 0, -0.8F, -0.2F},
      {figure::cross, 0.8F, 0.8F, 0.52F},
      {figure::star, 0, 0, -0.3502402F},  // how far the line from tip to notch passes by the middle
      {figure::star, 1, 0, 0},            // a tip, the next 72 degrees on, and the notches half-way at radius 0.42
      {figure::star, std::cos(1.2566371F), std::sin(1.2566371F), 0},
      {figure::star, 0.42F * cosine, 0.42F * sine, 0},
      {figure::star, -0.42F, 0, 0},
      {figure::horizontal_stripes, 0.3F, 0.5F, -0.25F},  // half of each period: ink at 1/4 to 3/4, whatever x
      {figure::horizontal_stripes, 0.5F, 1, 0.25F},
      {figure::vertical_stripes, 0.5F, 0.3F, -0.25F},
      {figure::vertical_stripes, -1, 0.5F, 0.25F},
      {figure::checkerboard, 0, 0, 0.25F},  // fields of half a period: neighbours differ, diagonal ones don't
      {figure::checkerboard, 0.5F, 0, -0.25F},
      {figure::checkerboard, 0, 0.5F, -0.25F},
      {figure::checkerboard, 0.5F, 0.5F, 0.25F},
      {figure::crescent, 0.45F, 0, 0.75F},  // a disc of radius 0.95 without one of radius 0.75 around (0.45, 0)
      {figure::crescent, -0.6F, 0, -0.3F},
      {figure::crescent, -1.1F, 0, 0.15F},
  };
  for (place const& p : places) {
    INFO("figure " << static_cast<int>(p.what) << " at " << p.x << ", " << p.y);
    CHECK(dsl::detail::signed_distance(p.what, p.x, p.y) == approx(p.distance).margin(1e-5));
  }
  dsl::dataset const named = dsl::synthetic_pictures(1, 0, 1).train;
  std::pair<figure, char const*> const names[] = {
      {figure::disc, "disc"},
      {figure::ring, "ring"},
      {figure::square, "square"},
      {figure::triangle, "triangle"},
      {figure::cross, "cross"},
      {figure::star, "star"},
      {figure::horizontal_stripes, "horizontal stripes"},
      {figure::vertical_stripes, "vertical stripes"},
      {figure::checkerboard, "checkerboard"},
      {figure::crescent, "crescent"},
  };
  for (auto const& [what, name] : names) CHECK(named.class_name(static_cast<int>(what)) == name);
}

TEST_CASE("a flip never changes a synthetic picture's class", "[synthetic]") {
  // A figure with an axis of symmetry, flipped, is the same figure rotated; each of these two has one axis.
  using dsl::detail::signed_distance;
  for (int i = 0; i < 10; ++i) {
    auto const what = static_cast<dsl::detail::figure>(i);
    float across_x = 0, across_y = 0;
    for (int column = -29; column <= 29; ++column)
      for (int row = -29; row <= 29; ++row) {
        float const x = 0.043F * static_cast<float>(column), y = 0.043F * static_cast<float>(row);
        float const here = signed_distance(what, x, y);
        across_x = std::fmax(across_x, std::fabs(here - signed_distance(what, x, -y)));
        across_y = std::fmax(across_y, std::fabs(here - signed_distance(what, -x, y)));
      }
    INFO("figure " << i << ": " << across_x << ", " << across_y);
    CHECK(std::fmin(across_x, across_y) < 1e-5F);
  }
  // Stripes have no other rotation: rows of horizontal ones differ and columns hardly do, in a flipped picture, too.
  auto const variance = [](std::uint8_t const* pixels, bool of_rows) {
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      double mean = 0, squares = 0;
      for (int i = 0; i < 32; ++i) {
        double line = 0;
        for (int j = 0; j < 32; ++j) line += pixels[c * 1024 + (of_rows ? i * 32 + j : j * 32 + i)] / 32.0;
        mean += line / 32;
        squares += line * line / 32;
      }
      sum += squares - mean * mean;
    }
    return sum;
  };
  std::vector<std::uint8_t> pixels(3072);
  for (std::uint64_t index = 6; index < 400; index += 10) {
    INFO("picture " << index);
    dsl::detail::draw_synthetic(3, index, pixels.data());
    CHECK(variance(pixels.data(), true) > 10 * variance(pixels.data(), false));
    dsl::detail::draw_synthetic(3, index + 1, pixels.data());
    CHECK(variance(pixels.data(), false) > 10 * variance(pixels.data(), true));
  }
}
