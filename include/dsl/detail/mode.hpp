// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/compiler.hpp>

// The code can be used in three ways. Header-only, the default: every function is inline. Compiled: TYPENET_COMPILED is
// defined, and the functions are compiled once: in the library typenet::compiled, or in the one file of the program
// that defines TYPENET_IMPLEMENTATION before it includes typenet's headers. The first two use differently named inline
// namespaces, so that objects of both can be linked into one program, and passing a trainer of one to a function of the
// other is a link error. The language is the same in both and is outside of these namespaces. The third mode is that of
// a program that includes <dsl/embedded.hpp>, in which nothing is allocated on the heap.
#if defined(TYPENET_IMPLEMENTATION) && !defined(TYPENET_COMPILED)
#define TYPENET_COMPILED
#endif
#ifdef TYPENET_EMBEDDED
#define TYPENET_MODE inline embedded
#define TYPENET_INLINE inline
#else
#ifdef TYPENET_COMPILED
#define TYPENET_MODE inline compiled
#define TYPENET_INLINE
#else
#define TYPENET_MODE inline header_only
#define TYPENET_INLINE inline
#endif
#endif
// Whether a header x.hpp also includes the definitions in x_inl.hpp.
#if !defined(TYPENET_COMPILED) || defined(TYPENET_IMPLEMENTATION)
#define TYPENET_DEFINITIONS
#endif

// Exports one object shared by a program and its shared libraries, even if the program's own symbols are hidden.
#define TYPENET_EXPORT [[gnu::visibility("default")]]
