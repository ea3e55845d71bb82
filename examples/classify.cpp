// SPDX-License-Identifier: MIT
// Classifies images with weights that minigooglenet_cifar has trained. --help lists the options.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/pictures.hpp>
#include <dsl/text.hpp>
#include <dsl/text/format.hpp>
#ifdef TYPENET_HAS_SAFETENSORS
#include <dsl/io/safetensors.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

namespace {

struct settings {
  std::string weights;
  std::string classes;
  std::string data;
  int top = 3;
  std::vector<std::string> files;
};

void declare(CLI::App& app, settings& s) {
  app.option_defaults()->always_capture_default();
  app.add_option("-w,--weights", s.weights,
                 "a file that minigooglenet_cifar wrote (--weights, --best or a checkpoint), or a .safetensors\n"
                 "file from PyTorch [required]")
      ->type_name("FILE");
  app.add_option("-k,--top", s.top, "number of classes to print for each image, most likely first")->type_name("K");
  app.add_option("--classes", s.classes,
                 "file with the class names and the mean of the training images; default: WEIGHTS.classes, which is\n"
                 "written with the weights; if that does not exist, those of the CIFAR-10 files")
      ->type_name("FILE");
  app.add_option("-d,--data", s.data,
                 "directory of CIFAR-10's *.bin files, for weights without a .classes file; default:\n"
                 "$TYPENET_DATA, then $XDG_CACHE_HOME/typenet (default ~/.cache/typenet)")
      ->type_name("DIR");
  app.add_option("pictures", s.files, "PNG or JPEG files [required]")->type_name("PICTURE");
  app.footer(R"(
Each image is rotated as its Exif data says and cropped to the largest square in its middle, which is resized to 32x32 by
a triangle filter (bilinear to enlarge, the average of all pixels to shrink). Transparent pixels become white. Then the
mean of the training images is subtracted, as in training.

Examples:
    minigooglenet_cifar -o plot.png --epochs 30 --weights cifar.weights
    classify --weights cifar.weights cat.jpg ship.png

The exit code is 0 if all images were classified, 2 for invalid options, and 1 if the weights or an image could not be
read: a line on standard error says which and why, and the other images are classified nevertheless.)");
}

void check(settings const& s) {
  auto const need = [](bool holds, std::string const& message) {
    if (!holds) throw dsl::option_error(message);
  };
  need(!s.weights.empty(),
       "--weights: it must name a file of weights; add --weights FILE with a file that minigooglenet_cifar wrote");
  need(s.top >= 1 && s.top <= model::output.size(),
       fmt::format("--top: it must be 1 to {}; found {}", model::output.size(), s.top));
  need(!s.files.empty(), "pictures: there must be one or more; add the names of PNG or JPEG files");
  need(s.classes.empty() || s.data.empty(), "--classes and --data: only one of them may be given; leave one out");
}

dsl::picture_classes classes(settings const& s) {
  std::string const beside = s.weights + ".classes";
  dsl::picture_classes all;
  if (!s.classes.empty() || (s.data.empty() && std::filesystem::exists(beside)))
    all = dsl::read_classes(s.classes.empty() ? beside : s.classes);
  else if (!s.data.empty() || !dsl::cifar10::find().empty()) {
    if (s.data.empty())
      fmt::print(stderr, "warning: there is no {}; using the classes and mean of CIFAR-10\n",
                 dsl::detail::printable(beside));
    all = dsl::classes_of(dsl::cifar10::load(s.data).train);
  } else
    throw dsl::data_error("classes: " + beside +
                          " must exist, with the class names and the mean of the training images; found neither it nor "
                          "CIFAR-10; give --classes FILE or --data DIR");
  if (!(all.sample == dsl::shape{3, 32, 32}) || static_cast<long long>(all.names.size()) != model::output.size())
    throw dsl::data_error(
        fmt::format("classes: there must be {} for images of 3x32x32; found {} for {}; give the file that "
                    "was written beside the weights",
                    model::output.size(), all.names.size(), dsl::text::shape(all.sample)));
  return all;
}

dsl::trainer compile() { return dsl::compile<model>(dsl::sgd{}); }

void load(dsl::trainer& trainer, std::string const& weights) {
  if (!weights.ends_with(".safetensors")) return dsl::load_weights(trainer, weights);
#ifdef TYPENET_HAS_SAFETENSORS
  dsl::load_safetensors(trainer, weights);
#else
  throw dsl::option_error(
      "--weights: this program was built without safetensors; install nlohmann_json and build again");
#endif
}

void classify(dsl::trainer& trainer, dsl::picture_classes const& classes, std::string const& file, int top) {
  dsl::shape const& to = classes.sample;
  dsl::rgb_picture const small = dsl::resized(dsl::centre_square(dsl::read_picture(file)), to.width, to.height);
  std::vector<float> input(static_cast<std::size_t>(to.size())), p(classes.names.size());
  dsl::to_planes(small, classes.mean.empty() ? nullptr : classes.mean.data(), input.data());
  trainer.predict_on_batch(input.data(), 1, p.data());
  for (float const x : p)
    if (!std::isfinite(x))
      throw dsl::training_error("weights: they must give probabilities; found one that is not a number; train again");
  std::vector<std::size_t> order(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p[a] > p[b] || (p[a] == p[b] && a < b); });
  std::string text = dsl::detail::printable(file) + "\n";
  for (std::size_t i = 0; i < static_cast<std::size_t>(top); ++i)
    text += fmt::format("  {:6.2f} %  {}\n", 100 * p[order[i]], dsl::detail::printable(classes.names[order[i]]));
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw dsl::file_error("standard output: it must be writable; found an error while writing; free some space");
}

int fail(int code, std::string message) {
  for (char& c : message)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "error: %s\n", dsl::detail::printable(message).c_str());
  return code;
}

int run(settings const& s) {
  dsl::trainer trainer = compile();
  load(trainer, s.weights);  // before the classes are needed: they are stored with the weights
  dsl::picture_classes const all = classes(s);
  int code = 0;
  for (std::string const& file : s.files) try {
      classify(trainer, all, file, s.top);
    } catch (dsl::data_error const& e) {
      code = fail(1, e.what());
    }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app{"Classifies images with weights that minigooglenet_cifar has trained."};
  declare(app, s);
  try {
    app.parse(argc, argv);
    check(s);
    return run(s);
  } catch (CLI::Success const& e) {  // --help
    return app.exit(e);
  } catch (CLI::ParseError const& e) {
    return fail(2, std::string(e.what()) + "; --help lists the options");
  } catch (dsl::option_error const& e) {
    return fail(2, e.what());
  } catch (std::exception const& e) {
    return fail(1, e.what());
  }
}
