// SPDX-License-Identifier: MIT
#pragma once

// Makes the mode of this file `embedded` (detail/mode.hpp).
#if defined(TYPENET_MODE) && !defined(TYPENET_EMBEDDED)
#error "embedded: <dsl/embedded.hpp> changes how typenet allocates memory; include it before typenet's other headers"
#endif
#if defined(TYPENET_COMPILED) || defined(TYPENET_IMPLEMENTATION)
#error "embedded: <dsl/embedded.hpp> does not work with the compiled library; link typenet::typenet instead"
#endif
#ifndef TYPENET_EMBEDDED
#define TYPENET_EMBEDDED
#endif
