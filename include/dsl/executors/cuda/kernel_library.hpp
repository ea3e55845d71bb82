// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels.hpp>
#include <dsl/executors/cuda/kernels/program.hpp>
#include <dsl/executors/cuda/nvrtc.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The kernels of one device. Add specs, build() them as one program, and launch the kernels. Equal specs share a
/// kernel.
///   auto const k = library.add(kernels::softmax_forward(storage::bf16, 64, 10, {10}, {10}));
///   library.build("sm_90a");
///   library.launch(k, stream, x, y);
class kernel_library {
 public:
  /// The number of a kernel whose launch takes these arguments. It is -1 if none has been added.
  template <class... Arguments>
  struct number {
    int of = -1;
    explicit operator bool() const { return of >= 0; }
    friend bool operator==(number const&, number const&) = default;
  };

  explicit kernel_library(api const& a, std::string cache = cache_folder()) : api_(&a), cache_(std::move(cache)) {}
  kernel_library(kernel_library const&) = delete;
  kernel_library& operator=(kernel_library const&) = delete;
  ~kernel_library() {
    for (cudaLibrary_t l : libraries_) api_->ignore(api_->cudaLibraryUnload.function(l));
  }

  /// Adds a kernel. Returns the number with which it is launched after the next build().
  template <class... Arguments>
  number<Arguments...> add(kernel_spec<Arguments...> const& spec) {
    return {number_of(spec)};
  }

  /// Compiles the kernels added since the last call, or reads them from the cache, and loads them on the current
  /// device.
  void build(std::string const& architecture) {
    std::size_t const first = kernels_.size();
    if (first == specs_.size()) return;
    std::string const text = program_text(std::span(specs_).subspan(first), static_cast<int>(first));
    cubin const program = compile_cached(*api_, text, architecture, cache_);
    libraries_.reserve(libraries_.size() + 1);
    cudaLibrary_t library = nullptr;
    (*api_)(api_->cudaLibraryLoadData, &library, program.code.data(), nullptr, nullptr, 0U, nullptr, nullptr, 0U);
    libraries_.push_back(library);
    std::vector<cudaKernel_t> found(specs_.size() - first);
    for (std::size_t i = 0; i < found.size(); ++i) {
      (*api_)(api_->cudaLibraryGetKernel, &found[i], library, ("k" + std::to_string(first + i)).c_str());
      // A kernel is loaded when it is first queried or launched, which is not allowed while recording.
      cudaFuncAttributes facts{};
      (*api_)(api_->cudaFuncGetAttributes, &facts, static_cast<void const*>(found[i]));
    }
    kernels_.insert(kernels_.end(), found.begin(), found.end());
    code_bytes_ += static_cast<long long>(program.code.size());
    compiled_ += program.from_cache ? 0 : 1;
  }

  /// Enqueues kernel k on a stream.
  template <class... Arguments>
  void launch(number<Arguments...> k, cudaStream_t stream, std::type_identity_t<Arguments>... arguments) const {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    enqueue(static_cast<std::size_t>(k.of), stream, pointers);
  }

  any_kernel const& spec(int k) const { return specs_[static_cast<std::size_t>(k)]; }
  int size() const { return static_cast<int>(specs_.size()); }
  /// Returns the number of programs that were compiled because they were not in the cache.
  int compiled() const { return compiled_; }
  long long code_bytes() const { return code_bytes_; }
  /// Returns the scratch memory that suffices for every kernel. Kernels that share it must not run concurrently.
  long long scratch_bytes() const {
    long long most = 0;
    for (any_kernel const& s : specs_) most = std::max(most, s.scratch_bytes);
    return most;
  }
  int counters() const {
    int most = 0;
    for (any_kernel const& s : specs_) most = std::max(most, s.counters);
    return most;
  }

 private:
  int number_of(any_kernel const& spec) {
    auto const known = std::find(specs_.begin(), specs_.end(), spec);
    if (known != specs_.end()) return static_cast<int>(known - specs_.begin());
    specs_.push_back(spec);
    return size() - 1;
  }
  void enqueue(std::size_t k, cudaStream_t stream, void** arguments) const {
    if (k >= kernels_.size())
      throw executor_error(
          dsl::detail::message({"cuda: kernel ", k, " is launched before it is built; please report the network"}));
    any_kernel const& s = specs_[k];
    // cudaLaunchKernel also accepts a cudaKernel_t in place of a function's address (CUDA runtime API, 6.33).
    (*api_)(api_->cudaLaunchKernel, static_cast<void const*>(kernels_[k]), dim3(s.blocks_x, s.blocks_y),
            dim3(s.threads), arguments, std::size_t{0}, stream);
  }

  api const* api_;
  std::string cache_;
  std::vector<any_kernel> specs_;
  std::vector<cudaLibrary_t> libraries_;
  std::vector<cudaKernel_t> kernels_;  // for each spec that has been built
  long long code_bytes_ = 0;
  int compiled_ = 0;
};

}  // namespace dsl::cu::TYPENET_MODE
