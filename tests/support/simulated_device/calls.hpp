// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "support/simulated_device/state.hpp"

namespace dsl_test::simulated {

template <class R>
constexpr R unknown_error() {
  if constexpr (std::is_same_v<R, cudaError_t>) return cudaErrorUnknown;
  if constexpr (std::is_same_v<R, nvrtcResult>) return NVRTC_ERROR_INTERNAL_ERROR;
  if constexpr (std::is_same_v<R, cudnnStatus_t>) return CUDNN_STATUS_INTERNAL_ERROR;
  if constexpr (std::is_same_v<R, cublasStatus_t>) return CUBLAS_STATUS_INTERNAL_ERROR;
}
template <class R>
inline constexpr bool is_status = std::is_same_v<R, cudaError_t> || std::is_same_v<R, nvrtcResult> ||
                                  std::is_same_v<R, cudnnStatus_t> || std::is_same_v<R, cublasStatus_t>;

/// Whether a call releases something. It does so even if it reports an error, which is then an earlier call's. Ending a
/// capture always ends it.
constexpr bool gives_back(std::string_view name) {
  return name.find("Destroy") != name.npos || name.starts_with("cudaFree") || name == "cudaLibraryUnload" ||
         name == "cudaStreamEndCapture";
}

/// Returns the status of the fault injected into this call, or 0. Counts down all faults that wait for it.
template <class R>
R take_fault(state& s, std::string_view name) {
  R result{};
  for (auto f = s.faults.begin(); f != s.faults.end();) {
    bool const here = f->device < 0 || f->device == state::current_device;
    if (here && (f->call.empty() || f->call == name) && --f->in == 0) {
      result = f->status ? static_cast<R>(f->status) : unknown_error<R>();
      ++s.faults_struck;
      f = s.faults.erase(f);
    } else {
      ++f;
    }
  }
  return result;
}

/// Stores the result for cudaGetLastError, which reports errors of the calling thread; a call whose kernel goes wrong
/// fails itself.
template <class R>
R remember(state& s, R result) {
  if constexpr (std::is_same_v<R, cudaError_t>) {
    if (result == cudaSuccess) result = s.sticky;
    if (result != cudaSuccess) state::last_error = result;
  }
  return result;
}
/// Whether an earlier call of this thread has left an error. Vendors' libraries check this after their launches, and
/// take the error for theirs.
inline bool finds_an_error() { return state::last_error != cudaSuccess; }

/// The function in the table: counts, injects faults, stores errors, then does the work. Deduction ensures that
/// Implementation has the parameters of the real header's function.
template <auto Member, auto Implementation>
struct call;
template <class R, class... P, dsl::cu::entry<R(P...)> dsl::cu::api::* Member, R (*Implementation)(state&, P...)>
struct call<Member, Implementation> {
  inline static char const* name = "";

  static R run(P... arguments) {
    state& s = state::now(name);
    std::lock_guard const lock(s.mutex);
    ++s.calls[name];
    if constexpr (is_status<R> && sizeof...(P) > 0) {  // cudaGetLastError(void) returns an error without failing
      R const injected = take_fault<R>(s, name);
      R error = injected;
      if constexpr (std::is_same_v<R, cudaError_t>)
        if (error == cudaSuccess) error = s.sticky;
      if (error != R{}) {
        s.failing = true;
        if (gives_back(name)) Implementation(s, arguments...);
        s.failing = false;
        return remember(s, error);
      }
      return remember(s, Implementation(s, arguments...));
    } else {
      return Implementation(s, arguments...);
    }
  }
};

/// Fills the table and counts its entries: an entry forgotten here would call the real library.
class installer {
 public:
  explicit installer(dsl::cu::api& a) : api_(a) {}
  template <auto Member, auto Implementation>
  void set() {
    auto& e = api_.*Member;
    call<Member, Implementation>::name = e.name;
    e.function = &call<Member, Implementation>::run;
    ++filled_;
  }
  bool complete() const { return filled_ * sizeof(dsl::cu::entry<void()>) == sizeof(dsl::cu::api); }

 private:
  dsl::cu::api& api_;
  std::size_t filled_ = 0;
};

}  // namespace dsl_test::simulated
