// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/contents.hpp>
#include <dsl/io/safetensors/header.hpp>

#include <nlohmann/json.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace dsl::safetensors::detail::TYPENET_MODE {

TYPENET_INLINE void header_parser::fail(fault which, std::string const& what) const {
  throw format_error(which, "safetensors: " + file_ + " " + what + "; give another file");
}

TYPENET_INLINE bool header_parser::number_unsigned(std::uint64_t n) {
  if (at_ == place::shape) {
    if (now_.shape.size() == largest_rank) fail(fault::bad_info, in_tensor() + "must have at most 64 axes; found more");
    now_.shape.push_back(n);
  } else if (at_ == place::offsets && offsets_ < 2) {
    (offsets_++ == 0 ? now_.begin : now_.end) = n;
  } else {
    wrong(at_ == place::offsets ? "a third offset" : "a number");
  }
  return true;
}

TYPENET_INLINE bool header_parser::string(std::string& s) {
  if (at_ == place::metadata_value) {
    to_.metadata.back().second = std::move(s);
    at_ = place::metadata;
  } else if (at_ == place::dtype) {
    int t = 0;
    while (t <= static_cast<int>(dtype::u64) && s != dtypes[t].name) ++t;
    if (t > static_cast<int>(dtype::u64))
      fail(fault::unknown_dtype,
           in_tensor() + "must have a dtype that safetensors defines, such as F32; found " + shown(s));
    now_.type = static_cast<dtype>(t);
    at_ = place::fields;
  } else {
    wrong("text");
  }
  return true;
}

TYPENET_INLINE bool header_parser::key(std::string& k) {
  if (at_ == place::fields) {
    int const field = k == "dtype" ? 0 : k == "shape" ? 1 : k == "data_offsets" ? 2 : -1;
    if (field < 0)
      fail(fault::bad_info, in_tensor() + "must have only the fields dtype, shape and data_offsets; found " + shown(k));
    if (seen_[field]) fail(fault::duplicate_name, in_tensor() + "must have each field once; found two " + k);
    seen_[field] = true;
    at_ = field == 0 ? place::dtype : field == 1 ? place::before_shape : place::before_offsets;
  } else if (at_ == place::metadata) {
    count_name();
    to_.metadata.emplace_back(std::move(k), std::string());
    at_ = place::metadata_value;
  } else {
    count_name();
    now_ = {};
    now_.name = std::move(k);
    at_ = place::entry;
  }
  return true;
}

TYPENET_INLINE bool header_parser::start_object(std::size_t) {
  if (at_ == place::outside) {
    at_ = place::names;
  } else if (at_ == place::entry && now_.name == metadata_name) {
    if (has_metadata_) fail(fault::duplicate_name, "must have __metadata__ once; found two");
    has_metadata_ = true;
    at_ = place::metadata;
  } else if (at_ == place::entry) {
    seen_[0] = seen_[1] = seen_[2] = false;
    offsets_ = 0;
    at_ = place::fields;
  } else {
    wrong("an object");
  }
  return true;
}

TYPENET_INLINE bool header_parser::end_object() {
  if (at_ == place::fields) {
    if (!seen_[0] || !seen_[1] || !seen_[2])
      fail(fault::bad_info, in_tensor() + "must have dtype, shape and data_offsets; one is missing");
    to_.tensors.push_back(std::move(now_));
  }
  at_ = place::names;
  return true;
}

TYPENET_INLINE bool header_parser::start_array(std::size_t) {
  if (at_ != place::before_shape && at_ != place::before_offsets) wrong("a list");
  at_ = at_ == place::before_shape ? place::shape : place::offsets;
  return true;
}

TYPENET_INLINE bool header_parser::end_array() {
  if (at_ == place::offsets && offsets_ < 2) wrong("the list's end");
  at_ = place::fields;
  return true;
}

TYPENET_INLINE bool header_parser::parse_error(std::size_t position, std::string const&,
                                               nlohmann::json::exception const&) {
  fail(fault::not_json, "must have a header in JSON; found a syntax error at byte " + std::to_string(position + 7));
}

TYPENET_INLINE void header_parser::count_name() {
  if (++names_ > most_names)
    fail(fault::header_too_large, "must have at most " + std::to_string(most_names) + " names; found more");
}

TYPENET_INLINE void header_parser::wrong(char const* found) const {
  std::string const end = std::string("; found ") + found;
  switch (at_) {
    case place::metadata_value: fail(fault::bad_metadata, "must have only strings in __metadata__" + end);
    case place::dtype: fail(fault::bad_info, in_tensor() + "must have a dtype's name" + end);
    case place::before_shape:
    case place::shape: fail(fault::bad_info, in_tensor() + "must have a shape of integers of at least 0" + end);
    case place::before_offsets:
    case place::offsets:
      fail(fault::bad_info, in_tensor() + "must have two data_offsets, integers of at least 0" + end);
    case place::entry:
      if (now_.name == metadata_name) fail(fault::bad_metadata, "must have an object of strings as __metadata__" + end);
      fail(fault::bad_info, in_tensor() + "must have dtype, shape and data_offsets" + end);
    default: fail(fault::not_json, "must have a header that is a JSON object" + end);
  }
}

}  // namespace dsl::safetensors::detail::TYPENET_MODE
