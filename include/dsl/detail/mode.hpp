// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/compiler.hpp>

// The code can be used in two ways. Header-only, the default: every function is inline. Compiled: TYPENET_COMPILED is
// defined, which linking typenet::compiled does, and the functions are in a library. The two use differently named
// inline namespaces, so that objects of both can be linked into one program, and passing a trainer of one to a function
// of the other is a link error. The language is the same in both and is outside of these namespaces.
// A program that includes <dsl/embedded.hpp> is in a third mode, in which nothing is allocated on the heap.
#ifdef TYPENET_EMBEDDED
#define TYPENET_MODE inline embedded
#define TYPENET_INLINE inline
#elif defined(TYPENET_COMPILED)
#define TYPENET_MODE inline compiled
#define TYPENET_INLINE
#else
#define TYPENET_MODE inline header_only
#define TYPENET_INLINE inline
#endif

// Exports one object shared by a program and its shared libraries, even if the program's own symbols are hidden.
#define TYPENET_EXPORT [[gnu::visibility("default")]]
