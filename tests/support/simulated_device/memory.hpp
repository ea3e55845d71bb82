// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "support/simulated_device/sanitizers.hpp"

namespace dsl_test::simulated {

/// Device memory that only simulated work may access. At other times its pages are inaccessible, so that host code that
/// dereferences a device pointer dies (by SIGSEGV, or with ASan's report). Every allocation begins at an odd multiple
/// of 256 bytes, the alignment that CUDA promises, is full of NaN, and lies between redzones and guard pages. Pinned
/// memory is ordinary memory that is registered here.
class device_memory {
 public:
  struct block {
    char* data = nullptr;
    std::size_t bytes = 0;
    int device = -1;  // -1: pinned host memory
    char* map = nullptr;
    std::size_t mapped = 0;
  };

  device_memory() = default;
  device_memory(device_memory const&) = delete;
  device_memory& operator=(device_memory const&) = delete;
  ~device_memory() {
    while (!live_.empty()) release(live_.begin()->second.data);
    for (block const& b : freed_) ::munmap(b.map, b.mapped);
  }

  /// Returns null if the process has no such memory.
  void* allocate(std::size_t bytes, int device) {
    std::size_t const used = (redzone + bytes + page - 1) / page * page;
    block b;
    b.mapped = used + 2 * page;
    void* const p = ::mmap(nullptr, b.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    b.map = static_cast<char*>(p);
    b.data = b.map + page + redzone;
    b.bytes = bytes;
    b.device = device;
    ::mprotect(b.map + page, used, PROT_READ | PROT_WRITE);
    std::memset(b.map + page, canary, used);
    std::memset(b.data, 0xFF, bytes);  // NaN in float, half and bf16, -1 in integers
    show(b, false);
    live_.emplace(address(b.data), b);
    return b.data;
  }
  void* allocate_pinned(std::size_t bytes) {
    block b;
    b.bytes = bytes;
    b.data = static_cast<char*>(std::aligned_alloc(page, (bytes + page - 1) / page * page));
    if (!b.data) return nullptr;
    std::memset(b.data, 0xFF, bytes);
    sanitizers::poison(b.data + bytes, (page - bytes % page) % page);
    live_.emplace(address(b.data), b);
    return b.data;
  }
  /// Returns false unless p is the start of a live allocation of that kind.
  bool free(void* p, bool pinned) {
    auto const at = live_.find(address(p));
    if (at == live_.end() || (at->second.device < 0) != pinned) return false;
    release(p);
    return true;
  }

  /// Returns the allocation that contains all of [p, p + bytes), or null.
  block const* find(void const* p, std::size_t bytes) const {
    auto at = live_.upper_bound(address(p));
    if (at == live_.begin()) return nullptr;
    block const& b = (--at)->second;
    std::size_t const offset = address(p) - address(b.data);
    return offset <= b.bytes && bytes <= b.bytes - offset ? &b : nullptr;
  }
  /// Whether p is inside device memory, live or freed, or its redzones.
  bool is_device(void const* p) const {
    auto const inside = [p](block const& b) {
      return b.device >= 0 && address(p) >= address(b.map) && address(p) < address(b.map) + b.mapped;
    };
    auto at = live_.upper_bound(address(p) + redzone + page);
    for (int k = 0; k < 2 && at != live_.begin(); ++k)
      if (inside((--at)->second)) return true;
    for (block const& b : freed_)
      if (inside(b)) return true;
    return false;
  }
  std::size_t used(int device) const {
    std::size_t sum = 0;
    for (auto const& [key, b] : live_)
      if (b.device == device) sum += (b.bytes + 511) / 512 * 512;
    return sum;
  }

  /// Makes the memory accessible to work. Calls nest.
  /// Work begins; again, it changes nothing.
  void open() {
    if (!std::exchange(open_, true))
      for (auto const& [key, b] : live_) show(b, true);
  }
  /// Makes it inaccessible again; returns what work wrote outside of its allocations.
  /// Work ends, if any has begun; returns what it wrote outside of its allocations.
  std::vector<std::string> close() {
    std::vector<std::string> damage;
    if (!std::exchange(open_, false)) return damage;
    for (auto const& [key, b] : live_) {
      if (b.device < 0) continue;
      if (overwritten(b))
        damage.push_back("on the device: a write beside an allocation of " + std::to_string(b.bytes) + " bytes");
      show(b, false);
    }
    return damage;
  }

  std::string leaks() const {
    std::vector<std::string> lines;
    for (auto const& [key, b] : live_)
      lines.push_back((b.device < 0 ? "leak: pinned memory, " : "leak: device memory, ") + std::to_string(b.bytes) +
                      " bytes\n");
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (auto const& line : lines) text += line;
    return text;
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t redzone = 256;
  static constexpr int canary = 0xA5;
  static std::uintptr_t address(void const* p) { return reinterpret_cast<std::uintptr_t>(p); }

  static void show(block const& b, bool accessible) {
    if (b.device < 0) return;
    std::size_t const used = b.mapped - 2 * page;
    ::mprotect(b.map + page, used, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
    sanitizers::poison(b.map + page, used);
    if (accessible) sanitizers::unpoison(b.data, b.bytes);
  }
  /// ASan reports the write itself, so the redzones need checking only without it.
  static bool overwritten(block const& b) {
    if (sanitizers::address) return false;
    bool bad = false;
    auto const check = [&](char* from, char* to) {
      for (; from != to; ++from)
        if (*from != static_cast<char>(canary)) {
          bad = true;
          *from = static_cast<char>(canary);
        }
    };
    check(b.map + page, b.data);
    check(b.data + b.bytes, b.map + b.mapped - page);
    return bad;
  }
  /// Frees an allocation. Its addresses are never reused, so that work which still uses them dies.
  void release(void* p) {
    auto const at = live_.find(address(p));
    block const b = at->second;
    live_.erase(at);
    if (b.device < 0) {
      sanitizers::unpoison(b.data, (b.bytes + page - 1) / page * page);
      std::free(b.data);
      return;
    }
    sanitizers::unpoison(b.map, b.mapped);  // the pages may be reused after munmap
    ::mprotect(b.map, b.mapped, PROT_NONE);
    ::madvise(b.map, b.mapped, MADV_DONTNEED);
    freed_.push_back(b);
  }

  std::map<std::uintptr_t, block> live_;
  std::vector<block> freed_;
  bool open_ = false;
};

}  // namespace dsl_test::simulated
