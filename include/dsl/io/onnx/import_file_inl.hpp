// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_file.hpp>
#include <dsl/io/weight_halves.hpp>
#include <dsl/io/weight_text.hpp>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the name of a TensorProto's data type as onnx.proto has it.
inline std::string onnx_type_name(int type) {
  static constexpr char const* names[] = {"UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
                                          "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
                                          "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
                                          "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
                                          "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1"};
  bool const is_known = type >= 0 && type < static_cast<int>(std::size(names));
  return is_known ? names[type] : "type " + std::to_string(type);
}

TYPENET_INLINE onnx_file::onnx_file(std::string_view bytes, std::string name, std::string folder)
    : name_(std::move(name)), folder_(std::move(folder)) {
  if (bytes.size() > static_cast<std::size_t>(onnx_most_bytes))
    fail(onnx_fault::too_large, "must have at most 2,147,483,647 bytes, protobuf's limit; found " +
                                    std::to_string(bytes.size()) + "; put the weights into a file beside it");
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(64);
  if (!model_.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() || !model_.has_graph())
    fail(onnx_fault::damaged, "must be an ONNX file: a ModelProto with a graph; found other bytes; give another file");
  check_versions();
  onnx_messages::GraphProto const& g = graph();
  auto const need = [&](bool holds, char const* what, int found) {
    if (!holds)
      fail(onnx_fault::damaged,
           std::string("must have ") + what + "; found " + std::to_string(found) + "; give another file");
  };
  need(g.node_size() > 0 && g.node_size() <= onnx_most_nodes, "1 to 100,000 nodes", g.node_size());
  need(g.output_size() > 0 && g.output_size() <= 64, "1 to 64 outputs", g.output_size());
  need(g.sparse_initializer_size() == 0, "no sparse tensors, which typenet does not read", g.sparse_initializer_size());
}

TYPENET_INLINE void onnx_file::check_versions() const {
  bool known = false;
  for (auto const& set : model_.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    known = true;
    if (set.version() < 9)
      fail(onnx_fault::unsupported, "must be of opset 9 or later; found " + std::to_string(set.version()) +
                                        "; convert it with onnx.version_converter");
  }
  if (!known) fail(onnx_fault::damaged, "must state its opset; found none; give another file");
}

TYPENET_INLINE void onnx_file::fail(onnx_fault which, std::string const& what) const {
  throw onnx_error(which, "onnx: " + name_ + " " + what);
}

TYPENET_INLINE onnx_constant onnx_file::read(onnx_messages::TensorProto const& t) {
  static_assert(std::endian::native == std::endian::little,
                "onnx: files are little-endian, so the machine must be little-endian, too");
  using tensor = onnx_messages::TensorProto;
  std::string const which = "tensor " + shown(t.name());
  std::vector<std::int64_t> const dims(t.dims().begin(), t.dims().end());
  std::int64_t const count = onnx_count(dims);
  auto const need = [&](bool holds, std::string const& what) {
    if (!holds) fail(onnx_fault::damaged, which + " " + what + "; give another file");
  };
  need(dims.size() <= static_cast<std::size_t>(onnx_most_axes),
       "must have at most 8 axes; found " + std::to_string(dims.size()));
  need(count >= 0 && count < onnx_most_numbers,
       "must have a size of 0 to 2,147,483,647 numbers; found the shape " + onnx_dims_text(dims));
  need(!t.has_segment(), "must be stored as a whole; found a segment of it");
  int const type = t.data_type();
  int const bytes = type == tensor::FLOAT || type == tensor::INT32                          ? 4
                    : type == tensor::DOUBLE || type == tensor::INT64                       ? 8
                    : type == tensor::FLOAT16 || type == tensor::BFLOAT16                   ? 2
                    : type == tensor::BOOL || type == tensor::INT8 || type == tensor::UINT8 ? 1
                                                                                            : 0;
  if (bytes == 0)
    fail(onnx_fault::unsupported,
         which + " must have numbers of type float, float16, bfloat16, double, int8, uint8, int32, int64 or bool; " +
             "found " + onnx_type_name(type) + "; convert it, for example to float");
  std::string outside;
  bool const is_outside = t.data_location() == tensor::EXTERNAL;
  bool const is_whole = type == tensor::INT64 || type == tensor::INT32 || bytes == 1;
  auto const size = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bytes);
  onnx_constant c;
  try {
    if (is_outside) outside = read_outside(t, which, size);
    c = onnx_empty(dims, is_whole);
  } catch (std::bad_alloc const&) {
    fail(onnx_fault::unsupported, which + " must fit into the memory twice, as it is read and converted; found " +
                                      std::to_string(size) + " bytes, and less memory; free some memory");
  }
  std::string_view const raw = is_outside ? std::string_view(outside) : std::string_view(t.raw_data());
  bool const is_raw = is_outside || t.has_raw_data();
  if (is_raw)
    need(raw.size() == size, "must have " + std::to_string(size) + " bytes; found " + std::to_string(raw.size()));
  auto const in_field = [&](auto const& field) {
    need(field.size() == count,
         "must have " + std::to_string(count) + " numbers; found " + std::to_string(field.size()));
  };
  if (!is_raw) {
    if (type == tensor::FLOAT)
      in_field(t.float_data());
    else if (type == tensor::DOUBLE)
      in_field(t.double_data());
    else if (type == tensor::INT64)
      in_field(t.int64_data());
    else
      in_field(t.int32_data());
  }
  c.name = t.name();
  auto const at = [&]<class Number>(Number, std::size_t i) {
    Number n;
    std::memcpy(&n, raw.data() + i * sizeof n, sizeof n);
    return n;
  };
  for (std::size_t i = 0; i < c.count(); ++i) {
    auto const k = static_cast<int>(i);
    switch (type) {
      case tensor::FLOAT: c.reals[i] = is_raw ? at(float{}, i) : t.float_data(k); break;
      case tensor::DOUBLE: c.reals[i] = static_cast<float>(is_raw ? at(double{}, i) : t.double_data(k)); break;
      case tensor::INT64: c.wholes[i] = is_raw ? at(std::int64_t{}, i) : t.int64_data(k); break;
      case tensor::INT32: c.wholes[i] = is_raw ? at(std::int32_t{}, i) : t.int32_data(k); break;
      case tensor::INT8: c.wholes[i] = is_raw ? at(std::int8_t{}, i) : t.int32_data(k); break;
      case tensor::UINT8:
      case tensor::BOOL: c.wholes[i] = is_raw ? at(std::uint8_t{}, i) : t.int32_data(k); break;
      default: {
        auto const half = is_raw ? at(std::uint16_t{}, i) : static_cast<std::uint16_t>(t.int32_data(k));
        c.reals[i] = type == tensor::FLOAT16 ? float_of_f16(half) : float_of_bf16(half);
      }
    }
  }
  return c;
}

TYPENET_INLINE std::string onnx_file::read_outside(onnx_messages::TensorProto const& t, std::string const& which,
                                                   std::uint64_t bytes) {
  std::string location;
  std::uint64_t offset = 0, length = bytes;
  auto const number = [&](std::string const& text) {
    std::uint64_t n = 0;
    bool good = !text.empty() && text.size() < 19;
    for (char c : text) {
      good = good && c >= '0' && c <= '9';
      n = n * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!good)
      fail(onnx_fault::damaged, which + " must have an offset and a length that are whole numbers; found " +
                                    shown(text) + "; give another file");
    return n;
  };
  for (auto const& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number(entry.value());
    if (entry.key() == "length") length = number(entry.value());
  }
  if (length != bytes)
    fail(onnx_fault::damaged, which + " must have " + std::to_string(bytes) + " bytes; found a length of " +
                                  std::to_string(length) + "; give another file");
  if (folder_.empty())
    fail(onnx_fault::outside, which + " must be in the file itself, since there is no folder; found it in " +
                                  shown(location) + "; give the path of the file");
  namespace fs = std::filesystem;
  // Links are resolved, too: the file that is finally read must be in the folder or below it.
  std::error_code failed, failed_too;
  fs::path const home = fs::canonical(folder_, failed), there = fs::canonical(fs::path(folder_) / location, failed_too);
  bool inside = !location.empty() && location.find('\0') == std::string::npos && fs::path(location).is_relative();
  if (inside && failed_too)
    fail(onnx_fault::outside, which + " must be in a file that exists; found " + shown(location) + ": " +
                                  failed_too.message() + "; put the file of weights beside the ONNX file");
  auto at = there.begin();
  for (auto part = home.begin(); inside && part != home.end(); ++part) {
    inside = at != there.end() && *at == *part;
    if (inside) ++at;
  }
  if (!inside || failed)
    fail(onnx_fault::outside, which + " must be in the folder of the ONNX file; found " + shown(location) +
                                  ", which is outside; give another file");
  input_file file(there.string(), "onnx", "give the file of weights that belongs to it");
  if (offset > file.size() || bytes > file.size() - offset)
    fail(onnx_fault::damaged, which + " must lie within " + shown(location) + " of " + std::to_string(file.size()) +
                                  " bytes; found " + std::to_string(bytes) + " bytes at byte " +
                                  std::to_string(offset) + "; give another file");
  std::uint64_t& read = read_[there.string()];
  read += bytes;
  if (read > 2 * file.size())
    fail(onnx_fault::damaged, which + " and those before it must take at most " + std::to_string(2 * file.size()) +
                                  " bytes from " + shown(location) + ", twice its size, so that shared bytes do not " +
                                  "exhaust the memory; found " + std::to_string(read) +
                                  "; save the file again, without tensors that share bytes");
  if (::lseek(file.descriptor(), static_cast<off_t>(offset), SEEK_SET) < 0) file.fail("it cannot be read from there");
  std::string all(bytes, '\0');
  file.read(all.data(), bytes);
  return all;
}

TYPENET_INLINE std::string read_onnx_bytes(std::string const& path) {
  input_file file(path, "onnx", "give the path of an .onnx file");
  std::string bytes;
  file.append(bytes, file.size());
  return bytes;
}

TYPENET_INLINE std::string onnx_folder(std::string const& path) {
  std::string const folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace dsl::detail::TYPENET_MODE
