// SPDX-License-Identifier: MIT
// The file weights.bin of embedded_train as an array in an object file, at a multiple of 64 bytes.
asm(R"(
.section .rodata.weights, "a"
.balign 64
.global weights
.global weights_end
weights: .incbin "weights.bin"
weights_end:
.text
)");
