// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <dsl/executors/engine.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dsl::test {

/// Passes everything to another engine, and checks that an announced batch is run as it was announced.
class listening final : public engine {
 public:
  explicit listening(std::unique_ptr<engine> e) : engine(e->graph(), e->options()), real_(std::move(e)) {}

  int prepare(mode m, batch_part part, per_output<target_kind> targets) override {
    return real_->prepare(m, part, targets);
  }
  void run(int program, batch_view const& b) override {
    auto const numbers = static_cast<std::size_t>(b.size * graph().output_shape(graph().nodes[0]).size());
    if (b.staged != 0) {
      ++announced;
      CHECK(b.staged == last_);
      CHECK(program == program_);
      CHECK(images_ == std::vector<float>(b.input(0), b.input(0) + numbers));
      std::int32_t const* const labels = b.target(0).labels;
      if (labels) CHECK(labels_ == std::vector<std::int32_t>(labels, labels + b.size));
    }
    real_->run(program, b);
    if (!waits) return;
    // The loader makes the next batch meanwhile; longer and longer, if it had no time on a busy machine.
    pause_ = b.staged != 0 ? 2 : pause_ < 256 ? 2 * pause_ : pause_;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
  }
  std::uint64_t stage(int program, batch_view const& b) override {
    auto const numbers = static_cast<std::size_t>(b.size * graph().output_shape(graph().nodes[0]).size());
    program_ = program;
    images_.assign(b.input(0), b.input(0) + numbers);
    labels_.clear();
    if (std::int32_t const* const l = b.target(0).labels) labels_.assign(l, l + b.size);
    std::uint64_t const number = real_->stage(program, b);
    copied += number != 0;
    return last_ = number != 0 ? number : last_ + 1;
  }
  batch_metrics metrics(int program) override { return real_->metrics(program); }
  void read_result(int program, float* out) override { real_->read_result(program, out); }
  void read_parameter(int k, float* out) override { real_->read_parameter(k, out); }
  void write_parameter(int k, float const* in) override { real_->write_parameter(k, in); }
  void read_slot(int s, int k, float* out) override { real_->read_slot(s, k, out); }
  void write_slot(int s, int k, float const* in) override { real_->write_slot(s, k, in); }
  long long arena_bytes() const override { return real_->arena_bytes(); }
  long long executor_bytes() const override { return real_->executor_bytes(); }
  std::string description() const override { return real_->description(); }

  int announced = 0;  // number of runs of batches that had been announced
  int copied = 0;     // number of announced batches that the other engine has copied
  bool waits = true;  // whether a step takes as long as the loader may need for a batch

 private:
  std::unique_ptr<engine> real_;
  int program_ = -1;
  int pause_ = 2;  // in milliseconds
  std::uint64_t last_ = 0;
  std::vector<float> images_{};
  std::vector<std::int32_t> labels_{};
};

}  // namespace dsl::test
