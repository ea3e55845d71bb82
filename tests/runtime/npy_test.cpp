// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <dsl/data/npy.hpp>
#include <dsl/dsl.hpp>
#include "support/temporary_directory.hpp"

// Tests arrays as numpy.save writes them, and files that only resemble them.

namespace {

using namespace dsl;
using namespace dsl::test;

/// Returns a file of format 1.0, 2.0 or 3.0 whose numbers begin at a multiple of 64 bytes, as numpy's do.
std::string file_of(std::string const& header, std::string const& numbers, int version = 1) {
  std::size_t const fixed = version == 1 ? 10 : 12;
  std::string text = header;
  while ((fixed + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string all = "\x93NUMPY";
  all += {static_cast<char>(version), '\0'};
  for (std::size_t i = 0; i < fixed - 8; ++i) all += static_cast<char>(text.size() >> 8 * i & 255);
  return all + text + numbers;
}
std::string header(std::string const& type, std::string const& dims) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + dims + ", }";
}
template <class T>
std::string bytes_of(std::vector<T> const& numbers) {
  std::string all(numbers.size() * sizeof(T), '\0');
  std::memcpy(all.data(), numbers.data(), all.size());
  return all;
}

struct folder {
  temporary_directory here;
  std::string write(char const* name, std::string const& bytes) const {
    std::string const path = (here / name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

template <class F>
void refuses(F f, std::vector<std::string> const& words) {
  try {
    f();
  } catch (data_error const& e) {
    INFO(e.what());
    for (std::string const& word : words) CHECK_THAT(e.what(), Catch::Contains(word));
    return;
  }
  FAIL("nothing was thrown");
}

}  // namespace

TEST_CASE("npy: every type of numbers, in every version of the format") {
  folder const in;
  std::string const labels = in.write("labels.npy", file_of(header("<i8", "(2,)"), bytes_of<std::int64_t>({1, 0})));
  auto const reads = [&]<class T>(char const* type, std::vector<T> const& numbers) {
    for (int version : {1, 2, 3}) {
      INFO(type << " " << version);
      dataset const data =
          read_npy_classes(in.write("x.npy", file_of(header(type, "(2, 3)"), bytes_of(numbers), version)), labels);
      CHECK(data.sample == shape{3});
      CHECK((data.size == 2 && data.classes == 2 && data.label(0) == 1 && data.label(1) == 0));
      for (int i = 0; i < 6; ++i) {
        auto const found = data.has_bytes() ? static_cast<float>(data.pixels(i / 3)[i % 3]) : data.reals(i / 3)[i % 3];
        CHECK(found == static_cast<float>(numbers[static_cast<std::size_t>(i)]));
      }
    }
  };
  reads("<f4", std::vector<float>{0.5F, -1, 2, 3e30F, 0, 7});
  reads("<f8", std::vector<double>{0.5, -1, 2, 3e30, 1.0 / 3, 7});
  reads("|u1", std::vector<std::uint8_t>{0, 1, 127, 128, 255, 3});
  reads("|i1", std::vector<std::int8_t>{0, 1, 127, -128, -1, 3});
  reads("<i2", std::vector<std::int16_t>{0, 1, 32767, -32768, -1, 3});
  reads("<u2", std::vector<std::uint16_t>{0, 1, 32767, 32768, 65535, 3});
  reads("<i4", std::vector<std::int32_t>{0, 1, 127, -128, -2147483647, 3});
  reads("<u4", std::vector<std::uint32_t>{0, 1, 127, 4294967295U, 1, 3});
  reads("<i8", std::vector<std::int64_t>{0, 1, -(1LL << 40), 1LL << 62, -1, 3});
  reads("<u8", std::vector<std::uint64_t>{0, 1, 1ULL << 63, 1, 1, 3});
}

TEST_CASE("npy: shapes of samples, values and labels of pixels") {
  folder const in;
  auto const floats = [&](char const* name, char const* dims, std::size_t count) {
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
    return in.write(name, file_of(header("<f4", dims), bytes_of(numbers)));
  };
  CHECK(read_npy_values(floats("x", "(2, 3, 4, 5)", 120), floats("y", "(2,)", 2)).sample == shape{3, 4, 5});
  CHECK(read_npy_values(floats("x", "(2, 4, 5)", 40), floats("y", "(2,)", 2)).sample == shape{1, 4, 5});
  dataset const rows = read_npy_values(floats("x", "(3,)", 3), floats("y", "(3, 2, 2)", 12));
  CHECK((rows.sample == shape{1} && rows.values == 4 && rows.wanted(2)[3] == 11));
  std::string const maps = in.write("maps", file_of(header("|u1", "(2, 1, 2)"), std::string("\0\1\377\1", 4)));
  dataset const pixels = read_npy_pixel_classes(floats("x", "(2, 1, 2)", 4), maps, 2, 255);
  CHECK((pixels.pixel_classes && pixels.labels(1)[0] == -1 && pixels.labels(1)[1] == 1 && pixels.reals(1)[1] == 3));
  std::string const bytes = in.write("b", file_of(header("|u1", "(2, 3, 1, 2)"), std::string(12, '\7')));
  CHECK(read_npy_pixel_classes(bytes, maps, 2, 255).pixels(1)[5] == 7);
  std::string const names = in.write("n", file_of(header("|u1", "(3, 1)"), std::string("\0\1\1", 3)));
  CHECK(read_npy_classes(floats("x", "(3,)", 3), names, {"a", "b", "c"}).class_name(1) == "b");
}

TEST_CASE("npy: a network learns from files") {
  folder const in;
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) x.insert(x.end(), {i % 7 / 7.0, i % 5 / 5.0}), y.push_back(x[x.size() - 2] - x.back());
  dataset data = read_npy_values(in.write("x.npy", file_of(header("<f8", "(40, 2)"), bytes_of(x))),
                                 in.write("y.npy", file_of(header("<f8", "(40, 1)"), bytes_of(y))));
  normalize(data);
  trainer t = compile<network<features<2>, dense<1>>>(reference{}, adam{.learning_rate = 0.05},
                                                      {.loss = loss::mean_squared_error});
  CHECK(t.fit(data, {.epochs = 60, .batch_size = 8}).epochs.back().train.loss < 1e-3);
}

TEST_CASE("npy: what is no such file, or does not fit, is refused", "[hostile]") {
  folder const in;
  std::string const y = in.write("y", file_of(header("<i4", "(2,)"), bytes_of<std::int32_t>({0, 1})));
  auto const bad = [&](std::string const& bytes, std::vector<std::string> words) {
    std::string const path = in.write("x", bytes);
    words.push_back(path);
    refuses([&] { read_npy_classes(path, y); }, words);
  };
  std::string const six(24, '\0');
  std::string const good = file_of(header("<f4", "(2, 3)"), six);
  CHECK_NOTHROW(read_npy_classes(in.write("x", good), y));
  for (std::size_t size = 0; size < good.size(); ++size)
    refuses([&] { read_npy_classes(in.write("x", good.substr(0, size)), y); }, {"npy: "});
  bad(good + "x", {"numbers of shape [2, 3] with 4 bytes each, as its header says; found 25 bytes; save it again"});
  bad("PK\3\4 and so on", {"numpy.save"});
  bad(file_of(header("<f4", "(2, 3)"), six, 4), {"found 4.0"});
  bad(file_of(header("<f4", "(2, 4)"), six), {"found 24 bytes"});
  bad(file_of(header("<f4", "(4611686018427387904, 4611686018427387904)"), six), {"header"});
  bad(file_of(header("<f4", "(999999999999999, 999999999999999)"), six), {"found 24 bytes"});
  bad(file_of(header("<f4", "(2, -3)"), six), {"header"});
  bad(file_of(header("<f4", "(2, 3"), six), {"header"});
  bad(file_of(header("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6)"), six), {"header"});
  bad(file_of(header("<f4", "(1, 1, 1, 2, 3)"), six), {"(samples, features)", "1x1x1x2x3"});
  bad(file_of(header("<f4", "()"), six.substr(0, 4)), {"one number"});
  bad(file_of(header("<f4", "(0, 3)"), ""), {"no dimension of size 0", "0x3"});
  bad(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", six), {"C order", "ascontiguousarray"});
  bad(file_of("{'descr': '<f4', 'shape': (2, 3), }", six), {"header"});
  bad(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", six), {"plain numbers"});
  bad(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", six), {"header"});
  bad(file_of(header("<f4", "(2, 3)") + "}", six), {"header"});
  for (char const* type : {">f4", "<f2", "|O", "<U3", "<c8", "|b1", "", "\033[31m"})
    bad(file_of(header(type, "(2, 3)"), six), {"little-endian"});
  CHECK_NOTHROW(read_npy_classes(
      in.write("x", file_of("{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", six, 2)), y));
  std::string nan = six;
  std::memcpy(nan.data() + 16, "\0\0\xc0\x7f", 4);
  refuses([&] { read_npy_classes(in.write("x", file_of(header("<f4", "(2, 3)"), nan)), y); }, {"number 1 of sample 1"});
  refuses([&] { read_npy_values(y, in.write("x", file_of(header("<f8", "(2,)"), bytes_of<double>({1, 1e300})))); },
          {"numbers in the range of float", "found 1e+300 as number 0 of sample 1"});

  std::string const x = in.write("x", good);
  auto const labels = [&](char const* type, char const* dims, std::string const& numbers) {
    return in.write("l", file_of(header(type, dims), numbers));
  };
  refuses([&] { read_npy_classes(x, labels("<f4", "(2,)", six.substr(0, 8))); }, {"integers for labels"});
  refuses([&] { read_npy_classes(x, labels("|u1", "(3,)", "abc")); }, {"2 samples", "found 3"});
  refuses([&] { read_npy_classes(x, labels("|u1", "(2, 2)", "abcd")); }, {"one label", "2x2"});
  refuses([&] { read_npy_classes(x, labels("|i1", "(2,)", std::string("\0\377", 2))); },
          {"npy: ", "/l must have labels of 0 to 0; found -1 for sample 1"});
  refuses([&] { read_npy_classes(x, labels("<u8", "(2,)", bytes_of<std::uint64_t>({0, 1ULL << 40}))); },
          {"labels that fit in 32 bits; found 1099511627776 at index 1"});
  refuses([&] { read_npy_classes(x, labels("|u1", "(2,)", std::string("\0\2", 2)), {"a", "b"}); },
          {"/l must have labels of 0 to 1; found 2 for sample 1"});
  // A number is shown as it is in the file, not as the float that it would become.
  std::string const large =
      in.write("large.npy", file_of(header("<f8", "(2, 3)"), bytes_of<double>({0, 0, 0, 0, 1e300, 0})));
  refuses([&] { read_npy_classes(large, labels("|u1", "(2,)", std::string("\0\1", 2))); },
          {"npy: ", "large.npy must have finite numbers in the range of float; found 1e+300 as number 1 of sample 1"});
  refuses([&] { read_npy_values(x, large); }, {"large.npy", "found 1e+300"});
  float const none = std::numeric_limits<float>::quiet_NaN();
  std::string const no_number = in.write("nan.npy", file_of(header("<f4", "(2,)"), bytes_of<float>({0, none})));
  refuses([&] { read_npy_values(no_number, x); }, {"nan.npy", "nan as number 0 of sample 1"});
  // open() would end at the NUL byte, and read another file.
  refuses([&] { read_npy_values(x + std::string("\0z", 2), x); }, {"npy: cannot read ", "has a NUL byte"});
  refuses([&] { read_npy_values(x, labels("<f4", "(2, 0)", "")); }, {"values", "2x0"});
  refuses([&] { read_npy_pixel_classes(x, labels("|u1", "(2, 3)", "abcdef"), 3); }, {"(samples, 1, 1)"});
  refuses([&] { read_npy_classes((in.here / "none"), y); }, {"none", "No such file"});
}
