// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/chained.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/regression_scores.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Tests towers of several processes, which are threads here: what they compute, when they synchronise, and how they
// fail.

namespace {

using namespace dsl;
using Catch::Matchers::Contains;

bool const silent = (on_warning = [](char const*) {}, true);

constexpr std::chrono::seconds limit{30};  // limit for an expected event; it passes only if the test fails

template <class F>
bool comes(F what) {
  auto const end = std::chrono::steady_clock::now() + limit;
  while (!what() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return what();
}

/// Processes that exchange their bytes through memory.
class world {
 public:
  explicit world(int processes) : posts_(static_cast<std::size_t>(processes)) {
    for (int q = 0; q < processes; ++q) members_.push_back(std::make_unique<member>(*this, q));
  }
  process_group& at(int q) { return *members_[static_cast<std::size_t>(q)]; }
  int size() const { return static_cast<int>(members_.size()); }

  std::atomic<int> sums{0};         // sums of all processes together
  std::atomic<int> interrupted{0};  // exchanges
  std::atomic<int> begun{0};        // sums begun by all of them together
  std::atomic<int> beside{0};       // of these, those begun while their process was told to share its cores

  /// Returns how often process q has made this call.
  int calls(int q, std::string const& what) {
    std::lock_guard const held(mutex_);
    return called_[{q, what}];
  }
  /// Returns how often process q has made any call.
  int calls(int q) {
    std::lock_guard const held(mutex_);
    int all = 0;
    for (auto const& [call, times] : called_) all += call.first == q ? times : 0;
    return all;
  }

 private:
  struct post {
    long long call = 0, taken = 0;  // both counted from 1
    std::string what{};
    process_message const* out = nullptr;
    bool shares = false;  // its cores
    std::string why{};    // the reason for its interruption
  };
  class member final : public process_group {
   public:
    member(world& w, int q) : world_(w), q_(q) {}
    int process() const override { return q_; }
    int processes() const override { return world_.size(); }
    void exchange(char const* what, process_message const* out, process_message const* in) override {
      world_.exchange(q_, what, out, in);
    }
    void interrupt(std::string const& why) override {
      std::lock_guard const held(world_.mutex_);
      world_.posts_[static_cast<std::size_t>(q_)].why = why;
      world_.changed_.notify_all();
    }
    void share_cores(bool on) override {
      std::lock_guard const held(world_.mutex_);
      world_.posts_[static_cast<std::size_t>(q_)].shares = on;
    }

   private:
    world& world_;
    int q_;
  };

  void exchange(int q, char const* what, process_message const* out, process_message const* in) {
    std::unique_lock held(mutex_);
    post& mine = posts_[static_cast<std::size_t>(q)];
    mine.what = what, mine.out = out;
    ++called_[{q, mine.what}];
    if (mine.what == "all_reduce") ++begun, beside += mine.shares;
    long long const call = ++mine.call;
    changed_.notify_all();
    auto const all = [&](auto reached) {
      changed_.wait_for(held, limit, [&] {
        for (post const& p : posts_)
          if (!reached(p) && mine.why.empty() && wrong_.empty()) return false;
        return true;
      });
      if (!mine.why.empty()) ++interrupted;
      if (!mine.why.empty()) throw executor_error(mine.why);
      if (!wrong_.empty()) throw executor_error(wrong_);
      for (post const& p : posts_)
        if (!reached(p)) throw executor_error("waited for ever in " + mine.what);
    };
    all([&](post const& p) { return p.call >= call; });
    for (int from = 0; from < size(); ++from) {
      post const& theirs = posts_[static_cast<std::size_t>(from)];
      process_message const& sent = theirs.out[q];
      process_message const& wanted = in[from];
      if (theirs.what != what || sent.bytes != wanted.bytes) {
        wrong_ = "calls differ: " + theirs.what;
        changed_.notify_all();
        throw executor_error(wrong_);
      }
      if (sent.bytes > 0 && sent.data != wanted.data)
        std::memmove(wanted.data, sent.data, static_cast<std::size_t>(sent.bytes));
    }
    mine.taken = call;
    changed_.notify_all();
    all([&](post const& p) { return p.taken >= call; });  // the others may still use what they sent
    if (mine.what == "all_reduce, its sums") ++sums;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<post> posts_;
  std::map<std::pair<int, std::string>, int> called_;
  std::string wrong_;
  std::vector<std::unique_ptr<member>> members_;
};

/// Runs work(q) in every process at the same time, and returns the message of each one's exception.
template <class F>
std::vector<std::string> in_each(world& w, F work) {
  std::vector<std::string> said(static_cast<std::size_t>(w.size()));
  std::vector<std::thread> all;
  for (int q = 0; q < w.size(); ++q)
    all.emplace_back([&, q] {
      try {
        work(q);
      } catch (std::exception const& e) {
        said[static_cast<std::size_t>(q)] = e.what();
      }
    });
  for (std::thread& t : all) t.join();
  return said;
}

/// Runs work(seat) on every tower's thread.
template <class F>
std::vector<std::string> on_each(int seats, F work) {
  std::vector<detail::core_set> const anywhere(static_cast<std::size_t>(seats));
  std::vector<std::string> said(static_cast<std::size_t>(seats));
  detail::pinned_threads threads(seats, anywhere.data());
  threads.run(
      [&](int seat) {
        try {
          work(seat);
        } catch (std::exception const& e) {
          said[static_cast<std::size_t>(seat)] = e.what();
        }
      },
      [](int) {});
  return said;
}

/// What a test does in the middle of the backward pass.
void (*in_between)() = [] {};
struct interlude {
  static constexpr char const* name = "interlude";
  static constexpr shape output(shape in) { return in; }
  template <class T>
  static void forward(custom_call<T> const& c) {
    each(c, [](T x, T) { return x; }, c.y, c.x);
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    in_between();
    each(c, [&](T d, T old) { return c.accumulate ? old + d : d; }, c.dx, c.dy);
  }
  template <class To, class From, class T, class F>
  static void each(custom_call<T> const& c, F f, To const& to, From const& from) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long p = 0; p < c.x.shape.area(); ++p) to(n, k, p) = f(from(n, k, p), to(n, k, p));
  }
};

// Nearly all parameters come after the interlude, so in the backward pass they come before it.
using with_interlude =
    network<image<3, 8, 8>, conv2d<4, 3>, custom<interlude>, relu, flatten, dense<16>, relu, dense<3>, softmax>;
using normalised =
    network<image<3, 8, 8>, conv_module<4, 3>, inception_module<4, 4>, flatten, dropout<0.25>, dense<3>, softmax>;

std::vector<float> pictures_of(int step, int size) {
  std::vector<float> x;
  for (int i = 0; i < size * 192; ++i)
    x.push_back(static_cast<float>((i * 37 + i / 7 + 11 * step) % 251) / 251.0F - 0.5F);
  return x;
}

engine_options const usual{.seed = 3, .update = {.momentum = 0.9}};

template <class Network, class T>
std::unique_ptr<detail::towers_engine> make(towers const& t, engine_options const& o = usual) {
  auto e = std::make_unique<detail::towers_engine>(detail::factory_of(reference<T>{}, t.count), Network::view(), o, t);
  initialize(*e, 3);
  return e;
}
void train_step(engine& e, int s, int size) {
  batch_part const mine = e.share_of(size);
  int const program = e.prepare(mode::training, mine);
  std::vector<float> const x = pictures_of(s, size);
  std::vector<std::int32_t> y;
  for (int n = 0; n < size; ++n) y.push_back((n + s) % 3);
  e.run(program,
        test::one_batch{
            x.data() + 192 * mine.first, {y.data() + mine.first}, mine.size, static_cast<std::uint64_t>(s), 0.02});
}
/// Returns the parameters of all towers after some steps.
template <class Network, class T>
std::vector<float> train(towers const& t, int size) {
  auto const e = make<Network, T>(t);
  std::vector<float> numbers;
  for (int s = 0; s < 4; ++s) {
    train_step(*e, s, size);
    numbers.push_back(static_cast<float>(e->metrics(e->prepare(mode::training, e->share_of(size))).loss));
  }
  for (int k = 0; k < e->graph().size.parameters; ++k) {
    std::vector<float> v(static_cast<std::size_t>(e->graph().parameters[k].count()));
    e->read_parameter(k, v.data());
    numbers.insert(numbers.end(), v.begin(), v.end());
  }
  return numbers;
}

}  // namespace

TEMPLATE_TEST_CASE("processes train as the towers of one do, to the bit", "[processes]", float, double) {
  for (std::vector<int> const& split :
       std::vector<std::vector<int>>{{1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {1, 3}, {2, 1, 1}})
    for (tower_policy const& p : {host_merge, all_reduce, synchronized(host_merge)})
      for (int size : {10, 3}) {  // of 3 samples, some towers get none
        int all = 0;
        for (int count : split) all += count;
        INFO(split.size() << " processes, " << all << " towers, batch " << size);
        std::vector<float> const one = train<normalised, TestType>({.count = all, .policy = p}, size);
        world w(static_cast<int>(split.size()));
        std::vector<std::vector<float>> many(split.size());
        auto const said = in_each(w, [&](int q) {
          auto const i = static_cast<std::size_t>(q);
          many[i] = train<normalised, TestType>({.count = split[i], .policy = p, .processes = &w.at(q)}, size);
        });
        CHECK(said == std::vector<std::string>(split.size()));
        for (auto const& m : many) CHECK(m == one);
      }
}

TEST_CASE("of a type that has its towers every process has as many", "[processes]") {
  dataset const data = test::toy::pictures().first(21), validation = test::toy::pictures(3).first(7);
  sgd const optimizer{.learning_rate = 0.02, .momentum = 0.9};
  struct trained {
    int towers = 0;
    std::vector<double> figures{};
    std::uint64_t parameters = 0;
    bool operator==(trained const&) const = default;
  };
  auto const fit = [&](trainer t) {
    history const h = t.fit(data, {.epochs = 2, .batch_size = 10, .validation = &validation});
    return trained{t.engine().replicas(), test::figures(h), dsl::detail::fingerprint_of(t.engine())};
  };
  trained const one =
      fit(compile<normalised>(reference{}, optimizer, towers{.count = 4, .policy = all_reduce}, {.seed = 3}));
  world w(2);
  trained each[2];
  auto const said = in_each(w, [&](int q) {
    using two = replicate<2, normalised, all_reduce>;
    each[q] = fit(compile<two>(reference{}, optimizer, towers{.processes = &w.at(q)}, {.seed = 3}));
  });
  CHECK(said == std::vector<std::string>(2));
  for (trained const& t : each) CHECK(t == one);
  CHECK(one.towers == 4);
}

TEST_CASE("processes average the weights that the towers of one average", "[processes]") {
  dataset const data = test::toy::pictures().first(21), validation = test::toy::pictures(3).first(7);
  auto const fit = [&](towers const& t) {
    trainer one = compile<normalised>(reference{}, sgd{.learning_rate = 0.02, .momentum = 0.9}, t, {.seed = 3});
    history const h = one.fit(data, {.epochs = 3,
                                     .batch_size = 10,
                                     .validation = &validation,
                                     .average{{.start_from_epoch = 1, .momentum = 0.9, .every = 1}}});
    return std::pair(test::figures(h), dsl::detail::fingerprint_of(one.engine()));
  };
  auto const one = fit({.count = 2});
  world w(2);
  std::pair<std::vector<double>, std::uint64_t> each[2];
  auto const said = in_each(w, [&](int q) { each[q] = fit({.count = 1, .processes = &w.at(q)}); });
  CHECK(said == std::vector<std::string>(2));
  for (auto const& e : each) CHECK(e == one);
}

TEST_CASE("processes learn values as the towers of one do, and add up how far off they are", "[processes]") {
  using line = network<features<2>, dense<4>, dsl::tanh, dense<2>>;
  std::vector<float> x, y;
  for (int i = 0; i < 26; ++i) {
    x.insert(x.end(), {static_cast<float>(i % 5), static_cast<float>(i % 7)});
    y.insert(y.end(), {static_cast<float>(i % 5 - i % 7), static_cast<float>(i % 3)});
  }
  dataset const data = in_memory_values({2}, std::move(x), 2, y);
  auto const fit = [&](towers const& t) {
    trainer one = compile<line>(reference{}, sgd{.learning_rate = 0.02}, t, {.loss = loss::huber});
    history const h = one.fit(data, {.epochs = 3, .batch_size = 8, .validation = &data});
    regression_scores far;
    one.evaluate(data, 7, &far);
    return std::pair(std::vector<double>{h.epochs[2].train.loss, h.epochs[2].validation.loss},
                     std::vector<double>{far.mean_absolute_error(), far.mean_squared_error(), far.r2(0), far.r2(1)});
  };
  auto const one = fit({.count = 2});
  CHECK(one.second[0] > 0);
  world w(2);
  std::pair<std::vector<double>, std::vector<double>> each[2];
  auto const said = in_each(w, [&](int q) { each[q] = fit({.count = 1, .processes = &w.at(q)}); });
  CHECK(said == std::vector<std::string>(2));
  for (auto const& e : each) {
    CHECK(e.first == one.first);
    for (std::size_t i = 0; i < 4; ++i) CHECK(e.second[i] == approx(one.second[i]).epsilon(1e-12));
  }
}

TEST_CASE("every process predicts all samples, as one engine does", "[processes]") {
  dataset const data = test::toy::pictures().first(5);
  std::vector<float> const batch = pictures_of(0, 5);
  trainer alone(reference{}.make_engine(normalised::view(), usual), 0.02);
  std::vector<float> wanted(5 * 3), got[2];
  alone.predict_on_batch(batch.data(), 5, wanted.data());
  for (int size : {5, 3}) {  // a batch, or one of 3 and one of 2 samples: fewer than there are towers
    std::vector<float> const all = alone.predict(data, size);
    world w(2);
    std::vector<float> of_data[2];
    auto const said = in_each(w, [&](int q) {
      trainer t(make<normalised, float>({.count = q + 1, .processes = &w.at(q)}), 0.02);
      of_data[q] = t.predict(data, size);
      got[q].assign(wanted.size(), 0);
      t.predict_on_batch(batch.data(), 5, got[q].data());
    });
    CHECK(said == std::vector<std::string>(2));
    for (int q = 0; q < 2; ++q) {
      CHECK(of_data[q] == all);
      CHECK(got[q] == wanted);
    }
  }
}

namespace {

/// A training whose settings a process may have differently.
struct training {
  engine_options engine{.seed = 1ULL << 53, .update = {.momentum = 0.9}};
  fit_options fit{.epochs = 2, .batch_size = 4, .average = weight_average{}};
  std::uint64_t steps = 0;  // so far
};
struct difference {
  char const* what;
  void (*make)(training&);
};

std::string differ_in(char const* what) { return std::string("processes: rank 1 and rank 0 differ in ") + what; }

}  // namespace

TEST_CASE("processes that would train in other ways don't, and all say what differs", "[processes]") {
  dataset const data = test::toy::pictures().first(8);
  auto const said = [&](void (*differ)(training&)) {
    world w(2);
    return in_each(w, [&](int q) {
      training mine;
      if (q == 1) differ(mine);
      trainer t(make<normalised, float>({.count = 1, .processes = &w.at(q)}, mine.engine), 0.02);
      t.set_steps(mine.steps);
      t.fit(data, mine.fit);
    });
  };
  CHECK(said([](training&) {}) == std::vector<std::string>(2));
  for (difference const& d : std::initializer_list<difference>{
           {"the seed;", [](training& t) { ++t.engine.seed; }},  // the same double
           {"the loss: mean_squared_error and categorical_crossentropy;",
            [](training& t) { t.engine.loss = loss::mean_squared_error; }},
           {"the number of micro-batches: 2 and 1;", [](training& t) { t.engine.micro_batches = 2; }},
           {"the label smoothing: 0.5 and 0;", [](training& t) { t.engine.label_smoothing = 0.5; }},
           {"the optimizer's weight decay: 0.5 and 0;", [](training& t) { t.engine.update.weight_decay = 0.5; }},
           {"the optimizer's beta_1: 0.5 and 0;", [](training& t) { t.engine.update.first_decay = 0.5; }},
           {"the optimizer's beta_2 or rho: 0.5 and 0;", [](training& t) { t.engine.update.second_decay = 0.5; }},
           {"the optimizer's epsilon: 0.5 and 0;", [](training& t) { t.engine.update.epsilon = 0.5; }},
           {"the optimizer's rule;", [](training& t) { t.engine.update.nesterov = true; }},
           {"batch_norm's momentum: 0.5 and -1;", [](training& t) { t.engine.batch_norm_momentum = 0.5; }},
           {"the option unbiased_running_variance: 1 and 0;",
            [](training& t) { t.engine.unbiased_running_variance = true; }},
           {"the first epoch: 1 and 0;", [](training& t) { t.fit.initial_epoch = 1; }},
           {"the epoch from which weights are averaged: -1 and 0;", [](training& t) { t.fit.average.reset(); }},
           {"the epoch from which weights are averaged: 1 and 0;",
            [](training& t) { t.fit.average->start_from_epoch = 1; }},
           {"the average's momentum: 0.5 and 1;", [](training& t) { t.fit.average->momentum = 0.5; }},
           {"the steps from one average to the next: 2 and 4;", [](training& t) { t.fit.average->every = 2; }},
           {"the number of backup_and_restore among the callbacks: 1 and 0;",
            [](training& t) {
              struct backup_and_restore : callback {};
              t.fit.callbacks = {backup_and_restore{}};
            }},
           {"the steps trained so far: 7 and 0;", [](training& t) { t.steps = 7; }}})
    for (std::string const& s : said(d.make)) CHECK_THAT(s, Contains(differ_in(d.what)));
}

namespace {

/// Tensors as an executor with vectors of this many numbers keeps them.
struct reference_in_blocks : reference<> {
  int block;
  explicit reference_in_blocks(int channels) : block(channels) {}
  std::unique_ptr<dsl::engine> make_engine(graph_view const& g, engine_options const& o) const {
    dsl::target to = target;
    to.channel_block = block;
    return std::make_unique<plain::engine<float>>(g, o, to);
  }
};

}  // namespace

TEST_CASE("processes with other channel blocks train together, but for synchronized batch_norms", "[processes]") {
  dataset const data = test::toy::pictures().first(8);
  auto const said = [&](tower_policy const& policy) {
    world w(2);
    return in_each(w, [&](int q) {
      towers const t{.count = 1, .policy = policy, .processes = &w.at(q)};
      reference_in_blocks const on(q == 0 ? 8 : 16);
      trainer(std::make_unique<detail::towers_engine>(detail::factory_of(on, 1), normalised::view(), usual, t), 0.02)
          .fit(data, {.batch_size = 4});
    });
  };
  CHECK(said(host_merge) == std::vector<std::string>(2));
  for (std::string const& s : said(synchronized(host_merge)))
    CHECK_THAT(s, Contains(differ_in("the channels per block, which depend on the processor and must be equal for "
                                     "synchronized batch_norm (set TYPENET_MAX_ISA=avx2 for all): 16 and 8;")));
}

TEST_CASE("processes that evaluate or train on other batches are told so", "[processes]") {
  dataset const data = test::toy::pictures().first(5);
  std::vector<float> const images = pictures_of(0, 5);
  std::vector<std::int32_t> const labels(5, 1);
  auto const told = [](char const* what, auto call) {
    world w(2);
    for (std::string const& s : in_each(w, [&](int q) {
           trainer t(make<normalised, float>({.count = 1, .processes = &w.at(q)}), 0.02);
           call(t, q);
         }))
      CHECK_THAT(s, Contains(differ_in(what)));
  };
  told("the number of samples to evaluate: 5 and 4;", [&](trainer& t, int q) { t.evaluate(data.first(4 + q), 64); });
  told("the batch size: 65 and 64;", [&](trainer& t, int q) { t.evaluate(data, 64 + q); });
  told("the batch size: 5 and 4;", [&](trainer& t, int q) { t.train_on_batch(images.data(), labels.data(), 4 + q); });
}

TEST_CASE("processes that train on batches in other ways, or evaluate other parameters, are told so", "[processes]") {
  dataset const data = test::toy::pictures().first(5);
  std::vector<float> const images = pictures_of(0, 5);
  std::vector<std::int32_t> const labels(5, 1);
  auto const step = [&](trainer& t) { t.train_on_batch(images.data(), labels.data(), 5); };
  auto const write = [](trainer& t) {
    std::vector<float> const numbers(static_cast<std::size_t>(t.graph().parameters[0].count()), 0.25F);
    t.engine().write_parameter(0, numbers.data());
  };
  // Calls call(trainer, whether this process differs), with each process differing in turn.
  auto const told = [](std::string const& what, void (*differ)(engine_options&), auto call) {
    for (int other : {0, 1}) {
      INFO(what << ", process " << other);
      world w(2);
      for (std::string const& s : in_each(w, [&](int q) {
             engine_options o = usual;
             if (q == other) differ(o);
             trainer t(make<normalised, float>({.count = 1, .processes = &w.at(q)}, o), 0.02);
             call(t, q == other);
           }))
        CHECK_THAT(s, Contains(differ_in(what.c_str())));
    }
  };
  auto const alike = [](engine_options&) {};
  auto const seed = [](engine_options& o) { o.seed = 7; };
  told("the seed: ", seed, [&](trainer& t, bool) { step(t); });
  told("the seed: ", seed, [&](trainer& t, bool) { t.evaluate(data); });
  told(
      "the optimizer's momentum: ", [](engine_options& o) { o.update.momentum = 0.5; },
      [&](trainer& t, bool) { step(t); });
  told(
      "the loss: ", [](engine_options& o) { o.loss = loss::mean_squared_error; },
      [&](trainer& t, bool) { t.evaluate(data); });
  for (int before : {0, 2})
    told("the learning rate: ", alike, [&](trainer& t, bool differs) {
      for (int s = 0; s < before; ++s) step(t);
      if (differs) t.set_learning_rate(0.01);
      step(t);
    });
  told("the steps trained so far: ", alike, [&](trainer& t, bool differs) {
    step(t);
    if (differs) t.set_steps(7);
    step(t);
  });
  for (int before : {0, 2})
    for (bool fits : {false, true})
      for (bool evaluates : {false, true})
        told("the parameters;", alike, [&](trainer& t, bool differs) {
          for (int s = 0; s < before; ++s) step(t);
          if (fits) t.fit(data, {.batch_size = 5});
          if (differs) write(t);
          if (evaluates)
            t.evaluate(data);
          else
            step(t);
        });
  told("the parameters;", alike, [&](trainer& t, bool differs) {  // an optimizer's slots are compared, too
    step(t);
    std::vector<float> const numbers(static_cast<std::size_t>(t.graph().parameters[0].count()), 0.25F);
    if (differs) t.engine().write_slot(0, 0, numbers.data());
    step(t);
  });
}

TEST_CASE("processes compare network and parameters when these can be others, and not in every step", "[processes]") {
  dataset const data = test::toy::pictures().first(10), validation = test::toy::pictures(3).first(5);
  std::vector<float> const images = pictures_of(0, 5);
  std::vector<std::int32_t> const labels(5, 1);
  world w(2);
  struct counts {
    int networks, parameters, questions, batches;
    bool operator==(counts const&) const = default;
  };
  std::vector<counts> each[2];
  auto const said = in_each(w, [&](int q) {
    trainer t(make<normalised, float>({.count = 1, .processes = &w.at(q)}), 0.02);
    auto const after = [&](auto work) {
      auto const now = [&] {
        return counts{w.calls(q, "the network"), w.calls(q, "the parameters"),
                      w.calls(q, "whether parameters have changed"), w.calls(q, "train_on_batch")};
      };
      counts const before = now();
      work();
      counts const then = now();
      each[q].push_back({then.networks - before.networks, then.parameters - before.parameters,
                         then.questions - before.questions, then.batches - before.batches});
    };
    auto const steps = [&] {
      for (int s = 0; s < 3; ++s) t.train_on_batch(images.data(), labels.data(), 5);
    };
    after(steps);
    after(steps);
    after([&] { t.evaluate(data, 5); });
    after([&] { t.evaluate(data, 5); });
    after([&] { t.fit(data, {.epochs = 2, .batch_size = 5, .validation = &validation}); });
    after(steps);
    initialize(t.engine(), 3);
    after(steps);
  });
  CHECK(said == std::vector<std::string>(2));
  // fit compares before it begins, and after each epoch before and after validation
  for (auto const& c : each)
    CHECK(c == std::vector<counts>{
                   {1, 1, 0, 3}, {0, 0, 0, 3}, {0, 1, 1, 0}, {0, 0, 1, 0}, {0, 2, 5, 0}, {0, 0, 0, 3}, {0, 1, 0, 3}});
}

TEST_CASE("where one process is asked to end all end at the same step, and ask nobody for it", "[processes]") {
  test::temporary_directory const here;
  struct asked : callback {
    int epoch;
    std::int64_t step;
    int what;
    int number = 0;
    asked(int e, std::int64_t s, int w) : epoch(e), step(s), what(w) {}
    void on_train_begin(fit_run& run) override { run.interrupt = &number; }
    void on_batch_end(fit_run& run) override {
      if (run.epoch == epoch && run.step == step) number = what;
    }
  };
  backup_and_restore const backup(here / "state", {.verbose = false});
  trainer whole = test::toy::compiled(2);
  std::vector<double> const wanted = test::figures(test::toy::fit(whole, 2, {}));
  int exchanges[2] = {};
  for (int const asks : {0, 1}) {
    world w(2);
    CHECK(in_each(w, [&](int q) {
            trainer t = test::toy::compiled(1, &w.at(q));
            std::vector<callback_handle> all{backup};
            if (asks) all.emplace_back(asked{-1, 0, 0});
            test::toy::fit(t, 2, all);
          }) == std::vector<std::string>(2));
    exchanges[asks] = w.calls(0);
  }
  CHECK(exchanges[0] == exchanges[1]);

  for (int const who : {0, 1})
    for (std::int64_t const step : {0, 3, 4}) {
      INFO("process " << who << ", step " << step);
      world w(2);
      std::uint64_t steps[2] = {};
      auto const said = in_each(w, [&](int q) {
        trainer t = test::toy::compiled(1, &w.at(q));
        try {
          test::toy::fit(t, 2, {backup, asked{q == who ? 1 : -1, step, 15}});
        } catch (interrupted const& e) {
          CHECK(e.signal == 15);
          steps[q] = t.steps();
          throw;
        }
      });
      std::string const where =
          "fit: interrupted by signal 15 after batch " + std::to_string(step + 2) + " of 6 of epoch 2 of 2";
      CHECK(said == std::vector<std::string>{where, where});
      CHECK(steps[0] == steps[1]);
      world again(2);
      std::vector<double> found[2];
      CHECK(in_each(again, [&](int q) {
              trainer t = test::toy::compiled(1, &again.at(q));
              found[q] = test::figures(test::toy::fit(t, 2, {backup}));
            }) == std::vector<std::string>(2));
      CHECK(found[0] == wanted);
      CHECK(found[1] == wanted);
    }
}

TEST_CASE("of several processes one warns of towers with a single sample, whosever they are", "[processes]") {
  test::warnings_kept kept;
  auto& warned = kept.said;
  auto const prepared = [&](tower_policy const& policy, int batch) {
    warned.clear();
    world w(2);
    return in_each(w, [&](int q) {
      auto const e = make<normalised, float>({.count = q + 1, .policy = policy, .processes = &w.at(q)});
      for (int twice = 0; twice < 2; ++twice) e->prepare(mode::training, e->share_of(batch - twice));
    });
  };
  CHECK(prepared(all_reduce, 5) == std::vector<std::string>(2));  // 2, and 2 and 1; of a batch of 4: 2, and 1 and 1
  CHECK(warned.size() == 1);
  CHECK_THAT(warned.at(0), Contains("tower 2 of 3 has a single sample (the whole batch has 5),"));
  CHECK(prepared(host_merge, 5) == std::vector<std::string>(2));  // 1, and 1 and 3
  CHECK(warned.size() == 1);
  CHECK_THAT(warned.at(0), Contains("tower 0 of 3 has a single sample (the whole batch has 5),"));
  CHECK(prepared(host_merge, 7) == std::vector<std::string>(2));  // 2, and 2 and 3; of a batch of 6, each has 2
  CHECK(warned.empty());
}

TEST_CASE("gradients travel while the backward pass goes on", "[processes]") {
  static world* all = nullptr;
  static std::atomic<int> awaited{0}, missed{0};
  world w(2);
  all = &w;
  awaited = 0, missed = 0;
  in_between = [] {  // both processes have completed a sum of this step
    if (!comes([] { return all->sums >= awaited; })) ++missed;
  };
  auto const said = in_each(w, [&](int q) {
    auto const e = make<with_interlude, float>({.count = q + 1, .processes = &w.at(q)});
    for (int s = 0; s < 3 && missed == 0; ++s) {
      if (q == 0) awaited = w.sums + 2;
      detail::list<int> here(2);
      w.at(q).gather("a step", s, here.begin());
      train_step(*e, s, 9);
      w.at(q).gather("its end", s, here.begin());
    }
  });
  in_between = [] {};
  CHECK(said == std::vector<std::string>(2));
  CHECK(missed == 0);
  CHECK(w.sums > 2 * 3);
  CHECK(w.beside >= 2 * 3);
}

TEST_CASE("where others meet in the backward pass, or nobody else is there, gradients are one sum", "[processes]") {
  world w(2);
  int sums = 0;
  auto const said = in_each(w, [&](int q) {
    auto const e = make<with_interlude, float>({.count = 1, .policy = synchronized(host_merge), .processes = &w.at(q)});
    train_step(*e, 0, 4);
  });
  CHECK(said == std::vector<std::string>(2));
  sums = w.sums;
  CHECK(sums == 2);
  in_process_group alone(2);
  CHECK(alone.at(1).buckets() == 1);
}

TEST_CASE("any other call finishes the sums that were begun", "[processes]") {
  world w(2);
  auto const said = in_each(w, [&](int q) {
    in_process_group group(2, &w.at(q));
    auto const wrong = on_each(2, [&](int seat) {
      communicator& c = group.at(seat);
      for (int round = 0; round < 20; ++round) {
        std::vector<float> a(1000), b(3);
        std::vector<double> d(77), all(4);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(c.rank() + round) * 0.5F;
        b[2] = 1, d[5] = c.rank();
        c.start_all_reduce(a.data(), 1000);
        c.start_all_reduce(d.data(), 77);
        double const own = c.rank();
        if (round % 3 == 0) c.finish_all_reduces();
        if (round % 3 < 2)
          c.all_gather(&own, 1, all.data());
        else
          c.all_reduce(b.data(), 3);
        for (float x : a)
          if (x != 0.5F * static_cast<float>(6 + 4 * round)) throw executor_error("a sum is wrong");
        double folded[3] = {1, 1.0 * c.rank(), 2};
        c.fold(2 + c.rank(), folded, 3, dsl_test::chained(4));
        // 120 i + 60 values[0] + 20 values[1] + 5 values[2] + values[3]
        if (folded[0] != 86 || folded[1] != 153 || folded[2] != 412) throw executor_error("a fold is wrong");
        if (d[5] != 6 || (round % 3 < 2 ? all[3] != 3 : b[2] != 4)) throw executor_error("another one is wrong");
        c.finish_all_reduces();  // none is left
      }
    });
    for (std::string const& s : wrong)
      if (!s.empty()) throw executor_error(s);
  });
  CHECK(said == std::vector<std::string>(2));
}

TEST_CASE("towers that begin other sums are told so", "[processes]") {
  world w(2);
  std::vector<std::string> of_counts, of_numbers, of_calls;
  in_each(w, [&](int q) {
    if (q == 1) {  // it makes three exchanges, as process 0 does
      in_process_group const a(1, &w.at(1)), b(1, &w.at(1)), c(1, &w.at(1));
      return;
    }
    float x[8] = {}, y[8] = {};
    float* const own[2] = {x, y};
    {
      in_process_group group(2, &w.at(0));
      of_counts = on_each(2, [&](int seat) {
        group.at(seat).start_all_reduce(own[seat], 4 + seat);
        group.at(seat).finish_all_reduces();
      });
    }
    {
      in_process_group group(2, &w.at(0));
      of_numbers = on_each(2, [&](int seat) {
        for (int i = 0; i < seat; ++i) group.at(seat).start_all_reduce(own[seat], 4);
        double all[3], mine = 0;
        group.at(seat).all_gather(&mine, 1, all);
      });
    }
    in_process_group group(2, &w.at(0));
    of_calls = on_each(2, [&](int seat) {
      if (seat == 0) group.at(0).start_all_reduce(x, 4);
      if (seat == 0) group.at(0).finish_all_reduces();
      if (seat == 1) group.at(1).all_reduce(y, 4);
    });
  });
  for (std::string const& s : of_counts)
    CHECK_THAT(s,
               Contains(" calls all_reduce for ") && Contains(" for 4 numbers of ") && Contains(" for 5 numbers of "));
  for (std::string const& s : of_numbers)
    CHECK_THAT(s, Contains("finish_all_reduces of 1 sums") && Contains("all_gather of 1 numbers of 8 bytes"));
  for (std::string const& s : of_calls)
    CHECK_THAT(s, Contains("finish_all_reduces of 1 sums") && Contains("all_reduce"));
  for (auto const* all : {&of_counts, &of_numbers, &of_calls})
    for (std::string const& s : *all) CHECK_THAT(s, Contains("the same calls in the same order"));
}

TEST_CASE("a tower that fails ends an exchange that is under way", "[processes]") {
  static world* all = nullptr;
  static std::atomic<int> came{0};
  static std::atomic<bool> over{false};
  world w(2);
  all = &w;
  came = 0, over = false;
  in_between = [] {
    // the second tower of process 0 waits: process 1 never arrives
    if (++came > 1 && comes([] { return all->begun > 0; })) {
      over = true;
      throw std::runtime_error("this tower has had enough");
    }
    comes([] { return over.load(); });
  };
  std::string later;
  auto const begin = std::chrono::steady_clock::now();
  auto const said = in_each(w, [&](int q) {
    auto const e = make<with_interlude, float>({.count = 2 - q, .processes = &w.at(q)});
    if (q == 1) return void(comes([] { return over.load(); }));  // it never returns
    try {
      train_step(*e, 0, 9);
    } catch (std::runtime_error const&) {
      try {
        train_step(*e, 1, 9);
      } catch (executor_error const& error) {
        later = error.what();
      }
      throw;
    }
  });
  in_between = [] {};
  CHECK(said.at(0) == "this tower has had enough");
  CHECK_THAT(later, Contains("towers: tower 0 of 3 failed in") || Contains("towers: tower 1 of 3 failed in"));
  CHECK(w.interrupted == 1);
  CHECK(std::chrono::steady_clock::now() - begin < limit / 2);
}

TEST_CASE("an exchange that fails is every tower's error", "[processes]") {
  bool const beside = GENERATE(true, false);  // on the thread of the sums, or on one of the towers' own
  world w(2);
  std::vector<std::string> each[2];
  auto const said = in_each(w, [&](int q) {
    in_process_group group(q + 1, &w.at(q));
    float x[8] = {}, y[8] = {};
    float* const own[2] = {x, y};
    each[q] = on_each(q + 1, [&](int seat) {
      int const count = 4 + q;  // another count than the other process's
      if (!beside) return group.at(seat).all_reduce(own[seat], count);
      group.at(seat).start_all_reduce(own[seat], count);
      group.at(seat).finish_all_reduces();
    });
    if (!group.broken()) throw executor_error("went on");
    group.at(0).start_all_reduce(x, 4);
  });
  for (auto const& all : {each[0], each[1], said})
    for (std::string const& s : all) CHECK_THAT(s, Contains("calls differ: all_reduce"));
}

TEST_CASE("towers end while a sum is under way", "[processes]") {
  world w(2);
  in_each(w, [&](int q) {
    float x[8] = {};
    in_process_group group(1, &w.at(q));
    if (q == 0) group.at(0).start_all_reduce(x, 8);
    comes([&] { return q == 0 ? w.begun > 0 : w.interrupted > 0; });
  });
  CHECK(w.interrupted == 1);
}

TEST_CASE("processes: an exchange that another's failure interrupts tells of that one", "[processes]") {
  world w(1);
  dsl::detail::abort_state fate(&w.at(0));
  // what a thread beside it does, and what the interrupted call then throws
  CHECK_THROWS_AS(fate.exchange([&] {
    {
      std::scoped_lock const held(fate.guard);
      fate.break_with("the cause");
    }
    throw executor_error("interrupted");
  }),
                  dsl::peer_error);
  dsl::detail::abort_state other(&w.at(0));
  CHECK_THROWS_WITH(other.exchange([] { throw dsl::option_error("its own"); }), "its own");
  CHECK_THROWS_AS(other.exchange([] {}), dsl::peer_error);
}
