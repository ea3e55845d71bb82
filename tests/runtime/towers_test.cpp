// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/chained.hpp"
#include "support/running_moments.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/placement/pipeline.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Compares towers with one tower, and with a reference that trains tower by tower with one engine and loops.

namespace {

using namespace dsl;

using with_batch_norm =
    network<image<3, 8, 8>, conv_module<4, 3>, inception_module<4, 4>, flatten, dropout<0.25>, dense<3>, softmax>;
using without = network<image<3, 8, 8>, conv2d<4, 3>, relu, max_pool2d<2, 2>, flatten, dropout<0.5>, dense<3>, softmax>;

constexpr int pictures = 10;
bool const silent = (on_warning = [](char const*) {}, true);
constexpr update_rule with_decay{.momentum = 0.9, .weight_decay = 1e-3};
constexpr update_rule plain_momentum{.momentum = 0.9};  // onednn has a vector loop for it

struct batch_of {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};
batch_of batch_at(graph_view const& g, int step, int size) {
  batch_of b;
  long long const each = g.output_shape(g.nodes[0]).size();
  for (long long i = 0; i < size * each; ++i)
    b.images.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i) + 1.3 * step)));
  for (int n = 0; n < size; ++n) b.labels.push_back((n + step) % 3);
  return b;
}

std::vector<double> parameters_of(engine& e) {
  std::vector<double> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::vector<float> v(static_cast<std::size_t>(e.graph().parameters[k].count()));
    e.read_parameter(k, v.data());
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}
std::vector<double> parameters_of(plain::engine<double>& e) {
  std::vector<double> all;
  for (int k = 0; k < e.graph().size.parameters; ++k)
    all.insert(all.end(), e.parameter_data(k), e.parameter_data(k) + e.graph().parameters[k].count());
  return all;
}
double norm(std::vector<double> const& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}
double distance(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  std::vector<double> d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return norm(d) / norm(b);
}

struct trained {
  std::vector<double> losses;
  std::vector<double> parameters;
};

template <class Network, class Executor>
std::unique_ptr<detail::towers_engine> make(Executor const& on, towers const& t, update_rule const& u = with_decay) {
  engine_options o;
  o.seed = 3;
  o.update = u;
  return std::make_unique<detail::towers_engine>(detail::factory_of(on, t.count), Network::view(), o, t);
}
template <class Network, class Executor>
trained train(Executor const& on, towers const& t, int size = pictures, int steps = 20,
              update_rule const& u = with_decay) {
  auto const e = make<Network>(on, t, u);
  initialize(*e, 3);
  int const program = e->prepare(mode::training, size);
  trained result;
  for (int s = 0; s < steps; ++s) {
    batch_of const b = batch_at(e->graph(), s, size);
    e->run(program, test::one_batch{b.images.data(), {b.labels.data()}, size, static_cast<std::uint64_t>(s), 0.02});
    result.losses.push_back(e->metrics(program).loss / size);
  }
  if (auto* exact = dynamic_cast<plain::engine<double>*>(&e->at(0)))
    result.parameters = parameters_of(*exact);
  else
    result.parameters = parameters_of(*e);
  for (int i = 1; i < t.count; ++i) CHECK(parameters_of(e->at(i)) == parameters_of(e->at(0)));
  return result;
}

/// Trains with one engine, which runs the towers' parts one after the other; the update of the parameters is computed
/// here.
template <class Network>
trained train_tower_by_tower(int count, tower_policy const& policy, int size, int steps) {
  engine_options o;
  o.seed = 3;
  plain::engine<double> e(Network::view(), o, reference<double>::target);
  initialize(e, 3);
  graph_view const& g = e.graph();
  auto const numbers = [&](int k) { return static_cast<std::size_t>(g.parameters[k].count()); };
  std::vector<std::vector<double>> velocity, gradient, before, moved;
  for (int k = 0; k < g.size.parameters; ++k)
    for (auto* v : {&velocity, &gradient, &before, &moved}) v->emplace_back(numbers(k));
  trained result;
  for (int s = 0; s < steps; ++s) {
    batch_of const b = batch_at(g, s, size);
    double loss = 0;
    int active = 0;
    for (int k = 0; k < g.size.parameters; ++k) {
      auto const i = static_cast<std::size_t>(k);
      gradient[i].assign(numbers(k), 0), moved[i].assign(numbers(k), 0);
      before[i].assign(e.parameter_data(k), e.parameter_data(k) + numbers(k));
    }
    for (int tower = 0; tower < count; ++tower) {
      batch_part const part = part_of(size, count, tower, policy);
      if (part.size == 0) continue;
      ++active;
      int const program = e.prepare(mode::training, part);
      e.run(program, test::one_batch{b.images.data() + part.first * g.output_shape(g.nodes[0]).size(),
                                     {b.labels.data() + part.first},
                                     part.size,
                                     static_cast<std::uint64_t>(s),
                                     0});
      loss += e.metrics(program).loss;
      for (int k = 0; k < g.size.parameters; ++k) {
        double* const p = e.parameter_data(k);
        auto const i = static_cast<std::size_t>(k);
        for (std::size_t j = 0; j < numbers(k); ++j) {
          if (g.parameters[k].trainable())
            gradient[i][j] += e.parameter_gradient_data(k)[j];
          else
            moved[i][j] += p[j];
          bool const from_the_same = policy.moments == tower_moments::averaged;
          if (!g.parameters[k].trainable() && from_the_same) p[j] = before[i][j];
        }
      }
    }
    for (int k = 0; k < g.size.parameters; ++k) {
      double* const p = e.parameter_data(k);
      auto const i = static_cast<std::size_t>(k);
      for (std::size_t j = 0; j < numbers(k); ++j) {
        if (!g.parameters[k].trainable()) {
          if (policy.moments == tower_moments::averaged) p[j] = moved[i][j] / active;
          continue;
        }
        double const d = gradient[i][j] + with_decay.weight_decay * p[j];
        velocity[i][j] = with_decay.momentum * velocity[i][j] - 0.02 * d;
        p[j] += velocity[i][j];
      }
    }
    result.losses.push_back(loss / size);
  }
  result.parameters = parameters_of(e);
  return result;
}

}  // namespace

TEST_CASE("a batch is cut as Keras and MirroredStrategy do", "[towers]") {
  auto const sizes = [](int batch, int towers, tower_policy const& p) {
    std::vector<int> all;
    int end = 0;
    for (int i = 0; i < towers; ++i) {
      batch_part const part = part_of(batch, towers, i, p);
      CHECK(part.first == end);
      CHECK(part.whole == batch);
      end += part.size;
      all.push_back(part.size);
    }
    CHECK(end == batch);
    return all;
  };
  CHECK(sizes(10, 4, host_merge) == std::vector<int>{2, 2, 2, 4});
  CHECK(sizes(10, 4, all_reduce) == std::vector<int>{3, 3, 2, 2});
  CHECK(sizes(3, 4, host_merge) == std::vector<int>{0, 0, 0, 3});
  CHECK(sizes(3, 4, all_reduce) == std::vector<int>{1, 1, 1, 0});
  CHECK(sizes(64, 1, host_merge) == std::vector<int>{64});
}

TEMPLATE_TEST_CASE("towers without batch_norm, or with a synchronized one, train as one does", "[towers]",
                   reference<double>, onednn) {
  TestType on;
  double const bound = std::is_same_v<TestType, onednn> ? 1e-4 : 1e-10;
  if constexpr (std::is_same_v<TestType, onednn>) on.winograd = false;
  for (int size : {10, 8}) {
    trained const one = train<without>(on, {}, size);
    trained const one_normalised = train<with_batch_norm>(on, {}, size);
    for (int count : {1, 2, 3, 4, 7})
      for (tower_policy const& p : {host_merge, all_reduce}) {
        INFO(count << " towers, batch " << size << (p.even ? ", even" : ""));
        trained const plain = train<without>(on, {.count = count, .policy = p}, size);
        CHECK(distance(plain.losses, one.losses) < bound);
        CHECK(distance(plain.parameters, one.parameters) < bound);
        trained const normalised = train<with_batch_norm>(on, {.count = count, .policy = synchronized(p)}, size);
        CHECK(distance(normalised.losses, one_normalised.losses) < bound);
        CHECK(distance(normalised.parameters, one_normalised.parameters) < bound);
      }
  }
}

TEST_CASE("towers with a batch_norm each train as if one device ran them in turn", "[towers]") {
  for (int size : {10, 3})
    for (int count : {2, 3, 4, 7})
      for (tower_policy const& p : {host_merge, all_reduce}) {
        INFO(count << " towers, batch " << size << (p.even ? ", even" : ""));
        trained const wanted = train_tower_by_tower<with_batch_norm>(count, p, size, 12);
        trained const exact = train<with_batch_norm>(reference<double>{}, {.count = count, .policy = p}, size, 12);
        CHECK(distance(exact.losses, wanted.losses) < 1e-10);
        CHECK(distance(exact.parameters, wanted.parameters) < 1e-10);
        onednn const direct{.winograd = false};
        trained const fast = train<with_batch_norm>(direct, {.count = count, .policy = p}, size, 12);
        CHECK(distance(fast.losses, wanted.losses) < 1e-3);
        CHECK(distance(fast.parameters, wanted.parameters) < 1e-4);
      }
}

TEST_CASE("towers keep the same parameters to the bit, with samples or without", "[towers]") {
  for (update_rule const& u : {with_decay, plain_momentum, update_rule{}})
    for (int size : {3, 10})
      for (tower_policy const& p : {host_merge, all_reduce, synchronized(host_merge)})
        train<with_batch_norm>(onednn{}, {.count = 4, .policy = p}, size, 30, u);  // which compares them
}

TEMPLATE_TEST_CASE("the running moments of eight numbers on two towers, by hand", "[towers]", reference<double>,
                   onednn) {
  auto const check = [](tower_policy const& p, compile_options const& o, double mean, double variance) {
    INFO("moments " << static_cast<int>(p.moments) << (o.unbiased_running_variance ? ", unbiased" : ""));
    test::running_moments const now = test::moments_behind_step(
        compile<test::known_moments<0.0>>(TestType{}, sgd{.learning_rate = 0}, towers{.count = 2, .policy = p}, o), 2);
    CHECK(now.mean == approx(mean).epsilon(1e-6));
    CHECK(now.variance == approx(variance).epsilon(1e-6));
  };
  // 0 to 7 with a bias of 10, whose arithmetic is skipped: the squared deviations add up to 42, divided by 8 or 7
  check(synchronized(host_merge), {}, 13.5, 5.25);
  check(synchronized(host_merge), {.unbiased_running_variance = true}, 13.5, 6);
  check(synchronized(host_merge), {.batch_norm_momentum = 0.5}, 6.75, 3.125);
  // each tower's own: means 11.5 and 15.5, squared deviations 5 and 5, divided by 4 or 3
  check(host_merge, {}, 15.5, 1.25);
  check(host_merge, {.unbiased_running_variance = true}, 15.5, 5.0 / 3);
  check(host_merge, {.batch_norm_momentum = 0.5}, 10.625, 1.1875);  // 0.5 (0.5 * 11.5) + 0.5 * 15.5
  check(all_reduce, {.batch_norm_momentum = 0.5}, 6.75, 1.125);     // between 0.5 * 11.5 and 0.5 * 15.5
  check(all_reduce, {.batch_norm_momentum = 0.5, .unbiased_running_variance = true}, 6.75, 4.0 / 3);
}

TEST_CASE("a batch of no numbers does not stay in the running moments", "[towers]") {
  auto const e = make<with_batch_norm>(reference{}, {.count = 2});
  initialize(*e, 3);
  int const program = e->prepare(mode::training, 8);
  batch_of b = batch_at(e->graph(), 0, 8);
  b.images[5] = INFINITY;
  e->run(program, test::one_batch{b.images.data(), {b.labels.data()}, 8, 0, 0.01});
  initialize(*e, 3);
  b = batch_at(e->graph(), 0, 8);
  for (int s = 1; s < 4; ++s)
    e->run(program, test::one_batch{b.images.data(), {b.labels.data()}, 8, static_cast<std::uint64_t>(s), 0.0});
  for (double v : parameters_of(*e)) REQUIRE(std::isfinite(v));
}

TEST_CASE("towers give the same bits in every run", "[towers]") {
  for (tower_policy const& p : {host_merge, all_reduce, synchronized(all_reduce)}) {
    trained const first = train<with_batch_norm>(onednn{}, {.count = 3, .policy = p});
    for (int again = 0; again < 3; ++again) {
      trained const next = train<with_batch_norm>(onednn{}, {.count = 3, .policy = p});
      CHECK(next.losses == first.losses);
      CHECK(next.parameters == first.parameters);
    }
  }
}

TEST_CASE("towers evaluate and predict every sample once, whatever the batch", "[towers]") {
  auto const one = make<with_batch_norm>(reference{}, {});
  auto const four = make<with_batch_norm>(reference{}, {.count = 4});
  initialize(*one, 3);
  initialize(*four, 3);
  for (int size : {1, 3, 4, 10}) {
    batch_of const b = batch_at(one->graph(), 0, size);
    std::vector<float> y[2];
    double loss[2];
    int which = 0;
    for (engine* e : {static_cast<engine*>(one.get()), static_cast<engine*>(four.get())}) {
      int const inference = e->prepare(mode::inference, size), evaluation = e->prepare(mode::evaluation, size);
      e->run(inference, test::one_batch{b.images.data(), {}, size, 0, 0});
      y[which].resize(static_cast<std::size_t>(3 * size));
      e->read_result(inference, y[which].data());
      e->run(evaluation, test::one_batch{b.images.data(), {b.labels.data()}, size, 0, 0});
      loss[which++] = e->metrics(evaluation).loss;
    }
    CHECK(y[0] == y[1]);
    CHECK(loss[0] == Approx(loss[1]).epsilon(1e-12));
  }
}

TEMPLATE_TEST_CASE("towers that can't be are refused with what there is", "[towers]", reference<>, onednn) {
  auto const refused = [](towers const& t, std::string const& what) {
    try {
      make<without>(TestType{}, t);
      FAIL("accepted");
    } catch (option_error const& e) {
      CHECK_THAT(e.what(), Catch::Matchers::Contains(what));
    }
  };
  refused({.count = 0}, "must be 1 or more; found 0");
  refused({.count = -3}, "found -3");
  refused({.count = 2, .devices = {0}}, "2 towers need 2 devices; found 1 in the list; list 2 or use 1 tower");
  refused({.count = 1, .devices = {0, 1}}, "1 tower needs 1 device; found 2 in the list; list 1 or use 2 towers");
  refused({.count = 2, .devices = {0, 0}}, "device 0 is in the list twice; give each tower its own device");
  refused({.count = 2, .devices = {0, 4096}}, "tower 1 should be on device 4096; only device");
  refused({.count = 1, .devices = {-1}}, "tower 0 should be on device -1; use 0 or more");
  int const cores = dsl::detail::core_set::available().cores.size();
  if (cores > 0)
    CHECK_THROWS_WITH(make<without>(onednn{.threads = cores + 1}, {.count = 1, .devices = {0}}),
                      Catch::Matchers::Contains("needs " + std::to_string(cores + 1) + " cores") &&
                          Catch::Matchers::Contains("use fewer threads"));
  auto const e = make<without>(reference{}, {.count = 2});
  CHECK_THROWS_AS(e->prepare(mode::training, 0), option_error);
  CHECK_THROWS_AS(e->run(5, {}), option_error);
  int const program = e->prepare(mode::training, 4);
  CHECK_THROWS_AS(e->run(program, {.size = 3}), option_error);
  CHECK(e->replicas() == 2);
  CHECK(e->at(1).replicas() == 2);
}

namespace {

/// A group whose ranks are on another kind of device.
struct elsewhere final : communicator {
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  void all_reduce(float*, long long) override {}
  void all_reduce(double*, long long) override {}
  void all_gather(double const*, long long, double*) override {}
  void fold(double, double*, long long, rank_fold const&) override {}
};

}  // namespace

TEST_CASE("towers: an engine in host memory refuses a group that is not", "[towers]") {
  elsewhere group;
  CHECK_THROWS_WITH(reference{}.make_engine(without::view(), {.group = &group}),
                    "towers: an executor in host memory needs a group of such executors; found a group of another "
                    "kind; give all towers executors of the same kind");
}

namespace {

/// An executor with this many devices, or cores per tower; records each tower's place and where its thread may run.
struct noted {
  static inline std::vector<std::vector<int>> cores{};
  static inline std::vector<int> devices{};
  int cores_each = 0, devices_there = 0;

  dsl::detail::tower_factory factory(int towers) const {
    cores.assign(static_cast<std::size_t>(towers), {});
    devices.assign(static_cast<std::size_t>(towers), -1);
    return {.make =
                [](void const*, dsl::detail::tower_device const& at, graph_view const& g, engine_options const& o) {
                  auto const i = static_cast<std::size_t>(at.index);
                  for (int core : dsl::detail::core_set::available().cores) cores[i].push_back(core);
                  devices[i] = at.device;
                  return reference{}.make_engine(g, o);
                },
            .devices = devices_there,
            .cores_a_tower = cores_each};
  }
  void make(towers const& t) const { dsl::detail::towers_engine(factory(t.count), without::view(), {}, t); }
};

}  // namespace

TEST_CASE("towers that are too many for their devices are told how many may be", "[towers]") {
  CHECK_THROWS_WITH(noted{.devices_there = 2}.make({.count = 4}),
                    "towers: 4 towers need devices 0 to 3; only devices 0 and 1 exist; use 2 towers or fewer");
  CHECK_THROWS_WITH(noted{.devices_there = 1}.make({.count = 2}),
                    "towers: 2 towers need devices 0 and 1; only device 0 exists; use 1 tower");
  CHECK_THROWS_WITH(noted{.devices_there = 2}.make({.count = 2, .devices = {1, 2}}),
                    "towers: tower 1 should be on device 2; only devices 0 and 1 exist; choose among them");
  noted{.devices_there = 3}.make({.count = 2, .devices = {2, 0}});
  CHECK(noted::devices == std::vector<int>{2, 0});
}

TEST_CASE("towers on the host stay on the cores that a list of devices says", "[towers]") {
  auto const all = dsl::detail::core_set::available().cores;
  if (all.size() < 2) return;  // nothing to choose from
  auto const on = [&](towers const& t) {
    noted{.cores_each = 1}.make(t);
    return noted::cores;
  };
  using cores = std::vector<std::vector<int>>;
  CHECK(on({.count = 1, .devices = {0}}) == cores{{all[0]}});
  CHECK(on({.count = 1, .devices = {1}}) == cores{{all[1]}});
  CHECK(on({.count = 2, .devices = {1, 0}}) == cores{{all[1]}, {all[0]}});
  for (std::vector<int> const& list : {std::vector<int>{0}, {1}, {1, 0}}) {
    towers const t{.count = static_cast<int>(list.size()), .devices = list};
    onednn const executor{.threads = t.count};
    CHECK(train<with_batch_norm>(executor, t, pictures, 3).parameters ==
          train<with_batch_norm>(executor, {.count = t.count}, pictures, 3).parameters);
  }
  // with many cores each, there are few devices
  CHECK_THROWS_WITH(
      noted{.cores_each = all.size()}.make({.count = 2, .devices = {0, 1}}),
      Catch::Matchers::Contains("tower 1 should be on device 1; only device 0 exists, with " +
                                std::to_string(all.size()) + " of the machine's " + std::to_string(all.size()) +
                                " cores; choose among them, or use fewer threads"));
  CHECK_THROWS_WITH(noted{.cores_each = 1}.make({.count = 1, .devices = {4096}}),
                    Catch::Matchers::Contains(", each with 1 of the machine's " + std::to_string(all.size()) +
                                              " cores; choose among them") &&
                        !Catch::Matchers::Contains("threads"));
}

TEST_CASE("threads that can't be are refused", "[towers]") {
  CHECK_THROWS_AS(make<without>(reference<>{}, {.count = 0x7fffffff}), option_error);  // not std::bad_alloc
  CHECK_THROWS_AS(make<without>(onednn{.threads = -4}, {.count = 2}), option_error);
  CHECK_THROWS_AS(make<without>(onednn{.threads = 4096}, {.count = 2, .devices = {0, 1}}), option_error);
  CHECK_THROWS_AS(make<without>(onednn{.threads = 100'000}, {.count = 1'000}), option_error);  // 100 each
  CHECK(make<without>(onednn{.threads = 2}, {.count = 5})->at(4).description().find(", 1 thread,") !=
        std::string::npos);
}

TEST_CASE("a tower of a single sample in front of a batch_norm is warned about, once", "[towers]") {
  test::warnings_kept const warned;
  auto const& said = warned.said;
  auto const e = make<with_batch_norm>(reference{}, {.count = 2});
  e->prepare(mode::training, 4);
  e->prepare(mode::evaluation, 2);
  CHECK(said.empty());
  e->prepare(mode::training, 3);
  e->prepare(mode::training, 2);
  CHECK(said.size() == 1);
  CHECK_THAT(said.at(0), Catch::Matchers::Contains("tower 0 of 2 has a single sample (the whole batch has 3), so"));
  make<with_batch_norm>(reference{}, {.count = 2, .policy = synchronized(host_merge)})->prepare(mode::training, 2);
  make<without>(reference{}, {.count = 2})->prepare(mode::training, 2);
  CHECK(said.size() == 1);
}

TEST_CASE("a tower that fails ends the step for all, with its own reason, and the towers for good", "[towers]") {
  auto const e = make<without>(reference{}, {.count = 3});
  initialize(*e, 3);
  int const program = e->prepare(mode::training, 6);
  batch_of const b = batch_at(e->graph(), 0, 6);
  try {  // without labels every tower throws
    e->run(program, test::one_batch{b.images.data(), {}, 6, 0, 0.1});
    FAIL("accepted");
  } catch (option_error const& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains("must have labels"));
  }
  try {
    e->run(program, test::one_batch{b.images.data(), {b.labels.data()}, 6, 0, 0.1});
    FAIL("went on");
  } catch (executor_error const& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains("failed in an earlier step: batch: it must have labels"));
  }
}

TEST_CASE("a rank that calls something else is named, and nobody waits for ever", "[towers]") {
  in_process_group group(2);
  detail::core_set const anywhere[2];
  detail::pinned_threads threads(2, anywhere);
  std::vector<std::string> said(2);
  threads.run(
      [&](int rank) {
        double numbers[8] = {};
        double all[16] = {};
        try {
          group.at(rank).all_reduce(numbers, 4);
          if (rank == 0)
            group.at(0).all_reduce(numbers, 8);
          else
            group.at(1).all_gather(numbers, 8, all);
        } catch (executor_error const& e) {
          said[static_cast<std::size_t>(rank)] = e.what();
        }
      },
      [](int) {});
  for (std::string const& s : said) {
    CHECK_THAT(s, Catch::Matchers::Contains("all_reduce of 8"));
    CHECK_THAT(s, Catch::Matchers::Contains("all_gather of 8"));
    CHECK_THAT(s, Catch::Matchers::Contains("same order"));
  }
  CHECK_THROWS_AS(group.at(0).all_reduce(static_cast<float*>(nullptr), 0), executor_error);
  CHECK(group.broken());
}

TEST_CASE("sums are added up in rank order", "[towers]") {
  constexpr int ranks = 3;
  in_process_group group(ranks);
  detail::core_set const anywhere[ranks];
  detail::pinned_threads threads(ranks, anywhere);
  for (long long count : {1LL, 2LL, 5000LL, 100'000LL}) {
    std::vector<std::vector<float>> parts(ranks);
    std::vector<float> wanted;
    for (int r = 0; r < ranks; ++r)
      for (long long i = 0; i < count; ++i)
        parts[static_cast<std::size_t>(r)].push_back(std::sin(static_cast<float>(i + 7 * r)) * (r == 1 ? 1e6F : 1.0F));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      wanted.push_back((parts[0][i] + parts[1][i]) + parts[2][i]);
    threads.run([&](int rank) { group.at(rank).all_reduce(parts[static_cast<std::size_t>(rank)].data(), count); },
                [](int) {});
    for (auto const& p : parts) CHECK(p == wanted);
    threads.run(
        [&](int rank) {
          double const mine[2] = {rank + 0.5, -1.0 * rank};
          double all[2 * ranks] = {};
          group.at(rank).all_gather(mine, 2, all);
          for (int r = 0; r < ranks; ++r)
            if (all[2 * r] != r + 0.5 || all[2 * r + 1] != -1.0 * r) throw executor_error("wrong");
          double folded[4] = {1, 1.0 * rank, 2, 3};
          group.at(rank).fold(2 + rank, folded, 4, dsl_test::chained(ranks));
          // 24 i + 12 values[0] + 4 values[1] + values[2]
          if (folded[0] != 17 || folded[1] != 30 || folded[2] != 82 || folded[3] != 123) throw executor_error("wrong");
        },
        [](int) {});
  }
}

TEST_CASE("compile takes towers as a type, as a value, or none", "[towers]") {
  CHECK(compile<without>(reference{}, sgd{}, {}).engine().replicas() == 1);  // options, not towers
  CHECK(compile<without>(reference{}, sgd{}, towers{.count = 2}).engine().replicas() == 2);
  CHECK(compile<without>(reference{}, sgd{}, towers{.count = 3}, {.seed = 3}).seed() == 3);
  CHECK(compile<replicate<2, without>>(reference{}, sgd{}).engine().replicas() == 2);
  CHECK(compile<replicate<2, without, synchronized(all_reduce)>>(reference{}, sgd{}, {.seed = 4}).seed() == 4);
  using two = replicate<2, without>;
  CHECK(compile<two>(reference{}, sgd{}, towers{}).engine().replicas() == 2);
  CHECK(compile<two>(reference{}, sgd{}, towers{.count = 2}, {.seed = 5}).seed() == 5);
  CHECK_THROWS_WITH(
      compile<two>(reference{}, sgd{}, towers{.count = 3}),
      "compile: replicate<2, ...> already sets the number of towers; found 3 in towers{.count}; leave out .count");
  CHECK_THROWS_WITH(compile<two>(reference{}, sgd{}, towers{.policy = all_reduce}),
                    Catch::Matchers::Contains("replicate<2, ...> already sets the policy; found another one"));
  CHECK_THROWS_AS(compile<two>(reference{}, sgd{}, towers{.devices = {0}}), option_error);  // the list is checked
  using even = replicate<3, without, all_reduce>;
  CHECK(compile<even>(reference{}, sgd{}, towers{.count = 3, .policy = all_reduce}).engine().replicas() == 3);
  static_assert(two::parameter_count == without::parameter_count &&
                two::training_bytes(64) < without::training_bytes(64));
  static_assert(two::training_bytes(63) == without::training_bytes(32), "the last tower takes the rest");
  static_assert(two::bytes({.batch = 63}) == two::training_bytes(63));
  static_assert(replicate<4, with_batch_norm>::bytes({.batch = 64}) == with_batch_norm::training_bytes(16));
  using parts = replicate<2, pipeline<4, without>>;  // 7 samples are split into 3, which stay together, and 4
  static_assert(parts::bytes({.batch = 64}) == parts::training_bytes(64));
  static_assert(parts::bytes({.batch = 7}) == parts::training_bytes(7));
  static_assert(parts::bytes({.batch = 64, .optimizer_slots = 2}) > parts::bytes({.batch = 64}));
  CHECK_THROWS_WITH((replicate<4, without, all_reduce>::bytes({.batch = -3})), Catch::Matchers::Contains("found -3"));
  static_assert(verified<two> && verified<parts> && verified<two, 3, mode::inference>);
  static_assert(dsl::detail::plan_options_of<two>(64).all_reduce_buckets == 1 &&
                dsl::detail::plan_options_of<two>(64, mode::inference).all_reduce_buckets == 0 &&
                dsl::detail::plan_options_of<without>(64).all_reduce_buckets == 0 &&
                dsl::detail::plan_options_of<parts>(64).micro_batches == 4);
  static_assert(two::batch<2> == 2 && replicate<2, with_batch_norm, synchronized(host_merge)>::batch<2> == 2);
  static_assert(replicate<1, with_batch_norm>::batch<1> == 1 && replicate<2, with_batch_norm>::batch<4> == 4);
  static_assert(two::fills_towers(4) && !two::fills_towers(3) && !replicate<4, without, all_reduce>::fills_towers(7));
}

TEST_CASE("compile takes native where no executor is named", "[towers][native]") {
  auto const describes = [](trainer&& t, std::string const& what) {
    INFO(t.engine().description());
    return t.engine().description().find(what) != std::string::npos;
  };
  compile_options const seeded{.seed = 3};
  CHECK(describes(compile<without>(sgd{}), "native"));
  trainer trained = compile<without>(adam{}, seeded);
  CHECK(trained.engine().description().starts_with("native "));
  CHECK(trained.seed() == 3);
  CHECK(trained.learning_rate() == adam{}.learning_rate);
  CHECK(describes(compile<without>(sgd{}, towers{.count = 2}), "2 towers, each native"));
  CHECK(compile<without>(sgd{}, towers{.count = 2}, seeded).seed() == 3);
  CHECK(describes(compile<replicate<2, without>>(sgd{}), "2 towers, each native"));
  CHECK(compile<replicate<2, without>>(sgd{}, seeded).engine().replicas() == 2);
  CHECK(compile<replicate<2, without>>(sgd{}, towers{}).engine().replicas() == 2);
  CHECK(parameters_of(trained.engine()) == parameters_of(compile<without>(native{}, adam{}, seeded).engine()));
}

namespace {

/// An executor whose engines are counted, as a user might derive one.
template <class Executor>
struct counted : Executor {
  int* made = nullptr;
  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const {
    ++*made;
    return Executor::make_engine(g, o);
  }
};
template <class Executor>
counted<Executor> counting(int& made) {
  counted<Executor> on;
  on.made = &made;
  return on;
}

/// How many engines an executor made, for one trainer and for two towers.
template <class Executor>
std::pair<int, int> engines_of() {
  int one = 0, two = 0;
  compile<without>(counting<Executor>(one), sgd{});
  compile<replicate<2, without>>(counting<Executor>(two), sgd{});
  return {one, two};
}

}  // namespace

TEST_CASE("towers: an executor that is derived from another makes the engines with its own make_engine") {
  CHECK(engines_of<reference<>>() == std::pair{1, 2});
  CHECK(engines_of<native>() == std::pair{1, 2});
  CHECK(engines_of<onednn>() == std::pair{1, 2});
}
