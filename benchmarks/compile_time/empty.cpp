// SPDX-License-Identifier: MIT
// An empty file. The cost of compiling it is subtracted from the cost of the other files.
