// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <vector_types.h>

#include "support/simulated_device/fiber.hpp"
#include "support/simulated_device/indices.hpp"

namespace dsl_test {

/// Thrown for a request that a GPU would not fulfil, or not reliably.
struct simulation_error : std::logic_error {
  using std::logic_error::logic_error;
};

/// The order of blocks and of a block's threads is drawn from this seed; every launch advances it (xorshift64*).
inline thread_local constinit std::uint64_t launch_seed = 0x9E3779B97F4A7C15u;

inline std::uint32_t random_below(std::uint64_t& state, std::uint32_t n) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return static_cast<std::uint32_t>(((state * 0x2545F4914F6CDD1Du >> 32) * n) >> 32);
}

namespace detail {

/// Runs the threads of one block. A fiber runs threads one after the other as long as they do not wait; a thread that
/// waits keeps its fiber, and the next thread gets another one. So a kernel without barriers costs two switches per
/// block, and only the fibers that are needed exist.
class block_of_threads {
 public:
  using body = void (*)(void*);

  static block_of_threads& of_this_thread() {
    static thread_local block_of_threads all;
    return all;
  }

  void run(dim3 block, body f, void* context) {
    f_ = f;
    context_ = context;
    block_ = block;
    threads_ = block.x * block.y * block.z;
    started_ = ended_ = 0;
    error_ = nullptr;
    // Threads start at a random one, upwards or downwards: a missing barrier shows in one of the two.
    first_ = random_below(launch_seed, threads_);
    step_ = random_below(launch_seed, 2) ? 1 : threads_ - 1;
    used_ = 0;
    waiting_.clear();
    while (started_ < threads_ && !error_) enter(next_fiber());
    while (!waiting_.empty() && !error_) {
      if (ended_ > 0) {
        drop_waiting();
        throw simulation_error("barrier divergence: " + std::to_string(ended_) + " of " + std::to_string(threads_) +
                               " threads ended while the others wait");
      }
      resumed_.swap(waiting_);
      waiting_.clear();
      for (std::size_t i = 0; i < resumed_.size() && !error_; ++i) enter(*resumed_[i]);
    }
    if (error_) {
      drop_waiting();
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  struct worker {
    fiber stack{&work};
    unsigned thread = 0;
  };

  static void work(fiber& self) {
    block_of_threads& all = of_this_thread();
    for (;;) {
      while (all.started_ < all.threads_ && !all.error_) {
        worker& me = *all.current_;
        me.thread = static_cast<unsigned>((all.first_ + std::uint64_t{all.started_} * all.step_) % all.threads_);
        ++all.started_;
        all.show(me);
        try {
          all.f_(all.context_);
        } catch (...) {
          all.error_ = std::current_exception();
        }
        ++all.ended_;
      }
      self.leave();
    }
  }
  static void wait() {
    block_of_threads& all = of_this_thread();
    worker& me = *all.current_;
    all.waiting_.push_back(&me);
    me.stack.leave();
  }

  worker& next_fiber() {
    if (used_ == workers_.size()) workers_.push_back(std::make_unique<worker>());
    return *workers_[used_++];
  }
  void enter(worker& w) {
    current_ = &w;
    show(w);
    dsl_simulated::wait_for_block = &wait;
    w.stack.enter();
    dsl_simulated::wait_for_block = nullptr;
  }
  void show(worker const& w) {
    dsl_simulated::thread_index = {w.thread % block_.x, w.thread / block_.x % block_.y,
                                   w.thread / (block_.x * block_.y)};
  }
  void drop_waiting() {
    for (auto const& w : workers_) w->stack.reset();
    waiting_.clear();
  }

  body f_ = nullptr;
  void* context_ = nullptr;
  dim3 block_{};
  unsigned threads_ = 0, started_ = 0, ended_ = 0, first_ = 0, step_ = 1;
  std::exception_ptr error_;
  worker* current_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<worker>> workers_;  // by pointer: a fiber's own address must not move
  std::vector<worker*> waiting_, resumed_;
};

}  // namespace detail

/// Calls f() once per thread of the grid, with dsl_simulated's indices set: blocks one after the other, each with its
/// threads as fibers that may call dsl_simulated::barrier(). The same seed gives the same order. Throws
/// simulation_error if a thread ends while others of its block wait, and for a size of 0 or above 1024 threads;
/// exceptions of f are rethrown, and the other threads of that block are abandoned.
template <class F>
void launch(dim3 grid, dim3 block, F&& f) {
  std::uint64_t const threads = std::uint64_t{block.x} * block.y * block.z;
  std::uint64_t const blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > 1024 || blocks == 0 || blocks > 0xffffffffu)
    throw simulation_error("launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                           " threads");
  if (dsl_simulated::wait_for_block) throw simulation_error("launch from inside a launch");
  std::vector<std::uint32_t> order(blocks);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::uint32_t i = static_cast<std::uint32_t>(order.size()); i > 1; --i)
    std::swap(order[i - 1], order[random_below(launch_seed, i)]);

  dsl_simulated::block_extent = {block.x, block.y, block.z};
  dsl_simulated::grid_extent = {grid.x, grid.y, grid.z};
  using callable = std::remove_reference_t<F>;
  auto const call = [](void* body) { (*static_cast<callable*>(body))(); };
  void* const context = const_cast<std::remove_const_t<callable>*>(std::addressof(f));
  for (std::uint32_t const b : order) {
    dsl_simulated::block_index = {b % grid.x, b / grid.x % grid.y, b / (grid.x * grid.y)};
    detail::block_of_threads::of_this_thread().run(block, call, context);
  }
}

}  // namespace dsl_test
