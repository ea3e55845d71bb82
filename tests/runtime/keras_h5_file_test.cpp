// SPDX-License-Identifier: MIT
// Tests files that Keras would not have written, some of them malicious. Each is refused with its kind of fault, its
// name and the dataset's name, or read correctly; no link is followed out of the file.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/keras_h5/write.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace h5 = dsl::keras_h5;
using h5::fault;
using h5::detail::handle;
using strings = std::vector<std::string>;
using shape = std::vector<std::uint64_t>;

namespace {

std::string const kernel = "layers/dense/vars/0";
shape const kernel_shape{2, 3};
std::vector<float> const numbers{1, 2, 3, 4, 5, 6};

/// A file with one dense layer, written by typenet and then changed with HDF5.
struct changed {
  dsl::test::temporary_directory here{};
  std::string path = here / "x.weights.h5";
  changed() { h5::write(path, {{"layers/dense", {{kernel_shape, numbers}, {{3}, {7, 8, 9}}}}}); }

  handle open() const { return {H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose}; }
  /// Replaces the kernel by another dataset; `fill` gets its creation properties and may write.
  void replace(hid_t type, std::vector<hsize_t> const& dims, void const* data,
               std::function<void(hid_t)> const& properties = {}) const {
    handle const file = open(), how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (properties) properties(how.id());
    REQUIRE(H5Ldelete(file.id(), kernel.c_str(), H5P_DEFAULT) >= 0);
    handle const space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    handle const set(H5Dcreate2(file.id(), kernel.c_str(), type, space.id(), H5P_DEFAULT, how.id(), H5P_DEFAULT),
                     H5Dclose);
    REQUIRE(set);
    if (data) REQUIRE(H5Dwrite(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  }
  void unlink(std::string const& name) const { CHECK(H5Ldelete(open().id(), name.c_str(), H5P_DEFAULT) >= 0); }

  std::vector<float> read() const { return h5::file(path).read(kernel, kernel_shape); }
  /// Checks that reading is refused and, for links, that looking for the dataset and listing are refused, too.
  void refused(fault which, std::string const& dataset, std::string const& words, bool listed = false) const {
    auto const says = [&](auto what) {
      std::string said = "nothing: it was accepted", name;
      int found = -1;
      try {
        what(h5::file(path));
      } catch (h5::format_error const& e) {
        said = e.what(), name = e.dataset;
        found = static_cast<int>(e.which);
      }
      INFO(said);
      CHECK(found == static_cast<int>(which));
      CHECK(name == dataset);
      CHECK(said.starts_with("keras_h5: " + path + " "));
      CHECK(said.find(words) != std::string::npos);
      CHECK(said.size() < path.size() + 300);
    };
    says([](h5::file const& f) { f.read(kernel, kernel_shape); });
    if (listed) says([](h5::file const& f) { f.datasets("layers"); });
    if (listed) says([](h5::file const& f) { f.has(kernel); });
  }
};

std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("keras_h5: links are followed nowhere", "[keras_h5]") {
  // The other file contains the requested dataset, so that following the link would succeed.
  changed const other;
  for (std::string const& name : {kernel, std::string("layers/dense"), std::string("layers")}) {
    std::string const at = "\"" + name + "\" itself; found ";
    changed external, soft, dangling;
    external.unlink(name);
    CHECK(H5Lcreate_external(other.path.c_str(), name.c_str(), external.open().id(), name.c_str(), H5P_DEFAULT,
                             H5P_DEFAULT) >= 0);
    external.refused(fault::link, name, at + "a link to another file", true);
    CHECK(H5Lmove(soft.open().id(), name.c_str(), soft.open().id(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Lcreate_soft("/elsewhere", soft.open().id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0);
    soft.refused(fault::link, name, at + "a soft link", true);
    dangling.unlink(name);
    CHECK(H5Lcreate_soft("/nowhere", dangling.open().id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0);
    dangling.refused(fault::link, name, at + "a soft link", true);
  }
}

TEST_CASE("keras_h5: groups that lead back to themselves have an end", "[keras_h5]") {
  changed c;
  for (char const* name : {"layers/a", "layers/b"})
    CHECK(H5Lcreate_hard(c.open().id(), "layers", c.open().id(), name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  try {
    h5::file(c.path).datasets("layers");
    FAIL("it was accepted");
  } catch (h5::format_error const& e) {
    CHECK(e.which == fault::damaged);
    CHECK(std::string(e.what()).find("has endlessly nested groups below ") != std::string::npos);
  }
  CHECK(c.read() == numbers);
}

TEST_CASE("keras_h5: listing a small file takes little memory", "[keras_h5]") {
  // Each level has two names, so that 28 links are 16,384 datasets, whose names take 230 MB.
  changed c;
  std::string const longest(1024, 'n');
  {
    handle const file = c.open();
    REQUIRE(handle(H5Gcreate2(file.id(), "below", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose));
    REQUIRE(H5Lcreate_hard(file.id(), kernel.c_str(), file.id(), "below/0", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    for (int level = 0; level < 14; ++level) {
      handle const above(H5Gcreate2(file.id(), "above", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      for (char last : {'a', 'b'})
        REQUIRE(H5Lcreate_hard(file.id(), "below", above.id(), (longest.substr(1) + last).c_str(), H5P_DEFAULT,
                               H5P_DEFAULT) >= 0);
      REQUIRE(H5Ldelete(file.id(), "below", H5P_DEFAULT) >= 0);
      REQUIRE(H5Lmove(file.id(), "above", file.id(), "below", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    REQUIRE(H5Lmove(file.id(), "below", file.id(), "layers/two", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  CHECK(std::filesystem::file_size(c.path) < 200'000);
  auto const refused = [](auto list, std::string const& words) {
    std::string said = "nothing: it was accepted";
    try {
      list();
    } catch (h5::format_error const& e) {
      said = e.what();
      CHECK(e.which == fault::damaged);
    }
    INFO(said);
    CHECK(said.find(words) != std::string::npos);
  };
  refused([&] { h5::file(c.path).datasets("layers"); }, "has endlessly nested groups below ");
  CHECK(c.read() == numbers);

  changed named;
  REQUIRE(H5Lmove(named.open().id(), "layers/dense/vars/1", named.open().id(), ("layers/dense/vars/" + longest).c_str(),
                  H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(h5::file(named.path).datasets("layers") == strings{kernel, "layers/dense/vars/" + longest});
  REQUIRE(H5Lmove(named.open().id(), kernel.c_str(), named.open().id(), ("layers/dense/vars/" + longest + "n").c_str(),
                  H5P_DEFAULT, H5P_DEFAULT) >= 0);
  std::string const words = "must have names of at most 1024 bytes in \"layers/dense/vars\"; found a longer one";
  refused([&] { h5::file(named.path).datasets("layers"); }, words);
  refused([&] { h5::file(named.path).names_in("layers/dense/vars"); }, words);
}

TEST_CASE("keras_h5: numbers must be in this file, in one piece, and all there", "[keras_h5]") {
  std::string const one_piece = "must store the numbers of \"" + kernel + "\" contiguously; found ";
  changed const other;
  changed view, outside, chunks, packed, promised;
  view.replace(H5T_IEEE_F32LE, {2, 3}, nullptr, [&](hid_t how) {
    hsize_t const dims[] = {2, 3};
    handle const space(H5Screate_simple(2, dims, nullptr), H5Sclose);
    CHECK(H5Pset_virtual(how, space.id(), other.path.c_str(), kernel.c_str(), space.id()) >= 0);
  });
  view.refused(fault::storage, kernel, one_piece + "a view of other datasets");
  std::ofstream(outside.here / "numbers", std::ios::binary).write(reinterpret_cast<char const*>(numbers.data()), 24);
  outside.replace(H5T_IEEE_F32LE, {2, 3}, nullptr,
                  [&](hid_t how) { CHECK(H5Pset_external(how, (outside.here / "numbers").c_str(), 0, 24) >= 0); });
  outside.refused(fault::storage, kernel, one_piece + "numbers in another file");
  auto const in_chunks = [](hid_t how) {
    hsize_t const dims[] = {2, 3};
    CHECK(H5Pset_chunk(how, 2, dims) >= 0);
  };
  chunks.replace(H5T_IEEE_F32LE, {2, 3}, numbers.data(), in_chunks);
  chunks.refused(fault::storage, kernel,
                 one_piece + "chunks, which may be compressed; repack the file with contiguous storage");
  packed.replace(H5T_IEEE_F32LE, {2, 3}, numbers.data(), [&](hid_t how) {
    in_chunks(how);
    CHECK(H5Pset_shuffle(how) >= 0);
  });
  packed.refused(fault::storage, kernel, one_piece + "chunks");
  promised.replace(H5T_IEEE_F32LE, {2, 3}, nullptr);  // HDF5 would return zeros
  promised.refused(fault::storage, kernel, " bytes of \"" + kernel + "\"; found 0;");

  changed compact;
  compact.replace(H5T_IEEE_F32LE, {2, 3}, numbers.data(),
                  [](hid_t how) { CHECK(H5Pset_layout(how, H5D_COMPACT) >= 0); });
  CHECK(compact.read() == numbers);
}

TEST_CASE("keras_h5: shapes are the network's, whatever a file declares", "[keras_h5]") {
  std::string const wanted = "\"" + kernel + "\" with shape [2, 3]; found ";
  for (auto const& [dims, shown] :
       {std::pair<std::vector<hsize_t>, std::string>{{3, 2}, "[3, 2]"},
        {{6}, "[6]"},
        {{}, "[]"},
        {{2, 3, 1}, "[2, 3, 1]"},
        {{0, 3}, "[0, 3]"},
        {{1ULL << 31, 1ULL << 29}, "[2147483648, 536870912]"}}) {  // 4 EiB that were never stored
    changed c;
    c.replace(H5T_IEEE_F32LE, dims, nullptr);
    c.refused(fault::shape, kernel, wanted + shown);
  }
  changed bomb, none;
  bomb.replace(H5T_IEEE_F32LE, {1ULL << 30, 1ULL << 20}, nullptr, [](hid_t how) {
    hsize_t const dims[] = {1024, 1024};
    CHECK(H5Pset_chunk(how, 2, dims) >= 0);
  });
  bomb.refused(fault::storage, kernel, "chunks");
  none.unlink(kernel);
  {
    handle const file = none.open(), space(H5Screate(H5S_NULL), H5Sclose);
    handle const set(
        H5Dcreate2(file.id(), kernel.c_str(), H5T_IEEE_F32LE, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
  }
  none.refused(fault::shape, kernel, wanted + "no shape");
}

TEST_CASE("keras_h5: numbers of other types", "[keras_h5]") {
  std::string const wanted = "\"" + kernel + "\" in float32, float16 or bfloat16; found ";
  std::vector<double> const wide(6, 1.0);
  std::vector<int> const whole(6, 1);
  changed doubles, integers, strange;
  doubles.replace(H5T_IEEE_F64LE, {2, 3}, wide.data());
  doubles.refused(fault::dtype, kernel,
                  wanted + "numbers of 64 bits; save it as float32 in the program that wrote the file");
  integers.replace(H5T_NATIVE_INT, {2, 3}, whole.data());
  integers.refused(fault::dtype, kernel, wanted + "integers");
  handle const opaque(H5Tcreate(H5T_OPAQUE, 2), H5Tclose);
  strange.replace(opaque.id(), {2, 3}, whole.data());
  strange.refused(fault::dtype, kernel, wanted + "something else");  // no attribute says that it is bfloat16

  changed turned;
  std::vector<std::uint32_t> bits;
  for (float f : numbers) bits.push_back(__builtin_bswap32(std::bit_cast<std::uint32_t>(f)));
  turned.replace(H5T_IEEE_F32BE, {2, 3}, bits.data());
  CHECK(turned.read() == numbers);
}

TEST_CASE("keras_h5: every float16 and bfloat16 comes exactly", "[keras_h5]") {
  std::vector<std::uint16_t> all(65'536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  auto const bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };

  handle const half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(half.id(), 15, 10, 5, 0, 10);
  H5Tset_size(half.id(), 2);
  H5Tset_ebias(half.id(), 15);
  changed halves;
  halves.replace(half.id(), {65'536}, all.data());
  std::vector<float> const found = h5::file(halves.path).read(kernel, {65'536});
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint32_t const exponent = i >> 10 & 31, fraction = i & 1023;
    double const size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    if (exponent == 31)
      REQUIRE(bits(found[i]) == ((i & 0x8000U) << 16 | 0x7f800000U | fraction << 13));
    else
      REQUIRE((found[i] == (i < 32'768 ? size : -size) && std::signbit(found[i]) == (i >= 32'768)));
  }

  for (char const* said : {"bfloat16", "float16"}) {  // as Keras writes it, and otherwise
    handle const opaque(H5Tcreate(H5T_OPAQUE, 2), H5Tclose), text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.id(), H5T_VARIABLE);
    changed brain;
    brain.replace(opaque.id(), {65'536}, all.data());
    {
      handle const file = brain.open(), set(H5Dopen2(file.id(), kernel.c_str(), H5P_DEFAULT), H5Dclose);
      handle const space(H5Screate(H5S_SCALAR), H5Sclose);
      handle const attribute(H5Acreate2(set.id(), "dtype", text.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
      REQUIRE(H5Awrite(attribute.id(), text.id(), static_cast<void const*>(&said)) >= 0);
    }
    if (std::string(said) == "float16") {
      CHECK_THROWS_AS(h5::file(brain.path).read(kernel, {65'536}), h5::format_error);
      continue;
    }
    std::vector<float> const uppers = h5::file(brain.path).read(kernel, {65'536});
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(bits(uppers[i]) == i << 16);
  }
}

TEST_CASE("keras_h5: groups and datasets in each other's place", "[keras_h5]") {
  changed group, dataset, gone;
  group.unlink(kernel);
  CHECK(handle(H5Gcreate2(group.open().id(), kernel.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose));
  group.refused(fault::wrong_kind, kernel, "a dataset \"" + kernel + "\"; found none");
  {
    handle const file = dataset.open(), space(H5Screate(H5S_SCALAR), H5Sclose);
    REQUIRE(H5Ldelete(file.id(), "layers/dense/vars", H5P_DEFAULT) >= 0);
    handle const set(
        H5Dcreate2(file.id(), "layers/dense/vars", H5T_IEEE_F32LE, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
  }
  dataset.refused(fault::wrong_kind, kernel, "a group that contains \"" + kernel + "\"; found a dataset in its place");
  gone.unlink(kernel);
  gone.refused(fault::wrong_kind, kernel, "found none");
  CHECK_FALSE(h5::file(gone.path).has(kernel));
  CHECK(h5::file(gone.path).datasets("layers") == strings{"layers/dense/vars/1"});
  CHECK(h5::file(gone.path).datasets("none").empty());
}

TEST_CASE("keras_h5: random numbers' states are not weights", "[keras_h5]") {
  changed c;
  {
    handle const file = c.open(), space(H5Screate(H5S_SCALAR), H5Sclose), links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.id(), 1);
    handle const set(H5Dcreate2(file.id(), "layers/dropout/seed_generator/vars/0", H5T_NATIVE_UINT, space.id(),
                                links.id(), H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose);
  }
  CHECK(h5::file(c.path).datasets("layers") == strings{kernel, "layers/dense/vars/1"});
}

TEST_CASE("keras_h5: what is no such file", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  auto const refused = [&](std::string const& bytes, std::string const& words) {
    std::ofstream(here / "x", std::ios::binary) << bytes;
    std::string said;
    try {
      h5::file const f(here / "x");
    } catch (h5::format_error const& e) {
      said = e.what();
      CHECK(e.which == fault::not_hdf5);
    }
    INFO(said);
    CHECK(said.starts_with("keras_h5: " + (here / "x") + " must be an HDF5 file; found " + words));
  };
  refused("", "\"");
  refused("weights", "\"");
  refused("PK\3\4 and so on", "an archive: a .keras file has model.weights.h5 inside");
  CHECK_THROWS_AS(h5::file(here / "none"), dsl::file_error);
  CHECK_THROWS_AS(h5::file(here.path.string()), dsl::file_error);
  CHECK_THROWS_AS(h5::file("/dev/null"), dsl::file_error);
}

TEST_CASE("keras_h5: HDF5 says nothing on stderr, and afterwards does again", "[keras_h5]") {
  H5E_auto2_t before = nullptr, after = nullptr;
  void *data = nullptr, *same = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  REQUIRE(before != nullptr);
  changed c;
  {
    h5::file const f(c.path);
    CHECK_THROWS_AS(h5::file("/dev/null"), dsl::file_error);
    CHECK_THROWS_AS(f.read("layers/none", {1}), h5::format_error);
  }
  H5Eget_auto2(H5E_DEFAULT, &after, &same);
  CHECK(after == before);
  CHECK(same == data);
}

TEST_CASE("keras_h5: a file that is cut short is refused", "[keras_h5]") {
  changed c;
  std::string const good = bytes_of(c.path);
  int read = 0;
  for (std::size_t size = 0; size < good.size(); size += 7) {
    std::ofstream(c.path, std::ios::binary) << good.substr(0, size);
    try {
      c.read();
      ++read;
    } catch (h5::format_error const&) {
    }
  }
  CHECK(read == 0);
}
