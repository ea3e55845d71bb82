// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "support/simulated_device/calls.hpp"
#include "support/simulated_device/numbers.hpp"
#include "support/simulated_device/workspace.hpp"

// cublasLt: D = alpha op(A) op(B) + beta C, then an optional bias for each row of D and an optional ReLU. No batches.

namespace dsl_test::simulated {

struct cublas_context : object {};
struct matmul_settings {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void const* bias = nullptr;
};
struct matmul_desc : object {
  matmul_settings set;
};
struct matrix_layout : object {
  storage type{};
  std::uint64_t rows = 0, columns = 0;
  std::int64_t stride = 0;
  std::int32_t order = CUBLASLT_ORDER_COL;

  std::int64_t at(std::uint64_t r, std::uint64_t c) const {
    auto const slow = static_cast<std::int64_t>(order == CUBLASLT_ORDER_COL ? c : r);
    auto const fast = static_cast<std::int64_t>(order == CUBLASLT_ORDER_COL ? r : c);
    return slow * stride + fast;
  }
  std::size_t reach() const { return static_cast<std::size_t>(at(rows - 1, columns - 1) + 1) * bytes_of(type); }
  bool valid() const {
    return rows > 0 && columns > 0 && stride >= static_cast<std::int64_t>(order == CUBLASLT_ORDER_COL ? rows : columns);
  }
};
struct matmul_preference : object {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C and D
  std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
};

inline bool read_storage(cudaDataType t, storage& s) {
  s = t == CUDA_R_16F ? storage::f16 : t == CUDA_R_16BF ? storage::bf16 : storage::f32;
  return t == CUDA_R_32F || t == CUDA_R_16F || t == CUDA_R_16BF;
}
inline bool is_tf32(cublasComputeType_t c) { return c == CUBLAS_COMPUTE_32F_FAST_TF32; }

inline std::size_t cublas_version(state&) { return 130100; }
inline char const* cublas_status_string(state&, cublasStatus_t status) { return ::cublasLtGetStatusString(status); }
inline cublasStatus_t cublas_create(state& s, cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (refused_by_capture(s)) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = s.add<cublasLtHandle_t>("cublasLt handle", std::make_shared<cublas_context>());
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t matmul_create(state& s, cublasLtMatmulDesc_t* handle, cublasComputeType_t compute,
                                    cudaDataType_t scale) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if ((compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC && !is_tf32(compute)) ||
      scale != CUDA_R_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  auto d = std::make_shared<matmul_desc>();
  d->set.compute = compute;
  *handle = s.add<cublasLtMatmulDesc_t>("matmul descriptor", d);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t layout_create(state& s, cublasLtMatrixLayout_t* handle, cudaDataType type, std::uint64_t rows,
                                    std::uint64_t columns, std::int64_t stride) {
  auto l = std::make_shared<matrix_layout>();
  if (!handle || !read_storage(type, l->type)) return CUBLAS_STATUS_INVALID_VALUE;
  l->rows = rows;
  l->columns = columns;
  l->stride = stride;
  *handle = s.add<cublasLtMatrixLayout_t>("matrix layout", l);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t preference_create(state& s, cublasLtMatmulPreference_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = s.add<cublasLtMatmulPreference_t>("matmul preference", std::make_shared<matmul_preference>());
  return CUBLAS_STATUS_SUCCESS;
}
template <class Object, class Handle>
cublasStatus_t cublas_destroy(state& s, Handle handle) {
  if (!s.find<Object>(handle, "cublasLt")) return CUBLAS_STATUS_INVALID_VALUE;
  s.remove(handle);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t read_value(T& to, void const* from, std::size_t bytes) {
  if (!from || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t matmul_set(state& s, cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t name,
                                 void const* value, std::size_t bytes) {
  auto const d = s.find<matmul_desc>(handle, "cublasLtMatmulDescSetAttribute");
  if (!d) return CUBLAS_STATUS_INVALID_VALUE;
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return read_value(d->set.a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return read_value(d->set.b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return read_value(d->set.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return read_value(d->set.bias, value, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
inline cublasStatus_t layout_set(state& s, cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t name,
                                 void const* value, std::size_t bytes) {
  auto const l = s.find<matrix_layout>(handle, "cublasLtMatrixLayoutSetAttribute");
  if (!l) return CUBLAS_STATUS_INVALID_VALUE;
  switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return read_value(l->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return read_value(l->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return read_value(l->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return read_value(l->stride, value, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
inline cublasStatus_t preference_set(state& s, cublasLtMatmulPreference_t handle,
                                     cublasLtMatmulPreferenceAttributes_t name, void const* value, std::size_t bytes) {
  auto const p = s.find<matmul_preference>(handle, "cublasLtMatmulPreferenceSetAttribute");
  if (!p) return CUBLAS_STATUS_INVALID_VALUE;
  switch (name) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return read_value(p->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return read_value(p->reduction, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return read_value(p->alignment[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return read_value(p->alignment[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return read_value(p->alignment[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return read_value(p->alignment[3], value, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

struct product {
  matmul_settings set;
  matrix_layout const *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  std::vector<std::shared_ptr<object>> keep;
  std::uint64_t depth() const { return set.a == CUBLAS_OP_N ? a->columns : a->rows; }
};
inline bool has_bias(matmul_settings const& m) {
  return m.epilogue == CUBLASLT_EPILOGUE_BIAS || m.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
inline bool has_relu(matmul_settings const& m) {
  return m.epilogue == CUBLASLT_EPILOGUE_RELU || m.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}
/// Returns a status if shapes contradict each other (invalid) or no algorithm supports them (not supported).
inline cublasStatus_t read_product(state& s, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                   cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                   product& p) {
  auto const m = s.find<matmul_desc>(desc, "cublasLtMatmul");
  std::shared_ptr<matrix_layout> found[4];
  matrix_layout const** const to[] = {&p.a, &p.b, &p.c, &p.d};
  cublasLtMatrixLayout_t const from[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    found[i] = s.find<matrix_layout>(from[i], "cublasLtMatmul");
    if (!m || !found[i] || !found[i]->valid()) return CUBLAS_STATUS_INVALID_VALUE;
    auto copy = std::make_shared<matrix_layout>();  // the caller may destroy or change its own
    copy->type = found[i]->type, copy->rows = found[i]->rows, copy->columns = found[i]->columns;
    copy->stride = found[i]->stride, copy->order = found[i]->order;
    *to[i] = copy.get();
    p.keep.push_back(std::move(copy));
  }
  p.set = m->set;
  bool const no_a = p.set.a == CUBLAS_OP_N, no_b = p.set.b == CUBLAS_OP_N;
  if (p.d->rows != (no_a ? p.a->rows : p.a->columns) || p.d->columns != (no_b ? p.b->columns : p.b->rows) ||
      p.depth() != (no_b ? p.b->rows : p.b->columns) || p.c->rows != p.d->rows || p.c->columns != p.d->columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  bool const known = p.set.epilogue == CUBLASLT_EPILOGUE_DEFAULT || has_bias(p.set) || has_relu(p.set);
  if (!known || p.a->type != p.b->type || p.c->type != p.d->type ||
      (p.d->type != p.a->type && p.d->type != storage::f32) ||
      (p.set.compute != CUBLAS_COMPUTE_32F && p.a->type != storage::f32))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

inline constexpr std::uint64_t algorithm_mark = 0x51D0'A190'0000'0000u;
/// Made-up algorithms, best first. The first two split a sum in two; the first stores the halves in the result's type.
struct algorithm_info {
  std::size_t workspace;
  cublasLtReductionScheme_t reduction;
};
inline constexpr algorithm_info algorithms[] = {{4096, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},
                                                {4096, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
                                                {0, CUBLASLT_REDUCTION_SCHEME_NONE}};

inline cublasStatus_t find_algorithms(state& s, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                      cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int room,
                                      cublasLtMatmulHeuristicResult_t* results, int* count) {
  product p;
  auto const limit = s.find<matmul_preference>(preference, "cublasLtMatmulAlgoGetHeuristic");
  if (!s.find<cublas_context>(handle, "cublasLtMatmulAlgoGetHeuristic") || !limit || room <= 0 || !results || !count)
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  cublasStatus_t const status = read_product(s, desc, a, b, c, d, p);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  for (std::uint64_t i = 0; i < std::size(algorithms) && *count < room; ++i) {
    algorithm_info const& x = algorithms[i];
    if (x.workspace > limit->workspace || (x.reduction & ~limit->reduction) != 0) continue;
    cublasLtMatmulHeuristicResult_t& r = results[(*count)++];
    r = {};
    r.algo.data[0] = algorithm_mark + i;
    for (int t = 0; t < 4; ++t) r.algo.data[1 + t] = limit->alignment[t];
    r.workspaceSize = x.workspace;
    r.state = CUBLAS_STATUS_SUCCESS;
    r.wavesCount = 1;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

inline float rounded(float x, storage type) {
  float held = 0;  // large enough for any type
  store(&held, 0, type, x);
  return load(&held, 0, type);
}
inline void multiply(product const& p, float alpha, void const* a, void const* b, float beta, void const* c, void* d,
                     cublasLtReductionScheme_t reduction, bool truncates_tf32) {
  factors const how = factors_in(is_tf32(p.set.compute), truncates_tf32);
  auto const factor = [how](matrix_layout const& m, void const* x, std::uint64_t i, std::uint64_t j, bool turned) {
    return factor_of(load(x, turned ? m.at(j, i) : m.at(i, j), m.type), how);
  };
  for (std::uint64_t i = 0; i < p.d->rows; ++i)
    for (std::uint64_t j = 0; j < p.d->columns; ++j) {
      float sum = 0;
      for (std::uint64_t k = 0; k < p.depth(); ++k) {
        bool const is_half = k == p.depth() / 2 && reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
        if (is_half) sum = rounded(sum, p.d->type);
        sum += factor(*p.a, a, i, k, p.set.a != CUBLAS_OP_N) * factor(*p.b, b, k, j, p.set.b != CUBLAS_OP_N);
      }
      float result = alpha * sum;
      if (beta != 0) result += beta * load(c, p.c->at(i, j), p.c->type);
      if (has_bias(p.set)) result += load(p.set.bias, static_cast<std::int64_t>(i), p.d->type);
      if (has_relu(p.set) && result < 0) result = 0;
      store(d, p.d->at(i, j), p.d->type, result);
    }
}

inline cublasStatus_t matmul(state& s, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, void const* alpha,
                             void const* a, cublasLtMatrixLayout_t a_layout, void const* b,
                             cublasLtMatrixLayout_t b_layout, void const* beta, void const* c,
                             cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                             cublasLtMatmulAlgo_t const* algorithm, void* workspace, std::size_t bytes,
                             cudaStream_t in) {
  auto const p = std::make_shared<product>();
  if (!s.find<cublas_context>(handle, "cublasLtMatmul") || !alpha || !beta || !a || !b || !d)
    return CUBLAS_STATUS_INVALID_VALUE;
  cublasStatus_t const status = read_product(s, desc, a_layout, b_layout, c_layout, d_layout, *p);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  std::uint64_t const index = algorithm ? algorithm->data[0] - algorithm_mark : 2;
  if (index >= std::size(algorithms)) return CUBLAS_STATUS_INVALID_VALUE;
  std::size_t const needed = algorithms[index].workspace;
  if (needed > bytes || (needed > 0 && (!workspace || reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)))
    return CUBLAS_STATUS_INVALID_VALUE;
  void const* const tensors[] = {a, b, c, d};
  for (int t = 0; t < 4 && algorithm; ++t)
    if (reinterpret_cast<std::uintptr_t>(tensors[t]) % algorithm->data[1 + t] != 0) return CUBLAS_STATUS_INVALID_VALUE;
  float const by = *static_cast<float const*>(alpha), old = *static_cast<float const*>(beta);
  if ((old != 0 && !c) || (has_bias(p->set) && !p->set.bias)) return CUBLAS_STATUS_INVALID_VALUE;
  cudaError_t error;
  auto const q = find_stream(s, in, "cublasLtMatmul", error);
  if (!q) return CUBLAS_STATUS_INVALID_VALUE;
  auto const expect = [&s, p, a, b, c, d, old] {
    expect_device(s, a, p->a->reach(), "A");
    expect_device(s, b, p->b->reach(), "B");
    if (old != 0) expect_device(s, c, p->c->reach(), "C");
    expect_device(s, d, p->d->reach(), "D");
    if (has_bias(p->set)) expect_device(s, p->set.bias, p->d->rows * bytes_of(p->d->type), "the bias");
  };
  auto const spoil = [p, d] {
    for (std::uint64_t i = 0; i < p->d->rows; ++i)
      for (std::uint64_t j = 0; j < p->d->columns; ++j) store(d, p->d->at(i, j), p->d->type, std::nanf(""));
  };
  error =
      enqueue_with_workspace(s, *q, "cublasLtMatmul", 0.005 * static_cast<double>(index + 1), workspace, needed, expect,
                             [&s, p, by, a, b, old, c, d, index] {
                               multiply(*p, by, a, b, old, c, d, algorithms[index].reduction, s.options.truncates_tf32);
                             },
                             spoil, {});
  if (error == cudaSuccess && finds_an_error()) return CUBLAS_STATUS_EXECUTION_FAILED;
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

inline void install_matmul(installer& table) {
  using dsl::cu::api;
  table.set<&api::cublasLtGetVersion, &cublas_version>();
  table.set<&api::cublasLtGetStatusString, &cublas_status_string>();
  table.set<&api::cublasLtCreate, &cublas_create>();
  table.set<&api::cublasLtDestroy, &cublas_destroy<cublas_context, cublasLtHandle_t>>();
  table.set<&api::cublasLtMatmulDescCreate, &matmul_create>();
  table.set<&api::cublasLtMatmulDescDestroy, &cublas_destroy<matmul_desc, cublasLtMatmulDesc_t>>();
  table.set<&api::cublasLtMatmulDescSetAttribute, &matmul_set>();
  table.set<&api::cublasLtMatrixLayoutCreate, &layout_create>();
  table.set<&api::cublasLtMatrixLayoutDestroy, &cublas_destroy<matrix_layout, cublasLtMatrixLayout_t>>();
  table.set<&api::cublasLtMatrixLayoutSetAttribute, &layout_set>();
  table.set<&api::cublasLtMatmulPreferenceCreate, &preference_create>();
  table.set<&api::cublasLtMatmulPreferenceDestroy, &cublas_destroy<matmul_preference, cublasLtMatmulPreference_t>>();
  table.set<&api::cublasLtMatmulPreferenceSetAttribute, &preference_set>();
  table.set<&api::cublasLtMatmulAlgoGetHeuristic, &find_algorithms>();
  table.set<&api::cublasLtMatmul, &matmul>();
}

}  // namespace dsl_test::simulated
