// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/engine.hpp>
#include <dsl/executors/tower_device.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dsl::target onednn::target() {
  return {.channel_block = dnn::preferred_block(), .library_writes_slices = true};
}

TYPENET_INLINE int onednn::cores_a_tower(int towers) const {
  dnn::require_threads(threads);
  return share_of(towers);
}

TYPENET_INLINE onednn onednn::for_tower(detail::tower_device const& at) const {
  onednn mine = *this;
  mine.threads = share_of(at.towers);
  return mine;
}

TYPENET_INLINE std::unique_ptr<engine> onednn::make_engine(graph_view const& g, engine_options const& o) const {
  return std::unique_ptr<engine>(new dnn::engine(g, o, target(), {threads, winograd}));
}

#ifndef TYPENET_COMPILED
template <operation_set Only>
std::unique_ptr<engine> onednn::make_engine_for(graph_view const& g, engine_options const& o) const {
  return std::unique_ptr<engine>(new dnn::engine(g, o, target(), {threads, winograd}, dnn::engine::code_of<Only>()));
}
#endif

TYPENET_INLINE int onednn::share_of(int towers) const {
  int const all = threads != 0 ? threads : dnn::all_threads();
  return towers > 0 && all > towers ? all / towers : 1;
}

}  // namespace dsl::TYPENET_MODE
