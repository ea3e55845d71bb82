// SPDX-License-Identifier: MIT
// A program for GPUs: trains a step where there is one, otherwise prints what is missing.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/towers.hpp>
#ifdef NCCL
#include <dsl/executors/cuda/nccl.hpp>
#endif

#include <cstdio>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<8, 3, 3>, dsl::global_avg_pool2d, dsl::dense<10>,
                           dsl::softmax>;

int main() {
  dsl::cuda on{.cache = ""};
#ifdef NCCL
  on.collectives = &dsl::nccl;
#endif
  try {
    auto trainer = dsl::compile<dsl::replicate<2, model>>(on, dsl::sgd{});
    auto const data = dsl::synthetic_pictures(16, 16, /*seed=*/1);
    std::printf("cuda: loss %.4f\n", trainer.fit(data.train, {.batch_size = 16}).epochs.back().train.loss);
  } catch (dsl::error const& e) {
    std::printf("cuda: %s\n", e.what());
  }
}
