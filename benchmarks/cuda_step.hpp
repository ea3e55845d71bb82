// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/training/initialize.hpp>

#include "support/gpu/watched_calls.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace dsl::bench {

/// A request for a measurement: one step of a network, repeated.
struct step_request {
  bool train = true;
  int batch = 64;
  dsl::precision precision = dsl::precision::bf16;
  int steps = 50;
  int warmup = 10;
  /// In training, whether batches are gathered and augmented on the device. Otherwise each batch is copied from the
  /// same pinned host memory.
  bool resident = true;
  bool deterministic = false;
  int queues = 2;         // see dsl::cuda
  int pictures = 50'000;  // size of the data set on the device; it is increased to one block of steps
  std::string cache = cu::cache_folder();
  int device = 0;
};

/// The seconds per step, measured in three ways, and other figures of a step.
struct step_figures {
  double step_s = 0;     // in a block of steps; only the metrics of the last step are waited for
  double latency_s = 0;  // median of steps whose metrics are waited for after each step, as in fit()
  double replay_s = 0;   // of the recorded graph alone, launched repeatedly, by the device's clock
  // time until the first step, in which plans are chosen or timed, and kernels are compiled or read from the cache
  double prepare_s = 0;
  double loss = 0;  // mean loss of the first step, from weights that depend only on the seed; 0 in inference
  test::watched_calls::recorded_step recorded{};
  long calls_a_step = 0;
  bool allocates = false;  // whether steps allocate memory after the warm-up
  int queues = 0;          // of the program that was kept
  long long arena_bytes = 0, planned_bytes = 0, executor_bytes = 0;
  std::string description;
};

/// An engine and its program, which are made once; measure() can be called repeatedly.
template <class Model>
class measured_step {
 public:
  measured_step(cu::api const& a, step_request const& r, test::watched_calls::counting count_nodes = nullptr,
                test::watched_calls::marking mark = nullptr)
      : request_(r), calls_(a, count_nodes, mark) {
    double const begin = now();
    engine_ =
        std::make_unique<cu::engine>(calls_.api(), Model::view(), engine_options{.update = {.momentum = 0.9}},
                                     cu::engine_settings{r.precision, r.deterministic, r.device, r.cache, r.queues});
    initialize(*engine_, 1);
    detail::random_stream random(1, detail::purpose::user, 0);
    graph_view const& g = engine_->graph();
    shape const picture = g.shape_of(g.nodes[0].output);
    auto const classes = static_cast<std::uint32_t>(g.shape_of(g.result()).size());
    if (resident()) {
      // The same random numbers are repeated, since drawing hundreds of MB would take longer than the measurement.
      auto const count = static_cast<std::size_t>(std::max(r.pictures, r.batch * std::max(r.steps, r.warmup)));
      std::vector<std::uint8_t> pixels(count * static_cast<std::size_t>(picture.size()));
      for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i * 2654435761U >> 24);
      std::vector<std::int32_t> labels(count);
      for (std::int32_t& l : labels) l = static_cast<std::int32_t>(random.below(classes));
      dataset data = in_memory_dataset(picture, static_cast<int>(classes), std::move(pixels), std::move(labels));
      data.mean = mean_picture(data);
      program_ = engine_->prepare_resident(data, shift_and_flip{}, r.batch, true);
      if (program_ < 0) throw executor_error("cuda_step: the data set does not fit on the device");
    } else {
      program_ = engine_->prepare(r.train ? mode::training : mode::inference, r.batch);
    }
    images_.resize(static_cast<std::size_t>(r.batch * picture.size()));
    for (float& v : images_) v = random.uniform(-1.7F, 1.7F);
    for (int i = 0; i < r.batch; ++i) labels_.push_back(static_cast<std::int32_t>(random.below(classes)));
    begin_block();
    run(true);  // copies the host's batch to pinned memory, where it stays
    wait();
    if (r.train) loss_ = engine_->metrics(program_).loss / r.batch;
    recorded_ = test::watched_calls::last_recorded();
    prepare_s_ = now() - begin;
  }

  step_figures measure() {
    step_figures f;
    f.prepare_s = prepare_s_, f.loss = loss_, f.recorded = recorded_;
    begin_block();
    for (int s = 0; s < request_.warmup; ++s) run();
    wait();

    begin_block();
    test::watched_calls::reset();
    double const begin = now();
    for (int s = 0; s < request_.steps; ++s) run();
    wait();
    f.step_s = (now() - begin) / request_.steps;
    f.calls_a_step = test::watched_calls::count() / request_.steps;
    f.allocates = test::watched_calls::count("cudaMalloc") + test::watched_calls::count("cudaMallocHost") > 0;

    begin_block();
    std::vector<double> times;
    for (int s = 0; s < request_.steps; ++s) {
      double const start = now();
      run();
      wait();
      times.push_back(now() - start);
    }
    std::sort(times.begin(), times.end());
    f.latency_s = times[times.size() / 2];

    f.replay_s = replay();
    f.arena_bytes = engine_->arena_bytes();
    f.executor_bytes = engine_->executor_bytes();
    target const to = cu::target_for(cu::storage_of(request_.precision));
    f.planned_bytes =
        request_.train ? Model::training_bytes(request_.batch, to) : Model::inference_bytes(request_.batch, to);
    f.description = engine_->description();
    f.queues = engine_->queues(program_);
    return f;
  }
  step_request const& request() const { return request_; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  bool resident() const { return request_.train && request_.resident; }
  /// Makes the next step take the first batch of the data set again, since the data set has a limited number of
  /// batches.
  void begin_block() {
    if (resident()) engine_->start_epoch(program_, 0, 0);
  }
  void run(bool bring = false) {
    bool const brings = bring && !resident();
    float const* const images = brings ? images_.data() : nullptr;
    target_view const target{.labels = brings && request_.train ? labels_.data() : nullptr};
    engine_->run(program_, {.inputs = {&images, 1},
                            .targets = {&target, 1},
                            .size = request_.batch,
                            .step = step_++,
                            .learning_rate = request_.train ? 1e-3 : 0});
  }
  void wait() {
    if (request_.train)
      engine_->metrics(program_);
    else
      calls_.api()(calls_.api().cudaStreamSynchronize, test::watched_calls::last_stream());
  }
  double replay() {
    cu::api const& a = calls_.api();
    cudaStream_t const s = test::watched_calls::last_stream();
    cu::backend::timing_event const before(a), behind(a);
    a(a.cudaEventRecord, before.get(), s);
    for (int i = 0; i < request_.steps; ++i) a(a.cudaGraphLaunch, test::watched_calls::last_graph(), s);
    a(a.cudaEventRecord, behind.get(), s);
    a(a.cudaStreamSynchronize, s);
    float milliseconds = 0;
    a(a.cudaEventElapsedTime, &milliseconds, before.get(), behind.get());
    return 1e-3 * static_cast<double>(milliseconds) / request_.steps;
  }

  step_request request_;
  test::watched_calls calls_;
  std::unique_ptr<cu::engine> engine_;
  int program_ = -1;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::uint64_t step_ = 0;
  double prepare_s_ = 0, loss_ = 0;
  test::watched_calls::recorded_step recorded_{};
};

}  // namespace dsl::bench
