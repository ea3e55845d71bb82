// SPDX-License-Identifier: MIT
// Tests the double's cublasLt and its 16-bit numbers.
#include <dsl/executors/cuda/matrix_product.hpp>

#include "support/catch.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/simulated_device/typed_buffer.hpp"

#include <cstdint>
#include <vector>

using dsl::cu::api;
using dsl_test::simulated_device;
using buffer = dsl_test::typed_buffer;
using dsl_test::simulated::storage;

TEST_CASE("matrix products: orders, transposes, bias, workspaces") {
  simulated_device device;
  api const& a = device.api();
  {
    cudaStream_t s = nullptr;
    a(a.cudaStreamCreateWithFlags, &s, 0u);
    cublasLtHandle_t handle = nullptr;
    a(a.cublasLtCreate, &handle);
    // Row-major: D (2x3) = 2 * A (2x2) * B^T, B (3x2), + C; the bias is added to the rows of D.
    buffer as(a, 4, storage::bf16), bs(a, 6, storage::bf16), ds(a, 6, storage::f32), bias(a, 2, storage::f32),
        work(a, 4096, storage::f32);
    as.write({1, 2, 3, 4}, s), bs.write({1, 0, 0, 1, 1, -9}, s), ds.write({1, 1, 1, 1, 1, 1}, s),
        bias.write({10, 20}, s);
    cublasLtMatmulDesc_t product = nullptr;
    a(a.cublasLtMatmulDescCreate, &product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasOperation_t const turn = CUBLAS_OP_T;
    cublasLtEpilogue_t const epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    a(a.cublasLtMatmulDescSetAttribute, product, CUBLASLT_MATMUL_DESC_TRANSB, &turn, sizeof turn);
    a(a.cublasLtMatmulDescSetAttribute, product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    a(a.cublasLtMatmulDescSetAttribute, product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void const*>(&bias.p),
      sizeof bias.p);
    auto const layout = [&](cudaDataType_t type, std::uint64_t rows, std::uint64_t columns) {
      cublasLtMatrixLayout_t l = nullptr;
      a(a.cublasLtMatrixLayoutCreate, &l, type, rows, columns, static_cast<std::int64_t>(columns));
      std::int32_t const order = CUBLASLT_ORDER_ROW;
      a(a.cublasLtMatrixLayoutSetAttribute, l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
      return l;
    };
    auto const la = layout(CUDA_R_16BF, 2, 2), lb = layout(CUDA_R_16BF, 3, 2), ld = layout(CUDA_R_32F, 2, 3);
    cublasLtMatmulPreference_t preference = nullptr;
    a(a.cublasLtMatmulPreferenceCreate, &preference);
    std::uint64_t limit = 0;
    cublasLtMatmulHeuristicResult_t results[4];
    int count = 0;
    for (std::uint64_t const bytes : {0, 1 << 13}) {
      limit = bytes;
      a(a.cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit,
        sizeof limit);
      a(a.cublasLtMatmulAlgoGetHeuristic, handle, product, la, lb, ld, ld, preference, 4, results, &count);
      CHECK(count == (bytes ? 3 : 1));
    }
    CHECK(a.cublasLtMatmulAlgoGetHeuristic.function(handle, product, lb, la, ld, ld, preference, 4, results, &count) ==
          CUBLAS_STATUS_INVALID_VALUE);
    a(a.cublasLtMatmulAlgoGetHeuristic, handle, product, la, lb, ld, ld, preference, 4, results, &count);
    float const alpha = 2, beta = 1;
    auto const multiply = [&](std::size_t bytes) {
      return a.cublasLtMatmul.function(handle, product, &alpha, as.p, la, bs.p, lb, &beta, ds.p, ld, ds.p, ld,
                                       &results[0].algo, work.p, bytes, s);
    };
    CHECK(multiply(100) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(multiply(results[0].workspaceSize) == CUBLAS_STATUS_SUCCESS);
    CHECK(ds.read(s) == std::vector<float>{13, 15, 0, 27, 29, 0});
    for (auto l : {la, lb, ld}) a(a.cublasLtMatrixLayoutDestroy, l);
    a(a.cublasLtMatmulPreferenceDestroy, preference);
    a(a.cublasLtMatmulDescDestroy, product);
    a(a.cublasLtDestroy, handle);
    a(a.cudaStreamDestroy, s);
  }
  CHECK(device.report() == "");
}

TEST_CASE("a product's sums stay in float where they are split") {
  simulated_device device;
  api const& a = device.api();
  {
    cudaStream_t s = nullptr;
    a(a.cudaStreamCreateWithFlags, &s, 0u);
    dsl::cu::product_handle const handle(a);
    // 256 + 1, which bf16 rounds to 256, and -256
    buffer as(a, 4, storage::bf16), bs(a, 4, storage::bf16), ds(a, 1, storage::bf16), work(a, 4096, storage::f32);
    as.write({256, 1, -256, 0}, s), bs.write({1, 1, 1, 1}, s);
    auto const held = dsl::cu::storage::bf16;
    dsl::cu::product_plan const plan(
        handle, {.a = {as.p, held, 1, 4, 1}, .b = {bs.p, held, 4, 1, 4}, .d = {ds.p, held, 1, 1, 1}}, 1 << 13);
    REQUIRE(plan.found());
    CHECK(plan.workspace() > 0);  // it is split
    plan.run(work.p, s);
    CHECK(ds.read(s) == std::vector<float>{1});
    a(a.cudaStreamDestroy, s);
  }
  CHECK(device.report() == "");
}

TEST_CASE("vendors' libraries take a pending error for their own, and an error that was thrown is not pending") {
  simulated_device device;
  api const& a = device.api();
  {
    cudaStream_t s = nullptr;
    a(a.cudaStreamCreateWithFlags, &s, 0u);
    dsl::cu::product_handle const handle(a);
    buffer as(a, 4, storage::f32), bs(a, 4, storage::f32), ds(a, 1, storage::f32), work(a, 4096, storage::f32);
    as.write({1, 2, 3, 4}, s), bs.write({1, 1, 1, 1}, s);
    auto const held = dsl::cu::storage::f32;
    dsl::cu::product_plan const plan(
        handle, {.a = {as.p, held, 1, 4, 1}, .b = {bs.p, held, 4, 1, 4}, .d = {ds.p, held, 1, 1, 1}}, 1 << 13);
    void* p = nullptr;
    CHECK(a.cudaMalloc.function(&p, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
    CHECK_THROWS_WITH(plan.run(work.p, s), Catch::Contains("cublasLtMatmul"));
    CHECK_NOTHROW(plan.run(work.p, s));
    CHECK_THROWS_WITH(a(a.cudaMalloc, &p, std::size_t{1} << 50), Catch::Contains("cuda: cudaMalloc failed"));
    CHECK_NOTHROW(plan.run(work.p, s));
    CHECK(ds.read(s) == std::vector<float>{10});
    a(a.cudaStreamDestroy, s);
  }
  CHECK(device.report() == "");
}

TEST_CASE("16-bit numbers round to nearest, ties to even") {
  using namespace dsl_test::simulated;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    auto const h = static_cast<std::uint16_t>(bits);
    bool const nan_half = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff),
               nan_bf16 = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f);
    if (!nan_half && to_half(from_half(h)) != h) FAIL(bits);
    if (!nan_bf16 && to_bf16(from_bf16(h)) != h) FAIL(bits);
  }
  CHECK(from_half(0x3555) == 0x1.554p-2f);
  CHECK(to_half(1 + 0x1p-11f) == to_half(1));
  CHECK(to_half(1 + 0x1.8p-10f) == to_half(1 + 0x1p-9f));
  CHECK(to_half(65519) == 0x7bff);
  CHECK(to_half(65520) == 0x7c00);
  CHECK(to_half(-0x1p-25f) == 0x8000);
  CHECK(to_bf16(1 + 0x1p-8f) == to_bf16(1));
  CHECK(to_bf16(3.4e38f) == 0x7f80);
  CHECK(round_mantissa(1 + 0x1.4p-10f, 10) == 1 + 0x1p-10f);
  CHECK(factor_of(-1 - 0x1.cp-10f, factors_in(true, false)) == -1 - 0x2p-10f);
  CHECK(factor_of(-1 - 0x1.cp-10f, factors_in(true, true)) == -1 - 0x1p-10f);
}
