// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dsl::cu::TYPENET_MODE {

/// A function of a vendor's library.
template <class F>
struct entry {
  char const* name;
  F* function;
};

/// Thrown if the device or the host has too little memory for a request.
struct memory_error : executor_error {
  using executor_error::executor_error;
};

/// The table of all vendor functions that the executor calls. An api{} holds those of the libraries that the program is
/// linked with; tests replace them by a simulated device.
struct api {
  // devices
  entry<cudaError_t(int*)> cudaGetDeviceCount{"cudaGetDeviceCount", ::cudaGetDeviceCount};
  entry<cudaError_t(int)> cudaSetDevice{"cudaSetDevice", ::cudaSetDevice};
  entry<cudaError_t(int*)> cudaGetDevice{"cudaGetDevice", ::cudaGetDevice};
  entry<cudaError_t(cudaDeviceProp*, int)> cudaGetDeviceProperties{"cudaGetDeviceProperties",
                                                                   ::cudaGetDeviceProperties};
  entry<cudaError_t(int*)> cudaRuntimeGetVersion{"cudaRuntimeGetVersion", ::cudaRuntimeGetVersion};
  entry<cudaError_t(int*)> cudaDriverGetVersion{"cudaDriverGetVersion", ::cudaDriverGetVersion};
  entry<char const*(cudaError_t)> cudaGetErrorString{"cudaGetErrorString", ::cudaGetErrorString};
  entry<cudaError_t()> cudaGetLastError{"cudaGetLastError", ::cudaGetLastError};
  // memory
  entry<cudaError_t(void**, std::size_t)> cudaMalloc{"cudaMalloc", ::cudaMalloc};
  entry<cudaError_t(void*)> cudaFree{"cudaFree", ::cudaFree};
  entry<cudaError_t(void**, std::size_t)> cudaMallocHost{"cudaMallocHost", ::cudaMallocHost};
  entry<cudaError_t(void*)> cudaFreeHost{"cudaFreeHost", ::cudaFreeHost};
  entry<cudaError_t(void*, void const*, std::size_t, cudaMemcpyKind, cudaStream_t)> cudaMemcpyAsync{"cudaMemcpyAsync",
                                                                                                    ::cudaMemcpyAsync};
  entry<cudaError_t(void*, int, std::size_t, cudaStream_t)> cudaMemsetAsync{"cudaMemsetAsync", ::cudaMemsetAsync};
  // streams and events
  entry<cudaError_t(cudaStream_t*, unsigned)> cudaStreamCreateWithFlags{"cudaStreamCreateWithFlags",
                                                                        ::cudaStreamCreateWithFlags};
  entry<cudaError_t(cudaStream_t*, unsigned, int)> cudaStreamCreateWithPriority{"cudaStreamCreateWithPriority",
                                                                                ::cudaStreamCreateWithPriority};
  entry<cudaError_t(int*, int*)> cudaDeviceGetStreamPriorityRange{"cudaDeviceGetStreamPriorityRange",
                                                                  ::cudaDeviceGetStreamPriorityRange};
  entry<cudaError_t(cudaStream_t)> cudaStreamDestroy{"cudaStreamDestroy", ::cudaStreamDestroy};
  entry<cudaError_t(cudaStream_t)> cudaStreamSynchronize{"cudaStreamSynchronize", ::cudaStreamSynchronize};
  entry<cudaError_t(cudaStream_t)> cudaStreamQuery{"cudaStreamQuery", ::cudaStreamQuery};
  entry<cudaError_t(cudaStream_t, cudaEvent_t, unsigned)> cudaStreamWaitEvent{"cudaStreamWaitEvent",
                                                                              ::cudaStreamWaitEvent};
  entry<cudaError_t(cudaEvent_t*, unsigned)> cudaEventCreateWithFlags{"cudaEventCreateWithFlags",
                                                                      ::cudaEventCreateWithFlags};
  entry<cudaError_t(cudaEvent_t)> cudaEventDestroy{"cudaEventDestroy", ::cudaEventDestroy};
  entry<cudaError_t(cudaEvent_t, cudaStream_t)> cudaEventRecord{"cudaEventRecord", ::cudaEventRecord};
  entry<cudaError_t(cudaEvent_t)> cudaEventSynchronize{"cudaEventSynchronize", ::cudaEventSynchronize};
  entry<cudaError_t(cudaEvent_t)> cudaEventQuery{"cudaEventQuery", ::cudaEventQuery};
  entry<cudaError_t(float*, cudaEvent_t, cudaEvent_t)> cudaEventElapsedTime{"cudaEventElapsedTime",
                                                                            ::cudaEventElapsedTime};
  // graphs
  entry<cudaError_t(cudaStream_t, cudaStreamCaptureMode)> cudaStreamBeginCapture{"cudaStreamBeginCapture",
                                                                                 ::cudaStreamBeginCapture};
  entry<cudaError_t(cudaStream_t, cudaGraph_t*)> cudaStreamEndCapture{"cudaStreamEndCapture", ::cudaStreamEndCapture};
  entry<cudaError_t(cudaGraphExec_t*, cudaGraph_t, unsigned long long)> cudaGraphInstantiate{"cudaGraphInstantiate",
                                                                                             ::cudaGraphInstantiate};
  entry<cudaError_t(cudaGraph_t)> cudaGraphDestroy{"cudaGraphDestroy", ::cudaGraphDestroy};
  entry<cudaError_t(cudaGraphExec_t)> cudaGraphExecDestroy{"cudaGraphExecDestroy", ::cudaGraphExecDestroy};
  entry<cudaError_t(cudaGraphExec_t, cudaStream_t)> cudaGraphUpload{"cudaGraphUpload", ::cudaGraphUpload};
  entry<cudaError_t(cudaGraphExec_t, cudaStream_t)> cudaGraphLaunch{"cudaGraphLaunch", ::cudaGraphLaunch};
  // our kernels
  entry<cudaError_t(cudaLibrary_t*, void const*, cudaJitOption*, void**, unsigned, cudaLibraryOption*, void**,
                    unsigned)>
      cudaLibraryLoadData{"cudaLibraryLoadData", ::cudaLibraryLoadData};
  entry<cudaError_t(cudaLibrary_t)> cudaLibraryUnload{"cudaLibraryUnload", ::cudaLibraryUnload};
  entry<cudaError_t(cudaKernel_t*, cudaLibrary_t, char const*)> cudaLibraryGetKernel{"cudaLibraryGetKernel",
                                                                                     ::cudaLibraryGetKernel};
  entry<cudaError_t(cudaFuncAttributes*, void const*)> cudaFuncGetAttributes{"cudaFuncGetAttributes",
                                                                             ::cudaFuncGetAttributes};
  entry<cudaError_t(void const*, dim3, dim3, void**, std::size_t, cudaStream_t)> cudaLaunchKernel{"cudaLaunchKernel",
                                                                                                  ::cudaLaunchKernel};
  entry<nvrtcResult(int*, int*)> nvrtcVersion{"nvrtcVersion", ::nvrtcVersion};
  entry<char const*(nvrtcResult)> nvrtcGetErrorString{"nvrtcGetErrorString", ::nvrtcGetErrorString};
  entry<nvrtcResult(nvrtcProgram*, char const*, char const*, int, char const* const*, char const* const*)>
      nvrtcCreateProgram{"nvrtcCreateProgram", ::nvrtcCreateProgram};
  entry<nvrtcResult(nvrtcProgram, int, char const* const*)> nvrtcCompileProgram{"nvrtcCompileProgram",
                                                                                ::nvrtcCompileProgram};
  entry<nvrtcResult(nvrtcProgram*)> nvrtcDestroyProgram{"nvrtcDestroyProgram", ::nvrtcDestroyProgram};
  entry<nvrtcResult(nvrtcProgram, std::size_t*)> nvrtcGetCUBINSize{"nvrtcGetCUBINSize", ::nvrtcGetCUBINSize};
  entry<nvrtcResult(nvrtcProgram, char*)> nvrtcGetCUBIN{"nvrtcGetCUBIN", ::nvrtcGetCUBIN};
  entry<nvrtcResult(nvrtcProgram, std::size_t*)> nvrtcGetProgramLogSize{"nvrtcGetProgramLogSize",
                                                                        ::nvrtcGetProgramLogSize};
  entry<nvrtcResult(nvrtcProgram, char*)> nvrtcGetProgramLog{"nvrtcGetProgramLog", ::nvrtcGetProgramLog};
  // convolutions
  entry<std::size_t()> cudnnGetVersion{"cudnnGetVersion", ::cudnnGetVersion};
  entry<char const*(cudnnStatus_t)> cudnnGetErrorString{"cudnnGetErrorString", ::cudnnGetErrorString};
  entry<void(char*, std::size_t)> cudnnGetLastErrorString{"cudnnGetLastErrorString", ::cudnnGetLastErrorString};
  entry<cudnnStatus_t(cudnnHandle_t*)> cudnnCreate{"cudnnCreate", ::cudnnCreate};
  entry<cudnnStatus_t(cudnnHandle_t)> cudnnDestroy{"cudnnDestroy", ::cudnnDestroy};
  entry<cudnnStatus_t(cudnnHandle_t, cudaStream_t)> cudnnSetStream{"cudnnSetStream", ::cudnnSetStream};
  entry<cudnnStatus_t(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t*)> cudnnBackendCreateDescriptor{
      "cudnnBackendCreateDescriptor", ::cudnnBackendCreateDescriptor};
  entry<cudnnStatus_t(cudnnBackendDescriptor_t)> cudnnBackendDestroyDescriptor{"cudnnBackendDestroyDescriptor",
                                                                               ::cudnnBackendDestroyDescriptor};
  entry<cudnnStatus_t(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, std::int64_t,
                      void const*)>
      cudnnBackendSetAttribute{"cudnnBackendSetAttribute", ::cudnnBackendSetAttribute};
  entry<cudnnStatus_t(cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                      std::int64_t, std::int64_t*, void*)>
      cudnnBackendGetAttribute{"cudnnBackendGetAttribute", ::cudnnBackendGetAttribute};
  entry<cudnnStatus_t(cudnnBackendDescriptor_t)> cudnnBackendFinalize{"cudnnBackendFinalize", ::cudnnBackendFinalize};
  entry<cudnnStatus_t(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t)> cudnnBackendExecute{
      "cudnnBackendExecute", ::cudnnBackendExecute};
  // matrix products
  entry<std::size_t()> cublasLtGetVersion{"cublasLtGetVersion", ::cublasLtGetVersion};
  entry<char const*(cublasStatus_t)> cublasLtGetStatusString{"cublasLtGetStatusString", ::cublasLtGetStatusString};
  entry<cublasStatus_t(cublasLtHandle_t*)> cublasLtCreate{"cublasLtCreate", ::cublasLtCreate};
  entry<cublasStatus_t(cublasLtHandle_t)> cublasLtDestroy{"cublasLtDestroy", ::cublasLtDestroy};
  entry<cublasStatus_t(cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t)> cublasLtMatmulDescCreate{
      "cublasLtMatmulDescCreate", ::cublasLtMatmulDescCreate};
  entry<cublasStatus_t(cublasLtMatmulDesc_t)> cublasLtMatmulDescDestroy{"cublasLtMatmulDescDestroy",
                                                                        ::cublasLtMatmulDescDestroy};
  entry<cublasStatus_t(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void const*, std::size_t)>
      cublasLtMatmulDescSetAttribute{"cublasLtMatmulDescSetAttribute", ::cublasLtMatmulDescSetAttribute};
  entry<cublasStatus_t(cublasLtMatrixLayout_t*, cudaDataType, std::uint64_t, std::uint64_t, std::int64_t)>
      cublasLtMatrixLayoutCreate{"cublasLtMatrixLayoutCreate", ::cublasLtMatrixLayoutCreate};
  entry<cublasStatus_t(cublasLtMatrixLayout_t)> cublasLtMatrixLayoutDestroy{"cublasLtMatrixLayoutDestroy",
                                                                            ::cublasLtMatrixLayoutDestroy};
  entry<cublasStatus_t(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void const*, std::size_t)>
      cublasLtMatrixLayoutSetAttribute{"cublasLtMatrixLayoutSetAttribute", ::cublasLtMatrixLayoutSetAttribute};
  entry<cublasStatus_t(cublasLtMatmulPreference_t*)> cublasLtMatmulPreferenceCreate{"cublasLtMatmulPreferenceCreate",
                                                                                    ::cublasLtMatmulPreferenceCreate};
  entry<cublasStatus_t(cublasLtMatmulPreference_t)> cublasLtMatmulPreferenceDestroy{"cublasLtMatmulPreferenceDestroy",
                                                                                    ::cublasLtMatmulPreferenceDestroy};
  entry<cublasStatus_t(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, void const*, std::size_t)>
      cublasLtMatmulPreferenceSetAttribute{"cublasLtMatmulPreferenceSetAttribute",
                                           ::cublasLtMatmulPreferenceSetAttribute};
  entry<cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                       cublasLtMatmulHeuristicResult_t*, int*)>
      cublasLtMatmulAlgoGetHeuristic{"cublasLtMatmulAlgoGetHeuristic", ::cublasLtMatmulAlgoGetHeuristic};
  entry<cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, void const*, void const*, cublasLtMatrixLayout_t,
                       void const*, cublasLtMatrixLayout_t, void const*, void const*, cublasLtMatrixLayout_t, void*,
                       cublasLtMatrixLayout_t, cublasLtMatmulAlgo_t const*, void*, std::size_t, cudaStream_t)>
      cublasLtMatmul{"cublasLtMatmul", ::cublasLtMatmul};

  /// Calls a function: a(a.cudaMalloc, &p, bytes). Throws executor_error if it fails: "cuda: cudaMalloc failed: out of
  /// memory".
  template <class R, class... P>
  void operator()(entry<R(P...)> const& e, std::type_identity_t<P>... arguments) const {
    require(e, e.function(arguments...));
  }
  /// Makes the owners that use this table release nothing from now on. Call it for a device whose work may never end,
  /// since each release would wait for that work, and when the process ends, since the libraries may be gone.
  void give_nothing_back() {
    leave(cudaFree), leave(cudaFreeHost);
    leave(cudaStreamSynchronize), leave(cudaStreamDestroy), leave(cudaEventDestroy), leave(cudaGraphExecDestroy);
    leave(cudaLibraryUnload), leave(cudnnBackendDestroyDescriptor), leave(cudnnDestroy), leave(cublasLtDestroy);
    leave(cublasLtMatmulDescDestroy), leave(cublasLtMatrixLayoutDestroy), leave(cublasLtMatmulPreferenceDestroy);
  }
  /// Throws the error of a failed call if `status`, which a call has already returned, is a failure.
  template <class R, class... P>
  void require(entry<R(P...)> const& e, R status) const {
    if (status != R{}) fail(status, e.name);
  }
  /// Ignores the failure of a call that cleans up. Clears the error, so that the next call does not report it.
  void ignore(cudaError_t s) const {
    if (s != cudaSuccess) cudaGetLastError.function();
  }

 private:
  template <class R, class... P>
  static void leave(entry<R(P...)>& e) {
    e.function = [](P...) { return R{}; };
  }
  /// Throws an error, and clears it in the runtime: the runtime keeps an error until it is read, and libraries that
  /// read it after their own launches would report it as theirs.
  template <class Error = executor_error>
  [[gnu::cold, noreturn]] void fail(char const* library, char const* call, char const* why) const {
    cudaGetLastError.function();
    throw Error(detail::message({library, ": ", call, " failed: ", why}));
  }
  [[noreturn]] void fail(cudaError_t s, char const* call) const {
    char const* const why = cudaGetErrorString.function(s);
    if (s == cudaErrorMemoryAllocation) fail<memory_error>("cuda", call, why);
    fail("cuda", call, why);
  }
  [[noreturn]] void fail(nvrtcResult s, char const* call) const {
    fail("nvrtc", call, nvrtcGetErrorString.function(s));
  }
  [[noreturn]] void fail(cudnnStatus_t s, char const* call) const {
    char const* const why = cudnnGetErrorString.function(s);
    if (s == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        s == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
      fail<memory_error>("cudnn", call, why);
    fail("cudnn", call, why);
  }
  [[noreturn]] void fail(cublasStatus_t s, char const* call) const {
    char const* const why = cublasLtGetStatusString.function(s);
    if (s == CUBLAS_STATUS_ALLOC_FAILED) fail<memory_error>("cublasLt", call, why);
    fail("cublasLt", call, why);
  }
};

}  // namespace dsl::cu::TYPENET_MODE
