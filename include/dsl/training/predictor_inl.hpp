// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalization.hpp>
#include <dsl/data/transform.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/training/weights.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_shared(engine& e, std::shared_ptr<shared_weights> const& wanted) {
  if (!wanted)
    throw_error<option_error>(
        {"make_predictor: the weights must be those of another engine; found null, which weights() returns if the "
         "executor cannot share weights; pass the trainer instead to copy them"});
  if (e.weights() != wanted)
    throw_error<executor_error>({"make_predictor: the executor must be able to share weights; found ", e.description(),
                                 ", which has its own; pass a trainer to copy its weights"});
}

/// Returns what differs first between a trainer's network and a predictor's, which have different types.
inline std::string first_difference(graph_view const& trained, graph_view const& own) {
  auto const text = [](graph_view const& g, node const& n) {
    shape const& s = g.output_shape(n);
    return message(
        {word_of(n), " with the result ", s.channels, "x", s.height, "x", s.width, " in ", layer_place(g, n.scope)});
  };
  for (int i = 0; i < trained.size.nodes && i < own.size.nodes; ++i) {
    node const &x = trained.nodes[i], &y = own.nodes[i];
    if (x.kind != y.kind || x.function != y.function || trained.output_shape(x) != own.output_shape(y))
      return message({"its first operation that differs is ", text(trained, x), ", where the predictor's network has ",
                      text(own, y)});
  }
  if (trained.size.nodes != own.size.nodes)
    return message({"it has ", counted(trained.size.nodes, "operation"), " instead of ", own.size.nodes});
  return "its layers have other names, or other options that leave the shapes as they are";
}

TYPENET_INLINE void copy_weights(engine& from, engine& to) {
  if (from.graph().nodes != to.graph().nodes)
    throw_error<option_error>({"make_predictor: the trainer must have the predictor's network; found another network: ",
                               first_difference(from.graph(), to.graph()),
                               "; give make_predictor the type of the trainer's network, or copy the weights that fit "
                               "with save_safetensors and load_safetensors"});
  write_weights(to, read_weights(from));
  to.set_normalization(from.normalization());
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE predictor::predictor(std::unique_ptr<dsl::engine> e) : network_(std::move(e)) {}

TYPENET_INLINE void predictor::predict(std::span<float const> samples, std::span<float> outputs) {
  require_weights();
  auto const by = engine().normalization();
  network_.predict_on_batch(by && !by->empty() ? normalized(0, *by, {"", samples}) : samples, outputs);
}

TYPENET_INLINE std::vector<float> predictor::predict(std::span<float const> samples) {
  graph_view const& g = graph();
  auto const each = static_cast<std::size_t>(g.output_shape(g.nodes[0]).size());
  auto const results = static_cast<std::size_t>(g.shape_of(g.result()).size());
  std::vector<float> outputs((samples.size() < each ? 1 : samples.size() / each) * results);  // 1: to be refused
  predict(samples, outputs);
  return outputs;
}

TYPENET_INLINE std::vector<float> predictor::predict(std::initializer_list<float> sample) {
  return predict(std::span<float const>(sample.begin(), sample.size()));
}

TYPENET_INLINE void predictor::predict(std::vector<batch_input> const& inputs, std::span<float> outputs) {
  require_weights();
  auto const by = engine().normalization();
  if (!by || by->empty()) return network_.predict_on_batch(inputs, outputs);
  std::vector<batch_input> all;
  all.reserve(inputs.size());
  for (batch_input const& one : inputs) all.push_back({one.name, normalized(all.size(), *by, one)});
  network_.predict_on_batch(all, outputs);
}

TYPENET_INLINE std::span<float const> predictor::normalized(std::size_t input, dsl::normalization const& by,
                                                            batch_input const& given) {
  input_moments const* const m = by.find(std::string(given.name));
  if (!m || (!m->mean && !m->deviation)) return given.numbers;
  std::size_t const each = (m->mean ? m->mean : m->deviation)->size();
  if (normalized_.size() <= input) normalized_.resize(input + 1);
  std::vector<float>& to = normalized_[input];
  to.resize(given.numbers.size());
  for (std::size_t from = 0; from + each <= to.size(); from += each) {
    detail::pixel_source const sample{.floats = given.numbers.data() + from,
                                      .mean = m->mean ? m->mean->data() : nullptr,
                                      .deviation = m->deviation ? m->deviation->data() : nullptr};
    sample.copy<1>(0, static_cast<int>(each), to.data() + from);
  }
  return to;  // of the given size: predict_on_batch refuses one that is not a whole number of samples
}

TYPENET_INLINE long long predictor::normalized_bytes() const {
  long long bytes = 0;
  for (std::vector<float> const& one : normalized_) bytes += static_cast<long long>(one.capacity() * sizeof(float));
  return bytes;
}

TYPENET_INLINE std::vector<float> predictor::predict(dataset const& data, int batch_size) {
  require_weights();
  return network_.predict(data, batch_size);
}

TYPENET_INLINE std::vector<float> predictor::predict_output(std::string_view name, dataset const& data,
                                                            int batch_size) {
  require_weights();
  return network_.predict_output(name, data, batch_size);
}

TYPENET_INLINE void predictor::require_weights() {
  auto const own = weights();
  if (own && !own->written())
    detail::throw_error<option_error>(
        {"predictor: it must have weights before it predicts; found none; call load_weights(p, path) or "
         "load_safetensors(p, path), or make it with the weights of a trainer"});
}

}  // namespace dsl::TYPENET_MODE
