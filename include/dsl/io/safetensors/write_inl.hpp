// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/header.hpp>
#include <dsl/io/safetensors/write.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::safetensors::detail::TYPENET_MODE {

TYPENET_INLINE std::string quoted(std::string const& text, char const* what) {
  if (!is_utf8(text)) throw option_error("safetensors: " + shown(text) + ", " + what + ", must be UTF-8");
  return nlohmann::json(text).dump();
}

TYPENET_INLINE std::string make_header(std::vector<source>& tensors, text_by_name metadata) {
  auto const need = [](bool holds, std::string const& what) {
    if (!holds) throw option_error("safetensors: " + what);
  };
  std::size_t const all = tensors.size() + metadata.size() + (metadata.empty() ? 0 : 1);
  need(all <= most_names, "there may be at most 1,000,000 names; found " + std::to_string(all));
  std::sort(tensors.begin(), tensors.end(),
            [](source const& a, source const& b) { return a.type != b.type ? a.type > b.type : a.name < b.name; });
  std::sort(metadata.begin(), metadata.end());
  std::string json = "{";
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    auto const& [name, text] = metadata[i];
    need(i == 0 || metadata[i - 1].first != name, "metadata must have each name once; found two " + shown(name));
    json += i == 0 ? std::string("\"") + metadata_name + "\":{" : ",";
    json += quoted(name, "a name in the metadata") + ":" + quoted(text, "a text in the metadata");
  }
  if (!metadata.empty()) json += "}";
  std::vector<std::string> names;
  std::uint64_t at = 0;
  for (source const& t : tensors) {
    std::uint64_t bytes = 0;
    need(t.name != metadata_name, "no tensor may be called __metadata__");
    need(t.shape.size() <= largest_rank, shown(t.name) + " must have at most 64 axes");
    std::string const which = shown(t.name) + " of " + facts_of(t.type).name + " " + shown(t.shape) + " must ";
    need(bytes_of(t.type, t.shape, bytes) == size_problem::none, which + "take a whole number of bytes, below 2^64");
    need(bytes == t.bytes.size(),
         which + "have " + std::to_string(bytes) + " bytes; found " + std::to_string(t.bytes.size()));
    if (json.size() > 1) json += ",";
    json += quoted(t.name, "a tensor's name") + ":{\"dtype\":\"" + facts_of(t.type).name + "\",\"shape\":[";
    for (std::size_t d = 0; d < t.shape.size(); ++d) json += (d > 0 ? "," : "") + std::to_string(t.shape[d]);
    json += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + bytes) + "]}";
    at += bytes;
    names.push_back(t.name);
  }
  std::sort(names.begin(), names.end());
  auto const two = std::adjacent_find(names.begin(), names.end());
  need(two == names.end(), "each tensor must have a unique name; found two " + (two == names.end() ? "" : shown(*two)));
  json += "}";
  json.append((8 - json.size() % 8) % 8, ' ');
  std::uint64_t const length = json.size();
  need(length <= largest_header, "the header must have at most 100,000,000 bytes; found " + std::to_string(length));
  return std::string(reinterpret_cast<char const*>(&length), sizeof length) + json;
}

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

TYPENET_INLINE std::string serialize(std::vector<source> tensors, text_by_name metadata) {
  std::string all = detail::make_header(tensors, std::move(metadata));
  for (source const& t : tensors) all += t.bytes;
  return all;
}

TYPENET_INLINE void write(std::string const& path, std::vector<source> tensors, text_by_name metadata) {
  std::string const header = detail::make_header(tensors, std::move(metadata));
  atomic_file to(path, "safetensors");
  to.write(header);
  for (source const& t : tensors) to.write(t.bytes);
  to.commit();
}

}  // namespace dsl::safetensors::TYPENET_MODE
