// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

/// Decodes a PNG or JPEG in memory; its first bytes tell which. `name` is for messages. Throws data_error for other
/// formats, for truncated or damaged data, and for more than `limits` allow.
rgb_picture decode_picture(std::uint8_t const* data, std::size_t size, std::string const& name,
                           picture_limits const& limits = {});

/// Reads a PNG or JPEG file, whatever the ending of its name. Throws the same errors as decode_picture.
rgb_picture read_picture(std::string const& path, picture_limits const& limits = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/read_inl.hpp>
#endif
