// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/region_memory.hpp>
#include <dsl/executors/host/weights.hpp>
#include <dsl/plan/plan.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace dsl::host::TYPENET_MODE {

/// A network's persistent memory: parameters and running statistics, which other engines may share, and, once it
/// trains, gradients and optimizer slots. All plans of a network use the same addresses for these; `layout` is one such
/// plan, for training. Each region is a flat array of T, and a parameter, its gradient and its slots have the same
/// offset in their regions.
template <class T>
class state {
 public:
  /// Uses the weights `shared`, which must have this layout. If `shared` is null, allocates its own weights.
  state(node const* graph, plan layout, std::shared_ptr<shared_weights> const& shared)
      : layout_(std::move(layout)),
        kept_(shared ? std::dynamic_pointer_cast<weights>(shared) : std::make_shared<weights>(graph, layout_)) {
    target const& to = layout_.options.target;
    if (!kept_ || kept_->graph != graph || kept_->number_bytes != number_bytes || kept_->alignment != to.alignment)
      detail::throw_error<option_error>(
          {"weights: an engine can only share those of the same network on an executor with the same type of numbers; "
           "found ",
           !kept_                  ? "weights of another kind of executor"
           : kept_->graph != graph ? "those of another network"
                                   : "another type of numbers",
           "; copy them with read_parameter and write_parameter"});
  }

  plan const& layout() const { return layout_; }
  std::shared_ptr<host::weights> const& kept() const { return kept_; }
  T* parameter(int k) const { return reinterpret_cast<T*>(address(layout_.buffers[layout_.parameter_buffers[k]])); }
  T* gradient(int k) const { return flat(region::gradients) + offset_of(k); }
  T* slot(int s, int k) const { return flat(region::slots) + s * trainable_numbers() + offset_of(k); }

  /// Returns the memory regions except that of the activations. Gradients and slots exist once the network trains.
  region_memory memory() const {
    region_memory m;
    for (region r : {region::parameters, region::statistics, region::frozen}) m[r] = begin_of(r);
    if (training_)
      for (region r : {region::gradients, region::slots}) m[r] = begin_of(r);
    return m;
  }

  T* flat(region r) const { return reinterpret_cast<T*>(begin_of(r)); }
  long long trainable_numbers() const { return bytes_of(region::parameters) / number_bytes; }
  long long bytes_of(region r) const { return layout_.region_bytes[static_cast<int>(r)]; }
  long long offset_of(int k) const { return layout_.buffers[layout_.parameter_buffers[k]].offset / number_bytes; }
  /// Returns the address of a buffer that is not in the region of the activations.
  std::byte* address(buffer const& b) const { return begin_of(b.where) + b.offset; }

  /// Allocates gradients and slots, all zero, if they do not exist yet.
  void require_training() {
    if (!training_) training_ = detail::make_owner<memory_block>(bytes_of(region::gradients) + bytes_of(region::slots));
  }
  bool trains() const { return static_cast<bool>(training_); }
  long long bytes() const { return kept_->numbers.bytes() + (training_ ? training_->bytes() : 0); }

  static constexpr long long number_bytes = sizeof(T);

 private:
  std::byte* begin_of(region r) const {
    if (r == region::parameters) return kept_->numbers.data();
    if (r == region::statistics) return kept_->numbers.data() + bytes_of(region::parameters);
    if (r == region::frozen) return begin_of(region::statistics) + bytes_of(region::statistics);
    return training_->data() + (r == region::slots ? bytes_of(region::gradients) : 0);
  }

  plan layout_;
  std::shared_ptr<host::weights> kept_;
  detail::owner<memory_block> training_;
};

}  // namespace dsl::host::TYPENET_MODE
