// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/onednn/library.hpp>
#include <dsl/executors/onednn/parallel.hpp>

#include <utility>

namespace dsl::dnn::TYPENET_MODE {

/// oneDNN's engine and stream, and memory that the plan does not count: packed kernels, and one scratch block for all
/// primitives, since they run one after the other.
class device {
 public:
  device() {
    check(dnnl_engine_create(engine_.put(), dnnl_cpu, 0), "dnnl_engine_create");
    check(dnnl_stream_create(stream_.put(), engine_.get(), dnnl_stream_default_flags), "dnnl_stream_create");
  }
  dnnl_engine_t engine() const { return engine_.get(); }
  dnnl_stream_t stream() const { return stream_.get(); }

  /// Returns a memory object in the shared scratch block, which grows to the largest request.
  memory_handle scratch(layout const& l) {
    auto const bytes = static_cast<long long>(l.bytes());
    if (!scratch_ || scratch_->bytes() < bytes) {
      scratch_ = detail::make_owner<host::memory_block>(bytes);
      for (dnnl_memory_t m : users_) dnnl_memory_set_data_handle(m, scratch_->data());
    }
    memory_handle m = make_memory(engine(), l, scratch_->data());
    users_.push(m.get());
    return m;
  }
  /// Counts memory that a primitive keeps for itself.
  void count(long long bytes) { bytes_ += bytes; }
  long long bytes() const { return bytes_ + (scratch_ ? scratch_->bytes() : 0); }

 private:
  engine_handle engine_;
  stream_handle stream_;
  detail::owner<host::memory_block> scratch_;
  detail::list<dnnl_memory_t> users_;
  long long bytes_ = 0;
};

/// A primitive with its arguments, ready to be executed repeatedly.
class primitive_call {
 public:
  primitive_call() = default;
  explicit primitive_call(primitive_handle p) : primitive_(std::move(p)) {}
  explicit primitive_call(description_handle const& d) : primitive_(make_primitive(d)) {}
  /// Sets an argument located at `data`.
  [[gnu::cold, gnu::noinline]] void argument(int index, device const& on, layout const& l, void* data) {
    argument(index, make_memory(on.engine(), l, data));
  }
  void argument(int index, memory_handle m) {
    shared_argument(index, m.get());
    memories_[size_ - 1] = std::move(m);
  }
  void shared_argument(int index, dnnl_memory_t m) { arguments_[size_++] = {index, m}; }
  void operator()(device const& on) const {
    check(dnnl_primitive_execute(primitive_.get(), on.stream(), size_, arguments_), "dnnl_primitive_execute");
  }
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  static constexpr int most = 5;  // a convolution: source, weights, bias, destination, scratch memory
  primitive_handle primitive_;
  dnnl_exec_arg_t arguments_[most] = {};
  memory_handle memories_[most];
  int size_ = 0;
};

}  // namespace dsl::dnn::TYPENET_MODE
