// SPDX-License-Identifier: MIT
// Tests are written for Catch2 v3; Debian 12 has v2, with a single header and one other spelling.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using approx = Catch::Approx;
#else
#include <catch2/catch.hpp>
using approx = Catch::Detail::Approx;
#endif
