// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::uint8_t const* rgb_picture::at(int row, int column) const {
  return pixels.data() +
         3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column));
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void refuse_picture(std::string const& name, std::string const& what) {
  throw data_error(message({"picture: ", name, " ", what}));
}

TYPENET_INLINE void check_bytes(std::size_t size, std::string const& name, picture_limits const& limits) {
  if (limits.pixels < 1 || limits.bytes < 1 || limits.scans < 1)
    throw option_error(message({"picture: limits must be 1 or more; found ", limits.pixels, " pixels, ", limits.bytes,
                                " bytes and ", limits.scans, " scans; leave them out"}));
  if (size > static_cast<std::size_t>(limits.bytes))
    refuse_picture(name, message({"must have at most ", limits.bytes, " bytes; found ", size, "; shrink it"}));
}

TYPENET_INLINE rgb_picture make_picture(unsigned long width, unsigned long height, std::string const& name,
                                        picture_limits const& limits) {
  auto const most = static_cast<unsigned long>(limits.pixels);
  if (width < 1 || height < 1 || width > most || height > most / width)
    refuse_picture(name, message({"must have 1 to ", most, " pixels; found ", width, " x ", height, "; shrink it"}));
  return {static_cast<int>(width), static_cast<int>(height), std::vector<std::uint8_t>(3 * width * height)};
}

}  // namespace dsl::detail::TYPENET_MODE
