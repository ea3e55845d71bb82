// SPDX-License-Identifier: MIT
// Tests are written for Catch2 v3; Debian 12 has v2, whose one header and one spelling differ.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using approx = Catch::Approx;
#else
#include <catch2/catch.hpp>
using approx = Catch::Detail::Approx;
#endif
