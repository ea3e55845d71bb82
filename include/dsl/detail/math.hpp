// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

// Built-in functions of the compiler: <cmath>, which includes C++17's special functions, costs every including file 60
// ms.

inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float exp(float x) { return __builtin_expf(x); }
inline double exp(double x) { return __builtin_exp(x); }
inline float expm1(float x) { return __builtin_expm1f(x); }
inline double expm1(double x) { return __builtin_expm1(x); }
inline float erfc(float x) { return __builtin_erfcf(x); }
inline double erfc(double x) { return __builtin_erfc(x); }
inline float log1p(float x) { return __builtin_log1pf(x); }
inline double log1p(double x) { return __builtin_log1p(x); }
inline float log(float x) { return __builtin_logf(x); }
inline double log(double x) { return __builtin_log(x); }
inline float tanh(float x) { return __builtin_tanhf(x); }
inline double tanh(double x) { return __builtin_tanh(x); }
inline float sin(float x) { return __builtin_sinf(x); }
inline double sin(double x) { return __builtin_sin(x); }
inline float cos(float x) { return __builtin_cosf(x); }
inline double cos(double x) { return __builtin_cos(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float pow(float x, float y) { return __builtin_powf(x, y); }
inline double pow(double x, double y) { return __builtin_pow(x, y); }
inline float hypot(float x, float y) { return __builtin_hypotf(x, y); }
inline double hypot(double x, double y) { return __builtin_hypot(x, y); }
inline float atan2(float x, float y) { return __builtin_atan2f(x, y); }
inline double atan2(double x, double y) { return __builtin_atan2(x, y); }
inline float remainder(float x, float y) { return __builtin_remainderf(x, y); }
inline double remainder(double x, double y) { return __builtin_remainder(x, y); }
inline float fmin(float x, float y) { return __builtin_fminf(x, y); }
inline double fmin(double x, double y) { return __builtin_fmin(x, y); }
inline float fmax(float x, float y) { return __builtin_fmaxf(x, y); }
inline double fmax(double x, double y) { return __builtin_fmax(x, y); }
constexpr bool isfinite(double x) { return __builtin_isfinite(x); }

}  // namespace dsl::detail::TYPENET_MODE
