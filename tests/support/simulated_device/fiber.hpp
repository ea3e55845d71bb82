// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "support/simulated_device/sanitizers.hpp"

#if defined(__x86_64__)
// void typenet_switch_stack(void** save_here, void* go_there): pushes callee-saved registers on the old stack and pops
// them from the new one. swapcontext does the same with two system calls, in 190 ns instead of 5; a launch of a
// thousand blocks with a few barriers switches a million times.
asm(R"(
.pushsection .text.typenet_switch_stack, "axG", @progbits, typenet_switch_stack, comdat
.weak typenet_switch_stack
.type typenet_switch_stack, @function
typenet_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size typenet_switch_stack, . - typenet_switch_stack
.popsection
)");
extern "C" void typenet_switch_stack(void** save_here, void* go_there);
#endif

namespace dsl_test {

/// A stack with a function running on it, entered and left explicitly. The sanitizers are told about every switch:
/// otherwise ASan would take the other stack for a wild pointer.
class fiber {
 public:
#if DSL_TEST_ASAN
  static constexpr std::size_t stack_bytes = 256 * 1024;  // ASan puts redzones around every local
#else
  static constexpr std::size_t stack_bytes = 64 * 1024;
#endif
  using function = void (*)(fiber&);

  /// f must not return: it calls leave() when it has nothing to do.
  explicit fiber(function f) : entry_(f) {
    // Tops of stacks at a distance of whole pages would all use the same few cache lines.
    static thread_local std::size_t stacks = 0;
    colour_ = stacks++ % 61 * 64;
    void* const p = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(p);
    ::mprotect(base_, guard_bytes, PROT_NONE);  // an overflowing stack must not write into the next one
    stack_ = base_ + guard_bytes;
    reset();
  }
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  ~fiber() {
    sanitizers::unpoison(stack_, stack_bytes);
    sanitizers::forget_fiber(tsan_);
    ::munmap(base_, guard_bytes + stack_bytes);
  }

  /// Runs the fiber, from the thread's own stack, until it calls leave().
  void enter() {
    void* fake = nullptr;
    tsan_home_ = sanitizers::current_fiber();
    sanitizers::start_switch(&fake, stack_, stack_bytes, tsan_);
    swap(home_, here_);
    sanitizers::finish_switch(fake, nullptr, nullptr);
  }
  /// Returns, from the fiber, to enter()'s caller.
  void leave() {
    void* fake = nullptr;
    sanitizers::start_switch(&fake, home_stack_, home_bytes_, tsan_home_);
    swap(here_, home_);
    sanitizers::finish_switch(fake, &home_stack_, &home_bytes_);
  }
  /// Abandons what the fiber was doing (its locals are not destroyed); the next enter() starts f again.
  void reset() {
    sanitizers::unpoison(stack_, stack_bytes);
    sanitizers::forget_fiber(tsan_);
    tsan_ = sanitizers::new_fiber();
#if defined(__x86_64__)
    // What typenet_switch_stack pops: six registers, then begin, which finds no caller; 8 above a multiple of 16, as
    // after a call.
    auto* top = reinterpret_cast<std::uintptr_t*>(stack_ + stack_bytes - colour_) - 1;
    *top = 0;
    *--top = reinterpret_cast<std::uintptr_t>(&begin);
    for (int saved = 0; saved < 6; ++saved) *--top = 0;
    here_ = top;
#else
    ::getcontext(&here_);
    here_.uc_stack.ss_sp = stack_;
    here_.uc_stack.ss_size = stack_bytes - colour_;
    here_.uc_link = nullptr;
    ::makecontext(&here_, &begin, 0);
#endif
  }

 private:
  static constexpr std::size_t guard_bytes = 4096;
#if defined(__x86_64__)
  using context = void*;
  void swap(context& from, context& to) {
    starting_ = this;
    typenet_switch_stack(&from, to);
  }
#else
  using context = ucontext_t;
  void swap(context& from, context& to) {
    starting_ = this;
    ::swapcontext(&from, &to);
  }
#endif
  static void begin() {
    fiber& self = *starting_;
    sanitizers::finish_switch(nullptr, &self.home_stack_, &self.home_bytes_);
    self.entry_(self);
    __builtin_trap();
  }

  inline static thread_local constinit fiber* starting_ = nullptr;

  function entry_;
  std::size_t colour_ = 0;
  char* base_ = nullptr;
  char* stack_ = nullptr;
  context home_{};
  context here_{};
  void const* home_stack_ = nullptr;
  std::size_t home_bytes_ = 0;
  void* tsan_ = nullptr;
  void* tsan_home_ = nullptr;
};

}  // namespace dsl_test
