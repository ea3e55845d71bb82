// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/random_graph.hpp"
#include "support/words.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Outputs with losses and targets of their own: a class, a class per pixel and values, of three outputs of one network.

namespace {

using namespace dsl;
using namespace dsl::test;

/// The result is one of three classes, "mask" a class per pixel, and "pose" two values.
template <int Device>
using scene_on = network<image<2, 5, 4>, conv2d<6, 3>, batch_norm<>, relu,
                         named_output<"mask", on<device<Device>, conv2d<2, 1>, softmax2d>>, conv2d<5, 3>, relu,
                         named_output<"pose", on<device<Device>, flatten, dense<2>>>,
                         on<device<Device>, dropout<0.1>, flatten, dense<3>, softmax>>;
using scene = scene_on<0>;

/// A loss of one's own, for the poses: the distance to the power of four.
struct quartic {
  double value(double y, double t) const { return (y - t) * (y - t) * (y - t) * (y - t); }
  double derivative(double y, double t) const { return 4 * (y - t) * (y - t) * (y - t); }
};

struct drawn_scene {
  dataset data;
  std::vector<std::int32_t> labels, mask;
  std::vector<float> pose;
};

drawn_scene drawn(int samples, std::uint64_t seed = 3, bool weighted = false) {
  dice d(seed);
  drawn_scene made;
  std::vector<float> pictures, weights;
  for (int n = 0; n < samples; ++n) {
    float sum = 0;
    for (int i = 0; i < 40; ++i) {
      pictures.push_back(static_cast<float>(d.below(2001)) / 1000 - 1);
      sum += pictures.back();
      if (i < 20) made.mask.push_back(d.percent(20) ? -1 : pictures.back() > 0 ? 1 : 0);
    }
    made.labels.push_back(sum < -2 ? 0 : sum < 2 ? 1 : 2);
    made.pose.insert(made.pose.end(), {sum / 8, 1 - sum / 16});
    weights.push_back(static_cast<float>(1 + d.below(3)) / 2);
  }
  made.data = in_memory_classes({2, 5, 4}, std::move(pictures), 3, made.labels);
  made.data = with_pixel_target(made.data, "mask", 2, made.mask);
  made.data = with_value_target(made.data, "pose", 2, made.pose);
  if (weighted) made.data = with_weights(made.data, std::move(weights));
  return made;
}

compile_options const learns{
    .losses = {{"pose", loss::mean_squared_error}}, .loss_weights = {{"pose", 0.5}, {"mask", 2}}, .verify = &verify};

per_output<loss> losses_of_scene(loss of_pose) {
  per_output<loss> all;
  for (loss const l : {loss::categorical_crossentropy, loss::categorical_crossentropy, of_pose}) all.push(l);
  return all;
}
per_output<target_kind> targets_of_scene() {
  per_output<target_kind> all;
  for (target_kind const k : {target_kind::classes, target_kind::pixel_classes, target_kind::values}) all.push(k);
  return all;
}
constexpr plan_options plan_of_scene(mode m, int batch, int micro_batches = 1) {
  plan_options o{.batch = batch, .mode = m, .micro_batches = micro_batches};
  o.loss = {};
  for (loss const l : {loss::categorical_crossentropy, loss::categorical_crossentropy, loss::mean_squared_error})
    o.loss.push(l);
  o.targets = {};
  for (target_kind const k : {target_kind::classes, target_kind::pixel_classes, target_kind::values}) o.targets.push(k);
  return o;
}
static_assert(targets_before(scene::view(), plan_of_scene(mode::training, 4).targets, 2) == 1 + 20);

std::vector<float> weights_of(trainer& t) {
  std::vector<float> all;
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    std::vector<float> one(static_cast<std::size_t>(t.graph().parameters[k].count()));
    t.engine().read_parameter(k, one.data());
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace

TEST_CASE("targets: each loss is that of its output and its target, and loss is their weighted sum") {
  for (bool const weighted : {false, true}) {
    auto const [data, labels, mask, pose] = drawn(11, 3, weighted);
    trainer t = compile<scene>(reference<double>{}, sgd{}, learns);
    scores const s = t.evaluate(data, 4);
    REQUIRE(s.outputs.size() == 3);
    std::vector<float> const p = t.predict(data), m = t.predict_output("mask", data, 3),
                             v = t.predict_output("pose", data, 5);
    REQUIRE((p.size() == 33 && m.size() == 11 * 40 && v.size() == 22));
    double classes = 0, pixels = 0, values = 0, right = 0;
    int labelled = 0;
    for (std::size_t n = 0; n < 11; ++n) {
      double const w = static_cast<double>(data.weight(static_cast<std::int64_t>(n)));
      classes -= w * std::log(static_cast<double>(p[3 * n + static_cast<std::size_t>(labels[n])]));
      for (std::size_t i = 0; i < 2; ++i)
        values += w * std::pow(static_cast<double>(v[2 * n + i]) - static_cast<double>(pose[2 * n + i]), 2) / 2;
      for (std::size_t i = 0; i < 20; ++i) {
        int const label = mask[20 * n + i];
        if (label < 0) continue;
        ++labelled;
        double const own = static_cast<double>(m[40 * n + 20 * static_cast<std::size_t>(label) + i]);
        pixels -= w * std::log(own);
        right += own > 0.5 || (own == 0.5 && label == 0);  // of equal outputs the first is the answer
      }
    }
    CHECK(s.outputs[0].loss == approx(classes / 11).epsilon(1e-6));
    CHECK(s.outputs[1].loss == approx(pixels / labelled).epsilon(1e-6));
    CHECK(s.outputs[2].loss == approx(values / 11).epsilon(1e-6));
    CHECK(s.outputs[1].acc == approx(right / labelled));
    CHECK(std::isnan(s.outputs[2].acc));
    CHECK(s.acc == s.outputs[0].acc);
    CHECK(s.loss == approx(s.outputs[0].loss + 2 * s.outputs[1].loss + 0.5 * s.outputs[2].loss).epsilon(1e-12));
  }
}

TEST_CASE("targets: gradients are those of the weighted sum, by finite differences") {
  for (loss const of_pose : {loss::mean_squared_error, loss::huber, loss::custom}) {
    engine_options options{.seed = 5,
                           .update = sgd{}.rule(),
                           .loss = losses_of_scene(of_pose),
                           .verify = &verify,
                           .label_smoothing = 0.1,
                           .loss_weights = {0.5, 2, 0.7}};
    options.custom_losses.resize(3);
    if (of_pose == loss::custom) options.custom_losses[2] = any_loss(quartic{}).own();
    auto const e = reference<double>{}.make_engine(scene::view(), options);
    initialize(*e, 1);
    auto& host = dynamic_cast<host::engine<double>&>(*e);
    int const program = e->prepare(mode::training, 4, targets_of_scene());
    auto const [data, labels, mask, pose] = drawn(4, 7);
    long long const labelled = std::count_if(mask.begin(), mask.end(), [](int label) { return label >= 0; });
    std::vector<float> const weights{1, 0.5, 2, 1};
    target_view const targets[3] = {{.labels = labels.data(), .weights = weights.data()},
                                    {.labels = mask.data(), .labelled = labelled},
                                    {.values = pose.data()}};
    float const* const input = data.reals(0);
    auto const loss = [&] {
      e->run(program, {.inputs = {&input, 1}, .targets = targets, .size = 4, .step = 4});
      return 0.5 * e->output_metrics(program, 0).loss / 4 +
             2 * e->output_metrics(program, 1).loss / static_cast<double>(labelled) +
             0.7 * e->output_metrics(program, 2).loss / 4;
    };
    double worst = 0, largest = 0;
    for (int k = 0; k < scene::view().size.parameters; ++k) {
      if (!scene::view().parameters[k].trainable()) continue;
      long long const count = scene::view().parameters[k].count();
      for (long long i = 0; i < count; i += 1 + count / 5) {
        loss();
        double const slope = host.parameter_gradient_data(k)[i];
        double& p = host.parameter_data(k)[i];
        double const at = p, h = 1e-5;
        p = at + h;
        double const above = loss();
        p = at - h;
        double const below = loss();
        p = at;
        worst = larger(worst, std::abs(slope - (above - below) / (2 * h)));
        largest = std::max(largest, std::abs(slope));
      }
    }
    CHECK(largest > 0.01);
    CHECK(worst < 1e-7);  // of second order: h^2 times a third derivative of at most about 100, and rounding / h
  }
}

TEST_CASE("targets: a run takes the samples from the number that it is told") {
  auto const [data, labels, mask, pose] = drawn(8, 7);
  std::vector<float> const weights{9, 9, 9, 9, 1, 0.5, 2, 1};
  long long const labelled = std::count_if(mask.begin() + 4 * 20, mask.end(), [](int label) { return label >= 0; });
  engine_options options{.loss = losses_of_scene(loss::mean_squared_error)};
  options.custom_losses.resize(3);
  auto const run = [&](int begin, int first) {
    auto const e = reference<double>{}.make_engine(scene::view(), options);
    initialize(*e, 1);
    int const program = e->prepare(mode::training, 4, targets_of_scene());
    float const* const input = data.reals(begin);
    target_view const targets[3] = {{.labels = labels.data() + begin, .weights = weights.data() + begin},
                                    {.labels = mask.data() + 20 * begin, .labelled = labelled},
                                    {.values = pose.data() + 2 * begin}};
    e->run(program, {.inputs = {&input, 1}, .targets = targets, .size = 4, .learning_rate = 0.1, .first = first});
    std::vector<double> found{e->metrics(program).loss};
    for (int k = 0; k < scene::view().size.parameters; ++k) {
      std::vector<float> values(static_cast<std::size_t>(scene::view().parameters[k].count()));
      e->read_parameter(k, values.data());
      found.insert(found.end(), values.begin(), values.end());
    }
    return found;
  };
  CHECK(run(0, 4) == run(4, 0));
  CHECK(run(0, 0) != run(4, 0));
}

TEST_CASE("targets: a run refuses others than it was prepared for") {
  auto const [data, labels, mask, pose] = drawn(4, 7);
  engine_options options{.loss = losses_of_scene(loss::mean_squared_error)};
  options.custom_losses.resize(3);
  auto const e = native{}.make_engine(scene::view(), options);
  int const program = e->prepare(mode::training, 4, targets_of_scene());
  float const* const input = data.reals(0);
  target_view const targets[4] = {{.labels = labels.data()}, {.labels = mask.data(), .labelled = 80}, {}, {}};
  auto const run = [&](std::size_t count) {
    e->run(program, {.inputs = {&input, 1}, .targets = {targets, count}, .size = 4});
  };
  refuses<option_error>([&] { run(0); }, {"must have labels for output 0"});
  refuses<option_error>([&] { run(1); }, {"must have labels for output 1"});
  refuses<option_error>([&] { run(3); }, {"must have values for output 2"});
  refuses<option_error>([&] { run(4); }, {"prepared for 3 targets; found 4"});
}

TEST_CASE("targets: a view's weights, inputs and targets are those of its samples") {
  std::vector<float> numbers;
  for (int i = 0; i < 9; ++i) numbers.push_back(static_cast<float>(i));
  dataset view = in_memory_values({1}, numbers, 1, numbers).subset(2, 6);  // 2, 3, ... 7
  std::vector<float> const six(numbers.begin() + 2, numbers.begin() + 8);
  view = with_value_target(with_input(with_weights(view, six), "more", {1}, six), "other", 1, six);
  view = with_main_target(view.subset(1, 4), "same").subset(2, 2);  // 5 and 6
  for (int i = 0; i < 2; ++i) {
    float const wanted = static_cast<float>(5 + i);
    CHECK((*view.reals(i) == wanted && *view.wanted(i) == wanted && view.weight(i) == wanted));
    CHECK(*view.further_numbers(0, i) == wanted);
    for (int k = 0; k < 2; ++k) CHECK((view.targets_of(k).size == 2 && *view.targets_of(k).wanted(i) == wanted));
  }
}

TEST_CASE("targets: equal to the shared one, they give the same bits") {
  using heads = network<image<2, 5, 4>, conv2d<6, 3>, relu, named_output<"early", flatten, dense<3>, softmax>,
                        conv2d<5, 3>, relu, flatten, dense<3>, softmax>;
  dataset shared = drawn(60).data;
  shared.targets = nullptr;
  dataset const own = with_main_target(shared, "early");
  dataset const copied = with_class_target(shared, "early", 3, drawn(60).labels);
  fit_options const fit{.epochs = 2, .batch_size = 7, .augment = shift_and_flip{.width = 0.2}};
  trainer a = compile<heads>(native{}, adam{.learning_rate = 0.01}),
          b = compile<heads>(native{}, adam{.learning_rate = 0.01}),
          c = compile<heads>(native{}, adam{.learning_rate = 0.01});
  history const x = a.fit(shared, fit), y = b.fit(own, fit);
  c.fit(copied, fit);
  CHECK(weights_of(a) == weights_of(b));
  CHECK(weights_of(a) == weights_of(c));
  CHECK(x.epochs[1].train.loss == approx(y.epochs[1].train.loss).epsilon(1e-12));
  CHECK(x.epochs[1].train.outputs[1].loss == y.epochs[1].train.outputs[1].loss);
  CHECK(fingerprint(shared) != fingerprint(own));
}

TEST_CASE("targets: towers, micro-batches, devices and executors learn the same, to rounding") {
  dataset const train = drawn(66, 3, true).data, test = drawn(7, 9).data;
  fit_options const fit{.epochs = 2, .batch_size = 11, .validation = &test};
  auto const agrees = [&](trainer t, trainer with, double epsilon) {
    history const b = t.fit(train, fit), c = with.fit(train, fit);
    for (std::size_t e = 0; e < 2; ++e)
      for (auto const s : {&epoch_record::train, &epoch_record::validation}) {
        scores const &mine = b.epochs[e].*s, &theirs = c.epochs[e].*s;
        CHECK(mine.loss == approx(theirs.loss).epsilon(epsilon));
        REQUIRE((mine.outputs.size() == 3 && theirs.outputs.size() == 3));
        for (std::size_t k = 0; k < 3; ++k)
          CHECK(mine.outputs[k].loss == approx(theirs.outputs[k].loss).epsilon(epsilon));
      }
    for (char const* name : {"main", "mask", "pose"}) {
      std::vector<float> const p = t.predict_output(name, test, 5), q = with.predict_output(name, test, 7);
      REQUIRE(p.size() == q.size());
      for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == approx(q[i]).margin(1e-6 + epsilon));
    }
  };
  sgd const rule{.learning_rate = 0.05};
  reference<double> const exact;
  agrees(compile<scene_on<1>>(exact, rule, learns), compile<scene>(exact, rule, learns), 1e-9);
  agrees(compile<scene>(native{}, rule, learns), compile<scene>(exact, rule, learns), 1e-3);
  // each part of a batch is normalised by itself, so these are compared with one another
  agrees(compile<replicate<2, scene_on<1>>>(exact, rule, learns), compile<replicate<2, scene>>(exact, rule, learns),
         1e-9);
  agrees(compile<pipeline<4, scene_on<1>>>(exact, rule, learns), compile<pipeline<4, scene>>(exact, rule, learns),
         1e-9);
}

TEST_CASE("targets: the checker refuses a loss that reads another output's targets") {
  for (plan_options const& o :
       {plan_of_scene(mode::training, 4), plan_of_scene(mode::training, 7, 3), plan_of_scene(mode::evaluation, 4)}) {
    graph_view const g = scene::view();
    plan const whole = make_plan(g, o);
    REQUIRE(verify(g, whole).holds());
    int reads = 0;
    for (int i = 0; i < whole.operands.size(); ++i) {
      operand const& found = whole.operands[i];
      if (found.what != content::labels || found.how != access::read) continue;
      ++reads;
      for (int const channel : {0, 1, 21, 23, 2}) {
        if (channel == found.channel) continue;
        plan p = whole;
        p.operands[i].channel = channel;
        CHECK_FALSE(verify(g, p).holds());
      }
    }
    CHECK(reads == 3 * micro_batches_of(o));
    plan p = whole;
    p.options.targets = target_kind::classes;
    CHECK_FALSE(verify(g, p).holds());
    p = whole;
    p.options.loss = loss::categorical_crossentropy;
    CHECK(verify(g, p).holds());  // which loss follows a dense layer makes no difference
    p = make_plan(network<features<4>, dense<6>, named_output<"a", dense<2>, softmax>, dense<2>, softmax>::view(), {});
    p.options.loss = {};
    p.options.loss.push(loss::categorical_crossentropy);
    p.options.loss.push(loss::mean_squared_error);
    if (o.mode == mode::training)
      CHECK_FALSE(
          verify(network<features<4>, dense<6>, named_output<"a", dense<2>, softmax>, dense<2>, softmax>::view(), p)
              .holds());
  }
}

TEST_CASE("targets: batches have each output's targets, moved as their image") {
  auto const [data, labels, mask, pose] = drawn(9);
  dataset pixels = with_main_target(data, "unused");
  pixels.targets = nullptr;
  std::vector<float> numbers(data.reals(0), data.reals(0) + 9 * 40);
  dataset const plain = in_memory_pixel_classes({2, 5, 4}, numbers, 2, mask);
  augmentation const moves = shift_and_flip{.width = 0.4, .height = 0.4, .horizontal_flip = true};
  dataset const part = data.subset(2, 6);
  batch_loader own(part, {.batch_size = 4,
                          .seed = 8,
                          .augment = moves,
                          .targets = {{part}, {part.targets_of(0)}, {part.targets_of(1), 2}}}),
      shared(plain.subset(2, 6), {.batch_size = 4, .seed = 8, .augment = moves});
  for (int epoch = 0; epoch < 3; ++epoch) {
    own.start(epoch), shared.start(epoch);
    while (batch const* b = own.next()) {
      batch const* const as = shared.next();
      REQUIRE((as && b->targets.size() == 3 && as->targets.size() == 1 && b->size == as->size));
      CHECK(std::equal(b->targets[1].labels, b->targets[1].labels + b->size * 20, as->targets[0].labels));
      CHECK(b->targets[1].labelled == as->targets[0].labelled);
      CHECK((b->targets[0].labelled == -1 && !b->targets[0].values && !b->targets[2].labels));
      for (int n = 0; n < b->size; ++n) {
        auto const i = static_cast<std::size_t>(b->samples[n] + 2);
        CHECK(b->targets[0].labels[n] == labels[i]);
        CHECK((b->targets[2].values[2 * n] == pose[2 * i] && b->targets[2].values[2 * n + 1] == pose[2 * i + 1]));
      }
    }
    CHECK(shared.next() == nullptr);
  }
}

TEST_CASE("targets: train_on_batch takes those of each output, and steps as fit does") {
  auto const [data, labels, mask, pose] = drawn(8);
  trainer a = compile<scene>(reference{}, adam{.learning_rate = 0.01}, learns),
          b = compile<scene>(reference{}, adam{.learning_rate = 0.01}, learns);
  history const h = a.fit(data, {.epochs = 1, .batch_size = 8, .shuffle = false});
  std::vector<float> const pictures(data.reals(0), data.reals(0) + 8 * 40);
  scores const s = b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", labels}, {"mask", mask}});
  CHECK(weights_of(a) == weights_of(b));
  CHECK(s.loss == h.epochs[0].train.loss);
  REQUIRE(s.outputs.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) CHECK(s.outputs[k].loss == h.epochs[0].train.outputs[k].loss);

  std::vector<std::int32_t> wrong = labels;
  wrong[3] = 3;
  refuses<data_error>([&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", labels}}); },
                      {"exactly once; those of output mask are missing; the network's result is called main"});
  refuses<data_error>(
      [&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", labels}, {"mask", mask}, {"pose", pose}}); },
      {"exactly once; those of output pose are given 2 times; "});
  refuses<data_error>([&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", wrong}, {"mask", mask}}); },
                      {"labels must be 0 to 2", "found 3 for sample 3"});
  refuses<data_error>([&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", labels}, {"mask", labels}}); },
                      {"targets of output mask", "160 numbers of type", "20 for each sample; found 8"});
  refuses<data_error>([&] { b.train_on_batch({{"", pictures}}, {{"pose", labels}, {"main", labels}, {"mask", mask}}); },
                      {"labels must be 0 to 1", "found 2"});
  refuses<option_error>([&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", pose}, {"mask", mask}}); },
                        {"output main", "pass std::int32_t labels"});
  refuses<data_error>(
      [&] { b.train_on_batch({{"", pictures}}, {{"pose", pose}, {"main", labels}, {"mask", mask}, {"x", pose}}); },
      {"3 outputs", "found 4"});
  refuses<option_error>([&] { b.train_on_batch(pictures, labels); }, {"all outputs must take the same", "mask"});
  using two = network<features<3>, dense<4>, named_output<"aux", dense<4>, softmax>, dense<4>, softmax>;
  trainer c = compile<two>(reference{}, sgd{}, {.class_weights = {1, 2, 1, 1}});
  std::vector<float> const rows(6, 1);
  std::vector<std::int32_t> const classes{3, 0};
  refuses<option_error>([&] { c.train_on_batch({{"", rows}}, {{"main", classes}, {"aux", classes}}); },
                        {"class_weights", "2 outputs with targets of their own", "with_weights()"});
}

TEST_CASE("targets: train_on_batch takes that of a single output by its name, too") {
  using plain = network<features<3>, dense<4>, softmax>;
  std::vector<float> const samples{1, 2, 3, -1, 0, 2, 0.5F, 1, -2};
  std::vector<std::int32_t> const labels{3, 0, 2};
  for (std::vector<float> const& of_classes : {std::vector<float>{}, std::vector<float>{1, 2, 0.5F, 3}}) {
    compile_options const options{.seed = 4, .class_weights = of_classes};
    trainer a = compile<plain>(reference{}, sgd{}, options), b = compile<plain>(reference{}, sgd{}, options);
    scores const wanted = a.train_on_batch(samples, labels);
    scores const found = b.train_on_batch({{"", samples}}, {{"main", labels}});
    CHECK((found.loss == wanted.loss && wanted.loss > 0));
    CHECK(found.acc == wanted.acc);
    CHECK(weights_of(a) == weights_of(b));
  }
  using line = network<features<3>, dense<1>>;
  compile_options const of_values{.loss = loss::mean_squared_error, .seed = 4};
  trainer a = compile<line>(reference{}, sgd{}, of_values), b = compile<line>(reference{}, sgd{}, of_values);
  std::vector<float> const values{1, 2, 5};
  CHECK(a.train_on_batch(samples, values).loss == b.train_on_batch({{"", samples}}, {{"main", values}}).loss);
  CHECK(weights_of(a) == weights_of(b));
}

TEST_CASE("targets: shares are required for the loss of each output that learns a shared target") {
  using two = network<features<3>, dense<2>, named_output<"share", sigmoid>, dense<2>>;
  trainer t = compile<two>(reference{}, sgd{},
                           {.loss = loss::mean_squared_error, .losses = {{"share", loss::binary_crossentropy}}});
  std::vector<float> const samples(6, 1), values{0, 1, 0.5F, 2};
  refuses<data_error>([&] { t.train_on_batch(samples, values); },
                      {"binary_crossentropy takes target values from 0 to 1", "found 2"});
}

TEST_CASE("targets: a network and a data set that do not fit are refused") {
  dataset const whole = drawn(16).data;
  dataset plain = whole;
  plain.targets = nullptr;
  trainer t = compile<scene>(reference{}, sgd{}, learns);
  auto const fails = [&](dataset const& data, std::vector<std::string> const& words) {
    refuses<option_error>([&] { t.fit(data, {.batch_size = 4}); }, words);
    refuses<option_error>([&] { t.evaluate(data); }, words);
    refuses<option_error>([&] { t.fit(whole, {.batch_size = 4, .validation = &data}); }, words);
    t.predict(data);
  };
  auto const ages = std::vector<float>(16);
  fails(plain, {"output mask", "must be flat"});
  fails(with_value_target(plain, "pose", 2, std::vector<float>(32)), {"output mask has none", "with_main_target"});
  fails(with_value_target(whole, "age", 1, ages), {"found a target of age", "mask, pose", "leave the target out"});
  auto const posed = with_value_target(plain, "pose", 2, std::vector<float>(32));
  fails(with_value_target(posed, "mask", 1, ages),
        {"categorical_crossentropy", "target of output mask",
         "1 value; give that output another loss in compile(), with .losses"});
  fails(with_pixel_target(posed, "mask", 3, std::vector<std::int32_t>(320)), {"output mask must be 3x5x4", "2x5x4"});
  auto const masked = with_pixel_target(plain, "mask", 2, std::vector<std::int32_t>(320));
  fails(with_value_target(masked, "pose", 1, ages),
        {"output pose has 2 numbers", "1 value per sample", "output needs another target"});
  fails(with_class_target(masked, "pose", 3, std::vector<std::int32_t>(16)),
        {"output pose has 2 numbers", "3 classes"});
  fails(with_pixel_target(masked, "pose", 2, std::vector<std::int32_t>(320)),
        {"target of output pose",
         "needs the loss categorical_crossentropy; give output pose that loss in compile(), with "
         ".losses"});

  trainer single = compile<network<image<2, 5, 4>, flatten, dense<3>, softmax>>(reference{}, sgd{});
  refuses<option_error>([&] { single.evaluate(whole); }, {"found a target of mask", "no further output"});

  refuses<data_error>([&] { with_class_target(plain, "main", 3, std::vector<std::int32_t>(16)); }, {"found main"});
  refuses<data_error>([&] { with_main_target(whole, "pose"); }, {"pose twice"});
  refuses<data_error>([&] { with_value_target(plain, "", 1, ages); }, {"an empty name"});
  refuses<data_error>([&] { with_class_target(plain, "a", 3, {0, 1}); }, {"output a", "16 samples", "found 2"});
  refuses<data_error>([&] { with_class_target(plain, "a", 2, std::vector<std::int32_t>(16, 2)); },
                      {"0 to 1", "found 2"});
  refuses<data_error>([&] { with_value_target(plain, "a", 2, ages); }, {"16 samples must have 2 values", "found 16"});
  refuses<data_error>([&] { with_pixel_target(plain, "a", 2, std::vector<std::int32_t>(20)); }, {"found 1"});
}

TEST_CASE("targets: losses of outputs are given once, by name, and suit their output") {
  auto const with = [](std::vector<loss_of_output> losses) {
    compile<scene>(reference{}, sgd{}, {.losses = std::move(losses)});
  };
  refuses<option_error>([&] { with({{"other", loss::huber}}); }, {"losses", "main, mask, pose", "found other"});
  refuses<option_error>([&] { with({{"pose", loss::huber}, {"pose", loss::huber}}); }, {"losses", "pose twice"});
  refuses<option_error>([&] { with({{"pose", loss::binary_crossentropy}}); }, {"sigmoid", "output pose"});
  refuses<option_error>([&] { with({{"mask", loss::huber}}); }, {"softmax", "output pose"});
  refuses<option_error>([&] { with({{"pose", loss::custom}}); }, {"a loss of your own", "found none"});
  with({{"pose", quartic{}}});
  refuses<option_error>(
      [] {
        compile<scene>(reference{}, sgd{},
                       {.losses = {{"pose", loss::huber}}, .class_weights = std::vector<float>{1, 1, 2}});
      },
      {"class_weights", "categorical_crossentropy"});
  using heads = network<features<4>, named_output<"a", dense<2>, softmax>, dense<3>, softmax>;
  trainer t = compile<heads>(reference{}, sgd{}, {.class_weights = {1, 2, 1}});
  dataset const rows = in_memory_classes({4}, std::vector<float>(16), 3, {0, 1, 2, 0});
  refuses<option_error>([&] { t.fit(with_class_target(rows, "a", 2, {0, 1, 1, 0}), {.batch_size = 2}); },
                        {"class_weights", "share their targets"});
  // one loss for all is that loss, whether it is said once or for each
  engine_options const one = detail::checked_options(heads::view(), sgd{}.rule(), {}),
                       each = detail::checked_options(heads::view(), sgd{}.rule(),
                                                      {.losses = {{"a", loss::categorical_crossentropy}}});
  CHECK(detail::fingerprint_of(one, heads::view()) == detail::fingerprint_of(each, heads::view()));
  auto const print = [](std::vector<loss_of_output> losses) {
    return detail::fingerprint_of(detail::checked_options(scene::view(), sgd{}.rule(), {.losses = std::move(losses)}),
                                  scene::view());
  };
  CHECK(print({{"pose", loss::huber}}) != print({{"pose", loss::mean_squared_error}}));
  CHECK(print({{"pose", quartic{}}}) != print({{"pose", loss::huber}}));
}

TEST_CASE("targets: metrics and monitors are those of an output") {
  drawn_scene const held_out = drawn(12, 5);
  dataset const train = drawn(32).data, &test = held_out.data;
  trainer t = compile<scene>(reference{}, adam{.learning_rate = 0.01}, learns);
  static_assert(std::string_view(of_output<"pose", mae_score>::name) == "pose_mae");
  static_assert(std::string_view(val_metric<of_output<"mask", iou_score<1>>>::name) == "val_mask_iou_1");
  auto const stop = std::make_shared<early_stopping<val_metric<of_output<"mask", iou_score<1>>>>>(
      early_stopping_options{.patience = 100});
  history const h = t.fit(train, {.epochs = 2,
                                  .batch_size = 8,
                                  .validation = &test,
                                  .metrics = {of_output<"pose", mae_score>{}, of_output<"mask", iou_score<1>>{},
                                              f1_score<>{}, of_output<"pose", r2_score<1>>{}},
                                  .callbacks = {stop}});
  of_output<"pose", regression_scores> pose;
  of_output<"mask", confusion_matrix> mask;
  confusion_matrix classes;
  for (scores const& all : {t.evaluate(test, 5, &pose), h.epochs[1].train, h.epochs[1].validation}) {
    double weighted = 0;
    for (output_scores const& o : all.outputs) weighted += (o.name == "pose" ? 0.5 : o.name == "mask" ? 2 : 1) * o.loss;
    CHECK(all.outputs.size() == 3);
    CHECK(all.loss == approx(weighted).epsilon(1e-6));
  }
  t.evaluate(test, 5, &mask), t.evaluate(test, 5, &classes);
  auto const& found = h.epochs[1].validation.metrics;
  REQUIRE(found.size() == 4);
  CHECK((found[0].name == "pose_mae" && found[0].value == approx(pose.mean_absolute_error())));
  CHECK((found[1].name == "mask_iou_1" && found[1].value == approx(mask.iou(1))));
  CHECK((found[2].name == "f1" && found[2].value == approx(classes.mean(&confusion_matrix::f1))));
  CHECK((found[3].name == "pose_r2_1" && found[3].value == approx(pose.r2(1))));
  std::vector<std::int32_t> const& labels = held_out.mask;
  CHECK(mask.samples() == std::count_if(labels.begin(), labels.end(), [](int label) { return label >= 0; }));

  auto const fit = [&](callback_handle c) { t.fit(train, {.batch_size = 8, .validation = &test, .callbacks = {c}}); };
  refuses<option_error>([&] { fit(early_stopping<val_output_accuracy<"pose">>()); },
                        {"val_pose_acc", "an output that learns values has no accuracy"});
  fit(early_stopping<val_output_accuracy<"mask">>());
  fit(early_stopping<val_output_loss<"pose">>());
  refuses<option_error>(
      [&] { t.fit(train, {.batch_size = 8, .validation = &test, .metrics = {of_output<"face", mae_score>{}}}); },
      {"main, mask, pose", "found face"});
  refuses<option_error>(
      [&] { t.fit(train, {.batch_size = 8, .validation = &test, .metrics = {of_output<"pose", f1_score<>>{}}}); },
      {"2 values"});
}

TEST_CASE("targets: one target in two forms, for losses that need different ones") {
  using two = network<features<4>, dense<8>, dsl::tanh, named_output<"squared", dense<3>, sigmoid>, dense<3>, softmax>;
  dice d(4);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < 90; ++n) {
    labels.push_back(n % 3);
    for (int i = 0; i < 4; ++i) x.push_back(static_cast<float>(d.below(100)) / 100 + (i == n % 3 ? 1.0F : 0.0F));
  }
  dataset const data = in_memory_classes({4}, std::move(x), 3, labels);
  trainer t = compile<two>(reference<double>{}, adam{.learning_rate = 0.02},
                           {.losses = {{"squared", loss::binary_crossentropy}}, .verify = &verify});
  scores const s = t.fit(data, {.epochs = 30, .batch_size = 10, .validation = &data}).epochs.back().validation;
  std::vector<float> const y = t.predict_output("squared", data);
  double sum = 0;
  for (std::size_t n = 0; n < 90; ++n)
    for (std::size_t i = 0; i < 3; ++i) {
      double const p = static_cast<double>(y[3 * n + i]);
      sum -= std::log(labels[n] == static_cast<int>(i) ? p : 1 - p) / 3;
    }
  CHECK(s.outputs[1].loss == approx(sum / 90).epsilon(1e-5));
  for (output_scores const& o : s.outputs) CHECK(o.acc > 0.9);
}
