// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/build_program.hpp>
#include <dsl/executors/cuda/process_end.hpp>
#include <dsl/executors/cuda/queue_timing.hpp>
#include <dsl/plan/verify.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace dsl::cu::TYPENET_MODE {

/// The purpose of a program.
struct program_purpose {
  dsl::mode mode;
  batch_part part;
  resident_data* data = nullptr;   // the data set from which batches are gathered; null: they are passed to run()
  augmentation_numbers augment{};  // only with data
  bool shuffle = true;             // only with data
};

/// The programs of an engine, and the memory of their activations. Programs never run concurrently, so a new program
/// uses an existing block of memory if that is large enough, and otherwise gets a new block. The engine's device must
/// be current and idle.
class program_list {
 public:
  program_list(engine_parts const& e, std::string const& architecture, long long workspace_limit)
      : e_(e), architecture_(architecture), workspace_limit_(workspace_limit) {}

  /// Calls make(ready), which returns a program's number, or -1, and returns this number. `ready` synchronises the
  /// ranks before they record. In training with other towers, either all towers get a program or none does, since
  /// otherwise their recorded collectives would never match again.
  template <class F>
  int on_all_or_none(mode m, F make) {
    communicator* const others = m == mode::training ? e_.group : nullptr;
    handshake made(others, "its program was made");
    handshake ready(e_.link ? others : nullptr, "it was ready to record a program");
    int const known = programs_.size(), which = make(ready);
    if (which < 0) return which;
    try {
      ready.pass();
      made.pass();
    } catch (...) {
      if (which == known) drop_last();
      throw;
    }
    return which;
  }
  /// Returns the number of an existing program for this purpose, or of a new one.
  int find_or_make(program_purpose const& wanted, handshake& ready) {
    int count = 0;
    for (program const& p : programs_) {
      if (serves(p, wanted)) return count;
      ++count;
    }
    program& made = add(wanted, e_.second ? 2 : 1, ready);
    bool const one_may_be_faster = made.queues == 2 && made.events.size() > 0;
    if (e_.time_queues && one_may_be_faster && !e_.deterministic && !e_.group) keep_the_faster(wanted, made, ready);
    return count;
  }

  program& operator[](int which) const {
    if (which < 0 || which >= programs_.size())
      throw option_error(
          detail::message({"engine: nothing was prepared under number ", which, "; call prepare() first"}));
    return programs_[which];
  }
  auto begin() const { return programs_.begin(); }
  auto end() const { return programs_.end(); }
  long long activation_bytes() const {
    long long all = 0;
    for (device_memory const& b : blocks_) all += b.bytes();
    return all;
  }

 private:
  /// Makes a program.
  program& add(program_purpose const& wanted, int queues, handshake& ready) {
    plan made = plan_for(wanted);
    if (wanted.mode == mode::training) e_.arena.require_training();
    device_memory const* const activations = memory_for(made.region_bytes[static_cast<int>(region::activations)]);
    program& p = programs_.emplace();
    p.plan = std::move(made);
    p.part = wanted.part;
    p.samples = wanted.part.size;
    p.data = wanted.data;
    p.augment = wanted.augment;
    p.shuffle = wanted.shuffle;
    p.queues = queues;
    p.activations = activations;
    p.state.seed = e_.options.seed;
    p.state.first_sample = static_cast<std::uint32_t>(wanted.part.first);
    try {
      build_program(e_, p, architecture_, workspace_limit_, ready);
    } catch (...) {
      drop_last();  // a half-built program must not be found again
      throw;
    }
    process_end::watch();  // libraries have loaded what this program needs
    return p;
  }
  /// Makes the last program again, on one queue, and keeps the faster of the two. If there is no memory for both, the
  /// first remains.
  void keep_the_faster(program_purpose const& wanted, program& on_two, handshake& ready) {
    int const known = programs_.size();
    try {
      bool const one = is_faster(e_, add(wanted, 1, ready), on_two);
      drop(one ? known - 1 : known);
    } catch (memory_error const&) {
      if (programs_.size() > known) drop_last();
    } catch (...) {
      while (programs_.size() >= known) drop_last();
      throw;
    }
  }
  /// Whether a program can be used for this purpose. A larger batch can be used if nothing depends on its size.
  bool serves(program const& p, program_purpose const& wanted) const {
    if (p.plan.options.mode != wanted.mode || p.data != wanted.data) return false;
    bool const fills = e_.fill_batches && wanted.mode != mode::training && wanted.part.size > 0;
    if (fills ? p.part.size < wanted.part.size : !(p.part == wanted.part)) return false;
    return !p.data || (p.shuffle == wanted.shuffle && p.augment == wanted.augment);
  }
  plan plan_for(program_purpose const& wanted) const {
    bool const idles = wanted.part.size == 0 && e_.group && wanted.mode == mode::training;
    if (wanted.part.size < 1 && !idles)
      throw option_error(detail::message({"batch: it must have 1 sample or more; found ", wanted.part.size}));
    // Early sums need a link, since nothing else runs while the host sums. They are not used with synchronized moments:
    // the sums of a device run one at a time, so a sum in progress would delay the batch_norms after it.
    bool const early = e_.link && e_.options.moments != tower_moments::synchronized;
    plan made = make_plan(e_.graph, {.batch = idles ? 1 : wanted.part.size,
                                     .mode = wanted.mode,
                                     .target = target_for(storage_of(e_.precision)),
                                     .optimizer_slots = e_.options.update.slots(),
                                     .loss = e_.options.loss,
                                     .all_reduce_buckets = early      ? 2
                                                           : e_.group ? 1
                                                                      : 0,
                                     .gradient_norm = e_.options.update.clip.norm > 0});
    if (e_.options.verify)
      if (plan_verdict const v = e_.options.verify(e_.graph, made); !v.holds())
        throw executor_error(detail::message({"plan: typenet made a plan that its own checker refuses: ",
                                              explain(v.broken), " (step ", v.step, "); please report the network"}));
    return made;
  }
  void drop_last() { drop(programs_.size() - 1); }
  void drop(int which) {
    e_.calls.ignore(e_.calls.cudaStreamSynchronize.function(e_.stream));  // nothing may use the memory released now
    programs_.drop(which);
  }
  device_memory const* memory_for(long long bytes) {
    for (device_memory const& b : blocks_)
      if (b.bytes() >= bytes) return &b;
    return &blocks_.emplace(e_.calls, bytes, e_.stream);
  }

  engine_parts const& e_;
  std::string const& architecture_;
  long long workspace_limit_;
  detail::chain<device_memory> blocks_;
  detail::chain<program> programs_;
};

}  // namespace dsl::cu::TYPENET_MODE
