// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference.hpp>
#include <dsl/executors/reference/engine.hpp>

#include <memory>
#include <type_traits>

namespace dsl::TYPENET_MODE {

template <class T>
std::unique_ptr<engine> reference<T>::make_engine(graph_view const& g, engine_options const& o) const {
  using number =
      std::conditional_t<detail::is_float<T>, T, float>;  // float if T is invalid, so that the error is reported once
  return std::unique_ptr<engine>(new plain::engine<number>(g, o, target));
}

#ifndef TYPENET_COMPILED
template <class T>
template <operation_set Only>
std::unique_ptr<engine> reference<T>::make_engine_for(graph_view const& g, engine_options const& o) const {
  using number = std::conditional_t<detail::is_float<T>, T, float>;
  return std::unique_ptr<engine>(new plain::engine<number>(g, o, target, 1, &plain::loops_of<number, Only>));
}
#endif

#ifdef TYPENET_COMPILED
template struct reference<float>;
template struct reference<double>;
#endif

}  // namespace dsl::TYPENET_MODE
