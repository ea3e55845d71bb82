// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/io/safetensors/contents.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace dsl::safetensors::detail::TYPENET_MODE {

using dsl::detail::is_utf8;

/// Parses a header's JSON event by event. An unexpected value ends parsing at once, so that no memory is allocated for
/// it, however deeply nested or long it is. Throws format_error.
class header_parser {
 public:
  header_parser(contents& to, std::string const& file) : to_(to), file_(file) {}

  [[noreturn]] void fail(fault which, std::string const& what) const;

  // The interface that nlohmann's parser calls.
  bool null() { wrong("null"); }
  bool boolean(bool) { wrong("a boolean"); }
  bool number_integer(std::int64_t) { wrong("a number below 0"); }
  bool number_float(double, std::string const&) { wrong("a number that is not a 64-bit integer"); }
  bool binary(nlohmann::json::binary_t&) { wrong("binary data"); }
  bool number_unsigned(std::uint64_t n);
  bool string(std::string& s);
  bool key(std::string& k);
  bool start_object(std::size_t);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t position, std::string const&, nlohmann::json::exception const&);

 private:
  enum class place : unsigned char {
    outside,
    names,
    entry,  // after a name
    fields,
    dtype,
    before_shape,
    shape,
    before_offsets,
    offsets,
    metadata,
    metadata_value,
  };

  void count_name();
  std::string in_tensor() const { return "is damaged: tensor " + shown(now_.name) + " "; }
  [[noreturn]] void wrong(char const* found) const;

  contents& to_;
  std::string const& file_;
  place at_ = place::outside;
  tensor now_{};
  bool seen_[3] = {};
  int offsets_ = 0;
  std::size_t names_ = 0;
  bool has_metadata_ = false;
};

}  // namespace dsl::safetensors::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/header_inl.hpp>
#endif
