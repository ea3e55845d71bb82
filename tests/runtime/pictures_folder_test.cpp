// SPDX-License-Identifier: MIT
// Folders of PNG and JPEG files, decoded and resized by the loader's threads.
#include <dsl/data/sample_source.hpp>
#include <dsl/dsl.hpp>
#include <dsl/pictures.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/picture_files.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

using namespace dsl;
using test::drawn;

namespace {

using names = std::vector<std::string>;
namespace fs = std::filesystem;

void put(std::string const& path, std::string const& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A picture of one colour, which a network learns at once.
rgb_picture filled(int width, int height, std::uint8_t red, std::uint8_t blue) {
  rgb_picture p{width, height, {}};
  for (int i = 0; i < width * height; ++i) p.pixels.insert(p.pixels.end(), {red, 30, blue});
  return p;
}

/// Three classes of four files, among them one that is cut off, and files to be ignored.
struct animals : test::temporary_directory {
  animals() {
    for (unsigned i = 0; i < 4; ++i) {
      std::string const n = std::to_string(i);
      put(*this / ("cat/" + n + ".png"), test::png(drawn(20 + static_cast<int>(i), 16, i)));
      put(*this / ("dog/" + n + ".JPG"), test::jpeg(drawn(16, 24, 10 + i)));
      put(*this / ("emu/" + n + ".jpeg"), test::jpeg(drawn(9, 9, 20 + i), {.grey = true}));
    }
    put(*this / "dog/notes.txt", "no picture");
    put(*this / "dog/.hidden.png", "no picture");
    put(*this / ".cache/x.png", "no picture");
    put(*this / "readme.png", "no picture");
  }
};

std::vector<float> planes(std::string const& file, int width, int height, bool centre = true) {
  rgb_picture p = read_picture(file);
  if (centre) p = centre_square(p);
  std::vector<float> out(3 * static_cast<std::size_t>(width * height));
  to_planes(resized(p, width, height), nullptr, out.data());
  return out;
}

}  // namespace

TEST_CASE("a folder's pictures are its classes' files, decoded and resized", "[pictures]") {
  animals const here;
  picture_folder const all = read_picture_folder(here.path.string(), {3, 8, 10});
  REQUIRE(all.data.size == 12);
  CHECK(all.data.classes == 3);
  CHECK(all.data.class_name(1) == "dog");
  CHECK(all.skipped.empty());
  CHECK(all.files[4] == here / "dog/0.JPG");
  batch_loader loader(all.data, {.batch_size = 12, .shuffle = false, .threads = 2});
  loader.start(0);
  batch const* const b = loader.next();
  for (std::size_t i = 0; i < 12; ++i) {
    std::vector<float> const wanted = planes(all.files[i], 10, 8);
    CHECK(std::vector<float>(b->inputs[0] + i * 240, b->inputs[0] + (i + 1) * 240) == wanted);
    CHECK(b->targets[0].labels[i] == static_cast<std::int32_t>(i / 4));
  }
  picture_folder const whole = read_picture_folder(here.path.string(), {3, 8, 10}, {.centre = false});
  std::vector<float> room;
  detail::floats_of(whole.data, 0, room);
  CHECK(room == planes(whole.files[0], 10, 8, false));
  CHECK(detail::identity_of(all.data) != detail::identity_of(whole.data));

  fs::rename(here / "cat", here / "moved");
  fs::create_directories(here / "elsewhere");
  for (char const* const from : {"moved", "dog", "emu"})
    fs::rename(here / from, here / ("elsewhere/" + std::string(from == std::string("moved") ? "cat" : from)));
  CHECK(detail::identity_of(read_picture_folder(here / "elsewhere", {3, 8, 10}).data) ==
        detail::identity_of(all.data));  // a folder may move
}

TEST_CASE("pictures that cannot be read are refused, or skipped and counted", "[pictures][hostile]") {
  animals const here;
  put(here / "cat/1.png", test::png(drawn(20, 20, 1)).substr(0, 100));
  put(here / "emu/2.jpeg", "");
  picture_folder const refused = read_picture_folder(here.path.string(), {3, 8, 8});
  CHECK(refused.data.size == 12);
  using model = network<image<3, 8, 8>, flatten, dense<3>, softmax>;
  trainer t = compile<model>(reference{}, sgd{.learning_rate = 1e-4});
  test::refuses<data_error>([&] { t.fit(refused.data, {.batch_size = 12, .loader_threads = 2}); },
                            {"picture: ", here.path.string()});
  picture_folder const skipped = read_picture_folder(here.path.string(), {3, 8, 8}, {.unreadable = unreadable::skip});
  CHECK(skipped.skipped == names{here / "cat/1.png", here / "emu/2.jpeg"});
  REQUIRE(skipped.data.size == 10);
  CHECK(skipped.files[1] == here / "cat/2.png");
  CHECK((skipped.data.label(2) == 0 && skipped.data.label(3) == 1 && skipped.data.label(9) == 2));
  t.fit(skipped.data, {.batch_size = 5, .loader_threads = 2});
  // Links to themselves, as pictures and beside the folders of the classes.
  fs::create_symlink("9.png", here / "cat/9.png");
  test::refuses<data_error>([&] { read_picture_folder(here.path.string(), {3, 8, 8}); },
                            {"picture_folder: cannot read " + (here / "cat/9.png") + ": Too many levels",
                             "remove it, or set .unreadable = unreadable::skip"});
  fs::create_symlink("loop", here / "loop");
  picture_folder const linked = read_picture_folder(here.path.string(), {3, 8, 8}, {.unreadable = unreadable::skip});
  CHECK(linked.skipped == names{here / "cat/1.png", here / "emu/2.jpeg", here / "loop", here / "cat/9.png"});
  CHECK((linked.data.size == 10 && linked.data.classes == 3));
  fs::remove(here / "cat/9.png");
  test::refuses<data_error>([&] { read_picture_folder(here.path.string(), {3, 8, 8}); },
                            {"picture_folder: cannot read " + (here / "loop") + ": Too many levels"});
  picture_folder const values = read_picture_files({here / "cat/1.png", here / "cat/2.png"}, 2, {1, 2, 3, 4}, {3, 8, 8},
                                                   {.unreadable = unreadable::skip});
  REQUIRE(values.data.size == 1);
  CHECK((values.data.wanted(0)[0] == 3 && values.data.wanted(0)[1] == 4));
}

TEST_CASE("a test folder has the classes of the training folder", "[pictures]") {
  animals const train, test;
  fs::remove_all(test / "cat");
  names const classes = read_picture_folder(train.path.string(), {3, 8, 8}).data.storage->class_names;
  picture_folder const part = read_picture_folder(test.path.string(), {3, 8, 8}, {.class_names = classes});
  CHECK((part.data.classes == 3 && part.data.size == 8 && part.data.label(0) == 1));
  put(test / "yak/1.png", test::png(drawn(8, 8, 1)));
  test::refuses<data_error>([&] { read_picture_folder(test.path.string(), {3, 8, 8}, {.class_names = classes}); },
                            {"one of the class_names; found yak"});
}

TEST_CASE("folders and lists that are none are refused", "[pictures]") {
  animals const here;
  auto const folder = [&](std::string const& path) { read_picture_folder(path, {3, 8, 8}); };
  test::refuses<data_error>(
      [&] { folder(here / "nowhere"); },
      {"cannot read the folder ", "nowhere: No such file or directory; give a folder with a folder for each class"});
  test::refuses<data_error>([&] { folder(here.path.string() + std::string("\0", 1)); }, {"has a NUL byte"});
  test::refuses<data_error>([&] { folder(here / "cat"); }, {"must have a folder for each class; found none"});
  fs::create_directories(here / "fox");
  test::refuses<data_error>([&] { folder(here.path.string()); },
                            {"fox must have a file whose name ends in .png, .jpg or .jpeg", "found none"});
  test::refuses<option_error>([&] { read_picture_folder(here.path.string(), {1, 8, 8}); }, {"3 channels", "1x8x8"});
  test::refuses<data_error>([&] { read_picture_files({"a.png"}, {0, 1}, 2, {3, 8, 8}); }, {"1 file and 2 labels"});
  test::refuses<option_error>(
      [] { read_picture_files({"a.png"}, {0}, 2, {3, 8, 8}, {.class_names = {"cat", "dog", "emu"}}); },
      {"a name for each class", "3 names for 2 classes"});
  test::refuses<option_error>(
      [&] { read_picture_folder(here.path.string(), {3, 8, 8}, {.class_names = {"cat", "dog", "cat", "emu"}}); },
      {"must be unique; found cat twice"});
  test::refuses<data_error>([&] { read_picture_files({"a.png"}, 2, {0, 1, 2}, {3, 8, 8}); }, {"1 file and 3 values"});
}

TEST_CASE("a network learns from a folder of pictures, augmented, with any number of threads", "[pictures]") {
  test::temporary_directory const here;
  for (int i = 0; i < 24; ++i) {
    bool const warm = i % 2 == 0;
    std::uint8_t const strong = static_cast<std::uint8_t>(150 + 4 * i), weak = static_cast<std::uint8_t>(5 * i);
    put(here / ((warm ? "warm/" : "cold/") + std::to_string(i) + (i % 3 == 0 ? ".png" : ".jpg")),
        i % 3 == 0 ? test::png(filled(12 + i, 15, warm ? strong : weak, warm ? weak : strong))
                   : test::jpeg(filled(12, 10 + i, warm ? strong : weak, warm ? weak : strong)));
  }
  picture_folder all = read_picture_folder(here.path.string(), {3, 8, 8});
  normalize_channels(all.data);
  using model = network<image<3, 8, 8>, conv2d<4, 3>, relu, global_avg_pool2d, dense<2>, softmax>;
  auto const learn = [&](int threads) {
    trainer t = compile<model>(reference{}, adam{.learning_rate = 0.03}, {.seed = 1});
    t.fit(all.data, {.epochs = 15,
                     .batch_size = 8,
                     .augment = shift_and_flip{.width = 0.2, .height = 0.2},
                     .loader_threads = threads});
    return std::pair(t.evaluate(all.data).acc, t.predict(all.data));
  };
  auto const one = learn(1);
  CHECK(one.first == 1);
  CHECK(learn(3) == one);
}
