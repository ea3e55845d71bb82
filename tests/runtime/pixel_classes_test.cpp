// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/words.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/pixel_loss.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/confusion_matrix.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/fingerprint.hpp>
#include "support/random_graph.hpp"

// Tests one class per pixel: what batches contain, what the loss is, and that all ways to compute it agree.

namespace {

using namespace dsl;
using namespace dsl::test;

/// Pictures of 2x6x5 whose two numbers per pixel determine its class, 0 to classes - 1; some pixels have none.
dataset maps(int samples, int classes, int none_in_a_hundred = 20) {
  dice d(3);
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < samples; ++n) {
    std::size_t const begin = numbers.size();
    numbers.resize(begin + 60);
    for (std::size_t i = 0; i < 30; ++i) {
      float const a = static_cast<float>(d.below(1000)) / 1000, b = static_cast<float>(d.below(1000)) / 1000;
      numbers[begin + i] = a, numbers[begin + 30 + i] = b;
      int const label = static_cast<int>((a + b) / 2 * static_cast<float>(classes));
      labels.push_back(d.percent(n % 3 == 0 ? 3 * none_in_a_hundred : none_in_a_hundred) ? 255 : label);
    }
  }
  return in_memory_pixel_classes({2, 6, 5}, std::move(numbers), classes, std::move(labels), /*ignored=*/255);
}

template <int Classes>
using mapper = network<image<2, 6, 5>, conv2d<8, 1>, relu, conv2d<Classes, 1>, softmax2d>;

using dsl::test::refuses;

}  // namespace

TEST_CASE("pixels: the loss is the mean cross-entropy of the labelled ones") {
  shape const s{3, 1, 2};
  double const y[] = {0.5, 0.1, 0.2, 0.6, 0.3, 0.3, /* sample 1 */ 0.25, 0.2, 0.25, 0.2, 0.5, 0.6};
  std::int32_t const labels[] = {0, -1, 2, 1};
  double metrics[2], gradient[12];
  view<double> const to{gradient, s, 2, 1, 3, 0};
  host::compute_pixel_loss<double>(true, {y, s, 2, 1, 3, 0}, labels, metrics, to, 3, false, 0);
  CHECK(metrics[0] == approx(-std::log(0.5) - std::log(0.5) - std::log(0.2)));
  CHECK(metrics[1] == 2);  // pixel 0 of both samples
  CHECK(gradient[0] == approx((0.5 - 1) / 3));
  CHECK(gradient[2] == approx(0.2 / 3));
  for (int c = 0; c < 3; ++c) CHECK(gradient[2 * c + 1] == 0);  // the pixel without a class
  CHECK(gradient[6 + 2 * 2] == approx((0.5 - 1) / 3));
  host::compute_pixel_loss<double>(true, {y, s, 2, 1, 3, 0}, labels, metrics, to, 3, true, 0);
  CHECK(metrics[1] == 4);  // a later micro-batch is added
  double const smoothed = -(0.8 * std::log(0.5) + 0.1 * std::log(0.2) + 0.1 * std::log(0.3));
  host::compute_pixel_loss<double>(false, {y, s, 1, 1, 3, 0}, labels, metrics, to, 1, false, 0.3);
  CHECK(metrics[0] == approx(smoothed));
  CHECK(gradient[0] == approx(-0.8 / 0.5));
  std::int32_t const none[] = {-1, -1, -1, -1};
  host::compute_pixel_loss<double>(true, {y, s, 2, 1, 3, 0}, none, metrics, to, 0, false, 0);
  CHECK((metrics[0] == 0 && metrics[1] == 0 && gradient[0] == 0 && gradient[11] == 0));
}

TEST_CASE("pixels: gradients are the loss's slopes") {
  dataset const data = maps(5, 4);
  batch_loader loader(data, {.batch_size = 5, .shuffle = false});
  loader.start(0);
  batch const& b = *loader.next();
  graph_view const g = mapper<4>::view();
  for (double const smoothing : {0.0, 0.2}) {
    auto const owned = reference<double>{}.make_engine(g, {.verify = &verify, .label_smoothing = smoothing});
    auto& e = dynamic_cast<host::engine<double>&>(*owned);
    initialize(e, 7);
    int const training = e.prepare(mode::training, 5, target_kind::pixel_classes);
    int const looking = e.prepare(mode::evaluation, 5, target_kind::pixel_classes);
    batch_view const v{.inputs = b.inputs, .targets = b.targets, .size = 5};
    e.run(training, v);  // a learning rate of 0
    auto const loss_now = [&] {
      e.run(looking, v);
      return e.metrics(looking).loss / static_cast<double>(b.targets[0].labelled);
    };
    for (int k = 0; k < g.size.parameters; ++k)
      for (int i = 0; i < 4; ++i) {
        double& w = e.parameter_data(k)[i];
        double const slope = e.parameter_gradient_data(k)[i], at = w, step = 1e-5;
        w = at + step;
        double const above = loss_now();
        w = at - step;
        double const below = loss_now();
        w = at;
        CHECK(slope == approx((above - below) / (2 * step)).epsilon(1e-5).margin(1e-8));
      }
  }
}

TEST_CASE("pixels: labels move with their pictures") {
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 3 * 30; ++i) numbers.push_back(static_cast<float>(i % 30 + 1)), labels.push_back(i % 30);
  dataset const data = in_memory_pixel_classes({1, 6, 5}, numbers, 30, labels);
  augmentation const recipe =
      in_order{random_crop{.padding = 3}, random_flip{}, cutout{.size = 2}};  // pixels from outside have no class
  batch_loader loader(data, {.batch_size = 3, .augment = recipe});
  int moved = 0, outside = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    loader.start(epoch);
    batch const& b = *loader.next();
    std::int64_t with_class = 0;
    for (int i = 0; i < 90; ++i) {
      if (b.inputs[0][i] != 0) CHECK(b.inputs[0][i] == static_cast<float>(b.targets[0].labels[i] + 1));
      with_class += b.targets[0].labels[i] >= 0;
      moved += b.targets[0].labels[i] >= 0 && b.targets[0].labels[i] != i % 30;
      outside += b.targets[0].labels[i] < 0;
    }
    CHECK(b.targets[0].labelled == with_class);
    for (int first = 0; first < 3; ++first) {  // a process with a part of the batch counts all of its labelled pixels
      batch_loader part(
          data,
          {.batch_size = 3, .drop_last = true, .augment = recipe, .prefetch = 0, .part_first = first, .part_size = 1});
      part.start(epoch);
      batch const& p = *part.next();
      CHECK(p.targets[0].labelled == with_class);
      CHECK(std::vector<std::int32_t>(p.targets[0].labels, p.targets[0].labels + 30) ==
            std::vector<std::int32_t>(b.targets[0].labels + 30 * first, b.targets[0].labels + 30 * first + 30));
    }
  }
  CHECK((moved > 100 && outside > 100));
  dataset const second = data.subset(1, 2);
  CHECK(second.labels(1) == data.labels(2));
  CHECK(fingerprint(second) != fingerprint(data));
}

TEST_CASE("pixels: towers and micro-batches learn what one device learns, to rounding") {
  dataset const train = maps(66, 4), test = maps(10, 4);
  fit_options const fit{.epochs = 3, .batch_size = 22, .validation = &test, .augment = random_crop{.padding = 1}};
  compile_options const checked{.verify = &verify};
  trainer one = compile<mapper<4>>(reference<double>{}, sgd{.learning_rate = 0.5}, checked);
  trainer three = compile<replicate<3, mapper<4>>>(reference<double>{}, sgd{.learning_rate = 0.5}, checked);
  trainer piped = compile<pipeline<4, mapper<4>>>(reference<double>{}, sgd{.learning_rate = 0.5}, checked);
  history const a = one.fit(train, fit);
  for (trainer* t : {&three, &piped}) {
    history const b = t->fit(train, fit);
    for (std::size_t e = 0; e < 3; ++e) {
      CHECK(a.epochs[e].train.loss == approx(b.epochs[e].train.loss).epsilon(1e-9));
      CHECK(a.epochs[e].train.acc == approx(b.epochs[e].train.acc).epsilon(1e-9));
      CHECK(a.epochs[e].validation.loss == approx(b.epochs[e].validation.loss).epsilon(1e-9));
    }
  }
  std::vector<float> x(train.reals(0), train.reals(0) + 5 * 60);
  std::vector<std::int32_t> const labels(train.labels(0), train.labels(0) + 5 * 30);
  double const alone = one.train_on_batch(x, labels).loss;
  CHECK(three.train_on_batch(x, labels).loss == approx(alone).epsilon(1e-9));
}

TEST_CASE("pixels: executors agree, in channel blocks too") {
  auto const agree = [](auto net, int classes) {
    using model = decltype(net);
    dataset const train = maps(24, classes);
    trainer plain = compile<model>(reference<double>{}, sgd{.learning_rate = 0.1}, {.label_smoothing = 0.1});
    trainer fast = compile<model>(native{}, sgd{.learning_rate = 0.1}, {.label_smoothing = 0.1, .verify = &verify});
    history const a = plain.fit(train, {.epochs = 2, .batch_size = 8}),
                  b = fast.fit(train, {.epochs = 2, .batch_size = 8});
    CHECK(a.epochs[1].train.loss == approx(b.epochs[1].train.loss).epsilon(1e-4));
    CHECK(plain.evaluate(train).loss == approx(fast.evaluate(train).loss).epsilon(1e-4));
  };
  agree(mapper<4>{}, 4);
  agree(mapper<19>{}, 19);  // more than a block of 16 channels
}

TEST_CASE("pixels: it learns, and accuracy and mean IoU are those of labelled pixels") {
  dataset const train = maps(120, 3), test = maps(20, 3);
  trainer t = compile<mapper<3>>(reference{}, adam{.learning_rate = 0.02});
  history const h = t.fit(train, {.epochs = 30, .batch_size = 12, .validation = &test});
  CHECK(h.epochs.back().validation.acc > 0.9);
  confusion_matrix counts;
  scores const s = t.evaluate(test, 7, &counts);
  long long labelled = 0;
  for (int i = 0; i < 20 * 30; ++i) labelled += test.labels(0)[i] >= 0;
  CHECK(labelled < 20 * 30);
  CHECK(counts.samples() == labelled);
  CHECK(counts.accuracy() == approx(s.acc));
  std::vector<float> const y = t.predict(test);
  long long both[3] = {}, either[3] = {};
  double loss = 0;
  for (std::size_t n = 0; n < 20; ++n)
    for (std::size_t i = 0; i < 30; ++i) {
      int const label = test.labels(static_cast<std::int64_t>(n))[i];
      if (label < 0) continue;
      int best = 0;
      for (int c = 1; c < 3; ++c)
        if (y[n * 90 + static_cast<std::size_t>(c) * 30 + i] > y[n * 90 + static_cast<std::size_t>(best) * 30 + i])
          best = c;
      loss -= std::log(static_cast<double>(y[n * 90 + static_cast<std::size_t>(label) * 30 + i]));
      both[label] += best == label;
      ++either[label];
      either[best] += best != label;
    }
  double iou = 0;
  for (int c = 0; c < 3; ++c) {
    CHECK(counts.iou(c) == approx(static_cast<double>(both[c]) / static_cast<double>(either[c])));
    iou += counts.iou(c) / 3;
  }
  CHECK(counts.mean_iou() == approx(iou));
  CHECK(s.loss == approx(loss / static_cast<double>(labelled)).epsilon(1e-5));
  CHECK(confusion_matrix{}.mean_iou() == 0);
}

TEST_CASE("pixels: bytes are the same pictures as floats") {
  dice d(5);
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 4 * 60; ++i) bytes.push_back(static_cast<std::uint8_t>(d.below(256)));
  for (int i = 0; i < 4 * 30; ++i) labels.push_back(d.below(3));
  std::vector<float> const floats(bytes.begin(), bytes.end());
  fit_options const fit{.epochs = 2, .batch_size = 2};
  trainer a = compile<mapper<3>>(reference{}, sgd{.learning_rate = 1e-5});
  trainer b = compile<mapper<3>>(reference{}, sgd{.learning_rate = 1e-5});
  CHECK(a.fit(in_memory_pixel_dataset({2, 6, 5}, bytes, 3, labels), fit).epochs[1].train.loss ==
        b.fit(in_memory_pixel_classes({2, 6, 5}, floats, 3, labels), fit).epochs[1].train.loss);
  CHECK(in_memory_pixel_dataset({1, 1, 2}, {0, 255}, 2, {0, 1}).pixels(0)[1] == 255);
  CHECK(in_memory_pixel_classes({1, 1, 2}, {0.5F, 1}, 2, {0, 1}).reals(0)[0] == 0.5F);
}

TEST_CASE("pixels: what does not fit is refused") {
  auto const make = [](int classes, std::vector<std::int32_t> labels, int ignored = -1) {
    return in_memory_pixel_classes({1, 2, 3}, std::vector<float>(12), classes, std::move(labels), ignored);
  };
  refuses<data_error>([&] { make(2, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 1}); },
                      {"found 2 in row 1, column 1 of sample 1", "0 to 1, or -1"});
  refuses<data_error>([&] { make(2, {0, 1, 0, 1, 0, -2, 0, 1, 0, 1, 1, 1}); }, {"found -2 in row 1, column 2"});
  refuses<data_error>([&] { make(2, std::vector<std::int32_t>(11)); }, {"2x3 labels", "11"});
  refuses<data_error>([&] { make(2, std::vector<std::int32_t>(6)); }, {"1 sample must", "12"});
  refuses<data_error>([&] { make(2, std::vector<std::int32_t>(12, 9), 9); },
                      {"at least one pixel must have a class", "2 images"});
  refuses<option_error>([&] { make(1, std::vector<std::int32_t>(12)); }, {"2 or more"});
  refuses<data_error>(
      [] { in_memory_pixel_classes({1, 0, 3}, std::vector<float>(2), 2, std::vector<std::int32_t>(2)); }, {"1x0x3"});
  refuses<data_error>(
      [] { in_memory_pixel_dataset({1, 1, 2}, std::vector<std::uint8_t>(3), 2, std::vector<std::int32_t>(2)); },
      {"1 image of 2 bytes; found 3 bytes"});

  dataset const data = maps(8, 4);
  trainer three = compile<mapper<3>>(reference{}, sgd{});
  refuses<option_error>([&] { three.fit(data, {.batch_size = 4}); },
                        {"4x6x5", "found 3x6x5", "conv2d<4, 1>", "softmax2d"});
  using half = network<image<2, 6, 5>, max_pool2d<2>, conv2d<4, 1>, softmax2d>;
  refuses<option_error>([&] { compile<half>(reference{}, sgd{}).evaluate(data); }, {"4x6x5", "4x3x2"});
  using squares = network<image<2, 6, 5>, conv2d<4, 1>>;
  trainer other = compile<squares>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  refuses<option_error>([&] { other.fit(data, {.batch_size = 4}); }, {"class per pixel", "categorical_crossentropy"});
  refuses<option_error>([&] { other.engine().prepare(mode::training, 4, target_kind::pixel_classes); },
                        {"mean_squared_error", "one class per pixel"});
  dataset const rows = in_memory_classes({2, 6, 5}, std::vector<float>(60), 4, {1});
  trainer four = compile<mapper<4>>(reference{}, sgd{});
  refuses<option_error>([&] { four.fit(rows, {.batch_size = 1}); },
                        {"must be flat if each sample", "4x6x5", "give each pixel a class"});
  refuses<option_error>([&] { compile<squares>(reference{}, sgd{}, compile_options{}); }, {"categorical_crossentropy"});
  using rows_of_pixels = network<image<2, 6, 5>, conv2d<4, 1>, softmax2d, flatten>;  // 30 ones in all
  refuses<option_error>([&] { compile<rows_of_pixels>(reference{}, sgd{}, compile_options{}); }, {"probabilities"});
  refuses<option_error>([&] { batch_loader wrong(data, {.batch_size = 4, .values = 4}); },
                        {".values must be 0 for data with a class per pixel; found 4"});

  std::vector<float> const x(60);
  std::vector<std::int32_t> labels(30);
  CHECK(std::isfinite(four.train_on_batch(x, labels).loss));
  labels[7] = 4;
  refuses<data_error>([&] { four.train_on_batch(x, labels); }, {"-1 to 3", "found 4 for pixel 7 of sample 0"});
  labels.resize(29);
  refuses<data_error>([&] { four.train_on_batch(x, labels); }, {"labels", "30", "29"});
  dataset const bare = [] {
    std::vector<std::int32_t> some(60, -1);
    some[59] = 1;
    return in_memory_pixel_classes({2, 6, 5}, std::vector<float>(120), 4, std::move(some));
  }();
  refuses<data_error>([&] { four.evaluate(bare.first(1)); }, {"1 image without a labelled pixel"});
  refuses<data_error>([&] { four.fit(bare.first(1), {.batch_size = 1}); }, {"fit", "without a labelled pixel"});
  std::uint64_t const steps = four.steps();
  dataset const empty = bare.first(1);
  refuses<data_error>([&] { four.fit(data, {.batch_size = 4, .validation = &empty}); }, {"validation", "labelled"});
  CHECK(four.steps() == steps);
  for (mode const m : {mode::training, mode::evaluation}) {
    int const program = four.engine().prepare(m, 2, target_kind::pixel_classes);
    refuses<option_error>([&] { four.engine().run(program, test::one_batch{bare.reals(0), {bare.labels(0)}, 2}); },
                          {".labelled", "found -1"});
  }
  int const predicting = four.engine().prepare(mode::inference, 2);
  four.engine().run(predicting, test::one_batch{bare.reals(0), {}, 2});
}

TEST_CASE("pixels: a batch without a labelled pixel changes nothing") {
  using model = network<image<2, 6, 5>, conv2d<8, 3>, batch_norm<>, relu, conv2d<4, 1>, softmax2d>;
  auto const unchanged = [](trainer t) {
    dataset const data = maps(6, 4);
    t.fit(data, {.batch_size = 3});  // fills the optimizer's slots
    auto const state = [&] { return detail::fingerprint_of(t.engine()); };
    std::uint64_t const before = state();
    CHECK(t.train_on_batch(std::vector<float>(5 * 60, 0.5F), std::vector<std::int32_t>(5 * 30, -1)).loss == 0);
    CHECK(state() == before);
    std::vector<std::int32_t> labels(90, -1);
    labels[89] = 3;
    dataset const one = in_memory_pixel_classes({2, 6, 5}, std::vector<float>(180, 0.5F), 4, labels);
    t.fit(one, {.batch_size = 2, .shuffle = false});  // the labelled pixel is in the batch that is dropped
    CHECK(state() == before);
    t.fit(one, {.batch_size = 3});
    CHECK(state() != before);
  };
  sgd const momentum{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01};
  adam const decay{.learning_rate = 0.01, .weight_decay = 0.1};
  unchanged(compile<model>(reference{}, momentum));
  unchanged(compile<model>(native{}, decay, {.verify = &verify}));
  unchanged(compile<replicate<2, model>>(reference{}, decay));
  unchanged(compile<pipeline<2, model>>(reference{}, momentum));
}

TEST_CASE("pixels: an epoch's loss and accuracy are those of its labelled pixels, as in evaluate") {
  dataset const all = maps(9, 4, 33);  // every third picture has almost no labels
  std::vector<std::int32_t> labels(all.labels(0), all.labels(0) + 9 * 30);
  for (std::size_t i = 30; i < 90; ++i) labels[i] = -1;
  dataset const data =
      in_memory_pixel_classes({2, 6, 5}, std::vector<float>(all.reals(0), all.reals(0) + 9 * 60), 4, labels);
  for (int const batch : {1, 3}) {
    trainer t = compile<mapper<4>>(reference{}, sgd{.learning_rate = 0});
    scores const trained = t.fit(data, {.batch_size = batch}).epochs[0].train, seen = t.evaluate(data);
    CHECK(trained.loss == approx(seen.loss).epsilon(1e-5));
    CHECK(trained.acc == approx(seen.acc));
  }
}
