// SPDX-License-Identifier: MIT
// EXPECT[gcc]: type/value mismatch at argument 1 in template parameter list for 'template<class ... Layers> struct dsl::sequential'
// EXPECT[clang]: use of class template 'dsl::batch_norm' requires template arguments
// EXPECT[nvcc]: argument list for class template "dsl::batch_norm" is missing
// nvcc goes on with the class, whose error makes what follows from it unknown. The network adds nothing to it. GCC and
// Clang go on with a class that has no base, and so is no layer; they are not asked for the network here.
#include <dsl/language.hpp>

#ifdef FIXED
struct block : dsl::sequential<dsl::conv2d<8, 3>, dsl::batch_norm<>, dsl::relu> {};
#else
struct block : dsl::sequential<dsl::conv2d<8, 3>, dsl::batch_norm, dsl::relu> {};
#endif
#if defined(__NVCC__) || defined(FIXED)
static_assert(dsl::network<dsl::image<3, 32, 32>, block, dsl::flatten>::output == dsl::shape{8192});
#endif
