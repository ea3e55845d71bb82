// SPDX-License-Identifier: MIT
// Trains a network whose layers are on three devices, whole batches or in micro-batches, and prints what came out, to
// the bit: one process with towers, or under mpirun several.
//   placed KEY=VALUE...: towers batch parts merge executor fail devices; a rank may have other values than the others.
#include <dsl/warning.hpp>
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/towers/mpi.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

std::map<std::string, std::string> given;

std::string text(char const* key, char const* otherwise) {
  auto const found = given.find(key);
  return found == given.end() ? otherwise : found->second;
}
int whole(char const* key, int otherwise) { return std::atoi(text(key, std::to_string(otherwise).c_str()).c_str()); }

/// Throws while it is told to.
struct fails {
  static inline bool now = false;
  static constexpr char const* name = "fails";
  template <class T>
  static T value(T x) {
    if (now) throw dsl::data_error("this device has had enough");
    return x;
  }
  template <class T>
  static T derivative(T) {
    return T(1);
  }
};

template <int A, int B>
using layers_on = dsl::network<
    dsl::image<3, 8, 8>, dsl::conv_module<4, 3>,
    dsl::add<dsl::conv_module<4, 3>, dsl::on<dsl::device<A>, dsl::conv_module<4, 1>, dsl::elementwise<fails>>>,
    dsl::on<dsl::device<B>, dsl::flatten, dsl::dropout<0.25>, dsl::dense<3>, dsl::softmax>>;

template <class Network>
dsl::trainer compiled(dsl::process_group* processes) {
  dsl::tower_policy const policy = text("merge", "host_merge") == "all_reduce" ? dsl::all_reduce : dsl::host_merge;
  dsl::towers const towers{.count = whole("towers", 1), .policy = policy, .processes = processes};
  dsl::sgd const optimizer{.learning_rate = 0.02, .momentum = 0.9};
  if (text("executor", "reference") == "double")
    return dsl::compile<Network>(dsl::reference<double>{}, optimizer, towers);
  return dsl::compile<Network>(dsl::reference{}, optimizer, towers);
}

dsl::trainer placed(dsl::process_group* processes) {
  using three = layers_on<1, 2>;
  if (whole("devices", 3) == 1) return compiled<layers_on<0, 0>>(processes);
  if (whole("parts", 1) == 3) return compiled<dsl::pipeline<3, three>>(processes);
  return compiled<three>(processes);
}

void run(dsl::process_group* processes) {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60 * 192; ++i) pixels.push_back(static_cast<std::uint8_t>((i * 37 + i / 7) % 251));
  for (int i = 0; i < 60; ++i) labels.push_back(i % 3);
  dsl::dataset const data = dsl::in_memory_dataset({3, 8, 8}, 3, std::move(pixels), std::move(labels));
  dsl::trainer t = placed(processes);
  if (text("fail", "") == "prediction") {  // this rank's own affair
    fails::now = true;
    try {
      t.predict(data, 10);
      throw dsl::option_error("the prediction has not failed");
    } catch (dsl::data_error const&) {
    }
    fails::now = false;
  }
  dsl::history const h = t.fit(data, {.epochs = 2, .batch_size = whole("batch", 10), .validation = &data});
  fails::now = text("fail", "") == "training";
  dsl::scores const last =
      t.train_on_batch(std::vector<float>(7 * 192, 0.5F).data(), std::vector<std::int32_t>(7, 1).data(), 7);
  if (processes && processes->process() != 0) return;
  std::printf("replicas %d loss %a val_loss %a last %a parameters %016llx\n", t.engine().replicas(),
              h.epochs.back().train.loss, h.epochs.back().validation.loss, last.loss,
              static_cast<unsigned long long>(dsl::detail::fingerprint_of(t.engine())));
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string const a = argv[i];
    given[a.substr(0, a.find('='))] = a.substr(a.find('=') + 1);
  }
  dsl::on_warning = [](char const*) {};
  std::unique_ptr<dsl::mpi> world;
  try {
    if (dsl::launched_rank() >= 0) world = std::make_unique<dsl::mpi>(dsl::mpi_options{30});
    run(world.get());
    return 0;
  } catch (std::exception const& e) {
    if (world) world->abort(e.what());
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
