// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/api.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

// Matrix products through cublasLt.

namespace dsl::cu::TYPENET_MODE {

/// cublasLt's context for one device.
class product_handle {
 public:
  explicit product_handle(api const& a) : api_(&a) { a(a.cublasLtCreate, &handle_); }
  product_handle(product_handle const&) = delete;
  product_handle& operator=(product_handle const&) = delete;
  ~product_handle() { api_->cublasLtDestroy.function(handle_); }

  cublasLtHandle_t get() const { return handle_; }
  api const& calls() const { return *api_; }

 private:
  api const* api_;
  cublasLtHandle_t handle_ = nullptr;
};

/// A column-major matrix on the device: element (r, c) at data[c * stride + r].
struct matrix {
  void* data = nullptr;
  storage type = storage::f32;
  long long rows = 0;
  long long columns = 0;
  long long stride = 0;
};

/// The product d = a b. Each factor is transposed if requested. d is added to the product if it accumulates, and so is
/// one number per row if there is a bias.
struct matrix_product {
  matrix a{}, b{}, d{};
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  void* bias = nullptr;         // d.rows numbers of d's type, or null
  bool rounds_to_tf32 = false;  // float factors are rounded to 10 bits of mantissa
};

/// Whether an address is aligned to 16 bytes, as cublasLt requires for reading 16 bytes at once.
inline bool begins_aligned(void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

/// The algorithm that the library's heuristics prefer for a product.
class product_plan {
 public:
  /// Asks the library for an algorithm that needs at most `workspace_limit` bytes. found() is false if it has none.
  /// Throws executor_error if a call fails.
  product_plan(product_handle const& h, matrix_product const& p, long long workspace_limit)
      : api_(&h.calls()), handle_(h.get()), product_(p), operation_{api_}, a_{api_}, b_{api_}, d_{api_} {
    api const& a = *api_;
    a(a.cublasLtMatmulDescCreate, &operation_.handle,
      p.rounds_to_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void const*>(p.bias));
    }
    lay_out(a_, p.a), lay_out(b_, p.b), lay_out(d_, p.d);
    choose(static_cast<std::uint64_t>(workspace_limit));
  }
  product_plan(product_plan const&) = delete;
  product_plan& operator=(product_plan const&) = delete;

  bool found() const { return found_; }
  /// Returns the bytes that run() needs, aligned to 16 bytes.
  long long workspace() const { return static_cast<long long>(chosen_.workspaceSize); }
  void run(void* workspace, cudaStream_t s) const {
    float const alpha = 1, beta = product_.accumulate ? 1 : 0;
    api const& a = *api_;
    a(a.cublasLtMatmul, handle_, operation_.handle, &alpha, product_.a.data, a_.handle, product_.b.data, b_.handle,
      &beta, product_.d.data, d_.handle, product_.d.data, d_.handle, &chosen_.algo, workspace, chosen_.workspaceSize,
      s);
  }

 private:
  template <class Handle, auto Destroy>
  struct owned {
    api const* calls;
    Handle handle = nullptr;
    explicit owned(api const* a) : calls(a) {}
    owned(owned const&) = delete;
    owned& operator=(owned const&) = delete;
    ~owned() {
      if (handle) (calls->*Destroy).function(handle);
    }
  };
  using operation = owned<cublasLtMatmulDesc_t, &api::cublasLtMatmulDescDestroy>;
  using layout = owned<cublasLtMatrixLayout_t, &api::cublasLtMatrixLayoutDestroy>;
  using preference = owned<cublasLtMatmulPreference_t, &api::cublasLtMatmulPreferenceDestroy>;

  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, T const& value) {
    (*api_)(api_->cublasLtMatmulDescSetAttribute, operation_.handle, name, static_cast<void const*>(&value),
            sizeof value);
  }
  void lay_out(layout& l, matrix const& m) {
    (*api_)(api_->cublasLtMatrixLayoutCreate, &l.handle, m.type == storage::bf16 ? CUDA_R_16BF : CUDA_R_32F,
            static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.columns),
            static_cast<std::int64_t>(m.stride));
  }
  void choose(std::uint64_t limit) {
    api const& a = *api_;
    preference wishes(api_);
    a(a.cublasLtMatmulPreferenceCreate, &wishes.handle);
    auto const wish = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
      a(a.cublasLtMatmulPreferenceSetAttribute, wishes.handle, name, static_cast<void const*>(&value), sizeof value);
    };
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, limit);
    // If a sum is split, its parts stay in float until the end.
    wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (auto const name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      wish(name, std::uint32_t{16});  // the library's default is 256
    int count = 0;
    cublasStatus_t const status = a.cublasLtMatmulAlgoGetHeuristic.function(
        handle_, operation_.handle, a_.handle, b_.handle, d_.handle, d_.handle, wishes.handle, 1, &chosen_, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
    a.require(a.cublasLtMatmulAlgoGetHeuristic, status);
    found_ = count > 0 && chosen_.state == CUBLAS_STATUS_SUCCESS;
  }

  api const* api_;
  cublasLtHandle_t handle_;
  matrix_product product_;
  operation operation_;
  layout a_, b_, d_;
  cublasLtMatmulHeuristicResult_t chosen_{};
  bool found_ = false;
};

}  // namespace dsl::cu::TYPENET_MODE
