// SPDX-License-Identifier: MIT
// Compiles every one of typenet's kernels that MiniGoogLeNet's plans can use, for benchmarks/kernel_resources, which
// reads the machine code. Needs NVRTC, but no GPU:
//   kernel_code FILE.cubin [sm_90a] [batch] [bf16|f32]
// Prints a line for each kernel: its number (the function is named k<number>), its name, its blocks and its threads.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda/kernel_library.hpp>

#include "support/kernels_of_plan.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

int main(int argc, char** argv) try {
  if (argc < 2) throw dsl::option_error("kernel_code: kernel_code FILE.cubin [sm_90a] [batch] [bf16|f32]");
  std::string const architecture = argc > 2 ? argv[2] : "sm_90a";
  int const batch = argc > 3 ? std::atoi(argv[3]) : 64;
  std::string const type = argc > 4 ? argv[4] : "bf16";
  if (batch < 1) throw dsl::option_error("kernel_code: the batch must have 1 sample or more");
  if (type != "bf16" && type != "f32")
    throw dsl::option_error("kernel_code: the type must be bf16 or f32; found " + type);
  dsl_test::kernels_of_plan all(model::view(), type == "bf16" ? dsl::cu::storage::bf16 : dsl::cu::storage::f32);
  all.add_plan(dsl::mode::training, batch, false);
  all.add_plan(dsl::mode::inference, batch, false);
  std::string const code = dsl::cu::compile(dsl::cu::api{}, dsl::cu::program_text(all.all()), architecture);
  std::ofstream file(argv[1], std::ios::binary);
  if (!(file << code).flush()) throw dsl::file_error(std::string("kernel_code: can't write ") + argv[1]);
  int number = 0;
  for (dsl::cu::any_kernel const& s : all.all())
    std::cout << number++ << ' ' << s.function << ' ' << s.blocks_x * s.blocks_y << ' ' << s.threads << '\n';
  return 0;
} catch (std::exception const& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 2;
}
