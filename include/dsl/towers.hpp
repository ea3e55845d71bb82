// SPDX-License-Identifier: MIT
#pragma once

// A network on several devices. Needs no library; it is a separate header because one device needs none of it.
#include <dsl/towers/replicate.hpp>
#include <dsl/towers/compile.hpp>
