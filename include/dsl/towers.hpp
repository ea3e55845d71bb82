// SPDX-License-Identifier: MIT
#pragma once

// A network on several devices. Needs no library; a header of its own, since one device needs none of it.
#include <dsl/towers/replicate.hpp>
#include <dsl/towers/compile.hpp>
