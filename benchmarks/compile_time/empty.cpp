// SPDX-License-Identifier: MIT
// Nothing: what the compiler costs by itself, taken off the others.
