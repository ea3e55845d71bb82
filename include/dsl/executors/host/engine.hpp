// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/binding.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/state.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/thread_team.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/plan/budget.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/warning.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace dsl::host::TYPENET_MODE {

/// The part that the engines of all executors in host memory share: programs, runs of programs, and access to
/// parameters. The engine computes in the type T; an executor adds its target and its kernels. Even a network on
/// several devices has only one such engine: the devices share the host's memory, and each has its own part of every
/// memory region.
template <class T>
class engine : public dsl::engine {
 public:
  using program = host::program<T>;
  using bound_step = host::bound_step<T>;

  engine(graph_view const& g, engine_options const& o, target const& to, int cores_a_device = 1)
      : dsl::engine(g, o),
        target_(to),
        state_(g.nodes, make_plan(g, {1, mode::training, to, o.update.slots(), o.loss}), o.weights) {
    options_.weights = nullptr;  // the state holds them
    find_update_parts();
    if (o.make_thread_team && g.size.devices > 1) team_ = o.make_thread_team(g.size.devices, cores_a_device, o.group);
    auto* const group = dynamic_cast<host::group*>(o.group);
    if (group) tower_ = group->make_tower(g, o, state_.layout(), T{});
    if (o.group && !group)
      detail::throw_error<executor_error>(
          {"towers: an executor in host memory needs a group of such executors; found a group of another kind; give "
           "all towers executors of the same kind"});
  }

  int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) override {
    int count = 0;
    for (program const& p : programs_) {
      if (p.plan.options.mode == m && p.part == part && p.plan.options.targets == targets) return count;
      ++count;
    }
    this->require_targets(m, targets);
    bool const idles = part.size == 0 && options_.group && m == mode::training;
    if (part.size < 1 && !idles)
      detail::throw_error<option_error>({"batch: it must have 1 sample or more; found ", part.size});
    plan_options const o{.batch = idles ? 1 : part.size,
                         .mode = m,
                         .target = target_,
                         .optimizer_slots = options_.update.slots(),
                         .loss = options_.loss,
                         .all_reduce_buckets = buckets(),
                         .micro_batches = options_.micro_batches,
                         .gradient_norm = options_.update.clip.norm > 0,
                         .targets = targets};
    plan made = options_.limit.batch > 0 ? plan_within_limit(o) : make_plan(graph_, o);
    if (options_.verify)
      if (plan_verdict const v = options_.verify(graph_, made); !v.holds())
        detail::throw_error<executor_error>({"plan: typenet made a plan that its own checker refuses: ",
                                             explain(v.broken), " (step ", v.step, "); please report the network"});
    // Before anything is made, since a program's own on_warning may throw.
    if (m == mode::training && options_.micro_batches > 1 && !options_.group) warn_of_single_samples(part.size);
    program& p = programs_.emplace();
    p.part = part;
    try {
      bind(p, std::move(made));
    } catch (...) {
      programs_.drop_last();  // remove the incomplete program, so that it is not found again
      throw;
    }
    return count;
  }

  void run(int which, batch_view const& batch) override {
    program& p = program_of(which);
    if (batch.size != p.part.size)
      detail::throw_error<option_error>({"batch: the engine was prepared for ", p.part.size, " samples; found ",
                                         batch.size, "; call prepare() for that size"});
    if (p.plan.labels >= 0 && batch.size > 0) require_targets_of(p, batch);
    int const further = further_inputs(graph_, graph_.size.nodes);
    if (batch.size > 0 && further > 0 && static_cast<int>(batch.inputs.size()) <= further)
      detail::throw_error<option_error>({"batch: .inputs must have the samples of the network's ", further + 1,
                                         " inputs; found ", batch.inputs.size()});
    p.batch = batch;
    bool const trains = p.plan.options.mode == mode::training;
    if (trains) change_weights();  // running statistics change before the update, and a step in between may throw
    if (batch.size == 0) clear_sums(p);
    if (team_)
      run_on_team(p);
    else
      for (bound_step const& b : p.steps) run_if_needed(p, b);
    if (!trains) return;
    change_weights();
    if (tower_)
      tower_->move_running_moments(p.part.size > 0 ? p.plan.micro_batches : 0, state_.flat(region::statistics));
  }
  /// Runs one step of the last batch again; tests use it to look at memory between steps.
  void run_step(int which, int step) {
    program& p = program_of(which);
    run(p, p.steps[step]);
    change_weights();
  }

  batch_metrics metrics(int which) override {
    batch_metrics all = output_metrics(which, 0);
    if (double const weight = loss_weight(0); weight != 1) all.loss *= weight;
    for (int k = output_count(graph_); --k > 0;) all.loss += loss_weight(k) * output_metrics(which, k).loss;
    return all;
  }
  batch_metrics output_metrics(int which, int k) override {
    program const& p = prepared(which);
    for (operand const& o : p.plan.operands)
      if (o.what == content::metrics && o.index == k) {
        auto const* const m = buffer_data<double>(p, o.buffer);
        return {m[0], m[1]};
      }
    return {};
  }

  void read_result(int which, float* out) override { read_output(which, 0, out); }
  void read_output(int which, int k, float* out) override {
    program const& p = prepared(which);
    int const t = graph_.nodes[output_node(graph_, k)].output;
    for (int m = 0; m < p.plan.micro_batches; ++m) {
      placement const& at = p.plan.activations[m * graph_.size.tensors + t];
      view<T> const y = binding_of(p).template view_of<T>(content::activation, t, at, m);
      for (int n = 0; n < y.batch; ++n)
        for (int c = 0; c < y.shape.channels; ++c)
          for (long long i = 0; i < y.shape.area(); ++i) *out++ = static_cast<float>(y(n, c, i));
    }
  }

  void read_parameter(int k, float* out) override {
    this->require_parameter(k);
    copy(parameter_data(k), out, k);
  }
  void write_parameter(int k, float const* in) override {
    this->require_parameter(k);
    change_weights();
    copy(in, parameter_data(k), k);
    ++state_.kept()->written_version;
  }
  void read_slot(int s, int k, float* out) override {
    this->require_slot(s, k);
    if (state_.trains()) return copy(slot_data(s, k), out, k);
    for (long long i = 0; i < graph_.parameters[k].count(); ++i) out[i] = 0;
  }
  void write_slot(int s, int k, float const* in) override {
    this->require_slot(s, k);
    bool writes = state_.trains();  // a network that only predicts has no slots, which would be 0
    for (long long i = 0; !writes && i < graph_.parameters[k].count(); ++i) writes = in[i] != 0;
    if (writes) copy(in, slot_data(s, k), k);
  }

  /// Returns parameters without rounding to float, for tests of gradients in double.
  T* parameter_data(int k) { return state_.parameter(k); }
  T* parameter_gradient_data(int k) { return state_.gradient(k); }
  T* slot_data(int s, int k) {
    state_.require_training();
    return state_.slot(s, k);
  }
  /// Returns the address to which a program's images must be written: (batch, channels, height, width), in the target's
  /// channel blocks if there are 16 or more channels. A run may overwrite the images. With micro-batches, the address
  /// is for the images of the first micro-batch.
  T* input_data(int which) {
    program const& p = prepared(which);
    return buffer_data<T>(p, p.plan.activations[graph_.nodes[0].output].buffer);
  }
  program const& prepared(int which) const { return program_of(which); }

  std::shared_ptr<shared_weights> weights() override { return state_.kept(); }
  long long arena_bytes() const override {
    long long bytes = state_.bytes();
    for (memory_block const& b : blocks_) bytes += b.bytes();
    return bytes;
  }
  int channel_block() const override { return target_.channel_block; }

 protected:
  /// Returns a task that replaces the plain loops of a step, or an empty task if the executor has no faster kernel.
  virtual task select_kernel(program&, bound_step const&) { return {}; }
  /// Executes a step in plain loops.
  virtual void execute(program& p, bound_step const& b) = 0;

  /// Returns a view of the i-th operand of a step that holds `what`, or an empty view if the step has fewer such
  /// operands.
  template <class U>
  view<U> tensor(program const& p, step const& s, content what, int skip = 0) const {
    return binding_of(p).template tensor<U>(s, what, skip);
  }

  /// Returns the factor by which a batch_norm step multiplies the old means and variances. If each tower keeps its own
  /// means and variances, the step updates those; the running ones are then updated only at the end of the run.
  double batch_norm_momentum(bound_step const& b) const {
    double const own = options_.batch_norm_momentum >= 0 ? options_.batch_norm_momentum : b.node->momentum;
    return tower_ && tower_->moments() ? tower_->keeps(own, b.step->micro) : own;
  }
  /// Returns this engine's tower, or null if there is only one device.
  host::tower<T>* tower() const { return tower_.get(); }
  template <class U>
  U* buffer_data(program const& p, int b) const {
    return binding_of(p).template data<U>(b);
  }

  /// The range of numbers that an update step has in each of the flat arrays below.
  struct numbers {
    long long first;
    long long count;
  };
  numbers numbers_of(program const& p, step const& update) const {
    long long const bytes = p.plan.devices[update.device].bytes[static_cast<int>(region::parameters)];
    long long const one = state_.number_bytes;
    return {p.plan.begin_of(region::parameters, update.device) / one, bytes / one};
  }
  /// Calls f with the arrays of an update step, once for each range of parameters with the same factors. Gradients are
  /// scaled according to their norm over all devices.
  template <class F>
  void for_each_update(program const& p, step const& update, F f) const {
    double all = 0;
    for (int i = 0; i < update.operands; ++i) all += *squares(p, update, i);
    double const scale = update.operands > 0 ? options_.update.scale_for(all) : 1;
    for (update_part const& part : update_parts_)
      if (part.device == update.device)
        f(update_call<T>{&part.rule, p.batch.learning_rate * part.rate_factor, p.batch.step, scale,
                         state_.flat(region::parameters) + part.first, state_.flat(region::gradients) + part.first,
                         state_.flat(region::slots) + part.first, state_.trainable_numbers(), part.count});
  }
  double* squares(program const& p, step const& s, int i = 0) const {
    return buffer_data<double>(p, p.plan.operands[s.first_operand + i].buffer);
  }
  T* flat(region r) const { return state_.flat(r); }
  /// Returns a counter of changes to the parameters. An update is counted at the end of its run; no step reads the
  /// parameters in between.
  std::uint64_t const* parameters_version() const { return &state_.kept()->version; }
  /// Returns a counter of calls to write_parameter, the only function that changes frozen parameters.
  std::uint64_t const* written_version() const { return &state_.kept()->written_version; }
  /// Returns the weights, their version, and the kernels that were packed from them.
  host::weights& kept() const { return *state_.kept(); }
  /// Whether another owner also holds the weights; if so, they must not change.
  bool shares_weights() const { return state_.kept().use_count() > 1; }
  /// Returns the threads of several devices, or null if one thread runs everything.
  host::thread_team* team() const { return team_.get(); }

 private:
  /// Counts a change of the weights. Throws option_error if another owner also holds the weights.
  void change_weights() {
    if (shares_weights()) refuse_change();
    ++state_.kept()->version;
  }
  [[gnu::cold, noreturn]] void refuse_change() const {
    detail::throw_error<option_error>(
        {"weights: they can change only while a single trainer or predictor uses them; found ",
         static_cast<long long>(state_.kept().use_count()),
         " that share them; destroy the others, or make them with copies: make_predictor<model>(executor, trainer)"});
  }
  /// Makes a plan that, to save memory, computes the same values a second time as the plan for the largest batch.
  /// Throws option_error if this plan does not stay within the limit, or if the batch is larger than that one.
  plan plan_within_limit(plan_options const& o) {
    memory_limit const& limit = options_.limit;
    if (!chosen_ || chosen_->targets != o.targets) {
      plan_options largest = o;
      largest.batch = limit.batch;
      largest.mode = mode::training;
      recomputation choice = choose_recomputation(graph_, largest, limit.bytes);
      if (choice.bytes > limit.bytes)
        detail::throw_error<option_error>({"memory_budget: it allows ", limit.bytes, " bytes, but on this executor a ",
                                           "training step with a batch of ", limit.batch, " takes at least ",
                                           choice.bytes, "; allow more, or use a smaller batch"});
      plan const p = make_plan(graph_, largest, choice.again);
      chosen_ = detail::make_owner<limited_choice>(o.targets, p.region_bytes[static_cast<int>(region::activations)],
                                                   std::move(choice.again));
    }
    plan made = make_plan(graph_, o, chosen_->again);
    if (o.batch > limit.batch)
      detail::throw_error<option_error>({"batch: the network's memory_budget of ", limit.bytes,
                                         " bytes is for batches of up to ", limit.batch, "; found ", o.batch,
                                         ", whose plan takes ", made.bytes(),
                                         "; use smaller batches, or a budget for this one"});
    return made;
  }
  /// Requires that the batch has the targets for which the program was prepared.
  void require_targets_of(program const& p, batch_view const& batch) const {
    per_output<target_kind> const& kinds = p.plan.options.targets;
    int const count = static_cast<int>(batch.targets.size()), needed = kinds.is_shared() ? 1 : kinds.count;
    if (count > needed)
      detail::throw_error<option_error>({"batch: the engine was prepared for ", detail::counted(needed, "target"),
                                         "; found ", count, "; call prepare() with the kind of each"});
    for (int k = 0; k < needed; ++k) {
      target_view const found = k < count ? batch.target(k) : target_view{};
      bool const has_values = kinds[k] == target_kind::values;
      if (!(has_values ? found.values != nullptr : found.labels != nullptr))
        detail::throw_error<option_error>({"batch: it must have ", has_values ? "values" : "labels",
                                           needed > 1 ? detail::message({" for output ", k}) : std::string(),
                                           "; only inference runs without them"});
      if (kinds[k] == target_kind::pixel_classes && found.labelled < 0)
        detail::throw_error<option_error>(
            {"batch: with a class per pixel, .labelled must be the number of labelled pixels of the whole batch; ",
             "found ", found.labelled, "; set it to the number of labels that are 0 or greater"});
    }
  }
  program& program_of(int which) const {
    if (which < 0 || which >= programs_.size())
      detail::throw_error<option_error>(
          {"engine: nothing was prepared under number ", which, "; call prepare() first"});
    return programs_[which];
  }
  /// Warns once if batch_norm sees single samples. With towers, the towers' engine warns instead.
  void warn_of_single_samples(int batch) {
    if (warned_ || detail::smallest_micro_batch(batch, options_.micro_batches) > 1 || !detail::has_batch_norm(graph_))
      return;
    std::string const said =
        detail::message({"pipeline: with a batch of ", batch,
                         ", some micro-batches have a single sample, so batch_norm takes its statistics from one "
                         "sample alone; use a larger batch or fewer micro-batches"});
    warned_ = true;
    on_warning(said.c_str());
  }
  [[gnu::noinline]] void run_if_needed(program& p, bound_step const& b) {
    if (p.part.size > 0 || meets_others(b)) run(p, b);
  }
  void run_on_team(program& p) {
    struct work {
      engine& self;
      program& p;
    } context{*this, p};
    team_->run(
        p.plan,
        [](void* c, int i) {
          auto const& w = *static_cast<work*>(c);
          w.self.run_if_needed(w.p, w.p.steps[i]);
        },
        &context);
  }
  /// Returns the number of pieces in which gradients are summed. If there are several pieces, sums run during the
  /// backward pass. There is only one piece if the backward pass itself communicates, or if it runs on several devices:
  /// devices progress at different speeds, so the order of calls would differ between ranks.
  int buckets() const { return !options_.group ? 0 : sums_overlap() ? options_.group->buckets() : 1; }
  bool sums_overlap() const { return graph_.size.devices == 1 && options_.moments != tower_moments::synchronized; }
  void run(program& p, bound_step const& b) {
    if (b.step->what == action::all_reduce) return all_reduce(p, *b.step);
    if (takes_gradients(b) && options_.group) options_.group->finish_all_reduces();
    if (b.step->what == action::add_gradients) return add_gradients(p, *b.step);
    if (b.kernel) return b.kernel();
    execute(p, b);
    if (b.ends_block) zero_rest_of_block(b.to);
  }
  void all_reduce(program const& p, step const& s) const {
    buffer const& first = p.plan.buffer_of(p.plan.operands[s.first_operand]);
    buffer const& last = p.plan.buffer_of(p.plan.operands[s.first_operand + s.operands - 1]);
    T* const data = reinterpret_cast<T*>(state_.address(first));
    long long const count = (last.offset + last.bytes - first.offset) / state_.number_bytes;
    if (sums_overlap())
      options_.group->start_all_reduce(data, count);
    else
      options_.group->all_reduce(data, count);
  }
  void add_gradients(program const& p, step const& s) const {
    operand const* const o = p.plan.operands.begin() + s.first_operand;
    T const* const from = buffer_data<T>(p, o[0].buffer);
    T* const to = buffer_data<T>(p, o[1].buffer);
    for (long long n = graph_.parameters[o->index].count(); n-- > 0;) to[n] += from[n];
  }
  /// Whether a tower without samples must take part in a step.
  bool meets_others(bound_step const& b) const {
    return b.step->what == action::all_reduce || takes_gradients(b) ||
           (b.node && facts_of(*b.node).mixes_samples && options_.moments == tower_moments::synchronized);
  }
  static bool takes_gradients(bound_step const& b) {
    return b.step->what == action::measure || b.step->what == action::update;
  }
  /// Sets the sums of a tower without samples to zero, since it adds nothing to the total.
  void clear_sums(program const& p) const {
    std::memset(state_.flat(region::gradients), 0, static_cast<std::size_t>(state_.bytes_of(region::gradients)));
    for (operand const& o : p.plan.operands)
      if (o.what == content::metrics) std::memset(buffer_data<double>(p, o.buffer), 0, 2 * sizeof(double));
  }
  /// A range of numbers in the memory region of the parameters, on one device, and how the range is updated.
  struct update_part {
    int device;
    long long first, count;
    double rate_factor;
    update_rule rule;
  };
  void find_update_parts() {
    for (int d = graph_.size.devices - 1; d >= 0; --d)
      for (int n = graph_.size.nodes - 1; n >= 0; --n) {
        node const& x = graph_.nodes[n];
        for (int k = x.first_parameter; x.device == d && k < x.first_parameter + x.parameters; ++k) {
          parameter const& own = graph_.parameters[k];
          if (!own.trainable()) continue;
          update_rule rule = options_.update;
          rule.weight_decay *= own.factors.weight_decay;
          long long const first = state_.offset_of(k);
          long long const count =
              state_.layout().buffers[state_.layout().parameter_buffers[k]].bytes / state_.number_bytes;
          update_part* const last = update_parts_.size() > 0 ? &update_parts_[update_parts_.size() - 1] : nullptr;
          if (last && last->device == d && last->first + last->count == first &&
              last->rate_factor == own.factors.learning_rate && last->rule.weight_decay == rule.weight_decay)
            last->count += count;
          else
            update_parts_.push({d, first, count, own.factors.learning_rate, rule});
        }
      }
  }

  void bind(program& p, plan&& made) {
    p.plan = std::move(made);
    if (p.plan.options.mode == mode::training) state_.require_training();
    p.activations = memory_for(p.plan.region_bytes[static_cast<int>(region::activations)]);
    p.steps = detail::list<bound_step>(p.plan.steps.size());
    for (int i = 0; i < p.plan.steps.size(); ++i) {
      bound_step& b = p.steps[i];
      binding_of(p).bind(p.plan.steps[i], b, tower_.get());
      // Without samples only the update runs, with the same kernel as on every other tower, since another loop rounds
      // differently.
      if (p.part.size > 0 || takes_gradients(b)) b.kernel = select_kernel(p, b);
    }
  }
  binding<T> binding_of(program const& p) const {
    region_memory m = state_.memory();
    m[region::activations] = p.activations->data();
    return {graph_, p.plan, p.part.size, m};
  }
  template <class From, class To>
  void copy(From const* from, To* to, int k) const {
    for (long long i = 0; i < graph_.parameters[k].count(); ++i) to[i] = static_cast<To>(from[i]);
  }

  /// Returns memory for activations. Programs never run at the same time, so they use the same block if it is large
  /// enough.
  memory_block const* memory_for(long long bytes) {
    for (memory_block const& b : blocks_)
      if (b.bytes() >= bytes) return &b;
    if (chosen_ && bytes < chosen_->activations) bytes = chosen_->activations;  // one block for training and all else
    if (chosen_) require_within_limit(bytes);
    return &blocks_.emplace(bytes);
  }

  /// Throws option_error if another block of activations would exceed the limit.
  void require_within_limit(long long bytes) const {
    plan const& layout = state_.layout();
    long long all = bytes + layout.bytes() - layout.region_bytes[static_cast<int>(region::activations)];
    for (memory_block const& b : blocks_) all += b.bytes();
    if (all > options_.limit.bytes)
      detail::throw_error<option_error>({"memory_budget: it allows ", options_.limit.bytes,
                                         " bytes, but with the memory ", "already allocated, this batch takes ", all,
                                         "; use a smaller batch"});
  }
  /// The values that every training step computes a second time to save memory, and the bytes of the activations with
  /// the largest batch.
  struct limited_choice {
    per_output<target_kind> targets;
    long long activations;
    detail::list<bool> again;
    limited_choice(per_output<target_kind> const& t, long long bytes, detail::list<bool>&& which)
        : targets(t), activations(bytes), again(std::move(which)) {}
  };

  target target_;
  state<T> state_;
  detail::owner<limited_choice> chosen_;  // null without a limit
  detail::owner<host::tower<T>> tower_;
  detail::chain<memory_block> blocks_;
  detail::chain<program> programs_;
  detail::list<update_part> update_parts_;
  bool warned_ = false;
  detail::owner<host::thread_team> team_;
};

}  // namespace dsl::host::TYPENET_MODE
