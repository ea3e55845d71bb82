// SPDX-License-Identifier: MIT
// Trains the network of an example on one table and predicts another table, for benchmarks/tabular:
//   tabular_mlp classes|values TRAIN.csv TEST.csv COLUMN SEED [constant]
// The learning rate falls to 0, as in the examples, or is constant. Prints as JSON the accuracy or, for values, the
// root of the mean squared error, R2 and the mean absolute error.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <dsl/callbacks.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/dsl.hpp>

namespace {

// The networks, learning rates and epochs of examples/tabular_classification.cpp and examples/tabular_regression.cpp.
using classifier =
    dsl::network<dsl::features<4>, dsl::dense<32>, dsl::relu, dsl::dense<32>, dsl::relu, dsl::dense<3>, dsl::softmax>;
using regressor = dsl::network<dsl::features<7>, dsl::dense<64>, dsl::relu, dsl::dense<64>, dsl::relu, dsl::dense<1>>;

dsl::fit_options recipe(int epochs, double rate, bool constant) {
  dsl::fit_options o{.epochs = epochs, .batch_size = 32};
  if (!constant) o.callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{rate, epochs, 1.0}}};
  return o;
}

void classes(std::string const& train_file, std::string const& test_file, std::string const& column, std::uint64_t seed,
             bool constant) {
  dsl::dataset train = dsl::read_csv_classes(train_file, column);
  dsl::dataset test = dsl::read_csv_classes(test_file, column, train.storage->class_names);
  dsl::normalize(train, test);
  dsl::trainer trainer =
      dsl::compile<classifier>(dsl::native{.threads = 1}, dsl::adam{.learning_rate = 5e-3}, {.seed = seed});
  trainer.fit(train, recipe(40, 5e-3, constant));
  dsl::f1_score<> f1;
  double const accuracy = trainer.evaluate(test, 64, &f1).acc;
  std::printf("{\"accuracy\": %.17g, \"f1\": %.17g}\n", accuracy, f1.value());
}

void values(std::string const& train_file, std::string const& test_file, std::string const& column, std::uint64_t seed,
            bool constant) {
  dsl::dataset train = dsl::read_csv_values(train_file, {column}), test = dsl::read_csv_values(test_file, {column});
  dsl::normalize(train, test);
  double const rate = constant ? 3e-3 : 1e-2;
  dsl::trainer trainer = dsl::compile<regressor>(dsl::native{.threads = 1}, dsl::adam{.learning_rate = rate},
                                                 {.loss = dsl::loss::mean_squared_error, .seed = seed});
  trainer.fit(train, recipe(100, rate, constant));
  dsl::regression_scores scores;
  trainer.evaluate(test, 64, &scores);
  std::printf("{\"rmse\": %.17g, \"r2\": %.17g, \"mae\": %.17g}\n", std::sqrt(scores.mean_squared_error()), scores.r2(),
              scores.mean_absolute_error());
}

}  // namespace

int main(int argc, char** argv) try {
  bool const constant = argc == 7 && argv[6] == std::string("constant");
  std::string const kind = argc == 6 || constant ? argv[1] : "";
  if (kind != "classes" && kind != "values")
    throw dsl::option_error(
        "tabular_mlp: it takes classes or values, two tables, a column, a seed, and maybe constant");
  (kind == "classes" ? classes : values)(argv[2], argv[3], argv[4], std::stoull(argv[5]), constant);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
