// SPDX-License-Identifier: MIT
// Tests examples/minigooglenet_cifar as its user runs it: a process with arguments, output, an exit code and files.
#include "support/catch.hpp"
#include "support/cifar_files.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/io/classes_file.hpp>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using dsl::test::temporary_directory;

using dsl::test::contents;
using dsl::test::has;
using dsl::test::lines;

namespace {

namespace fs = std::filesystem;

struct outcome {
  int code = -1;   // -1 if a signal ended it
  int signal = 0;  // that signal
  std::string out, err;
};

/// Returns the program's output without onednn's warning on processors without AVX2.
std::string without_plain_loops(std::string said) {
  for (std::size_t at = 0;
       (at = said.find("[WARNING] onednn: there is no fast kernel for", at)) != std::string::npos;) {
    std::size_t const end = said.find('\n', at);
    said.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
  return said;
}

/// The program as it runs in `here`; its output goes to files elsewhere, or to `to` and `errors_to`. `environment` is
/// NAME=VALUE in addition to this process's. If `file_bytes` is not 0, its files cannot grow beyond that, as on a full
/// disk.
struct running {
  temporary_directory elsewhere;
  pid_t pid = -1;

  running(temporary_directory const& here, std::vector<std::string> arguments,
          std::vector<std::pair<std::string, std::string>> const& environment = {}, rlim_t file_bytes = 0, int to = -1,
          int errors_to = -1)
      : pid(start(here, std::move(arguments), environment, file_bytes, to, errors_to)) {}
  running(running const&) = delete;
  running& operator=(running const&) = delete;
  ~running() {
    if (pid > 0) ::kill(pid, SIGKILL), end();
  }

  void wait_for(std::string const& words) const {
    for (int i = 0; i < 6000 && !has(contents(elsewhere / "out"), words); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(has(contents(elsewhere / "out"), words));
  }
  outcome end() {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            contents(elsewhere / "out"), without_plain_loops(contents(elsewhere / "err"))};
  }

 private:
  pid_t start(temporary_directory const& here, std::vector<std::string> arguments,
              std::vector<std::pair<std::string, std::string>> const& environment, rlim_t file_bytes, int to,
              int errors_to) const {
    arguments.insert(arguments.begin(), TYPENET_MINIGOOGLENET_CIFAR);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    std::string const out = elsewhere / "out", err = elsewhere / "err";
    pid_t const child = ::fork();
    if (child != 0) return child;
    if (::chdir(here.path.c_str()) != 0) ::_exit(125);
    // this test program has Catch's handlers
    for (int const s : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::signal(s, SIG_DFL);
    ::dup2(to >= 0 ? to : ::open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    ::dup2(errors_to >= 0 ? errors_to : ::open(err.c_str(), O_WRONLY | O_CREAT, 0600), 2);
    ::unsetenv("TYPENET_DATA");
    ::setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    for (auto const& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    rlimit const small{file_bytes, file_bytes};
    if (file_bytes > 0) ::setrlimit(RLIMIT_FSIZE, &small);
    ::alarm(300);  // a run that should have been refused would train for hours
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }
};

outcome run(temporary_directory const& here, std::vector<std::string> arguments,
            std::vector<std::pair<std::string, std::string>> const& environment = {}, rlim_t file_bytes = 0) {
  return running(here, std::move(arguments), environment, file_bytes).end();
}

/// Checks that the program refuses its arguments: with this code, one line of error with these words, and no new file.
void refuses(int code, std::vector<std::string> const& arguments, std::vector<std::string> const& words,
             std::vector<std::pair<std::string, std::string>> const& environment = {}) {
  temporary_directory const here;
  outcome const o = run(here, arguments, environment);
  std::string said;
  for (std::string const& a : arguments) said += a + " ";
  INFO(said << "\n" << o.err);
  CHECK(o.code == code);
  CHECK(lines(o.err).size() == 1);
  CHECK(o.err.starts_with("error: "));
  for (std::string const& word : words) CHECK(has(o.err, word));
  CHECK(fs::is_empty(here.path));
}

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), {"--output", "plot.png"});
  return more;
}
std::vector<std::string> with_steps(int steps, std::vector<std::string> more) {
  std::vector<std::string> all{
      "--synthetic", "--train-size", std::to_string(4 * steps), "--test-size", "4", "--batch-size", "4"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The smallest training that the network can do.
std::vector<std::string> tiny(std::vector<std::string> more = {}) { return with_steps(2, std::move(more)); }

/// Makes a directory with CIFAR-10's six files, full of zeros and sparse, so that they take no disk space.
struct zero_cifar {
  temporary_directory directory;
  zero_cifar() {
    for (std::string const name :
         {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"})
      resize(name, 30'730'000);
  }
  void resize(std::string const& name, std::uintmax_t bytes) {
    std::ofstream(file(name), std::ios::app).close();
    fs::resize_file(file(name), bytes);
  }
  std::string file(std::string const& name) const { return directory / (name + ".bin"); }
  std::vector<std::string> arguments() const { return {"-o", "plot.png", "--data", directory.path.string()}; }
};

}  // namespace

TEST_CASE("program: --help teaches", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, {"--help"});
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  for (char const* word :
       {"--output", "--gpus", "--data", "--synthetic", "--epochs", "--batch-size", "--learning-rate", "--bn-momentum",
        "--seed", "--executor", "--threads", "--verbose", "--train-size", "=70", "=64", "=0.005",
        "Examples:", "scripts/download_cifar10", "minigooglenet_cifar -o plot.png --synthetic"})
    CHECK(has(o.out, word));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("program: --summary prints the table", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, {"--summary"});
  CHECK(o.code == 0);
  for (char const* word : {"0.10.1.2 relu", "1,656,250", "1,652,826", "3,424", "234,597,920"}) CHECK(has(o.out, word));
}

TEST_CASE("program: --graph writes the network's picture", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, {"--graph", "net.dot"});
  CHECK(o.code == 0);
  CHECK((o.out + o.err).empty());
  std::string const one = contents(here / "net.dot");
  CHECK(one.starts_with("digraph network {\n"));
  for (char const* word : {"MiniGoogLeNet\\n1,656,250 parameters", "0.10.1 conv_module", "0.1.1.2 relu"})
    CHECK(has(one, word));
  REQUIRE(run(here, {"--graph", "net.dot", "--gpus", "4"}).code == 0);
  CHECK(has(contents(here / "net.dot"), "towers 0 to 3"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);
  REQUIRE(run(here, {"--graph", "net.dot", "--devices", "0,2,1"}).code == 0);  // as many towers
  CHECK(has(contents(here / "net.dot"), "towers 0 to 2"));
  refuses(1, {"--graph", "missing/net.dot"}, {"graph: cannot write missing/net.dot: "});
  refuses(2, {"--graph", "net.dot", "--gpus", "0"}, {"--gpus", "1 or more"});
}

TEST_CASE("program: nonsense options", "[program]") {
  refuses(2, {}, {"--output", "plot.png"});
  refuses(2, with({"--epoch", "3"}), {"--epoch", "--help"});
  refuses(2, with({"--epochs", "three"}), {"--epochs", "three"});
  refuses(2, with({"--epochs", "0"}), {"--epochs", "1 or more", "found 0"});
  refuses(2, with({"--epochs", "99999999999"}), {"--epochs"});
  refuses(2, with({"--batch-size", "-1"}), {"--batch-size", "found -1"});
  refuses(2, with({"--learning-rate", "0"}), {"--learning-rate", "found 0"});
  refuses(2, with({"--learning-rate", "nan"}), {"--learning-rate", "found nan"});
  refuses(2, with({"--bn-momentum", "1"}), {"--bn-momentum", "found 1"});
  refuses(2, with({"--seed", "-1"}), {"--seed", "found -1"});
  refuses(2, with({"--threads", "-2"}), {"--threads", "found -2"});
  refuses(2, with({"--threads", "2", "--executor", "reference"}), {"--threads", "reference has one thread"});
  refuses(2, with({"--epochs", "010"}), {"--epochs", "whole number", "010"});
  refuses(2, with({"--seed", "18446744073709551615"}), {"--seed", "whole number"});
  refuses(2, with({"--data", ""}), {"--data", "directory"});
  refuses(2, with({"--precision", "fp8"}), {"--precision", "bf16, tf32 or fp32_strict", "fp8"});
  refuses(2, with({"--precision", "tf32", "--executor", "reference"}), {"--precision", "--executor cuda"});
  refuses(2, with({"--deterministic", "--executor", "reference"}), {"--deterministic", "--executor cuda"});
  refuses(2, with({"--towers-on", "tpu"}), {"--towers-on", "cpu or cuda", "found tpu"});
  refuses(2, with({"--towers-on", "cpu", "--executor", "reference"}), {"--towers-on", "--executor"});
  refuses(2, with({"--towers-on", "cpu", "--precision", "tf32"}), {"--precision", "--executor cuda"});
  refuses(2, with({"--verbose", "3"}), {"--verbose", "found 3"});
  for (char const* name : {"w.weights.h5", "w.ONNX", "w.pt", "w.SafeTensors"}) {
    refuses(2, with({"--weights", name}),
            {"--weights", name, "found " + std::string(name).substr(std::string(name).rfind('.'))});
    refuses(2, with({"--best", name}), {"--best", name});
  }
  refuses(2, with({"--best", "w", "--csv", "w.classes"}), {"--best's classes and --csv"});
  refuses(2, with({"--augment", "mixup"}), {"--augment", "crop_flip_cutout or none", "found mixup"});
  refuses(2, with({"--augment", "crop_flip", "--no-augment"}), {"--augment", "--no-augment"});
  refuses(2, with({"--augment", "crop_flip", "--crop-border", "wrap"}),
          {"--crop-border", "zero, edge or mirror", "found wrap"});
  refuses(2, with({"--crop-border", "mirror"}), {"--crop-border", "crop_flip_cutout", "found shift_flip"});
  refuses(2, with({"--augment", "crop_flip", "--cutout", "8"}), {"--cutout", "crop_flip_cutout", "found crop_flip"});
  refuses(2, with({"--augment", "crop_flip_cutout", "--cutout", "0"}), {"--cutout", "1 to 32", "found 0"});
  refuses(2, with({"--augment", "crop_flip_cutout", "--cutout", "33"}), {"--cutout", "1 to 32", "found 33"});
  refuses(2, with({"--cutout-epochs", "1"}), {"--cutout-epochs", "crop_flip_cutout", "found shift_flip"});
  refuses(2, with({"--augment", "crop_flip_cutout", "--cutout-epochs", "-1"}), {"--cutout-epochs", "found -1"});
  for (char const* epochs : {"-1", "70", "71"})
    refuses(2, with({"--swa", epochs}),
            {"--swa", "below --epochs, which is 70;", std::string("found ") + epochs + "; try 58"});
  refuses(2, with({"--epochs", "2147483647", "--swa", "2147483647"}), {"--swa", "try 1789569705"});
  for (char const* momentum : {"0", "-0.5", "1.5"})
    refuses(2, with({"--ema", momentum}), {"--ema", "at most 1", std::string("found ") + momentum});
  refuses(2, with({"--train-size", "-1"}), {"--train-size", "found -1"});
  refuses(2, with({"--test-size", "-1"}), {"--test-size", "found -1"});
  refuses(2, with({"--synthetic", "--data", "somewhere"}), {"--synthetic", "--data", "only one"});
  refuses(2, with({"--schedule", "cubic"}), {"--schedule", "poly, cosine, step or one_cycle", "found cubic"});
  refuses(2, with({"--monitor", "val_f1"}), {"monitor", "val_acc (or val_accuracy); found val_f1"});
  refuses(2, with({"--early-stopping", "-1"}), {"--early-stopping", "found -1"});
  refuses(2, with({"--early-stopping", "soon"}), {"--early-stopping", "whole number", "soon"});
  refuses(2, with({"--save-every", "-1"}), {"--save-every", "found -1"});
  refuses(2, with(tiny({"--best", "{val_f1}"})), {"model_checkpoint", "{val_f1}", "{val_acc:.2f}"});
  refuses(2, with({"--gpus", "0"}), {"--gpus", "1 or more", "found 0"});
  refuses(2, with({"--gpus", "1025"}), {"--gpus", "1024", "found 1025"});
  // The arguments are refused at once: the data does not exist, and nothing looks for it.
  std::string const most =
      "8 towers per core, " + std::to_string(8 * std::max(1U, std::thread::hardware_concurrency()));
  if (std::thread::hardware_concurrency() < 125)
    refuses(2, with({"--gpus", "1000", "--data", "missing"}), {"--gpus", most + " here; found 1000"});
  for (char const* wide : {"{epoch:2000000000d}", "w{val_acc:.2000000000f}", "{epoch:{batch}d}"})
    refuses(2, with({"--best", wide, "--data", "missing"}),
            {"model_checkpoint", wide, "the field widths in the file name"});
  refuses(2, with({"--gpus", "4", "--batch-size", "1073741825"}), {"--batch-size", "multiplied by --gpus"});
  refuses(2, with(tiny({"--devices", "010"})), {"--devices", "whole number"});
  refuses(2, with({"--merge", "sum"}), {"--merge", "host_merge or all_reduce", "found sum"});
  refuses(2, with({"--collectives", "mpi"}), {"--collectives", "host or nccl", "found mpi"});
  refuses(2, with({"--collectives", "nccl", "--executor", "reference"}), {"--collectives", "--executor cuda"});
#ifdef TYPENET_HAS_CUDA
  refuses(2, with({"--collectives", "nccl", "--executor", "cuda", "--deterministic"}), {"--deterministic", "order"});
#endif
  refuses(2, with(tiny({"--gpus", "2", "--devices", "0"})), {"2 towers need 2 devices", "found 1", "use 1 tower"});
  refuses(2, with(tiny({"--gpus", "1", "--devices", "0,2"})), {"1 tower needs", "found 2", "use 2 towers"});
  refuses(2, with(tiny({"--devices", "0,0"})), {"device 0 is in the list twice"});
  refuses(2, with(tiny({"--gpus", "2", "--devices", "0,0"})), {"device 0 is in the list twice"});
  refuses(2, with(tiny({"--gpus", "2", "--devices", "0,4000"})), {"device 4000; only device", "choose among them"});
}

TEST_CASE("program: no output takes another one's name", "[program]") {
  refuses(2, with(tiny({"--best", "w", "--weights", "./w"})), {"--weights and --best", "both would be w;"});
  refuses(2, with(tiny({"--weights", "plot.png"})), {"--output and --weights"});
  refuses(2, with(tiny({"--weights", "plot.png.checkpoint"})), {"--output's checkpoint and --weights"});
  refuses(2, with(tiny({"--best", "plot.png.checkpoint"})), {"--output's checkpoint and --best"});
  refuses(2, with(tiny({"--best", "plot.png.history.csv"})), {"--output's history and --best"});
  refuses(2, with(tiny({"--weights", "w", "--csv", "w.classes"})), {"--weights' classes and --csv"});
  refuses(2, with(tiny({"--confusion", "plot.png"})), {"--output and --confusion"});
  refuses(2, with(tiny({"--tensorboard", "plot.png"})), {"--output and --tensorboard"});
  // Files that a run removes, names that --best may produce, and the data.
  for (char const* locked : {"plot.png.lock", "plot.png.checkpoint.lock"})
    refuses(2, with(tiny({"--weights", locked})), {"--weights: it must not be ", ", the lock of plot.png"});
  refuses(2, with(tiny({"--weights", "w", "--csv", "w.lock"})),
          {"--csv: it must not be w.lock, the lock of w; choose"});
  refuses(2, with(tiny({"--csv", "plot.png.checkpoint.before"})),
          {"--csv: it must not be plot.png.checkpoint.before, the state of an earlier run that --output keeps"});
  refuses(2, with(tiny({"--best", "w{epoch:02d}", "--weights", "w07"})), {"--weights and --best"});
  refuses(2, with(tiny({"--best", "w{epoch}-{acc:.2f}", "--csv", "w07-0.50.classes"})), {"--best's classes and --csv"});
  zero_cifar const cifar;
  std::vector<std::string> over = cifar.arguments();
  over.insert(over.end(), {"--weights", cifar.file("test_batch")});
  refuses(2, over, {"--weights: it must not be ", ", a file of the data"});
  CHECK(fs::file_size(cifar.file("test_batch")) == 30'730'000);
  // The argument of an unset shell variable.
  for (char const* option : {"--weights", "--best", "--csv", "--tensorboard", "--confusion", "--graph", "--data"})
    refuses(2, with(tiny({option, ""})), {option, "must name a file or directory; found nothing"});
  // Rows are written as they come, and the file is the same at the end.
  temporary_directory const here;
  CHECK(run(here, with(tiny({"--epochs", "1", "--csv", "./plot.png.history.csv"}))).code == 0);
  CHECK(run(here, with(tiny({"--epochs", "1", "--best", "plot{epoch}", "--weights", "plot-last"}))).code == 0);
}

TEST_CASE("program: without standard streams its files have what belongs into them", "[program][hostile]") {
  temporary_directory const here;
  std::string options;
  for (std::string const& word : with(tiny({"--csv", "a.csv", "--weights", "w"}))) options += " " + word;
  std::string const program = "'" + std::string(TYPENET_MINIGOOGLENET_CIFAR) + "'" + options;
  std::ofstream(here / "script") << "cd '" << here.path.string() << "'\n"
                                 << program << " --epochs 1 <&- >&- 2>&- || exit 1\n"
                                 << program << " --epochs 1000000 <&- >&- 2>&- &\n"
                                 << "for i in $(seq 600); do [ -e plot.png.checkpoint ] && break; sleep 0.1; done\n"
                                 << "kill -KILL $!; wait $!; true\n";
  CHECK(std::system(("bash '" + (here / "script") + "' 2> /dev/null").c_str()) == 0);
  CHECK(contents(here / "a.csv").starts_with("epoch,loss,"));
  for (char const* lock : {"plot.png.lock", "w.lock", "a.csv.lock"})  // otherwise the next run would be refused
    CHECK(contents(here / lock).starts_with("process "));
}

TEST_CASE("program: export_onnx does not replace the weights that it reads, under whatever name",
          "[program][hostile]") {
  fs::path const program = fs::path(TYPENET_MINIGOOGLENET_CIFAR).parent_path() / "export_onnx";
  if (!fs::exists(program)) return;  // a build without onnx
  temporary_directory const here;
  std::ofstream(here / "w") << "weights";
  fs::create_symlink(here / "w", here / "link.onnx");
  fs::create_hard_link(here / "w", here / "twin.onnx");
  for (char const* output : {"w", "./w", "link.onnx", "twin.onnx"}) {
    INFO(output);
    std::string const command =
        "cd '" + here.path.string() + "' && '" + program.string() + "' w " + output + " > out 2> err";
    CHECK(std::system(command.c_str()) != 0);
    CHECK(contents(here / "err") == "error: OUTPUT: it must not be the file WEIGHTS, which it would replace; found " +
                                        std::string(output) + " for both; give another name\n");
    CHECK(contents(here / "w") == "weights");
  }
}

TEST_CASE("program: optimizers, clipping and label smoothing", "[program]") {
  refuses(2, with({"--optimizer", "lion"}), {"--optimizer", "adamw", "found lion"});
  refuses(2, with({"--optimizer", "adam", "--nesterov"}), {"--nesterov", "--optimizer sgd", "found adam"});
  refuses(2, with({"--optimizer", "rmsprop", "--momentum", "0.5"}), {"--momentum", "--optimizer sgd"});
  refuses(2, with({"--momentum", "1"}), {"sgd: momentum", "found 1"});
  refuses(2, with({"--weight-decay", "-1", "--optimizer", "adamw"}), {"adamw: weight_decay", "found -1"});
  refuses(2, with({"--clip-norm", "nan"}), {"clip.norm", "found nan"});
  refuses(2, with({"--label-smoothing", "1"}), {"--label-smoothing", "found 1"});

  auto const trained = [](std::vector<std::string> more) {
    std::vector<std::string> all = with(tiny({"--epochs", "1", "--verbose", "0"}));
    all.insert(all.end(), more.begin(), more.end());
    temporary_directory const here;
    outcome const o = run(here, all);
    INFO(o.err);
    REQUIRE(o.code == 0);
    std::string const row = lines(contents(here / "plot.png.history.csv")).at(1);
    return row.substr(0, row.find(",0.005"));  // the rest is a time
  };
  std::set<std::string> different;
  for (std::vector<std::string> const& options : {std::vector<std::string>{},
                                                  {"--nesterov"},
                                                  {"--momentum", "0.5"},
                                                  {"--weight-decay", "0.1"},
                                                  {"--clip-norm", "0.1"},
                                                  {"--label-smoothing", "0.1"},
                                                  {"--optimizer", "adam"},
                                                  {"--optimizer", "adamw", "--weight-decay", "0.1"},
                                                  {"--optimizer", "rmsprop"}})
    different.insert(trained(options));
  CHECK(different.size() == 9);
  CHECK(different.contains(trained({})));
}

TEST_CASE("program: towers share every batch and train as one does", "[program]") {
  struct losses {
    double first = 0, second = 0;
  };
  auto const train = [](std::string const& gpus, std::string const& batch, std::vector<std::string> more = {}) {
    std::vector<std::string> all{"-o", "plot.svg", "--synthetic", "--train-size", "24", "--epochs", "2"};
    std::vector<std::string> const rest{
        "--test-size",  "4",   "--no-augment",  "--gpus", gpus,        "--threads", "2",
        "--batch-size", batch, "--bn-momentum", "0.9",    "--verbose", "0",         "--learning-rate",
        "0.001"};
    all.insert(all.end(), rest.begin(), rest.end());
    all.insert(all.end(), more.begin(), more.end());
    temporary_directory const here;
    outcome const o = run(here, all);
    INFO(o.err);
    REQUIRE(o.code == 0);
    CHECK(has(o.out, gpus == "1" ? "training with 1 tower..." : "training with " + gpus + " towers..."));
    CHECK(has(o.out, "num_replicas_in_sync: " + gpus));
    auto const rows = lines(contents(here / "plot.svg.history.csv"));
    return losses{std::strtod(rows.at(1).c_str() + 2, nullptr), std::strtod(rows.at(2).c_str() + 2, nullptr)};
  };
  // With three steps per epoch, the second loss already depends on gradients.
  losses const one = train("1", "8");
  CHECK(std::abs(one.first - one.second) > 0.02);
  for (auto const& merge : {"host_merge", "all_reduce"}) {
    losses const two = train("2", "4", {"--synchronized", "--merge", merge});
    CHECK(two.first == Approx(one.first).epsilon(1e-3));
    CHECK(two.second == Approx(one.second).epsilon(1e-2));
  }
  CHECK(std::abs(train("2", "4").second - one.second) > 1e-3);  // each tower has its own moments
}

TEST_CASE("program: an executor that is not built in", "[program]") {
  refuses(2, with(tiny({"--executor", "tpu"})), {"--executor", "built in", "found tpu", "native", "reference"});
}

TEST_CASE("program: a plot path that can't be written is known before anything is loaded", "[program]") {
  auto const early = [](std::string const& path, std::vector<std::string> const& words,
                        std::vector<std::pair<std::string, std::string>> const& environment = {}, int code = 1) {
    refuses(code, tiny({"--output", path}), words, environment);
    temporary_directory const here;
    CHECK(run(here, tiny({"--output", path}), environment).out.empty());
  };
  early("missing/plot.png", {"cannot write missing/", "create the directory first"});
  early("/proc/plot.png", {"cannot write /proc/"});
  early("/dev/null", {"--output", "must end in .png or .svg; found /dev/null"}, {}, 2);
  early("plot.gif", {"--output", ".png or .svg", "plot.gif"}, {}, 2);
  early("plot.png", {"gnuplot", "apt-get install"}, {{"PATH", "/nonexistent"}});
}

TEST_CASE("program: bad data files are named", "[program]") {
  temporary_directory const empty;
  refuses(1, with({"--data", empty.path.string()}), {empty.path.string(), "scripts/download_cifar10"});
  refuses(1, with({"--data", "/nonexistent"}), {"/nonexistent", "found none"});

  zero_cifar cifar;
  refuses(1, cifar.arguments(), {"5000 images of each class", "50000 of class 0 (airplane)"});
  cifar.resize("data_batch_4", 30'729'999);
  refuses(1, cifar.arguments(), {cifar.file("data_batch_4"), "30730000", "30729999: too short"});
  cifar.resize("data_batch_4", 30'730'001);
  refuses(1, cifar.arguments(), {cifar.file("data_batch_4"), "30730001: too long"});
  {
    std::fstream file(cifar.file("data_batch_3"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(7 * 3073);
    file.put(11);
  }
  refuses(1, cifar.arguments(), {cifar.file("data_batch_3"), "labels 0 to 9", "11 in record 7"});
  fs::remove(cifar.file("data_batch_2"));
  refuses(1, cifar.arguments(), {cifar.file("data_batch_2"), "No such file"});
  fs::create_directory(cifar.file("data_batch_2"));
  refuses(1, cifar.arguments(), {cifar.file("data_batch_2"), "a directory"});
  if (::geteuid() != 0) {  // root may read everything
    fs::permissions(cifar.file("data_batch_1"), fs::perms::none);
    refuses(1, cifar.arguments(), {cifar.file("data_batch_1"), "Permission denied"});
  }
}

TEST_CASE("program: a batch larger than the data", "[program]") {
  refuses(2, with({"--synthetic", "--train-size", "16", "--test-size", "8", "--batch-size", "17"}),
          {"batch_size is 17", "only 16 samples"});
}

TEST_CASE("program: a loss that is no number any more", "[program]") {
  refuses(1, with(tiny({"--learning-rate", "1e25", "--epochs", "3"})), {"loss", "learning rate", "epoch", "smaller"});
}

TEST_CASE("program: a run without data falls back to drawn pictures and writes plot and history", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, {"-o", "plot.png", "--train-size", "8", "--test-size", "4", "--batch-size", "4",
                               "--epochs", "2", "--bn-momentum", "0.9", "-g", "1"});
  INFO(o.out << o.err);
  REQUIRE(o.code == 0);
  CHECK(o.err.empty());
  std::vector<std::string> const said = lines(o.out);
  REQUIRE(said.size() == 12);
  CHECK(said[0] == "[INFO] loading CIFAR-10 data...");
  CHECK(has(said[1], "scripts/download_cifar10"));
  CHECK(said[2] == "[INFO] drawing 8 + 4 synthetic images (training + test)...");
  CHECK(said[3] == "[INFO] training with 1 tower...");
  CHECK(said[4] == "[INFO] compiling model...");
  CHECK(has(said[5], "CPU"));
  CHECK(said[6] == "[INFO] training network...");
  for (std::size_t epoch : {0u, 1u}) {
    CHECK(said[7 + 2 * epoch] == "Epoch " + std::to_string(epoch + 1) + "/2");
    std::string const& scores = said[8 + 2 * epoch];
    CHECK(scores.starts_with(" - "));
    for (char const* word : {"s - loss: ", " - acc: ", " - val_loss: ", " - val_acc: "}) CHECK(has(scores, word));
  }
  CHECK(has(said[11], "plot.png"));

  CHECK(contents(here / "plot.png").starts_with("\x89PNG\r\n\x1a\n"));
  std::vector<std::string> const rows = lines(contents(here / "plot.png.history.csv"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second");
  CHECK(rows[1].starts_with("1,"));
  CHECK(has(rows[1], ",0.005,"));
  CHECK(has(rows[2], ",0.0025,"));  // a straight line to 0
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);
}

TEST_CASE("program: trains on CIFAR-10's own files, and says so", "[program]") {
  dsl::test::cifar_files const cifar;
  auto const train = [&](temporary_directory const& here, std::vector<std::string> more,
                         std::vector<std::pair<std::string, std::string>> const& environment = {}) {
    std::vector<std::string> all{"-o",           "plot.svg", "--train-size", "8", "--test-size",   "4",
                                 "--batch-size", "4",        "--epochs",     "1", "--bn-momentum", "0.9"};
    all.insert(all.end(), more.begin(), more.end());
    outcome const o = run(here, all, environment);
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    CHECK(o.err.empty());
    return lines(o.out);
  };
  auto const scores = [](temporary_directory const& here) {
    auto const rows = lines(contents(here / "plot.svg.history.csv"));
    REQUIRE(rows.size() == 2);
    return rows[1].substr(0, rows[1].find(",0.005,"));  // the rest is a time
  };
  temporary_directory const here;
  std::vector<std::string> const said =
      train(here, {"--data", cifar.path(), "--weights", "w", "--confusion", "confusion.txt"});
  REQUIRE(said.size() == 8);
  CHECK(said[0] == "[INFO] loading CIFAR-10 data...");
  CHECK(said[1] == "[INFO] training with 1 tower...");
  CHECK(said[2] == "[INFO] compiling model...");
  CHECK(has(said[3], "num_replicas_in_sync: 1, on the CPU: "));
  CHECK(said[4] == "[INFO] training network...");
  CHECK(said[5] == "Epoch 1/1");
  CHECK(has(said[6], " - val_acc: "));
  CHECK(said[7].starts_with("[INFO] test accuracy "));
  CHECK(
      said[7].ends_with("; plot in plot.svg, numbers in plot.svg.history.csv, weights in w, "
                        "confusion matrix in confusion.txt"));
  CHECK(has(contents(here / "plot.svg"), ">MiniGoogLeNet on CIFAR-10<"));

  dsl::picture_classes const classes = dsl::read_classes(here / "w.classes");
  CHECK((classes.sample == dsl::shape{3, 32, 32}));
  CHECK(classes.names == cifar.names());
  CHECK(classes.mean == cifar.mean());

  // The first pictures of the test set are a horse, an airplane, a cat and a frog; those of the training set differ.
  std::vector<std::string> const rows = lines(contents(here / "confusion.txt"));
  REQUIRE(rows.size() == 13);
  CHECK(has(rows[12], " of 4 samples"));
  for (std::size_t c = 0; c < 10; ++c) {
    CHECK(has(rows[c + 1], cifar.names()[c]));
    std::istringstream row(rows[c + 1].substr(std::string("automobile").size()));
    int all = 0;
    for (int n = 0, i = 0; i < 10 && row >> n; ++i) all += n;
    CHECK(all == (c == 7 || c == 0 || c == 3 || c == 6));
  }
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 5);

  temporary_directory const by_environment;
  CHECK(train(by_environment, {"--verbose", "0"}, {{"TYPENET_DATA", cifar.path()}}).size() == 6);
  CHECK(scores(by_environment) == scores(here));
}

TEST_CASE("program: where the plot fails after the training, the history is kept, whole, and said so", "[program]") {
  temporary_directory const here, bin;
  // A gnuplot that draws the two trials before the training and then fails.
  std::ofstream(bin / "gnuplot") << "#!/bin/sh\nif [ -e \"$0.2\" ]; then echo no ink >&2; exit 3; fi\n"
                                    "if [ -e \"$0.1\" ]; then : >\"$0.2\"; else : >\"$0.1\"; fi\nprintf '%200sIEND'\n"
                                    "cut -d ' ' -f 5 /proc/$$/stat >\"$0.group\"\n";
  fs::permissions(bin / "gnuplot", fs::perms::owner_all);
  std::string const path = std::getenv("PATH");
  outcome const o = run(here, tiny({"-o", "plot.png", "--epochs", "2", "--verbose", "0"}),
                        {{"PATH", bin.path.string() + ":" + path}});
  INFO(o.out << o.err);
  CHECK(o.code == 1);
  REQUIRE(lines(o.err).size() == 2);
  CHECK(std::stol(contents(bin / "gnuplot.group")) != ::getpgrp());  // Ctrl-C in a terminal does not reach it
  CHECK(lines(o.err)[0].starts_with("[WARNING] plot: "));
  CHECK(has(lines(o.err)[0], "no ink ; the training continues"));
  CHECK(lines(o.err)[1].starts_with("error: plot: "));
  CHECK(has(lines(o.err)[1], "are in plot.png.history.csv"));
  CHECK(lines(contents(here / "plot.png.history.csv")).size() == 3);
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);  // only what --resume needs to draw the plot later

  std::string const numbers = contents(here / "plot.png.history.csv");
  outcome const again = run(here, tiny({"-o", "plot.png", "--epochs", "2", "--verbose", "0", "--resume"}));
  INFO(again.out << again.err);
  CHECK(again.code == 0);
  CHECK(has(again.out, "resuming after epoch 2 of 2"));
  CHECK_FALSE(has(again.out, "training network"));
  CHECK(contents(here / "plot.png.history.csv") == numbers);
  CHECK(fs::exists(here / "plot.png"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);
}

TEST_CASE("program: the plot shows the epochs so far, those before a restart among them", "[program]") {
  temporary_directory const here, bin;
  // A gnuplot that keeps the commands it gets: 0 and 1 are trials, 2 is the first epoch.
  std::ofstream(bin / "gnuplot")
      << "#!/bin/sh\nn=$(ls \"$0\".* 2>/dev/null | wc -l)\ncat >\"$0.$n\"\nprintf '%200sIEND'\n"
         "[ $n -ne 4 ] || kill -9 $PPID\n";
  fs::permissions(bin / "gnuplot", fs::perms::owner_all);
  auto const epochs = [&](int n) {
    std::string const script = contents(bin / ("gnuplot." + std::to_string(n)));
    CHECK(has(script, "MiniGoogLeNet on synthetic pictures") == (n != 0 && n != 1 && n != 5 && n != 6));
    std::size_t const begin = script.find('\n'), end = script.find("END\n", begin);
    return lines(script.substr(begin + 1, end - begin - 1)).size();
  };
  std::string const path = bin.path.string() + ":" + std::getenv("PATH");
  auto const start = [&](std::vector<std::string> more) { return run(here, tiny(std::move(more)), {{"PATH", path}}); };
  // Killed while the plot of an epoch is drawn or, where that plot is left out to save time, at the end.
  CHECK(start({"-o", "plot.png", "--epochs", "4", "--verbose", "0"}).code == -1);
  CHECK(epochs(2) == 1);
  CHECK(epochs(3) > 1);
  CHECK(contents(here / "plot.png").ends_with("IEND"));  // the previous plot, complete
  auto const again = start({"-o", "plot.png", "--epochs", "5", "--verbose", "0", "--resume"});
  INFO(again.out << again.err);
  CHECK(again.code == 0);
  REQUIRE(has(again.out, "resuming after epoch "));
  auto const before = static_cast<std::size_t>(std::atoi(again.out.c_str() + again.out.find("after epoch ") + 12));
  CHECK(before >= 1);
  CHECK(epochs(7) == before + 1);
}

TEST_CASE("program: a checkpoint that can't be written ends no training", "[program]") {
  temporary_directory const here;
  // 13 MB of weights and momenta do not fit; plot and history do.
  outcome const o = run(here, tiny({"-o", "plot.png", "--epochs", "3"}), {}, 1 << 20);
  INFO(o.out << o.err);
  CHECK(o.code == 0);
  REQUIRE(lines(o.err).size() == 1);
  CHECK(o.err.starts_with("[WARNING] checkpoint: cannot write plot.png.checkpoint: File too"));
  CHECK(lines(contents(here / "plot.png.history.csv")).size() == 4);
  CHECK(contents(here / "plot.png").starts_with("\x89PNG"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);
}

TEST_CASE("program: interrupted, it says how to resume; that command gives what an undisturbed run gives",
          "[program]") {
  temporary_directory const whole, here;
  // Names that a shell would split and a terminal would interpret.
  std::vector<std::string> const options =
      with_steps(16, {"--output=-it's \"a\n$(plot).svg", "--epochs", "3", "--threads", "1", "--verbose", "0",
                      "--weights", "w\x1b[31m *"});
  REQUIRE(run(whole, options).code == 0);
  running first(here, options);
  first.wait_for("[INFO] training network...");
  ::kill(first.pid, SIGINT);
  outcome const o = first.end();
  INFO(o.out << o.err);
  CHECK(o.signal == SIGINT);
  CHECK(o.err.empty());
  CHECK(has(o.out, "\n[INFO] fit: interrupted by signal 2 after batch "));
  CHECK(o.out.find('\x1b') == std::string::npos);
  std::vector<std::string> const said = lines(o.out);
  std::string const words = "[INFO] its state is in -it's \"a\\x0a$(plot).svg.checkpoint; to resume: ";
  REQUIRE(said.back().starts_with(words));
  CHECK(said.back().ends_with(" --resume"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);  // no lock is left

  std::string const paste =
      "cd '" + here.path.string() + "' && unset TYPENET_DATA && " + said.back().substr(words.size());
  REQUIRE(paste.find('\'', 200) != std::string::npos);
  std::ofstream(here / "paste.sh") << paste << " > out 2> err\n";
  REQUIRE(std::system(("bash " + (here / "paste.sh")).c_str()) == 0);
  CHECK(has(contents(here / "out"), "[INFO] resuming after batch "));
  CHECK(without_plain_loops(contents(here / "err")).empty());
  for (char const* name : {"-it's \"a\n$(plot).svg", "w\x1b[31m *", "w\x1b[31m *.classes"})
    CHECK(contents(here / name) == contents(whole / name));
  CHECK_FALSE(fs::exists(here / "-it's \"a\n$(plot).svg.checkpoint"));
}

TEST_CASE("program: where --resume is forgotten and Ctrl-C follows, nothing of the earlier run is lost", "[program]") {
  temporary_directory const here;
  std::vector<std::string> const options =
      tiny({"-o", "plot.svg", "--epochs", "500", "--best", "best", "--csv", "log.csv", "--verbose", "2"});
  auto const interrupted_in = [&](char const* words, std::vector<std::string> more = {}) {
    more.insert(more.begin(), options.begin(), options.end());
    running r(here, more);
    r.wait_for(words);
    ::kill(r.pid, SIGINT);
    outcome const o = r.end();
    INFO(o.out << o.err);
    CHECK(o.signal == SIGINT);
    CHECK(o.err.empty());
    return o.out;
  };
  interrupted_in("Epoch 4/500");
  std::vector<std::string> const names{"best", "best.classes", "log.csv", "plot.svg", "plot.svg.checkpoint"};
  std::vector<std::string> first;
  for (std::string const& name : names) first.push_back(contents(here / name));
  std::string const said = interrupted_in("Epoch 3/500");
  CHECK(has(said,
            "plot.svg.checkpoint is from an unfinished run. It is kept as plot.svg.checkpoint.before until this "
            "run has ended after at least as many epochs"));
  CHECK(has(said,
            "To resume the earlier run, first end this one and enter: mv --backup=numbered "
            "plot.svg.checkpoint.before plot.svg.checkpoint\n"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    CHECK(contents(here / (names[i] + ".before")) == first[i]);
  }
  std::string const words = "[INFO] the files of an earlier run are kept; to give them their names again: ";
  std::string const last = lines(said).back();
  REQUIRE(last.starts_with(words));
  REQUIRE(std::system(("cd '" + here.path.string() + "' && " + last.substr(words.size())).c_str()) == 0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    CHECK(contents(here / names[i]) == first[i]);
  }
  CHECK(has(interrupted_in("training network...", {"--resume"}), "[INFO] resuming after "));
}

TEST_CASE("program: a file that is no checkpoint is refused under its name, and stays", "[program]") {
  temporary_directory const here;
  std::ofstream(here / "plot.png.checkpoint") << "my notes";
  std::ofstream(here / "plot.png.checkpoint.before") << "my older notes";
  for (bool const resume : {false, true}) {
    std::vector<std::string> options = tiny({"-o", "plot.png", "--epochs", "1"});
    if (resume) options.emplace_back("--resume");
    outcome const o = run(here, options);
    INFO(o.out << o.err);
    CHECK(o.code == 1);
    CHECK(has(o.err, "plot.png.checkpoint must "));
    CHECK_FALSE(has(o.out, "unfinished run"));
    CHECK(contents(here / "plot.png.checkpoint") == "my notes");
    CHECK(contents(here / "plot.png.checkpoint.before") == "my older notes");
  }
}

TEST_CASE("program: an interrupted run of one epoch has a state, too; a second Ctrl-C ends at once", "[program]") {
  temporary_directory const here;
  std::vector<std::string> const options = with_steps(100, {"-o", "plot.svg", "--epochs", "1"});
  {
    running once(here, options);
    once.wait_for("Epoch 1/1");
    ::kill(once.pid, SIGTERM);
    outcome const o = once.end();
    INFO(o.out << o.err);
    CHECK(o.signal == SIGTERM);
    CHECK(fs::exists(here / "plot.svg.checkpoint"));
  }
  fs::remove(here / "plot.svg.checkpoint");
  running twice(here, options);
  twice.wait_for("Epoch 1/1");
  ::kill(twice.pid, SIGSTOP);  // both signals arrive before it can do anything else
  ::kill(twice.pid, SIGINT);
  ::kill(twice.pid, SIGTERM);
  ::kill(twice.pid, SIGCONT);
  outcome const o = twice.end();
  INFO(o.out << o.err);
  CHECK((o.signal == SIGINT || o.signal == SIGTERM));
  CHECK_FALSE(has(o.out, "to resume"));
  CHECK_FALSE(fs::exists(here / "plot.svg.checkpoint"));
}

TEST_CASE("program: the step schedule has thirds of any number of epochs", "[program][hostile]") {
  temporary_directory const here;
  running most(here, with_steps(2, {"-o", "plot.svg", "--epochs", "2147483647", "--schedule", "step"}));
  most.wait_for("Epoch 2/2147483647");
  ::kill(most.pid, SIGTERM);
  outcome const o = most.end();
  INFO(o.out << o.err);
  CHECK(o.signal == SIGTERM);
  CHECK(o.err.empty());
}

TEST_CASE("program: a reader of its output that goes away ends no training", "[program]") {
  temporary_directory const here;
  for (int const both : {0, 1}) {
    int ends[2] = {};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);  // otherwise the program would hold the reading end, too
    running o(here, tiny({"-o", "plot.svg", "--epochs", "2", "--verbose", "2"}), {}, 0, ends[1], both ? ends[1] : -1);
    ::close(ends[1]);
    char begin[8];
    REQUIRE(::read(ends[0], begin, sizeof begin) > 0);
    ::close(ends[0]);  // as head does
    CHECK(o.end().code == 0);
    CHECK(lines(contents(here / "plot.svg.history.csv")).size() == 3);
    CHECK(has(contents(here / "plot.svg"), "</svg>"));
    fs::remove(here / "plot.svg");
  }
}

TEST_CASE("program: of two runs with one output the second is refused, before it loads anything", "[program]") {
  temporary_directory const here;
  auto const all = [](std::string const& epochs) {
    return tiny({"-o", "plot.svg", "--weights", "w", "--csv", "logs/run.csv", "--tensorboard", "curves", "--best",
                 "best/{epoch}/{loss:.2f}", "--epochs", epochs});
  };
  running first(here, all("1000"));
  first.wait_for("Epoch 1/1000");
  std::vector<std::string> before;
  for (auto const& f : fs::directory_iterator(here.path)) before.push_back(f.path());
  for (std::vector<std::string> const& names :
       std::vector<std::vector<std::string>>{{"-o", "plot.svg"},
                                             {"-o", "./plot.svg", "--resume"},
                                             {"-o", "other.svg", "--weights", "w"},
                                             {"-o", "other.svg", "--csv", "logs/run.csv"},
                                             {"-o", "other.svg", "--tensorboard", "curves"},
                                             {"-o", "other.svg", "--best", "best/{epoch}/{loss:.2f}"}}) {
    outcome const o = run(here, tiny(names));
    INFO(o.out << o.err);
    CHECK(o.code == 1);
    CHECK(o.out.empty());
    REQUIRE(lines(o.err).size() == 1);
    std::string output = names.size() == 4 ? names[3] : names[1];
    if (output.starts_with("best/")) output = "best/{epoch}_{loss:.2f}";  // there is no folder for a lock yet
    CHECK(o.err.starts_with("error: output: " + output + " must be written by one run at a time; found process " +
                            std::to_string(first.pid) + " of "));
    CHECK_FALSE(fs::exists(here / "other.svg.lock"));
  }
  ::kill(first.pid, SIGKILL);
  CHECK(first.end().signal == SIGKILL);
  CHECK(fs::exists(here / "plot.svg.lock"));  // only the name is left; the lock ended with its process
  outcome const next = run(here, all("2"));
  INFO(next.out << next.err);
  CHECK(next.code == 0);
  for (auto const& f : fs::recursive_directory_iterator(here.path)) CHECK(f.path().extension() != ".lock");
}

TEST_CASE("program: where the weights fail after the training, history and plot are kept, and said so", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, tiny({"-o", "plot.png", "--epochs", "1", "--weights", "w"}), {}, 1 << 20);
  INFO(o.out << o.err);
  CHECK(o.code == 1);
  REQUIRE(lines(o.err).size() == 2);
  CHECK(o.err.starts_with("[WARNING] checkpoint: cannot write plot.png.checkpoint: "));
  CHECK(lines(o.err)[1].starts_with("error: weights: cannot write w: File too"));
  CHECK(has(o.err, "the numbers of every epoch are in plot.png.history.csv"));
  CHECK(lines(contents(here / "plot.png.history.csv")).size() == 2);
  CHECK(contents(here / "plot.png").starts_with("\x89PNG"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 2);
}

TEST_CASE("program: where the plot's folder goes away while it trains, weights elsewhere are kept", "[program]") {
  temporary_directory const here;
  fs::create_directory(here / "plots");
  std::thread thief([&] {
    for (int i = 0; i < 6000 && !fs::exists(here / "plots/plot.png.checkpoint"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    fs::rename(here / "plots", here / "gone");
  });
  outcome const o = run(here, tiny({"-o", "plots/plot.png", "--epochs", "20", "--weights", "w"}));
  thief.join();
  INFO(o.out << o.err);
  CHECK(o.code == 1);
  CHECK(has(o.err, "error: history: cannot write plots/plot.png.history.csv: "));
  CHECK_FALSE(has(o.err, "are kept in"));
  CHECK(fs::file_size(here / "w") > 6'000'000);
}

TEST_CASE("program: callbacks from the command line", "[program]") {
  temporary_directory const here;
  std::vector<std::string> options =
      tiny({"-o", "plot.svg", "--epochs", "4", "--early-stopping", "1", "--monitor", "loss", "--learning-rate", "1e-9",
            "--schedule", "step", "--no-augment", "--best", "kept/{epoch}.weights", "--weights", "last.weights"});
  options.insert(options.end(), {"--csv", "log/rows.csv", "--tensorboard", "curves"});
  outcome const o = run(here, options);
  INFO(o.out << o.err);
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  std::vector<std::string> const rows = lines(contents(here / "plot.svg.history.csv"));
  REQUIRE(rows.size() >= 2);
  CHECK(contents(here / "log/rows.csv") == contents(here / "plot.svg.history.csv"));
  for (char const* folder : {"curves/train", "curves/validation"})
    CHECK(std::distance(fs::directory_iterator(here / folder), {}) == 1);
  CHECK(has(o.out, "Epoch 1: loss improved from inf to "));
  CHECK(has(o.out, ", saving model to kept/1.weights"));
  CHECK(has(o.out, "Restoring model weights from the end of the best epoch: "));
  CHECK(has(o.out, ", weights in last.weights"));
  std::string best;  // the last one that it kept
  for (std::string const epoch : {"1", "2", "3", "4"})
    if (fs::exists(here / ("kept/" + epoch + ".weights"))) best = contents(here / ("kept/" + epoch + ".weights"));
  std::string const last = contents(here / "last.weights");
  REQUIRE(best.size() > 6'600'000);
  REQUIRE(best.size() == last.size());
  CHECK(best.substr(200, best.size() - 208) == last.substr(200, last.size() - 208));  // all but counters and checksum
  CHECK_FALSE(fs::exists(here / "plot.svg.checkpoint"));
}

TEST_CASE("program: weights in the format that their name asks for", "[program]") {
  temporary_directory const here;
  outcome const o = run(here, tiny({"-o", "plot.svg", "--epochs", "1", "--weights", "w.safetensors", "--best",
                                    "best-{epoch}.safetensors", "--verbose", "0"}));
  INFO(o.out << o.err);
  if (o.code == 2) {  // built without its library
    CHECK(has(o.err, "was built without safetensors"));
    return;
  }
  CHECK(o.code == 0);
  std::string const weights = contents(here / "w.safetensors");
  REQUIRE(weights.size() > 6'600'000);
  CHECK(weights.substr(8, 2) == "{\"");
  CHECK(weights == contents(here / "best-1.safetensors"));
  CHECK_FALSE(contents(here / "w.safetensors.classes").empty());
  CHECK(contents(here / "best-1.safetensors.classes") == contents(here / "w.safetensors.classes"));
}

TEST_CASE("program: schedules", "[program]") {
  auto const rates = [](char const* schedule) {
    temporary_directory const here;
    REQUIRE(run(here, tiny({"-o", "plot.svg", "--epochs", "3", "--learning-rate", "0.005", "--verbose", "0",
                            "--schedule", schedule, "--no-augment"}))
                .code == 0);
    std::vector<double> found;
    for (std::string const& row : lines(contents(here / "plot.svg.history.csv"))) {
      std::istringstream columns(row);
      std::string column;
      for (int i = 0; i < 6; ++i) std::getline(columns, column, ',');
      if (column != "learning_rate") found.push_back(std::stod(column));
    }
    return found;
  };
  auto const are = [](std::vector<double> const& found, std::vector<double> const& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == approx(wanted[i]).epsilon(1e-6));
  };
  double const top = 0.005;
  are(rates("poly"), {top, top * 2 / 3, top / 3});
  are(rates("step"), {top, top / 10, top / 100});
  are(rates("cosine"), {top, top * 0.75, top * 0.25});
  // Six steps: up to 0.8, then down over 4.2; the rates before steps 0, 2 and 4.
  auto const down = [&](double step) {
    double const end = top / 25 / 1e4;
    return end + (top - end) * 0.5 * (1 + std::cos(3.14159265358979 * (step - 0.8) / 4.2));
  };
  are(rates("one_cycle"), {top / 25, down(2), down(4)});
}

TEST_CASE("program: runs with other plots in one folder leave each other's files alone", "[program]") {
  temporary_directory const here;
  REQUIRE(run(here, tiny({"-o", "a.png", "--epochs", "1"})).code == 0);
  std::ofstream(here / "a.png.checkpoint") << "typenet checkpoint 2 of a run that has not ended";
  std::ofstream(here / "a.png.checkpoint.9999999-0.typenet.tmp") << "of a run that was killed";
  std::string const plot = contents(here / "a.png"), numbers = contents(here / "a.png.history.csv");
  for (char const* other : {"b.png", "a.svg"}) {
    outcome const o = run(here, tiny({"-o", other, "--epochs", "2", "--seed", "3", "--resume"}));
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    CHECK(has(o.out, "no " + std::string(other) + ".checkpoint to resume from"));
    CHECK(lines(contents(here / (std::string(other) + ".history.csv"))).size() == 3);
  }
  CHECK(contents(here / "a.png") == plot);
  CHECK(contents(here / "a.png.history.csv") == numbers);
  CHECK(contents(here / "a.png.checkpoint") == "typenet checkpoint 2 of a run that has not ended");
  CHECK(fs::exists(here / "a.png.checkpoint.9999999-0.typenet.tmp"));
  // the same run again
  REQUIRE(run(here, tiny({"-o", "a.png", "--epochs", "2", "--verbose", "0"})).code == 0);
  CHECK_FALSE(fs::exists(here / "a.png.checkpoint"));
  CHECK(contents(here / "a.png.checkpoint.before") == "typenet checkpoint 2 of a run that has not ended");
  CHECK_FALSE(fs::exists(here / "a.png.checkpoint.9999999-0.typenet.tmp"));
}

TEST_CASE("program: the progress bar in a pipe, an SVG, history beside it, and old files replaced", "[program]") {
  temporary_directory const here;
  fs::create_directory(here.path / "run");
  std::ofstream(here / "run/plot.svg") << "old";
  outcome const o = run(here, tiny({"-o", "run/plot.svg", "--epochs", "1", "--verbose", "1", "--no-augment"}));
  INFO(o.out << o.err);
  REQUIRE(o.code == 0);
  CHECK(o.out.find_first_of("\r\b\x1b") == std::string::npos);
  CHECK(has(o.out, "\nEpoch 1/1\n2/2 - "));
  CHECK(has(o.out, " images/s - loss: "));
  CHECK(has(contents(here / "run/plot.svg"), "MiniGoogLeNet on synthetic pictures"));
  CHECK(lines(contents(here / "run/plot.svg.history.csv")).size() == 2);

  outcome const silent = run(here, tiny({"-o", "run/plot.svg", "--epochs", "1", "--verbose", "0", "--seed", "7"}));
  REQUIRE(silent.code == 0);
  CHECK_FALSE(has(silent.out, "Epoch"));
}

TEST_CASE("program: all executors start alike", "[program]") {
  auto const loss = [](char const* executor) {
    temporary_directory const here;
    outcome const o =
        run(here, tiny({"-o", "plot.png", "--epochs", "1", "--executor", executor, "--learning-rate", "1e-5"}));
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    CHECK(has(o.out, std::string("on the CPU: ") + executor));
    return std::strtod(lines(contents(here / "plot.png.history.csv")).at(1).c_str() + 2, nullptr);
  };
  double const plain = loss("reference");
  CHECK(loss("native") == approx(plain).epsilon(0.01));
#ifdef TYPENET_HAS_ONEDNN
  CHECK(loss("onednn") == approx(plain).epsilon(0.01));
#endif
  CHECK(plain > 0);
}

TEST_CASE("program: the same seed gives the same history", "[program]") {
  auto const scores = [](char const* seed) {
    temporary_directory const here;
    REQUIRE(run(here, tiny({"-o", "plot.png", "--epochs", "1", "--verbose", "0", "--seed", seed})).code == 0);
    std::string const row = lines(contents(here / "plot.png.history.csv")).at(1);
    return row.substr(0, row.find(",0.005,"));
  };
  CHECK(scores("1") == scores("1"));
  CHECK(scores("1") != scores("2"));
}

TEST_CASE("program: every augmentation trains on other pictures", "[program]") {
  std::vector<std::string> rows;
  auto const train = [&](std::vector<std::string> const& more) {
    temporary_directory const here;
    std::vector<std::string> all = tiny({"-o", "plot.svg", "--epochs", "1", "--verbose", "0"});
    all.insert(all.end(), more.begin(), more.end());
    outcome const o = run(here, all);
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    std::string const row = lines(contents(here / "plot.svg.history.csv")).at(1);
    return row.substr(0, row.find(",0.005,"));
  };
  for (char const* name : {"shift_flip", "crop_flip", "crop_flip_cutout", "none"}) {
    std::string const row = train({"--augment", name});
    for (std::string const& other : rows) CHECK(row != other);
    rows.push_back(row);
  }
  CHECK(train({}) == rows[0]);
  CHECK(train({"--no-augment"}) == rows[3]);
  CHECK(train({"--augment", "crop_flip_cutout", "--cutout", "16"}) == rows[2]);
  std::string const smaller = train({"--augment", "crop_flip_cutout", "--cutout", "8"});
  for (std::string const& other : rows) CHECK(smaller != other);
  CHECK(train({"--augment", "crop_flip", "--crop-border", "zero"}) == rows[1]);
  std::string const mirrored = train({"--augment", "crop_flip", "--crop-border", "mirror"});
  CHECK(mirrored != rows[1]);
  CHECK(mirrored != train({"--augment", "crop_flip", "--crop-border", "edge"}));
}

TEST_CASE("program: holes in the first epochs alone", "[program]") {
  auto const train = [](std::vector<std::string> const& more) {
    temporary_directory const here;
    std::vector<std::string> all =
        tiny({"-o", "plot.svg", "--epochs", "2", "--verbose", "0", "--augment", "crop_flip_cutout"});
    all.insert(all.end(), more.begin(), more.end());
    outcome const o = run(here, all);
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    return lines(contents(here / "plot.svg.history.csv"));
  };
  auto const scores = [](std::vector<std::string> const& rows, std::size_t epoch) {
    return rows.at(epoch).substr(0, rows.at(epoch).find(",0.00"));  // without its time
  };
  auto const holes = train({}), first = train({"--cutout-epochs", "1"}), both = train({"--cutout-epochs", "2"});
  CHECK(scores(first, 1) == scores(holes, 1));
  CHECK(scores(first, 2) != scores(holes, 2));
  CHECK(scores(both, 2) == scores(holes, 2));
}

TEST_CASE("program: --swa and --ema validate and write the weights' mean", "[program]") {
  temporary_directory const here;
  auto const train = [&](std::string const& name, std::vector<std::string> const& more) {
    std::vector<std::string> all =
        tiny({"-o", name + ".svg", "--epochs", "4", "--verbose", "0", "--weights", name, "--learning-rate", "0.02"});
    all.insert(all.end(), more.begin(), more.end());
    outcome const o = run(here, all);
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    std::vector<std::vector<std::string>> rows;
    for (std::string const& line : lines(contents(here / (name + ".svg.history.csv")))) {
      std::istringstream row(line);
      rows.emplace_back();
      for (std::string field; std::getline(row, field, ',');) rows.back().push_back(field);
    }
    REQUIRE(rows.size() == 5);
    REQUIRE(rows[0].at(5) == "learning_rate");
    rows[0].clear();
    for (auto& row : rows) row.resize(row.empty() ? 0 : 6);
    return rows;
  };
  enum : std::size_t { loss = 1, val_loss = 3, rate = 5 };
  auto const plain = train("plain", {}), mean = train("mean", {"--swa", "2"});
  CHECK(mean[1] == plain[1]);
  CHECK(mean[2] == plain[2]);
  CHECK(mean[3][loss] == plain[3][loss]);  // the line is at its third point
  CHECK(mean[3][rate] == plain[3][rate]);
  CHECK(mean[3][val_loss] != plain[3][val_loss]);
  CHECK(mean[4][rate] == mean[3][rate]);
  CHECK(plain[4][rate] != plain[3][rate]);
  CHECK(mean[4][loss] != plain[4][loss]);
  CHECK(contents(here / "mean") != contents(here / "plain"));

  auto const fading = train("fading", {"--ema", "0.9"}), late = train("late", {"--swa", "2", "--ema", "0.1"});
  for (std::size_t e = 1; e <= 4; ++e) {
    CHECK(fading[e][loss] == plain[e][loss]);
    CHECK(fading[e][rate] == plain[e][rate]);
    CHECK(fading[e][val_loss] != plain[e][val_loss]);
  }
  CHECK(late[2] == plain[2]);
  CHECK(late[4][loss] == mean[4][loss]);
  CHECK(late[4][val_loss] != mean[4][val_loss]);
}

TEST_CASE("program: the confusion matrix, as text and picture, of one tower and of two", "[program]") {
  auto const table = [](std::vector<std::string> const& more) {
    temporary_directory const here;
    std::vector<std::string> all{
        "-o", "plot.svg",      "--synthetic", "--train-size", "16", "--test-size", "23",           "--epochs",
        "2",  "--bn-momentum", "0.5",         "--verbose",    "0",  "--confusion", "confusion.txt"};
    all.insert(all.end(), more.begin(), more.end());
    outcome const o = run(here, all);
    INFO(o.out << o.err);
    REQUIRE(o.code == 0);
    CHECK(has(o.out, ", confusion matrix in confusion.txt"));
    auto const rows = lines(contents(here / "confusion.txt"));
    REQUIRE(rows.size() == 13);
    CHECK(has(rows[0], "vertical stripes"));
    double const accuracy = std::strtod(rows[12].c_str() + std::string("accuracy ").size(), nullptr);
    CHECK(has(rows[12], " of 23 samples"));
    auto const history = lines(contents(here / "plot.svg.history.csv"));
    std::string last = history.back();  // epoch,loss,acc,val_loss,val_acc
    for (int i = 0; i < 4; ++i) last.erase(0, last.find(',') + 1);
    CHECK(accuracy == approx(std::strtod(last.c_str(), nullptr)).margin(5e-5));
    long long counted = 0;
    for (std::size_t i = 1; i <= 10; ++i) {
      std::istringstream row(rows[i].substr(std::string("horizontal stripes").size()));  // the longest name
      for (int c = 0; c < 10; ++c) {
        long long n = -1;
        row >> n;
        CHECK(n >= 0);
        counted += n;
      }
    }
    CHECK(counted == 23);
  };
  table({"--batch-size", "8"});                 // 8, 8, 7
  table({"--batch-size", "5", "--gpus", "2"});  // 10, 10, 3

  temporary_directory const here;
  outcome const drawn = run(here, tiny({"-o", "plot.svg", "--epochs", "1", "--confusion", "confusion.svg"}));
  REQUIRE(drawn.code == 0);
  CHECK(has(contents(here / "confusion.svg"), "MiniGoogLeNet on synthetic pictures: "));
  refuses(2, with(tiny({"--confusion", "confusion.gif"})), {".png, .svg or .txt", "confusion.gif"});
  refuses(1, with(tiny({"--confusion", "missing/c.txt"})), {"missing/c.txt", "confusion"});
}
