// SPDX-License-Identifier: MIT
#pragma once

// Two ways to use the same code. Header-only, the default: every function is inline. Compiled: TYPENET_COMPILED is
// defined, which linking typenet::compiled does, and the functions are in the library. What the two ways make is in
// differently named inline namespaces, so that objects of both can be linked into one program, and a trainer of one
// that is handed to the other does not link. The language is the same in both, and outside of these namespaces.
#ifdef TYPENET_COMPILED
#define TYPENET_MODE inline compiled
#define TYPENET_INLINE
#else
#define TYPENET_MODE inline header_only
#define TYPENET_INLINE inline
#endif

// One object for a program and its shared libraries, also where the program's own symbols are hidden.
#define TYPENET_EXPORT [[gnu::visibility("default")]]
