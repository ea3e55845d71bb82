// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace dsl::test {

/// Floats that end at a page's end or, every other time, one float earlier, so that they are not aligned for vectors.
/// The pages before and after are protected: a kernel that reads or writes outside of its memory ends the program. All
/// floats are NaN at first.
class guarded_floats {
 public:
  explicit guarded_floats(long long count) : count_(count) {
    std::size_t const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t const bytes = static_cast<std::size_t>(count) * sizeof(float);
    static bool odd = false;
    odd = !odd;
    std::size_t const slack = odd ? sizeof(float) : 0;
    std::size_t const pages = (bytes + slack + page - 1) / page;
    size_ = (pages + 2) * page;
    memory_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    char* const inside = static_cast<char*>(memory_) + page;
    if (pages > 0 && mprotect(inside, pages * page, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<float*>(inside + pages * page - slack - bytes);
    for (long long i = 0; i < count; ++i) data_[i] = std::numeric_limits<float>::quiet_NaN();
  }
  guarded_floats(guarded_floats const&) = delete;
  guarded_floats& operator=(guarded_floats const&) = delete;
  ~guarded_floats() { munmap(memory_, size_); }

  float* data() const { return data_; }
  long long size() const { return count_; }
  float& operator[](long long i) const { return data_[i]; }

 private:
  long long count_;
  std::size_t size_ = 0;
  void* memory_ = nullptr;
  float* data_ = nullptr;
};

}  // namespace dsl::test
