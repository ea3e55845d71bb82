// SPDX-License-Identifier: MIT
#pragma once

// A network on several devices. Needs no library. It is a separate header because programs for one device do not need
// it.
#include <dsl/towers/replicate.hpp>
#include <dsl/towers/compile.hpp>
