// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>

#include <string>

namespace dsl::text::TYPENET_MODE {

/// Formats a metric as Keras does: 0.0340 -> "0.0340", 0.001 -> "1.0000e-03", 0 -> "0.0000e+00".
std::string metric(double value);

/// Formats a count with commas: 1656250 -> "1,656,250".
std::string thousands(long long n);

/// Formats a number of bytes: 260046848 -> "248.0 MiB".
std::string bytes(long long n);

/// Returns a shape as text: "96x32x32", or "10" if there is one pixel per channel.
std::string shape(dsl::shape const& s);

/// Formats a duration: 9 -> "9s", 75 -> "1:15", 3725 -> "1:02:05".
std::string duration(double seconds);

/// Formats the time of a step: 1.5 -> "2s/step", 0.1184 -> "118ms/step", 0.0004 -> "400us/step".
std::string step_time(double seconds);

}  // namespace dsl::text::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/format_inl.hpp>
#endif
