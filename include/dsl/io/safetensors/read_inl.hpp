// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/header.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/weight_halves.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dsl::safetensors::detail::TYPENET_MODE {

TYPENET_INLINE void check(contents& c, header_parser const& parser, std::uint64_t data_bytes) {
  auto const repeated = [](auto const& sorted, auto name) {
    return std::adjacent_find(sorted.begin(), sorted.end(), [&](auto& a, auto& b) { return name(a) == name(b); });
  };
  std::sort(c.metadata.begin(), c.metadata.end());
  if (auto const two = repeated(c.metadata, [](auto& m) -> auto& { return m.first; }); two != c.metadata.end())
    parser.fail(fault::duplicate_name, "must have each name in __metadata__ once; found two " + shown(two->first));
  std::sort(c.tensors.begin(), c.tensors.end(), [](tensor const& a, tensor const& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end < b.end : a.name < b.name;
  });
  for (std::size_t i = 0; i < c.tensors.size(); ++i) c.by_name.push_back(i);
  auto const name = [&](std::size_t i) -> std::string const& { return c.tensors[i].name; };
  std::sort(c.by_name.begin(), c.by_name.end(), [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  if (auto const two = repeated(c.by_name, name); two != c.by_name.end())
    parser.fail(fault::duplicate_name, "must have each tensor once; found two " + shown(name(*two)));

  std::uint64_t end = 0;
  for (tensor const& t : c.tensors) {
    std::string const which = "is damaged: tensor " + shown(t.name) + " ";
    if (t.begin != end || t.end < t.begin)
      parser.fail(fault::bad_offset, which + "must begin at byte " + std::to_string(end) +
                                         " of the data; found bytes " + std::to_string(t.begin) + " to " +
                                         std::to_string(t.end));
    end = t.end;
    std::uint64_t bytes = 0;
    size_problem const problem = bytes_of(t.type, t.shape, bytes);
    std::string const of = which + "of " + facts_of(t.type).name + " " + shown(t.shape) + " ";
    if (problem == size_problem::overflow) parser.fail(fault::overflow, of + "has more bytes than 64 bits can count");
    if (problem == size_problem::part_of_a_byte) parser.fail(fault::part_of_a_byte, of + "must fill whole bytes");
    if (t.end - t.begin != bytes)
      parser.fail(fault::size_mismatch,
                  of + "must have " + std::to_string(bytes) + " bytes; found " + std::to_string(t.end - t.begin));
  }
  if (end != data_bytes)
    parser.fail(fault::incomplete_data, "must have " + std::to_string(end) + " bytes after its header; found " +
                                            std::to_string(data_bytes) + ": it is truncated, or has more at its end");
}

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

TYPENET_INLINE contents read_contents(std::string_view bytes, std::string const& name) {
  static_assert(std::endian::native == std::endian::little,
                "safetensors: files are little-endian, so the machine must be little-endian, too");
  contents c;
  detail::header_parser parser(c, name);
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    parser.fail(fault::header_too_small,
                "must begin with its header's length in 8 bytes; found " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (bytes.starts_with("typenet checkpoint"))
    parser.fail(fault::header_too_large,
                "must have its header's length in its first 8 bytes; this one looks like typenet's own: load_weights "
                "reads it");
  if (length > largest_header)
    parser.fail(fault::header_too_large, "must have its header's length in its first 8 bytes, at most " +
                                             std::to_string(largest_header) + "; found " + std::to_string(length) +
                                             ": it is probably a file of another format");
  if (length > bytes.size() - sizeof length)
    parser.fail(fault::header_length, "must have a header of " + std::to_string(length) + " bytes; found " +
                                          std::to_string(bytes.size() - sizeof length) + ": it is truncated");
  std::string_view const header = bytes.substr(sizeof length, length);
  if (!detail::is_utf8(header)) parser.fail(fault::not_utf8, "must have a header in UTF-8; found other bytes");
  // A null byte would end nlohmann's parsing early, and a leading byte order mark begin it late: those bytes would be
  // unchecked.
  std::size_t const first = header.find_first_not_of(" \t\r\n");
  if (first == header.npos || header[first] != '{' || header.find('\0') != header.npos)
    parser.fail(fault::not_json, "must have a header that is a JSON object; found something else");
  nlohmann::json::sax_parse(header.begin(), header.end(), &parser);
  c.data_begin = sizeof length + header.size();
  detail::check(c, parser, bytes.size() - c.data_begin);
  return c;
}

TYPENET_INLINE std::string_view file::bytes(tensor const& t) const {
  return all().substr(contents_.data_begin + t.begin, t.end - t.begin);
}

TYPENET_INLINE std::string_view file::all() const {
  return mapped_.size() == 0 ? std::string_view()
                             : std::string_view(reinterpret_cast<char const*>(mapped_.data()), mapped_.size());
}

TYPENET_INLINE dsl::detail::mapped_file file::open(std::string const& path) {
  try {
    return dsl::detail::mapped_file(path, "safetensors", "give another file");
  } catch (data_error const& e) {
    throw file_error(e.what());
  }
}

TYPENET_INLINE bool read_floats(dtype type, std::string_view bytes, float* out) {
  if (type == dtype::f32) {
    std::memcpy(out, bytes.data(), bytes.size());
    return true;
  }
  if (type != dtype::f16 && type != dtype::bf16) return false;
  for (std::size_t i = 0; 2 * i < bytes.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
    out[i] = type == dtype::bf16 ? float_of_bf16(half) : float_of_f16(half);
  }
  return true;
}

}  // namespace dsl::safetensors::TYPENET_MODE
