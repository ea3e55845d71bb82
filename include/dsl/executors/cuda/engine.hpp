// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernel_table.hpp>
#include <dsl/executors/cuda/process_end.hpp>
#include <dsl/executors/cuda/program_list.hpp>
#include <dsl/executors/cuda/running_momenta.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

struct engine_settings {
  cu::precision precision = precision::bf16;
  bool deterministic = false;
  int device = 0;
  std::string cache = cache_folder();
  int queues = 2;                                   // number of streams that run steps concurrently; see dsl::cuda
  long long workspace_limit = 64LL << 20;           // bytes that one convolution may use
  device_collectives const* collectives = nullptr;  // for several towers; null: they communicate through the host
  bool fill_batches = false;                        // see dsl::cuda::fill_batches
  bool copy_ahead = false;                          // see dsl::cuda::copy_ahead
};

/// Runs a network on one GPU: convolutions through cuDNN, everything else through typenet's own kernels. A plan is
/// recorded as one graph, or as several graphs if towers communicate through the host in between. Only one thread at a
/// time may use an engine.
class engine final : public dsl::engine {
 public:
  engine(api const& a, graph_view const& g, engine_options const& o, engine_settings const& s)
      : dsl::engine(on_one_device(g, o), o),
        group_(o.group && o.group->ranks() > 1 ? o.group : nullptr),
        handshake_(s.collectives ? group_ : nullptr),
        api_(a),
        device_(select_device(api_, s.device)),
        settings_(s),
        type_(storage_of(s.precision)),
        stream_(api_),
        cudnn_(api_),
        products_(),
        target_(cudnn_),
        plans_(s.cache),
        arena_(api_, stream_.get(), g, type_, o.update.slots()),
        library_(api_, s.cache),
        update_parts_(api_, arena_, g, stream_.get()),
        state_(api_, step_state_bytes(update_parts_), stream_.get()),
        host_state_(api_, step_state_bytes(update_parts_)),
        parts_{.calls = api_,
               .graph = graph_,
               .options = options_,
               .precision = s.precision,
               .deterministic = s.deterministic,
               .fill_batches = s.fill_batches,
               .stream = stream_.get(),
               .arena = arena_,
               .library = library_,
               .cudnn = cudnn_,
               .second_cudnn = nullptr,
               .second = nullptr,
               .copies = nullptr,
               .products = products_,
               .target = target_,
               .plans = plans_,
               .state = reinterpret_cast<step_state*>(state_.data()),
               .host_state = host_state_.as<step_state>(),
               .parts = update_parts_,
               .time_queues = s.queues == 0,
               .group = group_},
        programs_(parts_, device_.architecture, s.workspace_limit) {
    cudnn_.set_stream(stream_.get());
    if (s.queues == 2 || s.queues == 0) {
      parts_.second = second_.emplace(api_).get();
      parts_.second_cudnn = &second_cudnn_.emplace(api_);
      second_cudnn_->set_stream(parts_.second);
    } else if (s.queues != 1) {
      throw option_error(detail::message(
          {"cuda: queues must be 1, 2, or 0, which times both and keeps the faster; found ", s.queues}));
    }
    if (s.copy_ahead) parts_.copies = copies_.emplace(api_).get();
    if (arena_.copies() && arena_.count() > 0) narrow_ = library_.add(kernels::narrow(type_, arena_.count()));
    if (arena_.copies() && arena_.frozen_count() > 0)
      narrow_frozen_ = library_.add(kernels::narrow(type_, arena_.frozen_count()));
    if (group_) parts_.keep = reinterpret_cast<float const*>(keep_.emplace(api_, arena_, g, o, stream_.get()).data());
    if (group_ && s.collectives) parts_.link = &link_.emplace(api_, *s.collectives, handshake_);
    process_end::watch();
  }
  ~engine() override {
    if (process_end::has_begun()) {
      leave_everything();
      return;
    }
    try {
      enter();
      if (copies_) copies_->wait();
    } catch (...) {
    }
    if (!link_ || link_->communicator->usable()) return;
    // After a failure a collective may still hang. A leak is better than a destructor that never returns.
    if (!link_->communicator->ended(stream_.get()) || !link_->communicator->ended(link_->comm_stream.get()))
      api_.give_nothing_back();
  }

  int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) override {
    require_targets(m, targets);
    if (targets != per_output<target_kind>(target_kind::classes))
      throw executor_error(detail::message({"cuda: the targets must be one class per sample; found ",
                                            targets[0] == target_kind::values          ? "float values"
                                            : targets[0] == target_kind::pixel_classes ? "a class per pixel"
                                                                                       : "targets of several outputs",
                                            "; use a CPU executor"}));
    return programs_.on_all_or_none(m, [&](handshake& ready) {
      enter();
      // only in training do results depend on where a part begins
      return programs_.find_or_make({.mode = m, .part = m == mode::training ? part : batch_part(part.size)}, ready);
    });
  }

  /// Returns false for custom augmentation that does not describe itself, and for data that, together with the data
  /// sets already on the device, would fill more than half of its memory.
  bool keeps(dataset const& data, augmentation const& augment) const override {
    augmentation_numbers numbers;
    if (!augment.describe(numbers) || !resident_data::takes(data)) return false;
    long long all = resident_data::bytes_for(data);
    for (resident_data const& d : data_) {
      if (d.is(data)) return true;
      all += d.bytes();
    }
    return data.size <= 0x7fffffff && all <= device_.bytes / 2;
  }
  /// Prepares training on a copy of the data set on the device. Of every part.whole images in the epoch's order, a
  /// tower takes part.size images, beginning with number part.first. Returns -1 if the engine does not keep such data,
  /// or if memory does not suffice. With several towers, too little memory is an error instead, since other towers may
  /// have allocated theirs.
  int prepare_resident(dataset const& data, augmentation const& augment, batch_part part, bool shuffle) override {
    int const known = data_.size();
    auto const make = [&](handshake& ready) {
      if (!keeps(data, augment)) return -1;
      enter();
      resident_data* kept = nullptr;
      for (resident_data& d : data_)
        if (d.is(data)) kept = &d;
      if (!kept) kept = &data_.emplace(api_, stream_.get(), data);
      augmentation_numbers numbers;
      augment.describe(numbers);
      return programs_.find_or_make({mode::training, part, kept, numbers, shuffle}, ready);
    };
    auto const drop = [&] {
      if (data_.size() > known) data_.drop_last();  // no program uses it yet
    };
    try {
      return programs_.on_all_or_none(mode::training, make);
    } catch (memory_error const&) {
      drop();
      if (options_.group) throw;
      return -1;
    } catch (...) {
      drop();
      throw;
    }
  }
  void start_epoch(int which, int epoch, std::int64_t step) override {
    program& p = programs_[which];
    if (!p.data) return;
    enter();
    p.data->load_order(options_.seed, epoch, p.shuffle);
    p.state.epoch = epoch;
    p.state.position = static_cast<std::uint64_t>(step * p.part.whole + p.part.first);
  }

  /// Runs one step. If there are several engines, each waits here for its device, since the metrics may later be read
  /// on another thread, whose current device may be another one.
  void run(int which, batch_view const& batch) override {
    program& p = programs_[which];
    bool const meets = link_ && p.plan.options.mode == mode::training;
    bool const here = p.staged != 0 && batch.staged == p.staged;
    int const turn = here ? 1 - p.turn : p.turn;
    try {
      check(p, batch, turn);
      enter();  // waits until the last run has fetched its batch
      if (!here) put(p, batch, turn);
      set_batch(p, batch, turn);
      refresh(p);
      for (segment const& s : p.segments) {
        s.graphs[p.turn].launch(stream_.get());
        running_ = true;
        if (!s.meeting) continue;
        wait();
        s.meeting();
      }
      if (meets) running_ = false, link_->communicator->wait(stream_.get(), "a step");
      if (group_) wait();
    } catch (...) {
      if (meets) link_->communicator->abort();  // releases this device; the group informs the others
      throw;
    }
    if (p.plan.options.mode == mode::training) ++version_;
  }

  /// Begins to copy the batch of the next run while the last one is still running, if the engine copies ahead and the
  /// program gets its batches from the host.
  std::uint64_t stage(int which, batch_view const& next) override {
    program& p = programs_[which];
    if (p.batches.size() < 2 || !next.input(0)) return 0;
    int const turn = 1 - p.turn;
    check(p, next, turn);
    api_(api_.cudaSetDevice, device_.number);
    put(p, next, turn);
    return p.staged = ++staged_;
  }

  batch_metrics metrics(int which) override {
    wait();
    auto const* m = programs_[which].metrics->as<double>();
    return {m[0], m[1]};
  }

  void read_result(int which, float* out) override {
    enter();
    program const& p = programs_[which];
    if (p.idle()) return;
    tensor_at const y = bound_operands(graph_, p).place(graph_.result(), p.plan.activations[graph_.result()]);
    long long const area = y.shape.area();
    std::vector<std::byte> raw(static_cast<std::size_t>(p.samples * area * y.at.channels * bytes_of(type_)));
    fetch(raw, y.data);
    for (int n = 0; n < p.samples; ++n)
      for (int c = 0; c < y.shape.channels; ++c)
        for (long long i = 0; i < area; ++i)
          *out++ = number_at(type_, raw.data(), (n * area + i) * y.at.channels + y.at.offset + c);
  }

  void read_parameter(int k, float* out) override {
    require_parameter(k);
    enter();
    arena_.read(k, arena_.parameter(k), out);
  }
  void write_parameter(int k, float const* in) override {
    require_parameter(k);
    enter();
    arena_.write(k, in, arena_.parameter(k));
    arena_.note_copies(true);
    ++version_, ++written_version_;
  }
  void read_slot(int s, int k, float* out) override {
    require_slot(s, k);
    enter();
    arena_.require_training();
    arena_.read(k, arena_.slot(s, k), out);
  }
  void write_slot(int s, int k, float const* in) override {
    require_slot(s, k);
    enter();
    arena_.require_training();
    arena_.write(k, in, arena_.slot(s, k));
  }
  /// Copies a gradient of the last training step to the host, summed over all towers; for tests. Gradients computed in
  /// the storage type are rounded to it.
  void read_gradient(int k, float* out) {
    enter();
    auto const first = static_cast<std::size_t>(arena_.offset_of(k));
    for (program const& p : programs_) {
      if (!p.stage_map || group_) continue;
      std::vector<std::byte> map(static_cast<std::size_t>(p.stage_map->bytes()));
      fetch(map, p.stage_map->data());
      if (map[first / 16] == std::byte{0}) continue;
      return arena_.read_staged(k, out);
    }
    arena_.read(k, arena_.gradient(k), out);
  }

  long long arena_bytes() const override { return arena_.bytes() + programs_.activation_bytes(); }
  long long executor_bytes() const override {
    long long all = arena_.extra_bytes() + library_.code_bytes() + state_.bytes() + update_parts_.bytes() +
                    (keep_ ? keep_->bytes() : 0);
    for (program const& p : programs_) all += p.extra_bytes();
    for (resident_data const& d : data_) all += d.bytes();
    return all;
  }
  std::string description() const override {
    std::size_t const v = api_.cudnnGetVersion.function();
    return detail::message({"cuda on ", device_.name, " (", device_.architecture, "), cudnn ", v / 10000, ".",
                            v / 100 % 100, ".", v % 100, how()});
  }
  std::string arithmetic() const override { return "cuda" + how(); }
  kernel_library const& library() const { return library_; }
  /// Returns the number of queues of a program, for tests and measurements.
  int queues(int which) const { return programs_[which].queues; }

 private:
  std::string how() const {
    char const* const names[] = {", bf16", ", tf32", ", fp32_strict"};
    return std::string(names[static_cast<int>(settings_.precision)]) +
           (settings_.deterministic ? ", deterministic" : "");
  }
  /// Returns g. Throws executor_error for networks and options that this executor does not support. It is called when
  /// the network is compiled, before a driver or memory is needed.
  static graph_view const& on_one_device(graph_view const& g, engine_options const& o) {
    require_kernels(g);
    if (g.size.devices > 1 || o.micro_batches > 1)
      throw executor_error("cuda: networks on several devices or in micro-batches are not supported yet; use onednn");
    if (!o.loss.is_shared())
      throw executor_error("cuda: outputs with losses of their own are not supported yet; use another executor");
    if (o.loss.all == loss::custom)
      throw executor_error("cuda: a loss of your own is not supported yet; use another executor");
    for (double const w : o.loss_weights)
      if (w != 1) throw executor_error("cuda: loss_weights are not supported yet; use another executor");
    if (o.limit.batch > 0) throw executor_error("cuda: a memory_budget is not supported yet; use native or onednn");
    return g;
  }
  /// Makes the destructors of the members release nothing.
  void leave_everything() {
    api_.give_nothing_back();
    if (link_) static_cast<void>(link_->communicator.release());
  }
  /// Selects this engine's device and waits until it is idle.
  void enter() {
    api_(api_.cudaSetDevice, device_.number);
    wait();
  }
  /// Waits until this device is idle. Throws executor_error if an earlier step has failed. It need not wait for other
  /// towers, since run() waits for steps that communicate.
  void wait() {
    if (link_ && !link_->communicator->usable())
      throw executor_error("cuda: an earlier step failed, on this device or another; create the engines again");
    if (!running_) return;
    running_ = false;
    stream_.wait();
  }
  /// Throws an error if a program cannot run this batch, whose place has number `turn`.
  void check(program const& p, batch_view const& batch, int turn) const {
    bool const fits = fills(p) ? batch.size > 0 && batch.size <= p.part.size : batch.size == p.part.size;
    if (!fits)
      throw option_error(detail::message({"batch: the engine was prepared for ", p.part.size, " samples; found ",
                                          batch.size, "; call prepare() for that size"}));
    if (batch.target(0).weights)
      throw executor_error("cuda: sample weights and class weights are not supported; use a CPU executor");
    if (p.batches.size() == 0) return;
    host_batch const& to = p.batches[turn];
    if (to.labels && !batch.target(0).labels && to.labelled != batch.size)  // without labels, a run uses the last ones
      throw option_error("batch: it must have labels; only inference runs without them");
  }
  /// Whether a program also runs smaller batches.
  bool fills(program const& p) const { return settings_.fill_batches && p.plan.options.mode != mode::training; }
  void set_batch(program& p, batch_view const& batch, int turn) {
    if (p.batches.size() > 1) p.batches[turn].copied->hold(stream_.get());
    p.turn = turn;
    p.staged = 0;
    p.samples = batch.size;
    p.state.step = batch.step;
    update_numbers const now = options_.update.at(batch.learning_rate, batch.step);
    p.state.learning_rate = static_cast<float>(now.rate);
    p.state.shrink = static_cast<float>(now.shrink);
    p.state.epsilon = static_cast<float>(now.epsilon);
    *host_state_.as<step_state>() = p.state;
    update_parts_.write(options_.update, batch.learning_rate, batch.step, parts_.host_rates());
    p.state.position += static_cast<std::uint64_t>(p.part.whole);
  }
  /// Copies a batch to a place of the program that no run is using. A batch that was announced and is forgotten may
  /// still be on its way to the same place; this batch follows it.
  void put(program& p, batch_view const& batch, int turn) {
    if (p.batches.size() == 0) return;
    p.staged = 0;
    host_batch& to = p.batches[turn];
    float const* const images = batch.input(0);
    if (images)
      fill(to.images, images + batch.first * graph_.output_shape(graph_.nodes[0]).size(), batch.size, p, 0.0F);
    if (images && to.copied) {
      api_(api_.cudaMemcpyAsync, to.pictures.data(), to.images.as<void>(), static_cast<std::size_t>(to.images.bytes()),
           cudaMemcpyHostToDevice, copies_->get());
      to.copied->record(copies_->get());
    }
    std::int32_t const* const labels = batch.target(0).labels;
    if (!labels || !to.labels) return;
    fill(*to.labels, labels + batch.first, batch.size, p, kernels::no_sample);
    to.labelled = batch.size;
  }
  /// Copies the numbers of `size` samples to the beginning of a program's batch, and sets those of the other samples.
  template <class T>
  static void fill(pinned_memory const& to, T const* from, int size, program const& p, T rest) {
    long long const all = to.bytes() / static_cast<long long>(sizeof(T)), count = all / p.part.size * size;
    std::copy_n(from, count, to.as<T>());
    std::fill(to.as<T>() + count, to.as<T>() + all, rest);
  }
  void fetch(std::vector<std::byte>& to, void const* from) {
    api_(api_.cudaMemcpyAsync, to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_.get());
    api_(api_.cudaStreamSynchronize, stream_.get());
  }
  /// Updates the data that are derived from the parameters, if the parameters have changed. In training, only kernels
  /// of frozen convolutions contain a batch_norm, so training steps do not change them.
  void refresh(program& p) {
    if (arena_.copies_are_old()) {
      if (narrow_) library_.launch(narrow_, stream_.get(), arena_.parameters(), arena_.copies());
      if (narrow_frozen_) library_.launch(narrow_frozen_, stream_.get(), arena_.frozen(), arena_.frozen_copies());
    }
    arena_.note_copies(false);
    std::uint64_t const newest = p.plan.options.mode == mode::training ? written_version_ : version_;
    if (p.refreshed != newest)
      for (host::task const& launch : p.refreshes) launch();
    p.refreshed = newest;
  }

  communicator* group_;  // null if there is only one tower
  handshake handshake_;  // the first member to be constructed, so that it reports whatever fails later
  api api_;              // a copy, see give_nothing_back
  device_facts device_;
  engine_settings settings_;
  storage type_;
  stream stream_;
  std::optional<stream> second_;
  std::optional<stream> copies_;
  cudnn_handle cudnn_;
  std::optional<cudnn_handle> second_cudnn_;
  std::optional<product_handle> products_;
  plan_target target_;
  plan_cache plans_;
  arena arena_;
  kernel_library library_;
  update_parts update_parts_;
  device_memory state_;
  pinned_memory host_state_;
  std::optional<running_momenta> keep_;
  engine_parts parts_;
  detail::chain<resident_data> data_;
  std::optional<tower_link> link_;  // destroyed after the graphs that use it, and before the stream that they ran on
  program_list programs_;
  kernel_library::number<float const*, element*> narrow_{};
  kernel_library::number<float const*, element*> narrow_frozen_{};
  bool running_ = false;
  std::uint64_t version_ = 1;          // of the parameters: counts steps of training and calls of write_parameter
  std::uint64_t written_version_ = 1;  // counts calls of write_parameter, which alone changes frozen parameters
  std::uint64_t staged_ = 0;           // number of batches that have been announced
};

}  // namespace dsl::cu::TYPENET_MODE
