// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/onednn/library.hpp>
#include <dsl/executors/onednn/parallel.hpp>

#include <cstdint>

namespace dsl::dnn {

/// oneDNN's engine and stream, and what the plan does not count: one scratch for all primitives, since they run one
/// after the other, and kernels in the layouts the library likes.
class device {
 public:
  device() {
    check(dnnl_engine_create(engine_.put(), dnnl_cpu, 0), "dnnl_engine_create");
    check(dnnl_stream_create(stream_.put(), engine_.get(), dnnl_stream_default_flags), "dnnl_stream_create");
  }
  dnnl_engine_t engine() const { return engine_.get(); }
  dnnl_stream_t stream() const { return stream_.get(); }

  /// A memory object of the shared scratch; it grows to the largest asked for.
  memory_handle scratch(layout const& l) {
    auto const bytes = static_cast<long long>(l.bytes());
    if (!scratch_ || scratch_->bytes() < bytes) {
      scratch_ = std::make_unique<host::memory_block>(bytes);
      for (dnnl_memory_t m : users_) dnnl_memory_set_data_handle(m, scratch_->data());
    }
    memory_handle m = make_memory(engine(), l, scratch_->data());
    users_.push_back(m.get());
    return m;
  }
  /// Counts memory that a primitive keeps for itself.
  void count(long long bytes) { bytes_ += bytes; }
  long long bytes() const { return bytes_ + (scratch_ ? scratch_->bytes() : 0); }

 private:
  engine_handle engine_;
  stream_handle stream_;
  std::unique_ptr<host::memory_block> scratch_;
  std::vector<dnnl_memory_t> users_;
  long long bytes_ = 0;
};

/// A primitive with its arguments, ready to be executed again and again.
class call {
 public:
  call() = default;
  explicit call(primitive_handle p) : primitive_(std::move(p)) {}
  void argument(int index, memory_handle m) {
    arguments_.push_back({index, m.get()});
    memories_.push_back(std::move(m));
  }
  void shared_argument(int index, dnnl_memory_t m) { arguments_.push_back({index, m}); }
  void operator()(device const& on) const {
    check(dnnl_primitive_execute(primitive_.get(), on.stream(), static_cast<int>(arguments_.size()), arguments_.data()),
          "dnnl_primitive_execute");
  }
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  primitive_handle primitive_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<memory_handle> memories_;
};

/// How the numbers of a packed kernel come from the parameters.
enum class kernel_form {
  plain,       // as they are
  transposed,  // (in, out, flipped): a stride-1 data gradient as a convolution that can add to its result
  folded,      // batch_norm multiplied in, for inference
};

/// A kernel in one of the library's layouts, kept until the parameters change.
struct packed_kernel {
  int node = -1;
  kernel_form form = kernel_form::plain;
  dnn::layout layout{};
  std::unique_ptr<host::memory_block> data{};
  std::unique_ptr<host::memory_block> staging{};  // the numbers before packing, where they differ from the parameter's
  std::vector<float> bias{};                      // folded
  memory_handle memory{};
  call pack{};
  std::uint64_t version = 0;
};

}  // namespace dsl::dnn
