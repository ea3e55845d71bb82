// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

#include "support/placed_networks.hpp"
#include "support/warnings.hpp"

#include <condition_variable>
#include <chrono>
#include <mutex>

// Compares placed networks, with and without micro-batches, with one device; tests what runs concurrently and what
// fails.

namespace {

using namespace dsl;
using namespace dsl::test;

bool const silent = (on_warning = [](char const*) {}, true);

/// An operation that waits until another one has begun: on one thread, two of them would wait for ever.
struct meeting {
  static inline std::mutex mutex;
  static inline std::condition_variable arrival;
  static inline int inside = 0;
  static inline int last = 0;  // the last one, which nobody joins
  static inline int met = 0;

  static void expect(int already_inside, int in_all) { inside = already_inside, last = in_all, met = 0; }
  static void wait_for_the_other() {
    std::unique_lock held(mutex);
    int const mine = ++inside;
    arrival.notify_all();
    bool const waits = mine % 2 == 1 && mine != last;  // the second of a pair finds the first one
    if (waits && arrival.wait_for(held, std::chrono::seconds(300), [&] { return inside > mine; })) ++met;
  }
};
struct meets {
  static constexpr char const* name = "meets";
  static constexpr shape output(shape in) { return in; }
  template <class T>
  static void forward(custom_call<T> const& c) {
    meeting::wait_for_the_other();
    each(c, [](T x, T) { return x; }, c.y);
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    meeting::wait_for_the_other();
    each(c, [](T, T dy) { return dy; }, c.dx);
  }
  template <class T, class F>
  static void each(custom_call<T> const& c, F f, view<T> const& to) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long i = 0; i < c.x.shape.area(); ++i) {
          T const value = f(c.x(n, k, i), c.dy.data ? c.dy(n, k, i) : T(0));
          to(n, k, i) = c.accumulate ? to(n, k, i) + value : value;
        }
  }
};

/// Throws in the given batch.
struct fails {
  static inline bool now = false;
  static constexpr char const* name = "fails";
  template <class T>
  static T value(T x) {
    if (now) throw data_error("fails: as it was told");
    return x;
  }
  template <class T>
  static T derivative(T) {
    return T(1);
  }
};

}  // namespace

TEST_CASE("two and three devices train as one does, to the bit where nothing is summed in another order") {
  CHECK(trained_on<chain_on<0, 0>>(reference<double>{}) == trained_on<chain_on<0, 1>>(reference<double>{}));
  CHECK(trained_on<chain_on<0, 0>>(reference<float>{}) == trained_on<chain_on<0, 1>>(reference<float>{}));
  CHECK(trained_on<apart_on<0, 0>>(reference<double>{}) == trained_on<apart_on<0, 1>>(reference<double>{}));
  CHECK(trained_on<apart_on<0, 0>>(reference<float>{}) == trained_on<apart_on<1, 0>>(reference<float>{}));
  CHECK(trained_on<pipeline<3, apart_on<0, 0>>>(reference<double>{}) ==
        trained_on<pipeline<3, apart_on<0, 1>>>(reference<double>{}));
  CHECK(trained_on<apart_on<0, 0>>(reference<double>{}, {.count = 2}) ==
        trained_on<apart_on<0, 1>>(reference<double>{}, {.count = 2}));
  CHECK(distance(trained_on<torn_on<0, 1>>(reference<double>{}), trained_on<torn_on<0, 0>>(reference<double>{})) <
        1e-10);
  trained const one = trained_on<branches_on<0, 0, 0>>(reference<double>{});
  CHECK(distance(trained_on<branches_on<0, 1, 1>>(reference<double>{}), one) < 1e-10);
  CHECK(distance(trained_on<branches_on<1, 0, 0>>(reference<double>{}), one) < 1e-10);
  CHECK(distance(trained_on<branches_on<0, 1, 2>>(reference<double>{}), one) < 1e-10);
  CHECK(distance(trained_on<branches_on<2, 1, 0>>(reference<double>{}), one) < 1e-10);
  // the same bits in every run
  CHECK(trained_on<branches_on<0, 1, 2>>(reference<double>{}) == trained_on<branches_on<0, 1, 2>>(reference<double>{}));
}

TEST_CASE("micro-batches come to what the whole batch does without batch_norm") {
  trained const whole = trained_on<chain_on<0, 0>>(reference<double>{});
  CHECK(distance(trained_on<pipeline<2, chain_on<0, 0>>>(reference<double>{}), whole) < 1e-10);
  // 10 samples are split into 2, 2, 2, 4
  CHECK(distance(trained_on<pipeline<4, chain_on<0, 1>>>(reference<double>{}), whole) < 1e-10);
  CHECK(distance(trained_on<pipeline<3, chain_on<0, 1>>>(reference<double>{}), whole) < 1e-10);
  CHECK(trained_on<pipeline<11, chain_on<0, 1>>>(reference<double>{}) == whole);  // fewer samples than parts
}

TEST_CASE("with batch_norm, placed micro-batches come to what one device does with the same micro-batches") {
  trained const one = trained_on<pipeline<3, branches_on<0, 0, 0>>>(reference<double>{});
  CHECK(distance(one, trained_on<branches_on<0, 0, 0>>(reference<double>{})) >
        1e-3);  // it differs from that of whole batches
  CHECK(distance(trained_on<pipeline<3, branches_on<0, 1, 2>>>(reference<double>{}), one) < 1e-10);
  CHECK(distance(trained_on<pipeline<3, branches_on<0, 1, 0>>>(reference<double>{}), one) < 1e-10);
  CHECK(distance(one, trained_by_hand<branches_on<0, 0, 0>>(3)) < 1e-10);
}

TEST_CASE("towers of placed networks") {
  using model = branches_on<0, 1, 2>;
  trained const one = trained_on<branches_on<0, 0, 0>>(reference<double>{}, {.count = 2});
  CHECK(distance(trained_on<model>(reference<double>{}, {.count = 2}), one) < 1e-10);
  trained const piped = trained_on<pipeline<2, branches_on<0, 0, 0>>>(reference<double>{}, {.count = 3});
  CHECK(distance(trained_on<pipeline<2, model>>(reference<double>{}, {.count = 3}), piped) < 1e-10);
  // without batch_norm the result is that of one device
  trained const whole = trained_on<chain_on<0, 0>>(reference<double>{});
  CHECK(distance(trained_on<pipeline<2, chain_on<0, 1>>>(reference<double>{}, {.count = 2}), whole) < 1e-10);
  CHECK_THROWS_AS(trained_on<model>(reference<double>{}, {.count = 2, .policy = synchronized(host_merge)}),
                  option_error);
}

TEST_CASE("a tower's moments move the running ones as its micro-batches would in turn") {
  // one tower, with three others that have no samples: the result of a plain engine with its three parts
  using model = pipeline<3, branches_on<0, 0, 0>>;
  trained const alone = trained_on<model>(reference<double>{}, {}, 3);
  CHECK(distance(trained_on<model>(reference<double>{}, {.count = 4}, 3), alone) < 1e-10);
}

TEST_CASE("towers of different numbers of micro-batches move the running moments by their own") {
  using model = branches_on<0, 0, 0>;
  for (tower_policy const& policy : {host_merge, all_reduce})
    // all_reduce, 2 towers and 3 parts: 5 samples are split into 1 1 1 and 2, 7 samples into 1 1 2 and 1 1 1
    for (int size : {5, 7, 8}) {
      INFO("batch " << size << (policy.even ? ", averaged" : ", in turn"));
      towers const two{.count = 2, .policy = policy};
      CHECK(distance(trained_on<pipeline<3, model>>(reference<double>{}, two, size),
                     trained_by_hand<model>(3, size, 20, two)) < 1e-10);
    }
}

TEST_CASE("micro-batches of a single sample in front of a batch_norm are warned about, once") {
  test::warnings_kept warned;
  auto& said = warned.said;
  auto const prepare = [&](auto net, towers const& t, std::initializer_list<int> sizes) {
    using model = typename decltype(net)::type;
    said.clear();
    engine_options o;
    o.micro_batches = detail::micro_batches<model>;
    o.make_thread_team = &host::make_thread_team;
    auto const e = make_towers(reference<double>{}, model::view(), o, t);
    for (int size : sizes) {
      e->prepare(mode::training, size);
      e->prepare(mode::evaluation, size);
    }
  };
  using model = pipeline<3, branches_on<0, 1, 1>>;
  prepare(std::type_identity<model>{}, {}, {2, 6, 5, 4});  // 2 samples stay together
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("with a batch of 5, some micro-batches have a single sample"));
  prepare(std::type_identity<model>{}, {.count = 2}, {12, 4, 10, 6});
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("tower 0 of 2 has micro-batches with a single sample (the whole batch has 10)"));
  prepare(std::type_identity<model>{}, {.count = 2}, {2});
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("tower 0 of 2 has a single sample (the whole batch has 2)"));
  prepare(std::type_identity<pipeline<3, chain_on<0, 1>>>{}, {.count = 2}, {3, 6, 10});
  prepare(std::type_identity<pipeline<3, chain_on<0, 1>>>{}, {}, {3, 4});
  CHECK(said.empty());
}

TEST_CASE("branches on two devices run at the same time, forward and backward") {
  using both = add<on<device<0>, custom<meets>>, on<device<1>, custom<meets>>>;
  using model = network<image<1, 2, 2>, conv2d<1, 1>, both, flatten, dense<3>, softmax>;
  meeting::expect(0, 4);
  trained_on<model>(reference<float>{}, {}, 4, 1);
  CHECK(meeting::inside == 4);
  CHECK(meeting::met == 2);
}

TEST_CASE("with micro-batches the devices of a chain run at the same time") {
  using model =
      network<image<1, 2, 2>, conv2d<1, 1>, custom<meets>, on<device<1>, custom<meets>, flatten, dense<3>, softmax>>;
  engine_options o;
  o.make_thread_team = &host::make_thread_team;
  o.micro_batches = 3;
  auto const e = reference<float>{}.make_engine(model::view(), o);
  initialize(*e, 1);
  int const program = e->prepare(mode::inference, 3);
  // Part 0 on device 0 meets no other, nor does part 2 on device 1; between them, part m + 1 on device 0 meets part m
  // on device 1.
  meeting::expect(1, 7);
  float const pictures[12] = {};
  e->run(program, test::one_batch{pictures, {}, 3, 0, 0});
  CHECK(meeting::inside == 7);
  CHECK(meeting::met == 2);
}

TEST_CASE("a device that fails ends the step for all with its error, and every step from then on") {
  using model = network<image<3, 4, 4>, conv2d<2, 3>, on<device<1>, elementwise<fails>, conv2d<2, 3>>,
                        on<device<2>, flatten, dense<3>, softmax>>;
  for (bool towers : {false, true}) {
    sgd const optimizer{.learning_rate = 0.01};
    trainer t = towers ? compile<model>(reference{}, optimizer, dsl::towers{.count = 2})
                       : compile<model>(reference{}, optimizer);
    batch_of const b = batch_at(model::view(), 0, 4);
    CHECK_NOTHROW(t.train_on_batch(b.images.data(), b.labels.data(), 4));
    fails::now = true;
    if (towers)  // it is open which failure is reported first, but not the cause
      CHECK_THROWS_WITH(t.train_on_batch(b.images.data(), b.labels.data(), 4), Catch::Contains("as it was told"));
    else
      CHECK_THROWS_AS(t.train_on_batch(b.images.data(), b.labels.data(), 4), data_error);
    fails::now = false;
    CHECK_THROWS_AS(t.train_on_batch(b.images.data(), b.labels.data(), 4), executor_error);
  }
}

TEST_CASE("an evaluation or a prediction that fails ends nothing else") {
  using model = network<image<3, 4, 4>, conv2d<2, 3>, on<device<1>, elementwise<fails>, conv2d<2, 3>>,
                        on<device<2>, flatten, dense<3>, softmax>>;
  batch_of const b = batch_at(model::view(), 0, 4);
  for (int towers : {1, 2}) {
    INFO(towers << " towers");
    trainer t = compile<model>(reference{}, sgd{.learning_rate = 0.01}, dsl::towers{.count = towers});
    std::vector<float> before(12), after(12);
    t.predict_on_batch(b.images.data(), 4, before.data());
    int const evaluation = t.engine().prepare(mode::evaluation, 4);
    test::one_batch const batch{b.images.data(), {b.labels.data()}, 4, 0, 0};
    for (int again = 0; again < 2; ++again) {
      fails::now = true;
      CHECK_THROWS_AS(t.predict_on_batch(b.images.data(), 4, after.data()), data_error);
      CHECK_THROWS_AS(t.engine().run(evaluation, batch), data_error);
      fails::now = false;
      CHECK_NOTHROW(t.predict_on_batch(b.images.data(), 4, after.data()));
      CHECK(before == after);
      CHECK_NOTHROW(t.engine().run(evaluation, batch));
    }
    CHECK_NOTHROW(t.train_on_batch(b.images.data(), b.labels.data(), 4));
    fails::now = true;
    CHECK_THROWS(t.train_on_batch(b.images.data(), b.labels.data(), 4));
    fails::now = false;
    CHECK_THROWS_AS(t.predict_on_batch(b.images.data(), 4, after.data()), executor_error);
  }
}

TEST_CASE("compile, fit, evaluate and predict take placed networks") {
  std::vector<std::uint8_t> pixels(40 * 3 * 8 * 8);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i % 5);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 40; ++i) labels.push_back(i % 3);
  dataset const data = in_memory_dataset({3, 8, 8}, 3, std::move(pixels), std::move(labels));
  sgd const optimizer{.learning_rate = 0.02, .momentum = 0.9};
  auto const run = [&](trainer t) {
    history const h = t.fit(data, {.epochs = 2, .batch_size = 16, .validation = &data});
    return std::pair(h.epochs.back().validation.loss, t.predict(data, 7));
  };
  auto const one = run(compile<branches_on<0, 0, 0>>(reference<double>{}, optimizer));
  auto const placed = run(compile<branches_on<0, 1, 2>>(reference<double>{}, optimizer));
  CHECK(std::abs(one.first - placed.first) < 1e-10);
  REQUIRE(one.second.size() == placed.second.size());
  for (std::size_t i = 0; i < one.second.size(); ++i) CHECK(std::abs(one.second[i] - placed.second[i]) < 1e-6F);
  auto const piped = run(compile<pipeline<3, branches_on<0, 1, 2>>>(reference<double>{}, optimizer));
  auto const piped_one = run(compile<pipeline<3, branches_on<0, 0, 0>>>(reference<double>{}, optimizer));
  CHECK(std::abs(piped.first - piped_one.first) < 1e-10);
  // nothing about a sample depends on the parts of 2, 2 and 3 of 7
  trainer whole = compile<branches_on<0, 1, 2>>(reference<double>{}, optimizer);
  trainer parts = compile<pipeline<3, branches_on<0, 1, 2>>>(reference<double>{}, optimizer);
  CHECK(whole.predict(data, 7) == parts.predict(data, 7));
  CHECK(whole.evaluate(data, 7).loss == approx(parts.evaluate(data, 7).loss).epsilon(1e-12));
  CHECK(whole.evaluate(data, 7).acc == parts.evaluate(data, 7).acc);
  auto const replicated = run(compile<replicate<2, pipeline<2, branches_on<0, 1, 2>>>>(reference<double>{}, optimizer));
  CHECK(std::isfinite(replicated.first));
}
