// SPDX-License-Identifier: MIT
// Tests that the environment's settings of OpenMP threads neither hang a training nor allocate memory for threads that
// do not exist.
#include "support/catch.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/parallel.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace dsl;

namespace {

using model = network<image<3, 8, 8>, conv2d<16, 3>, batch_norm<>, relu, flatten, dense<2>, softmax>;

/// Restores what OMP_NUM_THREADS and OMP_DYNAMIC had set.
struct as_before {
  int threads = omp_get_max_threads(), dynamic = omp_get_dynamic();
  as_before() = default;
  as_before(as_before const&) = delete;
  as_before& operator=(as_before const&) = delete;
  ~as_before() {
    omp_set_num_threads(threads);
    omp_set_dynamic(dynamic);
  }
};

std::string threads_of(trainer& t) {
  std::string const text = t.engine().description();  // "onednn 2.6.3, 2 threads, blocks of 16"
  std::size_t const begin = text.find(", ") + 2;
  return text.substr(begin, text.find(' ', begin) - begin);
}

}  // namespace

TEST_CASE("onednn: OpenMP gives all threads that its kernels wait for", "[onednn][hostile]") {
  as_before const all;
  omp_set_dynamic(1);  // as OMP_DYNAMIC=true, which provides fewer threads on a busy machine
  omp_set_num_threads(2);
  {
    dnn::thread_count const scope(0);
    CHECK(omp_get_dynamic() == 0);
    CHECK(omp_get_max_threads() == 2);
  }
  CHECK(omp_get_dynamic() != 0);
  trainer t = compile<model>(onednn{.threads = 2}, sgd{.learning_rate = 0.01});
  CHECK(threads_of(t) == "2");
  std::vector<float> const pictures(8 * 3 * 8 * 8, 1.0F);
  std::vector<std::int32_t> const labels{0, 1, 0, 1, 0, 1, 0, 1};
  for (int step = 0; step < 20; ++step) t.train_on_batch(pictures.data(), labels.data(), 8);
  CHECK(t.steps() == 20);
}

TEST_CASE("onednn: OMP_NUM_THREADS of any size is held to what the machine can have", "[onednn][hostile]") {
  as_before const all;
  for (int const many : {100'000, 0x7fffffff}) {
    omp_set_num_threads(many);
    trainer t = compile<model>(onednn{}, sgd{.learning_rate = 0.01});
    CHECK(threads_of(t) == std::to_string(8 * omp_get_num_procs()));
    CHECK(omp_get_max_threads() == many);
  }
  int const most = 8 * omp_get_num_procs();
  CHECK(test::thrown<option_error>([&] { compile<model>(onednn{.threads = most + 1}, sgd{}); }) ==
        "onednn: threads must be 0 (all) to " + std::to_string(most) + ", 8 for each available processor; found " +
            std::to_string(most + 1));
}

TEST_CASE("onednn: within a parallel region, where it would wait for ever, it is an error", "[onednn][hostile]") {
  struct seen {
    std::vector<float> pictures = std::vector<float>(8 * 3 * 8 * 8, 1.0F);
    std::vector<std::int32_t> labels{0, 1, 0, 1, 0, 1, 0, 1};
    trainer two = compile<model>(onednn{.threads = 2}, sgd{.learning_rate = 0.01});
    trainer one = compile<model>(onednn{.threads = 1}, sgd{.learning_rate = 0.01});
    std::string refused;
    void step(trainer& t) const { t.train_on_batch(pictures.data(), labels.data(), 8); }
  } s;
  s.step(s.two);
  GOMP_parallel(
      [](void* context) {
        if (omp_get_thread_num() > 0) return;
        auto& all = *static_cast<seen*>(context);
        all.refused = test::thrown<option_error>([&] { all.step(all.two); });
        all.step(all.one);
      },
      &s, 2, 0);
  CHECK(test::has(s.refused, "onednn: it needs its 2 threads; found an OpenMP parallel region"));
  CHECK(s.one.steps() == 1);
  s.step(s.two);
}
