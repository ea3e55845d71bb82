// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/arena.hpp>
#include <dsl/executors/cuda/kernel_library.hpp>
#include <dsl/executors/cuda/matrix_product.hpp>
#include <dsl/executors/cuda/choose_plan.hpp>
#include <dsl/executors/cuda/resident_data.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/task.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A pass of a convolution with its plan and tensors.
struct bound_convolution {
  convolution_plan plan;
  convolution_tensors tensors{};
  int queue = 0;
  std::optional<backend_descriptor> pack{};
};

/// A matrix product that is ready to run.
struct bound_product {
  product_plan plan;
  int queue;
  bound_product(product_handle const& h, matrix_product const& p, long long workspace_limit, int q)
      : plan(h, p, workspace_limit), queue(q) {}
};

/// The memory that the kernels of one queue use, one after the other.
struct work_memory {
  std::optional<device_memory> workspace{};  // for convolutions and products
  std::optional<device_memory> scratch{};    // for typenet's kernels
  std::optional<device_memory> counters{};
  long long bytes() const {
    long long all = 0;
    for (auto const* m : {&workspace, &scratch, &counters})
      if (*m) all += (*m)->bytes();
    return all;
  }
};

/// The kernel and bias of a convolution into which a batch_norm has been folded.
struct folded_kernel {
  device_memory kernel;
  device_memory bias;
  folded_kernel(api const& a, long long kernel_bytes, long long bias_bytes, cudaStream_t s)
      : kernel(a, kernel_bytes, s), bias(a, bias_bytes, s) {}
};

/// A part of a run, recorded as one graph. A segment ends where towers communicate through the host; without such
/// communication a program is one segment.
struct segment {
  std::vector<host::task> launches{};  // in the order in which they are recorded
  detail::chain<replay> graphs{};      // the graph of the launches, one for each place of a batch from the host
  host::task meeting{};                // runs on the host when the device has finished; empty for the last segment
};

/// A place for a batch from the host: pinned memory, which the host fills, and the images in the host's layout on the
/// device.
struct host_batch {
  pinned_memory images;
  device_memory pictures;
  std::optional<pinned_memory> labels{};
  std::optional<event> copied{};  // the images have reached the device; empty if the program's graph copies them
  int labelled = 0;               // number of samples whose labels have been set
  host_batch(api const& a, long long bytes, cudaStream_t s) : images(a, bytes), pictures(a, bytes, s) {}
};

/// The host memory in which towers exchange numbers.
struct host_exchange {
  pinned_memory mine, all;
  std::vector<double> sent, received;
  host_exchange(api const& a, long long count, int ranks)
      : mine(a, 4 * count),
        all(a, 4 * count * ranks),
        sent(static_cast<std::size_t>(count)),
        received(sent.size() * static_cast<std::size_t>(ranks)) {}
};

/// A plan with its memory on a device and everything that a run enqueues. The data that change from run to run are in
/// pinned memory, from which the graphs copy them.
struct program {
  dsl::plan plan{};
  batch_part part{1};
  resident_data* data = nullptr;  // the data set from which batches are gathered; null: the host provides them
  augmentation_numbers augment{};
  bool shuffle = true;
  int queues = 1;      // 2: steps that do not depend on each other run concurrently
  step_state state{};  // of the next run
  device_memory const* activations = nullptr;
  std::vector<host::task> refreshes{};  // run after parameters have changed: they fold batch_norms into kernels
  std::uint64_t refreshed = 0;          // the version of the parameters in these kernels

  detail::chain<bound_convolution> convolutions{};
  detail::chain<bound_product> products{};
  detail::chain<folded_kernel> folded{};
  detail::chain<device_memory> packed[2]{};  // for each queue, outputs that are then copied into their slices
  detail::chain<device_memory> numbers{};    // numbers that towers exchange
  detail::chain<host_exchange> exchanges{};  // for gathering numbers through the host
  detail::chain<pinned_memory> sums{};       // for summing numbers through the host
  detail::chain<event> events{};             // for waiting between the two queues
  work_memory work[2]{};
  std::optional<device_memory> stage_map{};  // which gradients are computed in the storage type
  std::optional<pinned_memory> metrics{};
  detail::chain<host_batch> batches{};  // two if the next batch is copied while a step runs; none if `data` is set
  int turn = 0;                         // the number of the batch of the last run
  std::uint64_t staged = 0;             // the number of the announced batch, in the other place; 0: there is none
  int samples = 0;                      // number of samples of the last run; the others of the batch only fill it
  detail::chain<segment> segments{};

  /// Whether this program has no samples and only takes part in sums and updates.
  bool idle() const { return part.size == 0; }
  /// Returns the bytes of device memory that the program uses in addition to the plan's arenas.
  long long extra_bytes() const {
    long long all = 0;
    for (work_memory const& w : work) all += w.bytes();
    if (stage_map) all += stage_map->bytes();
    for (host_batch const& b : batches) all += b.pictures.bytes();
    for (folded_kernel const& f : folded) all += f.kernel.bytes() + f.bias.bytes();
    for (auto const* more : {&packed[0], &packed[1], &numbers})
      for (device_memory const& m : *more) all += m.bytes();
    return all;
  }
};

/// A tensor's buffer on the device, and the tensor's position in it.
struct tensor_at {
  element* data = nullptr;
  slice at{};
  dsl::shape shape{};
  long long pixels = 0;  // of the whole batch
  explicit operator bool() const { return data != nullptr; }
};

/// Finds the operands of a program's steps in device memory.
class bound_operands {
 public:
  bound_operands(graph_view const& g, program const& p) : graph_(g), program_(p) {}

  /// Return an operand of a step that holds `what`: the one that is read, after skipping `skip` such operands, or the
  /// one that is written.
  tensor_at read(step const& s, content what, int skip = 0) const { return find(s, what, skip, true); }
  tensor_at written(step const& s, content what) const { return find(s, what, 0, false); }
  bool accumulates(step const& s) const {
    for (int i = 0; i < s.operands; ++i)
      if (at(s, i).what == content::gradient && at(s, i).how == access::accumulate) return true;
    return false;
  }
  /// Returns the number of the parameter with this role that a step reads, or -1 if there is none. If there are two (a
  /// bias that is skipped before a batch_norm), returns the last one.
  int parameter(step const& s, role r, content what = content::parameter) const {
    int found = -1;
    for (int i = 0; i < s.operands; ++i)
      if (at(s, i).what == what && graph_.parameters[at(s, i).index].role == r) found = at(s, i).index;
    return found;
  }
  /// Return the address of the batch's labels, and of the sum of its losses and the number of correct predictions; or
  /// null if the plan has none.
  std::int32_t* labels() const { return buffer<std::int32_t>(program_.plan.labels); }
  double* metrics() const { return buffer<double>(program_.plan.metrics); }
  /// Return the address of what a step passes on to a later one besides tensors, or null if the step has none.
  float* statistics(step const& s) const { return buffer<float>(buffer_of(s, content::statistics)); }
  window_position* argmax(step const& s) const { return buffer<window_position>(buffer_of(s, content::argmax)); }
  float* squares(step const& s) const { return buffer<float>(buffer_of(s, content::squares)); }
  tensor_at place(int tensor, placement where) const {
    dsl::buffer const& b = program_.plan.buffers[where.buffer];
    shape const& s = graph_.shape_of(tensor);
    // A flattened tensor has one pixel: 2x3x3 becomes 18 channels.
    int const channels = static_cast<int>(b.shape.channels * b.shape.area() / s.area());
    return {buffer<element>(where.buffer), {channels, where.channel}, s, program_.plan.options.batch * s.area()};
  }

 private:
  operand const& at(step const& s, int i) const { return program_.plan.operands[s.first_operand + i]; }
  template <class T>
  T* buffer(int b) const {
    if (b < 0) return nullptr;
    return reinterpret_cast<T*>(program_.activations->data() + program_.plan.buffers[b].offset);
  }
  int buffer_of(step const& s, content what) const {
    for (int i = 0; i < s.operands; ++i)
      if (at(s, i).what == what) return at(s, i).buffer;
    return -1;
  }
  tensor_at find(step const& s, content what, int skip, bool reads) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = at(s, i);
      if (o.what == what && (o.how == access::read) == reads && skip-- == 0)
        return place(o.index, {o.buffer, o.channel});
    }
    return {};
  }

  graph_view const& graph_;
  program const& program_;
};

}  // namespace dsl::cu::TYPENET_MODE
