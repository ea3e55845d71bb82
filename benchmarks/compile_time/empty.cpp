// SPDX-License-Identifier: MIT
// An empty file: the cost of the compiler itself, subtracted from the others.
