// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "support/simulated_device/nccl_calls.hpp"

namespace dsl_test::simulated {

/// Does what `call` does for CUDA's functions: counts, injects faults, does the work.
template <auto Member, auto Implementation>
struct nccl_call;
template <class R, class... P, dsl::cu::entry<R(P...)> dsl::cu::nccl_api::* Member, R (*Implementation)(state&, P...)>
struct nccl_call<Member, Implementation> {
  inline static char const* name = "";

  static R run(P... arguments) {
    state& s = state::now(name);
    std::lock_guard const lock(s.mutex);
    ++s.calls[name];
    if constexpr (std::is_same_v<R, ncclResult_t>) {
      int const injected = take_fault<cudaError_t>(s, name);
      std::string_view const n = name;
      if (injected != 0) {
        if (gives_back(n) || n == "ncclCommAbort") Implementation(s, arguments...);
        return nccl_error(injected == cudaErrorUnknown ? ncclInternalError : static_cast<ncclResult_t>(injected),
                          "injected");
      }
    }
    return Implementation(s, arguments...);
  }
};

class nccl_installer {
 public:
  explicit nccl_installer(dsl::cu::nccl_api& n) : nccl_(n) {}
  template <auto Member, auto Implementation>
  void set() {
    auto& e = nccl_.*Member;
    nccl_call<Member, Implementation>::name = e.name;
    e.function = &nccl_call<Member, Implementation>::run;
    ++filled_;
  }
  bool complete() const { return filled_ * sizeof(dsl::cu::entry<void()>) == sizeof(dsl::cu::nccl_api); }

 private:
  dsl::cu::nccl_api& nccl_;
  std::size_t filled_ = 0;
};
inline void install_nccl(nccl_installer& table) {
  using dsl::cu::nccl_api;
  table.set<&nccl_api::ncclGetVersion, &nccl_get_version>();
  table.set<&nccl_api::ncclGetErrorString, &nccl_get_error_string>();
  table.set<&nccl_api::ncclGetLastError, &nccl_get_last_error>();
  table.set<&nccl_api::ncclGetUniqueId, &nccl_get_unique_id>();
  table.set<&nccl_api::ncclCommInitRankConfig, &nccl_init>();
  table.set<&nccl_api::ncclCommGetAsyncError, &nccl_get_async_error>();
  table.set<&nccl_api::ncclCommFinalize, &nccl_finalize>();
  table.set<&nccl_api::ncclCommDestroy, &nccl_destroy>();
  table.set<&nccl_api::ncclCommAbort, &nccl_abort>();
  table.set<&nccl_api::ncclAllReduce, &nccl_all_reduce>();
  table.set<&nccl_api::ncclAllGather, &nccl_all_gather>();
}

}  // namespace dsl_test::simulated
