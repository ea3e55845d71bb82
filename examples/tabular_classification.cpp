// SPDX-License-Identifier: MIT
// Learns a class from a table: tabular_classification [FILE.csv COLUMN]. The table has four other columns of numbers,
// and three classes. Without a file, the program reads tabular_classification.csv of the current directory; if there is
// none, it writes one about flowers.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>

#include <dsl/callbacks.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/files/atomic_file.hpp>
#include <dsl/dsl.hpp>

namespace {

using model =
    dsl::network<dsl::features<4>, dsl::dense<32>, dsl::relu, dsl::dense<32>, dsl::relu, dsl::dense<3>, dsl::softmax>;

// Three species. In the plane of the petals' length and width, two of them are the halves of a ring, and the third one
// surrounds it.
void write_flowers(std::string const& path) {
  std::ostringstream file;
  std::mt19937 random(1);
  auto const uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  file << "sepal_length,sepal_width,petal_length,petal_width,species\n";
  for (int i = 0; i < 3000; ++i) {
    int const species = i % 3;
    double const turn = uniform(0, 3.14159) + (species == 1 ? 3.14159 : 0);
    double const radius = species == 2 ? uniform(2.2, 3) : uniform(0.8, 2);
    char const* const names[] = {"setosa", "virginica", "versicolor"};
    file << uniform(4, 8) << ',' << uniform(2, 4.5) << ',' << 4 + radius * std::cos((species == 2 ? 2 : 1) * turn)
         << ',' << 3 + radius * std::sin((species == 2 ? 2 : 1) * turn) << ',' << names[species] << '\n';
  }
  dsl::atomic_file to(path, "table");
  to.write(file.str());
  to.commit();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2)
    throw dsl::option_error("tabular_classification: it takes a file and a column, or no argument; found only a file");
  std::string const path = argc > 2 ? argv[1] : "tabular_classification.csv", column = argc > 2 ? argv[2] : "species";
  if (argc <= 2 && !std::filesystem::exists(path)) write_flowers(path);  // never over another file
  dsl::dataset const all = dsl::read_csv_classes(path, column, {}, {.shuffle_seed = 1});
  dsl::dataset train = all.first(all.size * 4 / 5), test = all.subset(train.size, all.size - train.size);
  dsl::normalize(train, test);
  dsl::trainer trainer = dsl::compile<model>(dsl::native{.threads = 1}, dsl::adam{});  // too small for more threads
  trainer.fit(
      train,
      {.epochs = 40, .batch_size = 32, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{5e-3, 40, 1.0}}}});
  double const right = trainer.evaluate(test).acc;
  std::printf("accuracy %.1f %% on %lld test samples\n", 100 * right, static_cast<long long>(test.size));
  return argc > 2 || right > 0.95 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
