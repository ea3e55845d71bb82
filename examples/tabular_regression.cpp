// SPDX-License-Identifier: MIT
// Learns a number from a table: tabular_regression [FILE.csv COLUMN]. The table's seven other columns are numbers, too.
// Without a file, the program reads tabular_regression.csv of the current directory; if there is none, it writes one
// about houses and their prices.
#include <cstdio>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>

#include <dsl/callbacks.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/files/atomic_file.hpp>
#include <dsl/dsl.hpp>
#include <dsl/training/regression_scores.hpp>

namespace {

using model = dsl::network<dsl::features<7>, dsl::dense<64>, dsl::relu, dsl::dense<64>, dsl::relu, dsl::dense<1>>;

// Prices in thousands: area counts more in a good location, old houses cost less, and gardens count only up to a size.
void write_houses(std::string const& path) {
  std::ostringstream file;
  std::mt19937 random(1);
  auto const uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  file << "area,rooms,age,floor,garden,minutes_to_town,noise_db,price\n";
  for (int i = 0; i < 4000; ++i) {
    double const area = uniform(30, 220), rooms = 1 + static_cast<int>(area / uniform(25, 45)), age = uniform(0, 120);
    double const floor = static_cast<int>(uniform(0, 8)), garden = floor > 0 ? 0 : uniform(0, 900);
    double const minutes = uniform(0, 90), noise = uniform(35, 75);
    double const place = 1.6 - minutes / 90 + (noise > 60 ? (60 - noise) / 40 : 0);
    double const price =
        place * area * (4 - age / 60 + age * age / 7200) + 9 * rooms + (garden < 400 ? garden : 400) / 5;
    file << area << ',' << rooms << ',' << age << ',' << floor << ',' << garden << ',' << minutes << ',' << noise << ','
         << price * uniform(0.97, 1.03) << '\n';
  }
  dsl::atomic_file to(path, "table");
  to.write(file.str());
  to.commit();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2)
    throw dsl::option_error("tabular_regression: it takes a file and a column, or no argument; found only a file");
  std::string const path = argc > 2 ? argv[1] : "tabular_regression.csv", column = argc > 2 ? argv[2] : "price";
  if (argc <= 2 && !std::filesystem::exists(path)) write_houses(path);  // never over another file
  dsl::dataset const all = dsl::read_csv_values(path, {column}, {.shuffle_seed = 1});
  dsl::dataset train = all.first(all.size * 4 / 5), test = all.subset(train.size, all.size - train.size);
  dsl::normalize(train, test);  // it is saved with the weights, and predictors apply it
  dsl::trainer trainer = dsl::compile<model>(dsl::native{.threads = 1}, dsl::adam{},  // too small for more threads
                                             {.loss = dsl::loss::mean_squared_error});
  trainer.fit(
      train,
      {.epochs = 100, .batch_size = 32, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{1e-2, 100, 1.0}}}});
  dsl::regression_scores scores;
  trainer.evaluate(test, 64, &scores);
  std::printf("on %lld test samples: mean absolute error %.2f, R2 %.4f\n", static_cast<long long>(test.size),
              scores.mean_absolute_error(), scores.r2());
  return argc > 2 || scores.r2() > 0.97 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
