// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/crew.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/warning.hpp>

namespace dsl::host {

/// A plan with its memory and its steps, bound to it.
template <class T>
struct program {
  dsl::plan plan{};
  batch_part part{1};
  memory_block const* activations = nullptr;
  detail::list<bound_step<T>> steps{};
  batch_view batch{};  // of the run in progress
};

/// What every executor in host memory shares: regions, operands as views, parameters in and out. T is the number it
/// computes in; an executor adds its target and what a step does. A network on several devices has one such engine:
/// they share the host's memory, and each has its piece of every region.
template <class T>
class engine : public dsl::engine {
 public:
  using program = host::program<T>;
  using bound_step = host::bound_step<T>;

  [[gnu::cold]] engine(graph_view const& g, engine_options const& o, target const& to, int cores_a_device = 1)
      : dsl::engine(g, o),
        target_(to),
        layout_(make_plan(g, {1, mode::training, to, o.update.slots(), o.loss})),
        state_(bytes_of(region::parameters) + bytes_of(region::statistics)) {
    if (o.make_crew && g.size.devices > 1) crew_ = o.make_crew(g.size.devices, cores_a_device, o.group);
    if (o.group) tower_ = o.group->make_tower(g, o, layout_, T{});
    if (o.group && !tower_) detail::refuse<executor_error>({"towers: this group's engines are not in host memory"});
  }

  [[gnu::cold]] int prepare(mode m, batch_part part) override {
    int count = 0;
    for (program const& p : programs_) {
      if (p.plan.options.mode == m && p.part == part) return count;
      ++count;
    }
    bool const idles = part.size == 0 && options_.group && m == mode::training;
    if (part.size < 1 && !idles)
      detail::refuse<option_error>({"batch: a program needs 1 sample or more; found ", part.size});
    if (m == mode::training && options_.update.method != update_method::sgd && !options_.update_loop)
      detail::refuse<executor_error>(
          {"optimizer: options made by hand need its loop, the executor's update_loop(), in engine_options"});
    plan made = make_plan(graph_, {.batch = idles ? 1 : part.size,
                                   .mode = m,
                                   .target = target_,
                                   .optimizer_slots = options_.update.slots(),
                                   .loss = options_.loss,
                                   .all_reduce_buckets = buckets(),
                                   .micro_batches = options_.micro_batches,
                                   .gradient_norm = options_.update.clip.norm > 0});
    if (options_.verify)
      if (plan_verdict const v = options_.verify(graph_, made); !v.holds())
        detail::refuse<executor_error>({"plan: ", explain(v.broken), " (step ", v.step, ")"});
    program& p = programs_.emplace();
    p.part = part;
    try {
      bind(p, std::move(made));
    } catch (...) {
      programs_.drop_last();  // what is half made must not be found again
      throw;
    }
    if (m == mode::training && options_.micro_batches > 1 && !options_.group) warn_of_single_samples(part.size);
    return count;
  }

  [[gnu::cold]] void run(int which, batch_view const& batch) override {
    program& p = program_of(which);
    if (batch.size != p.part.size)
      detail::refuse<option_error>({"batch: this program takes ", p.part.size, " samples, not ", batch.size});
    if (p.plan.labels >= 0 && !batch.labels && batch.size > 0)
      detail::refuse<option_error>({"batch: it has no labels; only a program for inference runs without"});
    p.batch = batch;
    bool const trains = p.plan.options.mode == mode::training;
    if (trains) ++parameters_version_;  // running statistics move before the update, and a step may throw between them
    if (batch.size == 0) clear_sums(p);
    if (crew_)
      run_on_crew(p);
    else
      for (bound_step const& b : p.steps) run_if_needed(p, b);
    if (!trains) return;
    ++parameters_version_;
    if (tower_) tower_->move_running_moments(p.part.size > 0 ? p.plan.micro_batches : 0, flat(region::statistics));
  }
  /// One step of the last batch again; tests look at what is in memory between two.
  void run_step(int which, int step) {
    program& p = program_of(which);
    run(p, p.steps[step]);
    ++parameters_version_;
  }

  [[gnu::cold]] batch_metrics metrics(int which) override {
    program const& p = prepared(which);
    auto const* m = reinterpret_cast<double const*>(address(p, p.plan.metrics));
    return {m[0], m[1]};
  }

  [[gnu::cold]] void read_result(int which, float* out) override {
    program const& p = prepared(which);
    int const t = graph_.result();
    for (int m = 0; m < p.plan.micro_batches; ++m) {
      placement const& at = p.plan.activations[m * graph_.size.tensors + t];
      view<T> const y = view_of<T>(p, content::activation, t, at, m);
      for (int n = 0; n < y.batch; ++n)
        for (int c = 0; c < y.shape.channels; ++c)
          for (long long i = 0; i < y.shape.area(); ++i) *out++ = static_cast<float>(y(n, c, i));
    }
  }

  [[gnu::cold]] void read_parameter(int k, float* out) override {
    this->require_parameter(k);
    copy(parameter_data(k), out, k);
  }
  [[gnu::cold]] void write_parameter(int k, float const* in) override {
    this->require_parameter(k);
    copy(in, parameter_data(k), k);
    ++parameters_version_;
  }
  [[gnu::cold]] void read_slot(int s, int k, float* out) override {
    this->require_slot(s, k);
    copy(slot_data(s, k), out, k);
  }
  [[gnu::cold]] void write_slot(int s, int k, float const* in) override {
    this->require_slot(s, k);
    copy(in, slot_data(s, k), k);
  }

  /// The same numbers without rounding to float; tests of gradients in double need them.
  T* parameter_data(int k) { return reinterpret_cast<T*>(address(layout_.buffers[layout_.parameter_buffers[k]])); }
  T* parameter_gradient_data(int k) { return flat(region::gradients) + offset_of(k); }
  T* slot_data(int s, int k) {
    require_training_state();
    return flat(region::slots) + s * trainable_numbers() + offset_of(k);
  }
  /// Where a program's pictures go: (batch, channels, height, width), in the target's channel blocks from 16 channels
  /// on. Whatever is there is used up by a run. With micro-batches, those of the first.
  T* input_data(int which) {
    program const& p = prepared(which);
    return reinterpret_cast<T*>(address(p, p.plan.activations[graph_.nodes[0].output].buffer));
  }
  program const& prepared(int which) const { return program_of(which); }

  long long arena_bytes() const override {
    long long bytes = state_.bytes() + (training_state_ ? training_state_->bytes() : 0);
    for (memory_block const& b : blocks_) bytes += b.bytes();
    return bytes;
  }

 protected:
  /// What an executor does in place of a step's plain loops; empty where it has nothing better.
  virtual task accelerate(program&, bound_step const&) { return {}; }
  /// A step in plain loops.
  virtual void execute(program& p, bound_step const& b) = 0;

  /// The i-th operand of a step that holds `what`, as a view; empty where there are fewer.
  template <class U>
  [[gnu::cold]] view<U> tensor(program const& p, step const& s, content what, int skip = 0) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == what && skip-- == 0) return view_of<U>(p, what, o.index, {o.buffer, o.channel}, s.micro);
    }
    return {};
  }

  /// What a batch_norm's step keeps of the moments that are there. Where towers have moments of their own, a step
  /// leaves them to the run's end.
  double batch_norm_momentum(bound_step const& b) const {
    double const own = options_.batch_norm_momentum >= 0 ? options_.batch_norm_momentum : b.node->momentum;
    return tower_ && tower_->moments() ? tower_->keeps(own, b.step->micro) : own;
  }
  /// Null on one device.
  host::tower<T>* tower() const { return tower_.get(); }
  template <class U>
  U* buffer_data(program const& p, int b) const {
    return b < 0 ? nullptr : reinterpret_cast<U*>(address(p, b));
  }

  /// What an update step runs over, in each of the flat arrays below.
  struct numbers {
    long long first;
    long long count;
  };
  numbers numbers_of(program const& p, step const& update) const {
    long long const bytes = p.plan.devices[update.device].bytes[static_cast<int>(region::parameters)];
    return {p.plan.begin_of(region::parameters, update.device) / number_bytes, bytes / number_bytes};
  }
  /// Where an update step's numbers are. Gradients are scaled by what those of all devices come to.
  [[gnu::cold]] update_call<T> update_of(program const& p, step const& update) const {
    auto const [first, count] = numbers_of(p, update);
    double all = 0;
    for (int i = 0; i < update.operands; ++i) all += *squares(p, update, i);
    return {&options_.update,
            p.batch.learning_rate,
            p.batch.step,
            update.operands > 0 ? options_.update.scale_for(all) : 1,
            flat(region::parameters) + first,
            flat(region::gradients) + first,
            flat(region::slots) + first,
            trainable_numbers(),
            count};
  }
  double* squares(program const& p, step const& s, int i = 0) const {
    return buffer_data<double>(p, p.plan.operands[s.first_operand + i].buffer);
  }
  /// Flat arrays for the update step: parameters, gradients, slots have the same offsets.
  long long trainable_numbers() const { return bytes_of(region::parameters) / number_bytes; }
  T* flat(region r) const { return reinterpret_cast<T*>(begin_of(r)); }
  /// Counts the changes of the parameters. An update's counts behind its run's end: nobody reads them in between.
  std::uint64_t const* parameters_version() const { return &parameters_version_; }
  /// Null where one thread does everything.
  host::crew* crew() const { return crew_.get(); }

 private:
  program& program_of(int which) const {
    if (which < 0 || which >= programs_.size())
      detail::refuse<option_error>({"engine: there is no such program; prepare() it"});
    return programs_[which];
  }
  /// As towers' engines do, said once; where there are towers, those say it.
  [[gnu::cold]] void warn_of_single_samples(int batch) {
    if (warned_ || detail::smallest_micro_batch(batch, options_.micro_batches) > 1 || !detail::has_batch_norm(graph_))
      return;
    warned_ = true;
    on_warning(detail::message({"pipeline: of a batch of ", batch,
                                ", micro-batches have a single sample, and "
                                "batch_norm takes its moments alone; use a larger batch or fewer micro-batches"})
                   .c_str());
  }
  [[gnu::noinline]] void run_if_needed(program& p, bound_step const& b) {
    if (p.part.size > 0 || meets_others(b)) run(p, b);
  }
  [[gnu::cold]] void run_on_crew(program& p) {
    struct work {
      engine& self;
      program& p;
    } context{*this, p};
    crew_->run(
        p.plan,
        [](void* c, int i) {
          auto const& w = *static_cast<work*>(c);
          w.self.run_if_needed(w.p, w.p.steps[i]);
        },
        &context);
  }
  /// With several buckets a sum goes on beside the backward pass. Not where that pass has meetings of its own, or
  /// devices on which it is not equally far: they would come between the sums in another order on every rank.
  int buckets() const { return !options_.group ? 0 : sums_overlap() ? options_.group->buckets() : 1; }
  bool sums_overlap() const { return graph_.size.devices == 1 && options_.moments != tower_moments::synchronized; }
  void run(program& p, bound_step const& b) {
    if (b.step->what == action::all_reduce) return all_reduce(p, *b.step);
    if (takes_gradients(b) && options_.group) options_.group->finish_all_reduces();
    if (b.step->what == action::add_gradients) return add_gradients(p, *b.step);
    if (b.faster) return b.faster();
    execute(p, b);
    if (b.ends_block) zero_rest_of_block(b.to);
  }
  [[gnu::cold]] void all_reduce(program const& p, step const& s) const {
    buffer const& first = p.plan.buffer_of(p.plan.operands[s.first_operand]);
    buffer const& last = p.plan.buffer_of(p.plan.operands[s.first_operand + s.operands - 1]);
    T* const data = reinterpret_cast<T*>(address(first));
    long long const count = (last.offset + last.bytes - first.offset) / number_bytes;
    if (sums_overlap())
      options_.group->start_all_reduce(data, count);
    else
      options_.group->all_reduce(data, count);
  }
  [[gnu::cold]] void add_gradients(program const& p, step const& s) const {
    operand const* const o = p.plan.operands.begin() + s.first_operand;
    T const* const from = buffer_data<T>(p, o[0].buffer);
    T* const to = buffer_data<T>(p, o[1].buffer);
    for (long long n = graph_.parameters[o->index].count(); n-- > 0;) to[n] += from[n];
  }
  /// What a tower without samples does in a step.
  bool meets_others(bound_step const& b) const {
    return b.step->what == action::all_reduce || takes_gradients(b) ||
           (b.node && b.node->kind == op::batch_norm && options_.moments == tower_moments::synchronized);
  }
  static bool takes_gradients(bound_step const& b) {
    return b.step->what == action::measure || b.step->what == action::update;
  }
  /// It adds nothing to the sums.
  void clear_sums(program const& p) const {
    std::memset(begin_of(region::gradients), 0, static_cast<std::size_t>(bytes_of(region::gradients)));
    std::memset(address(p, p.plan.metrics), 0, 2 * sizeof(double));
  }
  [[gnu::cold]] static void zero_rest_of_block(view<T> v) {
    for (int n = 0; n < v.batch; ++n)
      for (int c = v.shape.channels; v.channel + c < v.buffer_channels; ++c)
        for (long long i = 0; i < v.shape.area(); ++i) v(n, c, i) = 0;
  }

  [[gnu::cold]] void bind(program& p, plan&& made) {
    p.plan = std::move(made);
    if (p.plan.options.mode == mode::training) require_training_state();
    p.activations = memory_for(p.plan.region_bytes[static_cast<int>(region::activations)]);
    p.steps = detail::list<bound_step>(p.plan.steps.size());
    for (int i = 0; i < p.plan.steps.size(); ++i) {
      bound_step& b = p.steps[i];
      bind(p, p.plan.steps[i], b);
      // without samples only the update runs, and it must be every tower's: another loop rounds otherwise
      if (p.part.size > 0 || takes_gradients(b)) b.faster = accelerate(p, b);
    }
  }
  [[gnu::cold]] void bind(program const& p, step const& s, bound_step& b) const {
    b.step = &s;
    b.node = s.node >= 0 ? &graph_.nodes[s.node] : nullptr;
    b.x = tensor<T const>(p, s, content::activation, 0);
    b.x2 = tensor<T const>(p, s, content::activation, 1);
    b.dy = tensor<T const>(p, s, content::gradient);
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      bool const tensor = o.what == content::activation || o.what == content::gradient;
      auto* data = reinterpret_cast<T*>(address(p, o.buffer));
      if (o.what == content::parameter && o.how == access::accumulate && tower_ && tower_->moments())
        data = tower_->moments() + offset_of(o.index);
      if (tensor && o.how != access::read) b.to = view_of<T>(p, o.what, o.index, {o.buffer, o.channel}, s.micro);
      if (o.what == content::gradient && o.how == access::accumulate) b.accumulate = true;
      if (o.what == content::parameter) b.parameters[static_cast<int>(graph_.parameters[o.index].role)] = data;
      if (o.what == content::parameter_gradient) b.gradients[static_cast<int>(graph_.parameters[o.index].role)] = data;
      if (o.what == content::statistics) b.statistics = data;
      if (o.what == content::labels) b.labels = buffer_data<std::int32_t>(p, o.buffer);
      if (o.what == content::metrics) b.metrics = buffer_data<double>(p, o.buffer);
      if (o.what != content::argmax) continue;
      if (p.plan.buffers[o.buffer].element_bytes == 1)
        b.argmax.narrow = view_of<std::uint8_t>(p, o.what, o.index, {o.buffer, o.channel}, s.micro);
      else
        b.argmax.wide = view_of<std::uint16_t>(p, o.what, o.index, {o.buffer, o.channel}, s.micro);
    }
    if (s.kind == op::transfer && s.what == action::backward) b.x = b.dy;
    if (s.what == action::copy_forward || s.what == action::copy_backward) {
      // between a concat's or add's tensor and one of its inputs: the wider one has its channels counted off already
      if (s.what == action::copy_backward) b.x = b.dy;
      int const channels = b.x.shape.channels < b.to.shape.channels ? b.x.shape.channels : b.to.shape.channels;
      b.x.shape.channels = b.to.shape.channels = channels;
    }
    int const end = b.to.channel + b.to.shape.channels;
    b.ends_block = b.to.data && end < b.to.buffer_channels && end + b.to.block > b.to.buffer_channels;
  }

  template <class U>
  [[gnu::cold]] view<U> view_of(program const& p, content what, int index, placement where, int micro) const {
    view<std::byte> const v = place_of(p, what, index, where, micro);
    return {reinterpret_cast<U*>(v.data), v.shape, v.batch, v.block, v.buffer_channels, v.channel};
  }
  /// A view of whatever numbers: one function for all types of them.
  [[gnu::cold, gnu::noinline]] view<std::byte> place_of(program const& p, content what, int index, placement where,
                                                        int micro) const {
    buffer const& b = p.plan.buffers[where.buffer];
    bool const is_tensor = what == content::activation || what == content::gradient;
    shape const& s = is_tensor ? graph_.shape_of(index) : b.shape;
    return {address(p, where.buffer),
            s,
            p.part.size > 0 ? p.plan.samples_of({.micro = micro}).size : 0,
            b.block,
            static_cast<int>(padded_channels(b) * b.shape.area() / s.area()),  // flatten: 2x3x3 as 18 of one pixel
            where.channel};
  }

  std::byte* address(program const& p, int b) const {
    buffer const& x = p.plan.buffers[b];
    return x.where == region::activations ? p.activations->data() + x.offset : address(x);
  }
  std::byte* address(buffer const& x) const { return begin_of(x.where) + x.offset; }
  std::byte* begin_of(region r) const {
    if (r == region::parameters) return state_.data();
    if (r == region::statistics) return state_.data() + bytes_of(region::parameters);
    return training_state_->data() + (r == region::slots ? bytes_of(region::gradients) : 0);
  }

  static constexpr long long number_bytes = sizeof(T);
  long long bytes_of(region r) const { return layout_.region_bytes[static_cast<int>(r)]; }
  long long offset_of(int k) const { return layout_.buffers[layout_.parameter_buffers[k]].offset / number_bytes; }
  template <class From, class To>
  void copy(From const* from, To* to, int k) const {
    for (long long i = 0; i < graph_.parameters[k].count(); ++i) to[i] = static_cast<To>(from[i]);
  }

  [[gnu::cold]] void require_training_state() {
    if (!training_state_)
      training_state_ = detail::make_owner<memory_block>(bytes_of(region::gradients) + bytes_of(region::slots));
  }
  /// Programs never run at the same time, so they share one block of activations where it is large enough.
  [[gnu::cold]] memory_block const* memory_for(long long bytes) {
    for (memory_block const& b : blocks_)
      if (b.bytes() >= bytes) return &b;
    return &blocks_.emplace(bytes);
  }

  target target_;
  plan layout_;  // where parameters are; the same in every plan of this network
  memory_block state_;
  detail::owner<host::tower<T>> tower_;
  detail::owner<memory_block> training_state_;
  detail::chain<memory_block> blocks_;
  detail::chain<program> programs_;
  std::uint64_t parameters_version_ = 1;
  bool warned_ = false;
  detail::owner<host::crew> crew_;
};

}  // namespace dsl::host
