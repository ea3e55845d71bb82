// SPDX-License-Identifier: MIT
// Puts the file weights.bin of embedded_train into an object file, as an array at a multiple of 64 bytes.
asm(R"(
.section .rodata.weights, "a"
.balign 64
.global weights
.global weights_end
weights: .incbin "weights.bin"
weights_end:
.text
)");
