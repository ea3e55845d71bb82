// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference.hpp>
#include <dsl/executors/reference/engine.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

template <class T>
std::unique_ptr<engine> reference<T>::make_engine(graph_view const& g, engine_options const& o) const {
  return std::unique_ptr<engine>(new plain::engine<T>(g, o, target));
}

#ifdef TYPENET_COMPILED
template struct reference<float>;
template struct reference<double>;
#endif

}  // namespace dsl::TYPENET_MODE
