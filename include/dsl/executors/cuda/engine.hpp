// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/step_recorder.hpp>
#include <dsl/plan/verify.hpp>

#include <cstring>

namespace dsl::cu {

struct engine_settings {
  cu::precision precision = precision::bf16;
  bool deterministic = false;
  int device = 0;
  std::string cache = cache_folder();
  long long workspace_limit = 64LL << 20;  // bytes that one convolution may use
};

/// A network on one GPU. Convolutions through cuDNN, everything else through kernels of our own; every plan is recorded
/// as one graph, so that a step is one launch. Used by one thread at a time.
class engine final : public dsl::engine {
 public:
  [[gnu::cold]] engine(api const& a, graph_view const& g, engine_options const& o, engine_settings const& s)
      : dsl::engine(g, o),
        api_(a),
        device_(select_device(a, s.device)),
        settings_(s),
        type_(storage_of(s.precision)),
        stream_(a),
        cudnn_(a),
        target_(cudnn_),
        plans_(s.cache),
        arena_(a, stream_.get(), g, type_, o.update.slots()),
        library_(a, s.cache),
        state_(a, sizeof(step_state), stream_.get()),
        host_state_(a, sizeof(step_state)),
        parts_{api_,   graph_,   options_, s.precision, s.deterministic, stream_.get(),
               arena_, library_, cudnn_,   target_,     plans_,          reinterpret_cast<step_state*>(state_.data())} {
    cudnn_.set_stream(stream_.get());
    if (arena_.copies()) narrow_ = library_.add(kernels::narrow(type_, arena_.count()));
  }

  [[gnu::cold]] int prepare(mode m, batch_part part) override {
    if (options_.group) throw executor_error("cuda: several towers are not possible yet; use one");
    return prepare(m, part.size, nullptr, {}, true);
  }

  /// -1 for augmentations other than shift_and_flip, and for data that would fill more than half of the device.
  [[gnu::cold]] int prepare_resident(dataset const& data, augmentation const& augment, int batch,
                                     bool shuffle) override {
    if (augment && !augment.as<shift_and_flip>()) return -1;
    if (data.size > 0x7fffffff || resident_data::bytes_for(data) > device_.bytes / 2) return -1;
    select();
    resident_data* kept = nullptr;
    for (resident_data& d : data_)
      if (d.is(data)) kept = &d;
    if (!kept) kept = &data_.emplace(api_, stream_.get(), data);
    return prepare(mode::training, batch, kept, augment, shuffle);
  }
  void start_epoch(int which, int epoch, std::int64_t step) override {
    program& p = programs_[which];
    select();
    wait();
    p.data->load_order(options_.seed, epoch, p.shuffle);
    p.state.epoch = epoch;
    p.state.position = static_cast<std::uint64_t>(step * p.plan.options.batch);
  }

  void run(int which, batch_view const& batch) override {
    program& p = programs_[which];
    if (batch.size != p.plan.options.batch)
      throw option_error(
          detail::message({"batch: this program takes ", p.plan.options.batch, " samples, not ", batch.size}));
    select();
    wait();  // until the last run has fetched its batch
    if (batch.images) std::memcpy(p.images->as<void>(), batch.images, static_cast<std::size_t>(p.images->bytes()));
    if (batch.labels && p.labels)
      std::memcpy(p.labels->as<void>(), batch.labels, static_cast<std::size_t>(p.labels->bytes()));
    p.state.step = batch.step;
    p.state.learning_rate = static_cast<float>(batch.learning_rate);
    *host_state_.as<step_state>() = p.state;
    p.state.position += static_cast<std::uint64_t>(batch.size);
    refresh(p);
    p.graph->launch(stream_.get());
    running_ = true;
    if (p.plan.options.mode == mode::training) ++version_;
  }

  batch_metrics metrics(int which) override {
    select();
    wait();
    auto const* m = programs_[which].metrics->as<double>();
    return {m[0], m[1]};
  }

  void read_result(int which, float* out) override {
    select();
    program const& p = programs_[which];
    tensor_at const y = bound_operands(graph_, p).place(graph_.result(), p.plan.activations[graph_.result()]);
    std::vector<std::byte> raw(static_cast<std::size_t>(y.pixels * y.at.channels * bytes_of(type_)));
    api_(api_.cudaMemcpyAsync, raw.data(), y.data, raw.size(), cudaMemcpyDeviceToHost, stream_.get());
    running_ = true;
    wait();
    long long const area = y.shape.area();
    for (int n = 0; n < p.plan.options.batch; ++n)
      for (int c = 0; c < y.shape.channels; ++c)
        for (long long i = 0; i < area; ++i)
          *out++ = number(raw.data(), (n * area + i) * y.at.channels + y.at.offset + c);
  }

  void read_parameter(int k, float* out) override {
    require_parameter(k);
    read(k, arena_.parameter(k), out);
  }
  void write_parameter(int k, float const* in) override {
    require_parameter(k);
    select();
    arena_.write(k, in, arena_.parameter(k));
    copies_are_old_ = true;
    ++version_;
  }
  void read_slot(int s, int k, float* out) override {
    require_slot(s, k);
    select();
    arena_.require_training();
    read(k, arena_.slot(s, k), out);
  }
  void write_slot(int s, int k, float const* in) override {
    require_slot(s, k);
    select();
    arena_.require_training();
    arena_.write(k, in, arena_.slot(s, k));
  }
  /// Of the last training step; for tests. Those that were made in the storage type come rounded to it.
  void read_gradient(int k, float* out) {
    select();
    long long const first = arena_.offset_of(k);
    for (program const& p : programs_) {
      if (!p.stage_map) continue;
      std::vector<std::byte> map(static_cast<std::size_t>(p.stage_map->bytes()));
      api_(api_.cudaMemcpyAsync, map.data(), p.stage_map->data(), map.size(), cudaMemcpyDeviceToHost, stream_.get());
      api_(api_.cudaStreamSynchronize, stream_.get());
      if (map[static_cast<std::size_t>(first / 16)] == std::byte{0}) continue;
      return read_staged(k, out);
    }
    read(k, arena_.gradient(k), out);
  }

  long long arena_bytes() const override {
    long long all = arena_.bytes();
    for (device_memory const& b : blocks_) all += b.bytes();
    return all;
  }
  long long executor_bytes() const override {
    long long all = arena_.extra_bytes() + library_.code_bytes() + state_.bytes();
    for (program const& p : programs_) all += p.extra_bytes();
    for (resident_data const& d : data_) all += d.bytes();
    return all;
  }
  [[gnu::cold]] std::string description() const override {
    std::size_t const v = api_.cudnnGetVersion.function();
    char const* const names[] = {"bf16", "tf32", "fp32_strict"};
    return detail::message({"cuda on ", device_.name, " (", device_.architecture, "), cudnn ", v / 10000, ".",
                            v / 100 % 100, ".", v % 100, ", ", names[static_cast<int>(settings_.precision)],
                            settings_.deterministic ? ", deterministic" : ""});
  }
  kernel_library const& library() const { return library_; }

 private:
  static bool same_shifts(augmentation const& a, augmentation const& b) {
    shift_and_flip const *x = a.as<shift_and_flip>(), *y = b.as<shift_and_flip>();
    return x && y ? *x == *y : x == y;
  }
  [[gnu::cold]] int prepare(mode m, int batch, resident_data* data, augmentation const& augment, bool shuffle) {
    int count = 0;
    for (program const& p : programs_) {
      bool const same = p.plan.options.mode == m && p.plan.options.batch == batch && p.data == data;
      if (same && (!data || (p.shuffle == shuffle && same_shifts(p.augment, augment)))) return count;
      ++count;
    }
    select();
    plan made = make_plan(graph_, {batch, m, target_for(type_), options_.update.slots(), options_.loss});
    if (options_.verify)
      if (plan_verdict const v = options_.verify(graph_, made); !v.holds())
        throw executor_error(detail::message({"plan: ", explain(v.broken), " (step ", v.step, ")"}));
    if (m == mode::training) arena_.require_training();
    // A program that could not be finished stays unfinished and is never found again: its batch is 0.
    program& p = programs_.emplace();
    p.plan = std::move(made);
    p.data = data;
    p.augment = augment;
    p.shuffle = shuffle;
    try {
      finish(p);
    } catch (...) {
      p.plan.options.batch = 0;
      throw;
    }
    return count;
  }

  void select() const { api_(api_.cudaSetDevice, device_.number); }
  void wait() {
    if (!running_) return;
    running_ = false;
    stream_.wait();
  }
  void read(int k, float const* from, float* out) {
    select();
    arena_.read(k, from, out);
  }
  float number(std::byte const* raw, long long i) const {
    float value = 0;
    if (type_ == storage::f32) {
      std::memcpy(&value, raw + 4 * i, 4);
    } else {
      std::memcpy(reinterpret_cast<std::byte*>(&value) + 2, raw + 2 * i, 2);  // bf16 is a float's upper half
    }
    return value;
  }
  void read_staged(int k, float* out) {
    auto const count = static_cast<std::size_t>(graph_.parameters[k].count());
    std::vector<std::byte> raw(count * static_cast<std::size_t>(bytes_of(type_)));
    api_(api_.cudaMemcpyAsync, raw.data(), arena_.staged_gradient(k), raw.size(), cudaMemcpyDeviceToHost,
         stream_.get());
    api_(api_.cudaStreamSynchronize, stream_.get());
    std::vector<float> wide(count);
    for (std::size_t i = 0; i < count; ++i) wide[i] = number(raw.data(), static_cast<long long>(i));
    arena::in_host_order(graph_.parameters[k], wide.data(), out);
  }

  /// Programs never run at the same time, so they share one block of activations where it is large enough.
  device_memory const* memory_for(long long bytes) {
    for (device_memory const& b : blocks_)
      if (b.bytes() >= bytes) return &b;
    return &blocks_.emplace(api_, bytes, stream_.get());
  }

  void finish(program& p) {
    p.activations = memory_for(p.plan.region_bytes[static_cast<int>(region::activations)]);
    p.metrics.emplace(api_, 16);
    p.launches.push_back([this] {
      api_(api_.cudaMemcpyAsync, state_.data(), host_state_.as<void>(), sizeof(step_state), cudaMemcpyHostToDevice,
           stream_.get());
    });
    {
      device_memory const bench(api_, settings_.workspace_limit, stream_.get());  // while plans are timed
      step_recorder(parts_, p, bench).record();
      stream_.wait();
    }
    if (void* const from = bound_operands(graph_, p).buffer(p.plan.metrics))
      p.launches.push_back([this, &p, from] {
        api_(api_.cudaMemcpyAsync, p.metrics->as<void>(), from, 16, cudaMemcpyDeviceToHost, stream_.get());
      });
    library_.build(device_.architecture);
    p.scratch.emplace(api_, library_.scratch_bytes(), stream_.get());
    p.counters.emplace(api_, 4LL * library_.counters(), stream_.get());
    long long most = 0;
    for (bound_convolution const& b : p.convolutions) most = std::max(most, b.plan.facts.workspace);
    p.workspace.emplace(api_, most, stream_.get());
    for (bound_convolution& b : p.convolutions) {
      b.pack.emplace(bind_tensors(b.plan, b.tensors, p.workspace->data()));
      execute(cudnn_, b.plan, *b.pack);  // libraries allocate at the first run, which a recording does not allow
    }
    stream_.wait();
    p.graph.emplace(api_, stream_.get(), [&] {
      for (host::task const& launch : p.launches) launch();
    });
  }

  /// What is made of the parameters, where they have changed since.
  void refresh(program& p) {
    if (copies_are_old_ && arena_.copies())
      library_.launch(narrow_, stream_.get(), arena_.parameters(), arena_.copies());
    copies_are_old_ = false;
    if (p.refreshed != version_)
      for (host::task const& launch : p.refreshes) launch();
    p.refreshed = version_;
  }

  api const& api_;
  device_facts device_;
  engine_settings settings_;
  storage type_;
  stream stream_;
  cudnn_handle cudnn_;
  plan_target target_;
  plan_cache plans_;
  arena arena_;
  kernel_library library_;
  device_memory state_;
  pinned_memory host_state_;
  engine_parts parts_;
  detail::chain<device_memory> blocks_;
  detail::chain<resident_data> data_;
  detail::chain<program> programs_;
  int narrow_ = -1;
  bool copies_are_old_ = true;
  bool running_ = false;
  std::uint64_t version_ = 1;
};

}  // namespace dsl::cu
