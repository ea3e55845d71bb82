// SPDX-License-Identifier: MIT
// Tests the format's rules, case by case, with the tests and attacks of its own library: files that it accepts are
// read, files that it refuses are refused, and so are some that only a careful reader refuses.
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/temporary_directory.hpp"

#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/safetensors/write.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

namespace st = dsl::safetensors;
using namespace std::string_literals;
using st::dtype;
using st::fault;

namespace {

/// Returns a file: the length of the header, the header, the data.
std::string file_of(std::string const& header, std::string const& data = {}) {
  std::uint64_t const length = header.size();
  return std::string(reinterpret_cast<char const*>(&length), sizeof length) + header + data;
}
std::string zeros(std::size_t count) { return std::string(count, '\0'); }

/// Checks that a file is refused with this fault and a message that names the file and contains these words.
void refused(std::string const& bytes, fault which, std::string const& words = {}) {
  std::string said = "nothing: it was accepted";
  int found = -1;
  try {
    st::read_contents(bytes, "some.file");
  } catch (st::format_error const& e) {
    said = e.what();
    found = static_cast<int>(e.which);
  }
  INFO(said);
  CHECK(found == static_cast<int>(which));
  CHECK(said.starts_with("safetensors: some.file "));
  CHECK(said.ends_with("; give another file"));
  CHECK(said.size() < 400);
  CHECK(said.find(words) != std::string::npos);
}
void header_refused(std::string const& header, fault which, std::string const& words = {}) {
  INFO(header.substr(0, 200));
  refused(file_of(header, zeros(16)), which, words);
}
st::contents accepted(std::string const& bytes) { return st::read_contents(bytes, "some.file"); }

std::string const square = R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})";

}  // namespace

TEST_CASE("safetensors: what the format's own tests accept", "[safetensors]") {
  st::contents const four = accepted("<\0\0\0\0\0\0\0"s + square + zeros(16));
  REQUIRE(four.tensors.size() == 1);
  CHECK(four.tensors[0].name == "test");
  CHECK(four.tensors[0].type == dtype::i32);
  CHECK(four.tensors[0].shape == std::vector<std::uint64_t>{2, 2});
  CHECK(four.data_begin == 68);
  CHECK(four.find("test") == &four.tensors[0]);
  CHECK(four.find("tes") == nullptr);
  CHECK(four.find("test2") == nullptr);

  st::contents const scalar =
      accepted(file_of(R"({"test":{"dtype":"I32","shape":[],"data_offsets":[0,4]}})", zeros(4)));
  CHECK(scalar.tensors[0].shape.empty());
  CHECK(scalar.tensors[0].end == 4);
  st::contents const none = accepted(file_of(R"({"test":{"dtype":"I32","shape":[2,0],"data_offsets":[0, 0]}})"));
  CHECK(none.tensors[0].shape == std::vector<std::uint64_t>{2, 0});
  CHECK(accepted(file_of("{}\r \t\n")).tensors.empty());
  CHECK(accepted(file_of("\t\n{}\r ")).tensors.empty());

  st::contents const odd = accepted(file_of(
      R"({"b":{"data_offsets":[4,5],"shape":[2],"dtype":"F4"},"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("__metadata__":{"z":"","a":"\u00e4\"\n"},"n":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
      zeros(5)));
  REQUIRE(odd.tensors.size() == 3);  // in the order of their data, not of the header
  CHECK(odd.tensors[0].name.empty());
  CHECK(odd.tensors[1].name == "n");
  CHECK(odd.tensors[2].name == "b");
  CHECK(odd.metadata == st::text_by_name{{"a", "\u00e4\"\n"}, {"z", ""}});

  for (int t = 0; t <= static_cast<int>(dtype::u64); ++t) {
    std::string const bytes = std::to_string(st::dtypes[t].bits);  // for eight numbers
    CHECK(accepted(file_of(R"({"x":{"dtype":")"s + st::dtypes[t].name + R"(","shape":[4,2],"data_offsets":[0,)" +
                               bytes + "]}}",
                           zeros(static_cast<std::size_t>(st::dtypes[t].bits))))
              .tensors[0]
              .type == static_cast<dtype>(t));
  }
}

TEST_CASE("safetensors: what the format's own tests refuse", "[safetensors]") {
  std::string ten = "{";
  for (int i = 0; i < 10; ++i)
    ten += (i > 0 ? "," : "") + ("\"weight_" + std::to_string(i)) +
           R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  header_refused(ten + "}", fault::bad_offset, "must begin at byte 16 of the data; found bytes 0 to 16");
  refused(file_of(square, zeros(16) + "extra_bogus_data_for_polyglot_file"), fault::incomplete_data,
          "must have 16 bytes after its header; found 50");
  refused(file_of(square, zeros(14)), fault::incomplete_data, "found 14");
  refused("<\0\0\0\0\xff\xff\xff"s + square + zeros(16), fault::header_too_large,
          "at most 100000000; found 18446742974197923900: it is probably a file of another");
  refused("typenet checkpoint 3" + zeros(16), fault::header_too_large, "typenet's own: load_weights reads it");
  refused("", fault::header_too_small, "found 0 bytes");
  refused("\1\0\0\0\0\0\0"s, fault::header_too_small, "found 7 bytes");
  refused("<\0\0\0\0\0\0\0"s, fault::header_length, "must have a header of 60 bytes; found 0");
  refused("\1\0\0\0\0\0\0\0\xff"s, fault::not_utf8);
  refused("\1\0\0\0\0\0\0\0{"s, fault::not_json, "at byte 9");
  header_refused(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0, 4]}})", fault::size_mismatch,
                 "of I32 [2, 2] must have 16 bytes; found 4");
  header_refused(R"({"test":{"dtype":"I32","shape":[2,18446744073709551614],"data_offsets":[0,16]}})", fault::overflow);
  header_refused(R"({"test":{"dtype":"I32","shape":[2,9223372036854775807],"data_offsets":[0,16]}})", fault::overflow);
  header_refused(R"({"test":{"dtype":"I32","shape":[2,2305843009213693952],"data_offsets":[0,16]}})", fault::overflow);
  header_refused(R"({"test":{"dtype":"F4","shape":[1,3],"data_offsets":[0,1]}})", fault::part_of_a_byte);
  header_refused(R"({"test":{"dtype":"F6_E2M3","shape":[3],"data_offsets":[0,2]}})", fault::part_of_a_byte);
}

TEST_CASE("safetensors: its attacks", "[safetensors]") {
  std::string lengthened = file_of(square, zeros(16));
  lengthened[0] = static_cast<char>(1000 & 255), lengthened[1] = static_cast<char>(1000 >> 8);
  refused(lengthened, fault::header_length);
  std::string many = "{";  // each might claim the same bytes: a small file that would fill the memory
  for (int i = 0; i < 20'000; ++i)
    many += (i > 0 ? "," : "") + ("\"weight_" + std::to_string(i)) +
            R"(":{"dtype":"F32","shape":[200,200],"data_offsets":[0,160000]})";
  refused(file_of(many + "}", zeros(160'000)), fault::bad_offset);
  for (std::uint64_t length : {~0ULL, ~0ULL - 7, ~0ULL - 8, 1ULL << 63, 100'000'001ULL}) {
    std::string huge = file_of(square, zeros(16));
    std::memcpy(huge.data(), &length, sizeof length);
    refused(huge, fault::header_too_large);
  }
}

TEST_CASE("safetensors: a header's names are counted before they fill memory", "[safetensors]") {
  if (dsl::test::only_a_sample()) return;  // a million names run the same code as a few
  auto const many = [](int count, char const* prefix, std::string const& value) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i > 0 ? ",\"" : "\"") + (prefix + std::to_string(i)) + "\":" + value;
    return all;
  };
  std::string const empty = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  auto const both = [&](int tensors) {
    return R"({"__metadata__":{)" + many(499'999, "", "\"\"") + "}," + many(tensors, "t", empty) + "}";
  };
  CHECK(accepted(file_of(both(500'000))).tensors.size() == 500'000);  // __metadata__ counts as a name
  refused(file_of(both(500'001)), fault::header_too_large, "must have at most 1000000 names; found more");
  refused(file_of(R"({"__metadata__":{)" + many(1'000'000, "", "\"\"") + "}}"), fault::header_too_large);
  st::text_by_name more(1'000'000);
  for (std::size_t i = 0; i < more.size(); ++i) more[i].first = std::to_string(i);
  CHECK_THROWS_AS(st::serialize({}, more), dsl::option_error);
  more.pop_back();
  CHECK(accepted(st::serialize({}, more)).metadata.size() == 999'999);
}

TEST_CASE("safetensors: JSON that is not the format's", "[safetensors]") {
  auto const tensor = [](std::string const& fields) { return R"({"test":{)" + fields + "}}"; };
  std::string const type = R"("dtype":"I32")", shape = R"("shape":[2,2])", offsets = R"("data_offsets":[0,16])";
  auto const comma = [](auto const&... parts) {
    std::string all;
    ((all += (all.empty() ? "" : ",") + parts), ...);
    return all;
  };
  CHECK(accepted(file_of(tensor(comma(offsets, type, shape)), zeros(16))).tensors.size() == 1);

  header_refused(tensor(comma(type, shape)), fault::bad_info, "one is missing");
  header_refused(tensor(comma(type, offsets)), fault::bad_info);
  header_refused(tensor(comma(shape, offsets)), fault::bad_info);
  header_refused(tensor(""), fault::bad_info);
  header_refused(tensor(comma(type, shape, offsets, R"("more":1)"s)), fault::bad_info, "found \"more\"");
  header_refused(tensor(comma(type, type, shape, offsets)), fault::duplicate_name, "two dtype");
  header_refused(tensor(comma(type, shape, offsets, offsets)), fault::duplicate_name);
  header_refused(tensor(comma(R"("dtype":"i32")"s, shape, offsets)), fault::unknown_dtype, "found \"i32\"");
  header_refused(tensor(comma(R"("dtype":7)"s, shape, offsets)), fault::bad_info);
  header_refused(tensor(comma(R"("dtype":["I32"])"s, shape, offsets)), fault::bad_info);
  for (char const* bad : {"2", "{}", "null", "[null]", "[[2]]", "[-1]", "[-0]", "[2.0]", "[2e0]", "[\"2\"]", "[true]",
                          "[18446744073709551616]"})
    header_refused(tensor(comma(type, R"("shape":)" + std::string(bad), offsets)), fault::bad_info,
                   "a shape of integers of at least 0; found ");
  for (char const* bad : {"16", "[]", "[0]", "[0,16,16]", "[0,-16]", "[0,16.0]", "{}", "[[0,16]]", "[0,1e1]"})
    header_refused(tensor(comma(type, shape, R"("data_offsets":)" + std::string(bad))), fault::bad_info,
                   "data_offsets");
  std::string axes = "[1";
  for (int i = 0; i < 64; ++i) axes += ",1";
  header_refused(tensor(comma(type, R"("shape":)" + axes + "]", offsets)), fault::bad_info, "at most 64 axes");
  for (char const* bad : {"1", "null", "[]", "\"text\"", "true"})
    header_refused(R"({"test":)"s + bad + "}", fault::bad_info);

  header_refused(R"({"__metadata__":1})", fault::bad_metadata);
  header_refused(R"({"__metadata__":null})", fault::bad_metadata);
  header_refused(R"({"__metadata__":{"a":1}})", fault::bad_metadata);
  header_refused(R"({"__metadata__":{"a":{"b":"c"}}})", fault::bad_metadata);
  header_refused(R"({"__metadata__":{"a":"1","a":"2"}})", fault::duplicate_name);
  header_refused(R"({"__metadata__":{},"__metadata__":{}})", fault::duplicate_name);
  header_refused(R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},)"
                 R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[16,16]}})",
                 fault::duplicate_name, "two \"a\"");

  for (std::string const& bad : {"[]"s,
                                 "1"s,
                                 "\"a\""s,
                                 "null"s,
                                 ""s,
                                 "  "s,
                                 "{"s,
                                 "{}{}"s,
                                 "{},"s,
                                 "{'a':1}"s,
                                 "{\"a\"}"s,
                                 "{/**/}"s,
                                 "{} //"s,
                                 "\xef\xbb\xbf{}"s,
                                 "{}\0"s,
                                 "{}\0{\"hidden\":1}"s,
                                 "\0{}"s,
                                 "\v{}"s,
                                 "{\"a\nb\":1}"s,
                                 "{\"\\ud800\":1}"s,
                                 "{\"a\":NaN}"s,
                                 "{\"a\":1e999}"s})
    header_refused(bad, fault::not_json);
  header_refused("{\"a\":01}", fault::bad_info);
  header_refused(std::string(100'000, '['), fault::not_json);
  header_refused("{\"a\":" + std::string(100'000, '['), fault::bad_info);
  header_refused("{\"" + std::string(100'000, 'a'), fault::not_json);
  header_refused(R"({")" + std::string(100'000, 'a') + R"(":1})", fault::bad_info, "aaaa...\"");
  header_refused(R"({"\u001b[2J\n":1})", fault::bad_info, "\"?[2J?\"");
  for (std::string const& bad :
       {"\xc0\xaf"s, "\xe0\x80\xaf"s, "\xed\xa0\x80"s, "\xf0\x80\x80\xaf"s, "\xf4\x90\x80\x80"s,
        "\xf8\x88\x80\x80\x80"s, "\x80"s, "\xc3"s, "\xe2\x82"s, "\xf0\x9f\x98"s, "\xff"s})
    header_refused("{\"" + bad + "\":1}", fault::not_utf8);
}

TEST_CASE("safetensors: tensors share no byte and leave none out", "[safetensors]") {
  auto const two = [](std::string const& a, std::string const& b) {
    return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + b + "}}";
  };
  CHECK(accepted(file_of(two("[8,16]", "[0,8]"), zeros(16))).tensors[0].name == "b");
  header_refused(two("[0,8]", "[0,8]"), fault::bad_offset);
  header_refused(two("[0,8]", "[7,15]"), fault::bad_offset);
  header_refused(two("[0,8]", "[9,17]"), fault::bad_offset);
  header_refused(two("[1,9]", "[9,17]"), fault::bad_offset, "must begin at byte 0");
  header_refused(two("[0,8]", "[8,0]"), fault::bad_offset);
  header_refused(two("[0,8]", "[8,15]"), fault::size_mismatch);
  header_refused(two("[0,8]", "[18446744073709551608,18446744073709551615]"), fault::bad_offset);
  header_refused("{}", fault::incomplete_data);
}

TEST_CASE("safetensors: writes the bytes that the format's own library writes", "[safetensors]") {
  float const numbers[] = {0, 1, 2, 3, 4, 5};
  std::string_view const bytes{reinterpret_cast<char const*>(numbers), sizeof numbers};
  CHECK(st::serialize({{"attn.0", dtype::f32, {1, 2, 3}, bytes}}) ==
        "\x40\0\0\0\0\0\0\0"s + R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})" +
            std::string(bytes));
  CHECK(st::serialize({{"attn0", dtype::f32, {1, 1, 2, 3}, bytes}}) ==
        "\x48\0\0\0\0\0\0\0"s + R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       )" +
            std::string(bytes));
  CHECK(st::serialize({{"attn.0", dtype::f4, {1, 2}, bytes.substr(4, 1)}}) ==
        "\x40\0\0\0\0\0\0\0"s + R"({"attn.0":{"dtype":"F4","shape":[1,2],"data_offsets":[0,1]}}    )" + "\0"s);
  CHECK(st::serialize({}) == "\x08\0\0\0\0\0\0\0{}      "s);
  CHECK(st::serialize({}, {{"framework", "pt"}}) ==
        "\x28\0\0\0\0\0\0\0{\"__metadata__\":{\"framework\":\"pt\"}}     "s);
  // Larger types come first, then names in order; texts are quoted as in JSON.
  std::string const sorted = st::serialize(
      {{"b", dtype::u8, {1}, "b"}, {"a\"\n\x1f\u00e4/\x7f", dtype::u8, {1}, "a"}, {"c", dtype::i16, {1}, "cc"}});
  std::string json = R"({"c":{"dtype":"I16","shape":[1],"data_offsets":[0,2]},"a\"\n\u001f)"s + "\u00e4/\x7f" +
                     R"(":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                     R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  CHECK(sorted == file_of(json, "ccab"));
  CHECK(accepted(sorted).tensors.size() == 3);
}

TEST_CASE("safetensors: what can't be in a file is not written", "[safetensors]") {
  dsl::test::temporary_directory const here;
  auto const refuse = [&](std::vector<st::source> const& tensors, st::text_by_name const& metadata = {},
                          char const* words = "") {
    CHECK_THROWS_AS(st::serialize(tensors, metadata), dsl::option_error);
    CHECK_THROWS_WITH(st::serialize(tensors, metadata), Catch::Matchers::Contains(words));
    CHECK_THROWS_AS(st::write(here / "x", tensors, metadata), dsl::option_error);
    CHECK(here.empty());
  };
  refuse({{"a", dtype::f32, {3, 4}, std::string(12, 'a')}}, {}, "F32 [3, 4] must have 48 bytes; found 12");
  refuse({{"a", dtype::f4, {3}, "a"}}, {}, "F4 [3] must take a whole number of bytes");
  refuse({{"a", dtype::u8, {1ULL << 63, 2}, ""}}, {}, "must take a whole number of bytes, below 2^64");
  refuse({{"a", dtype::u8, {1}, "a"}, {"a", dtype::i16, {1}, "aa"}});
  refuse({{"__metadata__", dtype::u8, {1}, "a"}});
  refuse({{"\xff", dtype::u8, {1}, "a"}});
  refuse({{"a", dtype::u8, std::vector<std::uint64_t>(65, 1), "a"}});
  refuse({}, {{"a", "1"}, {"a", "2"}});
  refuse({}, {{"a", "\xc3"}});
  refuse({}, {{"\xc3", "a"}});
  CHECK_THROWS_AS(st::serialize({{std::string(100'000'000, 'a'), dtype::u8, {1}, "a"}}), dsl::option_error);
  CHECK_THROWS_AS(st::write(here / "no/x", {}), dsl::file_error);
}

TEST_CASE("safetensors: a file may be replaced while it is read from", "[safetensors]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "x.safetensors", first(4096, 'a'), second(8192, 'b');
  st::write(path, {{"x", dtype::u8, {4096}, first}});
  st::file const before(path);
  std::string_view const old = before.bytes(before.tensors()[0]);
  st::write(path, {{"x", dtype::u8, {4096}, old}, {"y", dtype::u8, {8192}, second}}, {{"k", "v"}});
  CHECK(old == first);
  st::file const after(path);
  CHECK(after.bytes(*after.find("x")) == first);
  CHECK(after.bytes(*after.find("y")) == second);
  CHECK(after.metadata() == st::text_by_name{{"k", "v"}});
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);

  CHECK_THROWS_AS(st::file(here / "none"), dsl::file_error);
  CHECK_THROWS_AS(st::file(here.path.string()), dsl::file_error);
  std::ofstream(here / "empty").close();
  CHECK_THROWS_AS(st::file(here / "empty"), st::format_error);
}

TEST_CASE("safetensors: damaged and random files are read or refused, and never crash", "[safetensors]") {
  float const numbers[] = {0, 1, 2, 3, 4, 5};
  std::string_view const bytes{reinterpret_cast<char const*>(numbers), sizeof numbers};
  std::string const good = st::serialize(
      {{"a.weight", dtype::f32, {2, 3}, bytes}, {"b", dtype::i64, {}, bytes.substr(0, 8)}}, {{"format", "pt"}});
  auto const reads = [](std::string const& all) {
    try {
      st::contents const c = accepted(all);
      std::uint64_t used = c.data_begin;
      for (st::tensor const& t : c.tensors) used += t.end - t.begin;
      CHECK(used == all.size());
      return true;
    } catch (st::format_error const&) {
      return false;
    }
  };
  REQUIRE(reads(good));
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(reads(good.substr(0, size)));
  int read = 0;
  std::size_t const data = good.size() - sizeof numbers - 8;
  for (std::size_t at = 0; at < data; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      read += reads(bad);
    }
  CHECK(read < 200);  // a changed letter in a name or order of axes is still valid
  std::mt19937 random(1);
  char const alphabet[] = "{}[]\":,0123456789adtypeshpofF32\\u\"__metadata__ \n\0\xc3\xa4";
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      std::size_t const at = 8 + random() % (data - 8);
      char const c = alphabet[random() % (sizeof alphabet - 1)];
      switch (random() % 3) {
        case 0: bad[at] = c; break;
        case 1: bad.insert(at, 1, c), bad[0] = static_cast<char>(bad[0] + 1); break;
        default: bad.erase(at, 1), bad[0] = static_cast<char>(bad[0] - 1);
      }
    }
    reads(bad);
  }
}

TEST_CASE("safetensors: numbers of 16 bits become floats exactly", "[safetensors]") {
  for (unsigned h = 0; h < 65536; ++h) {
    auto const half = static_cast<std::uint16_t>(h);
    std::string_view const bytes{reinterpret_cast<char const*>(&half), sizeof half};
    float wide = 0;
    REQUIRE(st::read_floats(dtype::bf16, bytes, &wide));
    REQUIRE(std::bit_cast<std::uint32_t>(wide) == h << 16);
    REQUIRE(st::read_floats(dtype::f16, bytes, &wide));
    int const exponent = static_cast<int>(h >> 10 & 31);
    double const fraction = h & 1023;
    double const size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31)
      REQUIRE((fraction == 0 ? std::isinf(wide) : std::isnan(wide)));
    else
      REQUIRE(static_cast<double>(std::fabs(wide)) == size);
    REQUIRE(std::signbit(wide) == (h > 32767));
  }
  float unchanged = 3;
  CHECK_FALSE(st::read_floats(dtype::i32, "abcd", &unchanged));
  CHECK_FALSE(st::read_floats(dtype::f64, "abcdefgh", &unchanged));
}
