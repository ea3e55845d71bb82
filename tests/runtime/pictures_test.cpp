// SPDX-License-Identifier: MIT
// Tests picture files that libpng and libjpeg wrote, good and bad ones, and resizing, with exact numbers.
#include "support/catch.hpp"
#include "support/picture_files.hpp"
#include "support/temporary_directory.hpp"

#include <dsl/pictures.hpp>
#include <dsl/pictures/png.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace test = dsl::test;
using bytes = std::vector<std::uint8_t>;

namespace {

dsl::rgb_picture decoded(std::string const& file) {
  return dsl::decode_picture(reinterpret_cast<std::uint8_t const*>(file.data()), file.size(), "some.file");
}
void refuses(std::string const& file, std::vector<std::string> const& words) {
  try {
    decoded(file);
  } catch (dsl::data_error const& e) {
    INFO(e.what());
    CHECK(std::string(e.what()).starts_with("picture: some.file "));
    for (auto const& word : words) CHECK(std::string(e.what()).find(word) != std::string::npos);
    return;
  }
  FAIL("no data_error");
}

/// 2 x 3 pixels of different colours.
dsl::rgb_picture const small{2, 3, {1, 2, 3, 40, 50, 60, 255, 0, 0, 0, 255, 0, 0, 0, 255, 200, 201, 202}};

}  // namespace

TEST_CASE("pictures: PNGs of every kind", "[pictures]") {
  CHECK(decoded(test::png(small)).pixels == small.pixels);
  CHECK(decoded(test::png(small)).width == 2);
  CHECK(decoded(test::png(small)).height == 3);
  CHECK(decoded(test::png(small, {.interlaced = true})).pixels == small.pixels);

  // With 16 bits: 0x80ff is 128.99 of 255; sRGB, not linear light, which would give 188.
  auto const wide = decoded(test::raw_png(1, 1, 16, PNG_COLOR_TYPE_RGB, {0x80, 0x80, 0, 0, 0xff, 0xff}));
  CHECK(wide.pixels == bytes{128, 0, 255});
  CHECK(decoded(test::raw_png(2, 1, 8, PNG_COLOR_TYPE_GRAY, {7, 200})).pixels == bytes{7, 7, 7, 200, 200, 200});
  CHECK(decoded(test::raw_png(1, 1, 16, PNG_COLOR_TYPE_GRAY, {0x80, 0x80})).pixels == bytes{128, 128, 128});
  CHECK(decoded(test::raw_png(3, 1, 1, PNG_COLOR_TYPE_GRAY, {0xa0})).pixels ==
        bytes{255, 255, 255, 0, 0, 0, 255, 255, 255});
  CHECK(decoded(test::raw_png(3, 1, 8, PNG_COLOR_TYPE_PALETTE, {1, 0, 1}, {{9, 8, 7}, {1, 2, 3}})).pixels ==
        bytes{1, 2, 3, 9, 8, 7, 1, 2, 3});
  // Transparent pixels become white.
  CHECK(decoded(test::raw_png(2, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA, {10, 20, 30, 255, 10, 20, 30, 0})).pixels ==
        bytes{10, 20, 30, 255, 255, 255});
  auto const half = decoded(test::raw_png(1, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {0, 128}));
  CHECK(half.pixels[0] > 120);  // libpng mixes light and not bytes
  CHECK(half.pixels[0] < 200);
}

TEST_CASE("pictures: JPEGs in colour, grey and progressive", "[pictures]") {
  dsl::rgb_picture flat{24, 17, bytes(3 * 24 * 17)};
  for (std::size_t i = 0; i < flat.pixels.size(); i += 3)
    flat.pixels[i] = 200, flat.pixels[i + 1] = 100, flat.pixels[i + 2] = 50;
  for (bool progressive : {false, true}) {
    auto const read = decoded(test::jpeg(flat, {.progressive = progressive}));
    REQUIRE(read.width == 24);
    REQUIRE(read.height == 17);
    for (std::size_t i = 0; i < read.pixels.size(); ++i) CHECK(std::abs(int{read.pixels[i]} - flat.pixels[i]) <= 3);
  }
  auto const grey = decoded(test::jpeg(flat, {.grey = true}));
  REQUIRE(grey.pixels.size() == flat.pixels.size());
  CHECK(std::abs(grey.pixels[0] - 124) <= 2);  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50
  CHECK(grey.pixels[0] == grey.pixels[2]);
}

TEST_CASE("pictures: a JPEG is turned as the camera was held", "[pictures]") {
  // Four quarters of 32 x 16 pixels: the top left one in the file is red, and the top right one green.
  dsl::rgb_picture stored{64, 32, bytes(3 * 64 * 32)};
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 64; ++c) stored.pixels[static_cast<std::size_t>(3 * (64 * r + c) + (c < 32 ? 0 : 1))] = 255;
  // Where Exif places the file's first row and first column: 1: top, left; 2: top, right; 3: bottom, right; 4: bottom,
  // left; 5: left, top; 6: right, top; 7: right, bottom; 8: left, bottom.
  struct seen {
    int orientation;
    bool red_below, red_right, green_below, green_right;
  };
  seen const all[] = {{1, false, false, false, true}, {2, false, true, false, false}, {3, true, true, true, false},
                      {4, true, false, true, true},   {5, false, false, true, false}, {6, false, true, true, true},
                      {7, true, true, false, true},   {8, true, false, false, false}};
  std::string const xmp = "http://ns.adobe.com/xap/1.0/";
  for (bool little : {true, false})
    for (seen const& s : all) {
      INFO(s.orientation);
      auto const p = decoded(test::jpeg(stored, {.app1 = {xmp, test::exif(s.orientation, little)}}));
      REQUIRE(p.width == (s.orientation < 5 ? 64 : 32));
      REQUIRE(p.height == (s.orientation < 5 ? 32 : 64));
      auto const at = [&](bool below, bool right) { return p.at(below ? p.height - 3 : 2, right ? p.width - 3 : 2); };
      CHECK(at(s.red_below, s.red_right)[0] > 240);
      CHECK(at(s.red_below, s.red_right)[1] < 15);
      CHECK(at(s.green_below, s.green_right)[1] > 240);
      CHECK(at(s.green_below, s.green_right)[0] < 15);
      CHECK(at(!s.red_below, !s.red_right)[0] < 15);
    }
  // Exif data that is invalid, damaged or truncated leaves the picture as it is; other tags do not matter.
  auto const lies = [&](std::string const& segment) {
    return decoded(test::jpeg(stored, {.app1 = {segment}})).width == 32;
  };
  std::string const good = test::exif(6);
  constexpr std::size_t tag_ends = 6 + 8 + 2 + 2 * 12;
  for (std::size_t size = 0; size < tag_ends; ++size) CHECK_FALSE(lies(good.substr(0, size)));
  CHECK(lies(good.substr(0, tag_ends)));
  CHECK_FALSE(lies(test::exif(0)));
  CHECK_FALSE(lies(test::exif(9)));
  auto const with = [&](std::size_t at, std::string const& others) {
    return std::string(good).replace(at, others.size(), others);
  };
  CHECK_FALSE(lies(with(10, "\xff\xff\xff\xff")));            // the table is far beyond the end
  CHECK_FALSE(lies(with(10, std::string("\x31\0\0\0", 4))));  // only one of its first two bytes is there
  CHECK(good.size() == 6 + 0x32);
  CHECK(lies(with(14, "\xff\xff")));  // more tags than the table has
}

TEST_CASE("pictures: what is no whole picture is refused", "[pictures]") {
  std::string const png = test::png(test::drawn(40, 30, 1)), jpeg = test::jpeg(test::drawn(40, 30, 1));
  REQUIRE(decoded(png).width == 40);
  REQUIRE(decoded(jpeg).width == 40);
  refuses("", {"empty"});
  refuses("GIF89a...", {"PNG or a JPEG"});
  refuses(test::jpeg(test::drawn(40, 30, 1), {.four_inks = true}), {"grey or in colour", "found CMYK; save it as RGB"});
  refuses(png.substr(0, 8), {"whole PNG", "libpng"});
  for (std::size_t size = 8; size + 12 < png.size(); size += 7) refuses(png.substr(0, size), {"whole PNG"});
  for (std::size_t size = 3; size + 2 < jpeg.size(); size += 5)
    refuses(jpeg.substr(0, size), {"whole JPEG", "libjpeg"});
  CHECK(decoded(png + "more").width == 40);
  CHECK(decoded(jpeg + "more").width == 40);

  // Flips a bit anywhere: there must be an error or a picture of the right size, and nothing that a sanitizer reports.
  int refused = 0, of = 0;
  for (std::string const& good : {png, jpeg})
    for (std::size_t at = 0; at < good.size(); at += 3) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
      ++of;
      try {
        auto const p = decoded(bad);
        CHECK(p.pixels.size() == 3 * static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height));
      } catch (dsl::data_error const&) {
        ++refused;
      }
    }
  CHECK(refused > of / 4);
  std::string damaged = png;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  refuses(damaged, {"whole PNG"});  // its checksum
}

TEST_CASE("pictures: absurd sizes ask for no memory", "[pictures]") {
  auto const with_size = [](unsigned width, unsigned height) {
    return test::with_png_size(test::png(small), width, height);
  };
  CHECK(decoded(with_size(2, 3)).pixels == small.pixels);
  refuses(with_size(65'536, 65'536), {"1 to 67108864 pixels", "found 65536 x 65536"});
  refuses(with_size(8'193, 8'192), {"found 8193 x 8192"});
  refuses(with_size(0x7fffffff, 0x7fffffff), {});
  refuses(with_size(0, 3), {});
  refuses(with_size(8'000, 8'000), {"whole PNG"});  // the size is accepted, but there is no data
  std::string jpeg = test::jpeg(small);
  std::size_t const frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  refuses(jpeg, {"found 65500 x 65500"});
}

TEST_CASE("pictures: a small file asks for no more work than its limits allow", "[pictures][hostile]") {
  auto const with = [](std::string const& file, dsl::picture_limits const& limits) {
    return dsl::decode_picture(reinterpret_cast<std::uint8_t const*>(file.data()), file.size(), "some.file", limits);
  };
  CHECK(decoded(test::jpeg_of_scans(100, 32)).width == 100);
  refuses(test::jpeg_of_scans(100, 33), {"must have at most 32 scans; found more"});
  refuses(test::jpeg_of_scans(100, 10'000), {"at most 32 scans"});
  CHECK(with(test::jpeg_of_scans(100, 60), {.scans = 60}).pixels == bytes(30'000, 128));
  CHECK(decoded(test::jpeg(test::drawn(40, 30, 1), {.progressive = true})).width == 40);
  refuses(test::jpeg_of_scans(100, 1, '\xca'), {"must have Huffman codes; found arithmetic coding"});

  std::string const png = test::png(small), jpeg = test::jpeg(small);
  CHECK(with(png, {.pixels = 6}).pixels == small.pixels);
  for (std::string const& file : {png, jpeg}) {
    CHECK_THROWS_AS(with(file, {.pixels = 5}), dsl::data_error);
    CHECK_THROWS_AS(with(file, {.bytes = static_cast<long long>(file.size()) - 1}), dsl::data_error);
  }
  for (dsl::picture_limits const& none : {dsl::picture_limits{.pixels = -1}, {.bytes = 0}, {.scans = 0}})
    CHECK_THROWS_AS(with(png, none), dsl::option_error);
  test::temporary_directory const here;
  std::ofstream(here / "hole.png", std::ios::binary) << png;
  std::filesystem::resize_file(here / "hole.png", std::uintmax_t{1} << 40);
  CHECK_THROWS_AS(dsl::read_picture(here / "hole.png"), dsl::data_error);
}

TEST_CASE("pictures: a PNG's texts are not unpacked", "[pictures][hostile]") {
  std::string const png = test::png(small), gamma("\0\0\x80\0", 4);
  auto const kept = [](std::string const& file) {
    bytes const all = dsl::detail::without_texts(reinterpret_cast<std::uint8_t const*>(file.data()), file.size());
    return std::string(all.begin(), all.end());
  };
  CHECK(kept(png) == png);
  std::string const packed("key\0\0", 5), dark = test::with_png_chunks(png, {{"gAMA", gamma}});
  CHECK(kept(test::with_png_chunks(
            png, {{"zTXt", packed}, {"iTXt", packed}, {"gAMA", gamma}, {"tEXt", "key"}, {"prIv", packed}})) == dark);
  CHECK(kept(dark) == dark);
  CHECK(decoded(dark).pixels != small.pixels);
  std::string const profiles = test::with_png_chunks(png, {{"iCCP", packed}, {"iCCP", packed}});
  CHECK(kept(profiles) == test::with_png_chunks(png, {{"iCCP", packed}}));
  // Chunks that libpng does not know but must are left for it to refuse, and damaged ones as well.
  refuses(test::with_png_chunks(png, {{"ABCD", ""}}), {"whole PNG"});
  for (std::size_t size = 8; size < dark.size(); ++size) CHECK(kept(dark.substr(0, size)) == dark.substr(0, size));
}

TEST_CASE("pictures: files", "[pictures]") {
  test::temporary_directory const here;
  std::ofstream(here / "p.jpg", std::ios::binary) << test::png(small);  // the file's name does not matter
  CHECK(dsl::read_picture(here / "p.jpg").pixels == small.pixels);
  for (std::string const& bad : {here / "none.png", here.path.string()}) try {
      dsl::read_picture(bad);
      FAIL("no data_error");
    } catch (dsl::data_error const& e) {
      CHECK(std::string(e.what()).find(bad) != std::string::npos);
    }
}

TEST_CASE("pictures: the square in the middle", "[pictures]") {
  auto const tall = dsl::centre_square(small);  // of 3 rows, the upper two
  CHECK(tall.width == 2);
  CHECK(tall.pixels == bytes{1, 2, 3, 40, 50, 60, 255, 0, 0, 0, 255, 0});
  dsl::rgb_picture const wide{5, 1, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5}};
  CHECK(dsl::centre_square(wide).pixels == bytes{3, 3, 3});
}

TEST_CASE("pictures: resizing by hand", "[pictures]") {
  auto const row = [](bytes const& red, int to) {
    dsl::rgb_picture p{static_cast<int>(red.size()), 1, {}};
    for (std::uint8_t const r : red) p.pixels.insert(p.pixels.end(), {r, 0, std::uint8_t(255 - r)});
    auto const across = dsl::resized(p, to, 1);
    dsl::rgb_picture const upright{1, p.width, p.pixels};
    CHECK(dsl::resized(upright, 1, to).pixels == across.pixels);  // rows as columns
    bytes reds;
    for (std::size_t i = 0; i < across.pixels.size(); i += 3) {
      reds.push_back(across.pixels[i]);
      CHECK(across.pixels[i + 1] == 0);
      CHECK(std::abs(across.pixels[i] + across.pixels[i + 2] - 255) <= 1);
    }
    return reds;
  };
  CHECK(row({10, 20, 30, 250}, 4) == bytes{10, 20, 30, 250});  // nothing to do
  // To one half: weights 1/4 3/4 3/4 1/4 by distance; at an edge only those that exist: (3*8 + 3*16 + 24) / 7 = 13.7
  CHECK(row({8, 16, 24, 32}, 2) == bytes{14, 26});
  // Twice as large: bilinear, a quarter of the next pixel; the edges do not change
  CHECK(row({0, 100}, 4) == bytes{0, 25, 75, 100});
  CHECK(row({5}, 3) == bytes{5, 5, 5});
  // 3 to 2: radius 1.5, centres 0.75 and 2.25: weights 5/6, 1/2 and 0 (at 2.5): (5/6 * 30 + 1/2 * 60) / (4/3) = 41.25
  CHECK(row({30, 60, 90}, 2) == bytes{41, 79});
  CHECK(row(bytes(1000, 255), 7) == bytes(7, 255));
  CHECK(row(bytes(1000, 0), 7) == bytes(7, 0));

  // A checkerboard becomes grey: every pixel counts; taking each fourth one would give black or white.
  dsl::rgb_picture board{128, 128, bytes(3 * 128 * 128)};
  for (std::size_t i = 0; i < 128 * 128; ++i)
    for (std::size_t c = 0; c < 3; ++c) board.pixels[3 * i + c] = (i + i / 128) % 2 ? 255 : 0;
  for (std::uint8_t const x : dsl::resized(board, 32, 32).pixels) CHECK(std::abs(x - 128) <= 4);
  CHECK_THROWS_AS(dsl::resized(small, 0, 4), dsl::option_error);
  CHECK_THROWS_WITH(dsl::resized(small, 1 << 14, 1 << 14),
                    "resized: an image must have 1 to 67,108,864 pixels; found 16384 x 16384; choose another size");
}

TEST_CASE("pictures: resizing adds the weighted pixels one by one, first rows, then columns", "[pictures]") {
  for (auto const& [width, height, to_width, to_height] : std::vector<std::array<int, 4>>{
           {37, 23, 9, 9}, {9, 14, 21, 5}, {16, 16, 15, 17}, {64, 48, 64, 48}, {1, 70, 3, 2}, {53, 1, 7, 4}}) {
    dsl::rgb_picture p{width, height, bytes(static_cast<std::size_t>(3 * width * height))};
    for (std::size_t i = 0; i < p.pixels.size(); ++i) p.pixels[i] = static_cast<std::uint8_t>(i * i * 7 + i / 5);
    auto const columns = dsl::detail::taps_for(width, to_width), rows = dsl::detail::taps_for(height, to_height);
    bytes wanted;
    for (int y = 0; y < to_height; ++y)
      for (int x = 0; x < to_width; ++x)
        for (int c = 0; c < 3; ++c) {
          float sum = 0.5F;
          for (int j = 0; j < columns.count && columns.first[x] + j < width; ++j) {
            float column = 0;
            for (int k = 0; k < rows.count && rows.first[y] + k < height; ++k) {
              float const product = rows.weights[y * rows.count + k] *
                                    static_cast<float>(p.at(rows.first[y] + k, columns.first[x] + j)[c]);
              column += product;
            }
            float const product = columns.weights[x * columns.count + j] * column;
            sum += product;
          }
          wanted.push_back(static_cast<std::uint8_t>(sum < 255 ? sum : 255.0F));
        }
    INFO(width << "x" << height << " to " << to_width << "x" << to_height);
    CHECK(dsl::resized(p, to_width, to_height).pixels == wanted);
  }
}

TEST_CASE("pictures: planes, red first, minus the mean", "[pictures]") {
  dsl::rgb_picture const two{2, 1, {1, 2, 3, 40, 50, 60}};
  std::vector<float> out(6);
  std::vector<float> const mean{1, 2, 3, 4, 5, 6};
  dsl::to_planes(two, nullptr, out.data());
  CHECK(out == std::vector<float>{1, 40, 2, 50, 3, 60});
  dsl::to_planes(two, mean.data(), out.data());
  CHECK(out == std::vector<float>{0, 38, -1, 46, -2, 54});
}
