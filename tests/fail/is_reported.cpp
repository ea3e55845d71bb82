// SPDX-License-Identifier: MIT
// EXPECT[gcc]: type/value mismatch at argument 1 in template parameter list for 'template<class ... Layers> struct dsl::sequential'
// EXPECT[clang]: use of class template 'dsl::batch_norm' requires template arguments
// EXPECT[nvcc]: argument list for class template "dsl::batch_norm" is missing
// After the error, nvcc continues with the class and treats everything that depends on it as unknown; the network then
// adds no second error. GCC and Clang continue as if block had no base class. It is then no layer, and a network with
// it would give a second error. For these compilers, the test therefore uses no network.
#include <dsl/language.hpp>

#ifdef FIXED
struct block : dsl::sequential<dsl::conv2d<8, 3>, dsl::batch_norm<>, dsl::relu> {};
#else
struct block : dsl::sequential<dsl::conv2d<8, 3>, dsl::batch_norm, dsl::relu> {};
#endif
#if defined(__NVCC__) || defined(FIXED)
static_assert(dsl::network<dsl::image<3, 32, 32>, block, dsl::flatten>::output == dsl::shape{8192});
#endif
