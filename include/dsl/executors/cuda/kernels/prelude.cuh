R"cuda(
// SPDX-License-Identifier: MIT
// Definitions that all kernels use. NVRTC compiles this text for a device. With DSL_SIMULATED, a host compiler compiles
// the same text; a launcher then runs the threads of a block as fibers and provides the namespace dsl_simulated. So
// there are no includes here, no operations on warps, and no floating-point atomics.

#ifdef DSL_SIMULATED
#define KERNEL inline
#define DEVICE inline
#define SHARED static thread_local  // blocks run one after the other
#define UNROLL(n)
#define MATH(f) __builtin_##f
#else
#define KERNEL static __device__ __forceinline__  // a generated wrapper with a literal shape is the __global__ function
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
#define PRAGMA(text) _Pragma(#text)
#define UNROLL(n) PRAGMA(unroll n)
#define MATH(f) ::f
#endif

namespace dsl_kernels {

struct bf16 {
  unsigned short bits;
};

#ifdef DSL_SIMULATED
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

DEVICE int thread() { return static_cast<int>(dsl_simulated::thread_index.x); }
DEVICE int threads() { return static_cast<int>(dsl_simulated::block_extent.x); }
DEVICE int block_x() { return static_cast<int>(dsl_simulated::block_index.x); }
DEVICE int block_y() { return static_cast<int>(dsl_simulated::block_index.y); }
DEVICE int blocks_x() { return static_cast<int>(dsl_simulated::grid_extent.x); }
DEVICE void barrier() { dsl_simulated::barrier(); }
DEVICE void fence() {}
DEVICE unsigned increment(unsigned* p) { return (*p)++; }
DEVICE float fresh(float const* p) { return *p; }
DEVICE double fresh(double const* p) { return *p; }

// Each operation is rounded separately. If a compiler fused a product and a sum into one operation, the results would
// differ from the CPU's.
DEVICE float product(float a, float b) { return a * b; }
DEVICE float sum_of(float a, float b) { return a + b; }
DEVICE float quotient(float a, float b) { return a / b; }
DEVICE float root_of(float a) { return __builtin_sqrtf(a); }

DEVICE float float_of(unsigned bits) {
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
DEVICE unsigned bits_of(float f) {
  unsigned bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}
DEVICE unsigned bf16_bits(float f) {
  unsigned const bits = bits_of(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;  // NaN
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;       // to nearest, ties to even
}
DEVICE unsigned two_bf16_bits(float low, float high) { return bf16_bits(low) | bf16_bits(high) << 16; }

// Traps if an address is not aligned for a vector, since such an access ends a program on a GPU, too.
template <class W>
DEVICE W raw_load(void const* p) {
  if (reinterpret_cast<unsigned long long>(p) % sizeof(W) != 0) __builtin_trap();
  W words;
  __builtin_memcpy(&words, p, sizeof(W));
  return words;
}
template <class W>
DEVICE void raw_store(void* p, W words) {
  if (reinterpret_cast<unsigned long long>(p) % sizeof(W) != 0) __builtin_trap();
  __builtin_memcpy(p, &words, sizeof(W));
}
#else
DEVICE int thread() { return static_cast<int>(threadIdx.x); }
DEVICE int threads() { return static_cast<int>(blockDim.x); }
DEVICE int block_x() { return static_cast<int>(blockIdx.x); }
DEVICE int block_y() { return static_cast<int>(blockIdx.y); }
DEVICE int blocks_x() { return static_cast<int>(gridDim.x); }
DEVICE void barrier() { __syncthreads(); }
DEVICE void fence() { __threadfence(); }
DEVICE unsigned increment(unsigned* p) { return atomicAdd(p, 1u); }
DEVICE float fresh(float const* p) { return __ldcg(p); }  // not from L1, where other blocks' writes are missing
DEVICE double fresh(double const* p) { return __ldcg(p); }

DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
DEVICE float sum_of(float a, float b) { return __fadd_rn(a, b); }
DEVICE float quotient(float a, float b) { return __fdiv_rn(a, b); }
DEVICE float root_of(float a) { return __fsqrt_rn(a); }

DEVICE float float_of(unsigned bits) { return __uint_as_float(bits); }
DEVICE unsigned bits_of(float f) { return __float_as_uint(f); }
DEVICE unsigned bf16_bits(float f) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(f));
  return bits;
}
DEVICE unsigned two_bf16_bits(float low, float high) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

template <class W>
DEVICE W raw_load(void const* p) {
  return *static_cast<W const*>(p);
}
// Stores all four words at once: the compiler sometimes splits an assignment into four stores.
DEVICE void raw_store(void* p, uint4 w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(w.x), "r"(w.y),
               "r"(w.z), "r"(w.w)
               : "memory");
}
DEVICE void raw_store(void* p, uint2 w) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(w.x), "r"(w.y) : "memory");
}
DEVICE void raw_store(void* p, unsigned w) { *static_cast<unsigned*>(p) = w; }
#endif

// ---- Philox4x32-10, the same as in dsl/detail/philox.hpp -----------------------------------------------------------
struct philox_block {
  unsigned x[4];
};

DEVICE philox_block philox(unsigned k0, unsigned k1, unsigned c0, unsigned c1, unsigned c2, unsigned c3) {
  UNROLL(10)
  for (int round = 0; round < 10; ++round) {
    unsigned long long const a = 0xD2511F53ull * c0;
    unsigned long long const b = 0xCD9E8D57ull * c2;
    c0 = static_cast<unsigned>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<unsigned>(b);
    c2 = static_cast<unsigned>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<unsigned>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}
DEVICE float unit_float(unsigned bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Joins one value of each thread by f, in an order that does not depend on timing. `count` is the number of threads, a
// power of 2 up to 256. All of them get the result.
template <class V, class F>
DEVICE V join_block(V value, int count, F f) {
  SHARED V values[256];
  int const t = thread();
  barrier();  // waits until the result of the last call has been read
  values[t] = value;
  barrier();
  for (int half = count / 2; half > 0; half /= 2) {
    if (t < half) values[t] = f(values[t], values[t + half]);
    barrier();
  }
  return values[0];
}

// Returns true in the last one of `blocks` blocks that calls it. That block then sees everything that the others have
// written (through fresh()). The counter is 0 before and after.
DEVICE bool is_last_block(unsigned* counter, int blocks) {
  SHARED unsigned order;
  fence();
  barrier();
  if (thread() == 0) {
    order = increment(counter);
    if (order == static_cast<unsigned>(blocks) - 1) *counter = 0;
  }
  barrier();
  fence();
  return order == static_cast<unsigned>(blocks) - 1;
}

}  // namespace dsl_kernels
)cuda"
