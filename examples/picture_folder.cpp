// SPDX-License-Identifier: MIT
// Learns from a folder of images with a subfolder for each class: picture_folder [TRAIN TEST]. The folders must have
// three classes. Without them, the program draws discs, rings and stars, as PNG files in the folder
// picture_folder_data; files that exist stay as they are.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>
#include <dsl/pictures.hpp>
#include <png.h>

namespace {
using model =
    dsl::network<dsl::image<3, 24, 24>, dsl::conv_module<16, 3, 3>, dsl::max_pool2d<2>, dsl::conv_module<32, 3, 3>,
                 dsl::max_pool2d<2>, dsl::conv_module<32, 3, 3>, dsl::flatten, dsl::dense<3>, dsl::softmax>;

/// Writes the images of the first three classes as PNG files, enlarged so that each pixel becomes 2x2 pixels.
void draw(dsl::dataset const& all, std::string const& folder) {
  for (std::int64_t i = 0; i < all.size; ++i) {
    if (all.label(i) > 2) continue;
    std::string const path = folder + "/" + all.class_name(all.label(i));
    std::filesystem::create_directories(path);
    std::vector<png_byte> rgb;
    for (int k = 0; k < 3 * 64 * 64; ++k)
      rgb.push_back(all.pixels(i)[(k % 3 * 32 + k / 3 / 64 / 2) * 32 + k / 3 % 64 / 2]);
    png_image file{};
    file.version = PNG_IMAGE_VERSION, file.width = file.height = 64, file.format = PNG_FORMAT_RGB;
    std::string const name = path + "/" + std::to_string(i) + ".png";
    if (std::filesystem::exists(name)) continue;
    if (!png_image_write_to_file(&file, name.c_str(), 0, rgb.data(), 0, nullptr))
      throw dsl::data_error("picture_folder: cannot write " + name + ": " + file.message);
  }
}
}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2) throw dsl::option_error("picture_folder: it takes two folders or no argument; found one folder");
  std::string const own = "picture_folder_data";
  if (argc <= 2) {
    dsl::synthetic const drawn = dsl::synthetic_pictures(/*train=*/4000, /*test=*/600, /*seed=*/1);
    draw(drawn.train, own + "/train"), draw(drawn.test, own + "/test");
  }
  dsl::picture_folder train =
      dsl::read_picture_folder(argc > 2 ? argv[1] : own + "/train", {3, 24, 24}, {.unreadable = dsl::unreadable::skip});
  dsl::picture_folder test = dsl::read_picture_folder(argc > 2 ? argv[2] : own + "/test", {3, 24, 24},
                                                      {.class_names = train.data.storage->class_names});
  dsl::normalize_channels(train.data, test.data);
  dsl::trainer trainer = dsl::compile<model>(dsl::adam{.learning_rate = 3e-3}, {.batch_norm_momentum = 0.9});
  dsl::augmentation const moves = dsl::in_order{dsl::random_crop{.padding = 2}, dsl::random_flip{}};
  trainer.fit(train.data, {.epochs = 8, .batch_size = 32, .augment = moves, .loader_threads = 2});
  double const right = trainer.evaluate(test.data).acc;
  std::printf("%zu training images, %zu unreadable files; accuracy %.1f %% on %zu test images\n", train.files.size(),
              train.skipped.size(), 100 * right, test.files.size());
  return argc > 2 || right > 0.9 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
