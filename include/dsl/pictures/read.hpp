// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

/// A PNG or a JPEG in memory, told apart by how it begins. `name` is for messages. Throws data_error for everything
/// else, for what is cut short or damaged, and for more than `limits` allow.
[[gnu::cold]] rgb_picture decode_picture(std::uint8_t const* data, std::size_t size, std::string const& name,
                                         picture_limits const& limits = {});

/// The same of a file, whatever its name ends in.
[[gnu::cold]] rgb_picture read_picture(std::string const& path, picture_limits const& limits = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/read_inl.hpp>
#endif
