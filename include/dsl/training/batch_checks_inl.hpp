// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/training/batch_checks.hpp>
#include <dsl/training/checks.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE target_kind batch_checks::targets_of_labels() const {
  return loss[0] == dsl::loss::categorical_crossentropy && !graph.shape_of(graph.result()).is_flat()
             ? target_kind::pixel_classes
             : target_kind::classes;
}

TYPENET_INLINE std::size_t batch_checks::samples_of(std::span<std::int32_t const> labels) const {
  require_loss_takes(targets_of_labels());
  shape const& result = graph.shape_of(graph.result());
  bool const of_pixels = targets_of_labels() == target_kind::pixel_classes;
  shape const each = of_pixels ? shape{1, result.height, result.width} : shape{1};
  std::size_t const size = labels.size() / static_cast<std::size_t>(each.area());
  require_count("train_on_batch: labels", labels.size(), size, each, "std::int32_t");
  return size;
}

TYPENET_INLINE std::size_t batch_checks::samples_of(std::span<float const> values) const {
  require_loss_takes(target_kind::values);
  shape const& each = graph.shape_of(graph.result());
  std::size_t const size = values.size() / static_cast<std::size_t>(each.size());
  require_count("train_on_batch: values", values.size(), size, each);
  return size;
}

TYPENET_INLINE void batch_checks::require_loss_takes(target_kind targets) const {
  if (targets == target_kind::values && !takes(loss[0], targets))
    throw_error<option_error>(
        {"train_on_batch: categorical_crossentropy needs class labels as targets; found floats; pass std::int32_t "
         "labels, "
         "or change the loss in compile()"});
  for (int k = 1; k < output_count(graph); ++k)
    if (!takes(loss[k], targets) ||
        graph.output_shape(graph.nodes[output_node(graph, k)]).size() != graph.shape_of(graph.result()).size())
      throw_error<option_error>(
          {"train_on_batch: all outputs must take the same targets; found output ", name_of_output(graph, k),
           ", whose loss or shape differs from that of the network's result; pass the targets of each output by name"});
  bool const one_output = loss[0] != dsl::loss::categorical_crossentropy && graph.shape_of(graph.result()).size() == 1;
  if (targets != target_kind::values && (one_output || !takes(loss[0], targets)))
    throw_error<option_error>(
        {"train_on_batch: ",
         one_output ? "the network's output is one number per sample, so its targets must be floats, such as 0 and 1"
                    : "this loss needs float targets",
         "; found std::int32_t labels; pass floats, or ",
         one_output ? "end the network in one unit per class and softmax" : "change the loss in compile()"});
}

TYPENET_INLINE void batch_checks::require_labels(std::int32_t const* labels, int size) const {
  require_loss_takes(targets_of_labels());
  require_labels(0, targets_of_labels(), labels, size);
}

TYPENET_INLINE void batch_checks::require_labels(int output, target_kind targets, std::int32_t const* labels,
                                                 int size) const {
  require_size(size);
  shape const& result = graph.output_shape(graph.nodes[output_node(graph, output)]);
  bool const of_pixels = targets == target_kind::pixel_classes;
  long long const classes = of_pixels ? result.channels : result.size(), each = of_pixels ? result.area() : 1;
  for (long long i = 0; i < size * each; ++i)
    if (labels[i] < (of_pixels ? -1 : 0) || labels[i] >= classes)
      throw_error<data_error>({"train_on_batch: labels must be ", of_pixels ? -1 : 0, " to ", classes - 1, "; found ",
                               labels[i], " for ", of_pixels ? "pixel " : "sample ", of_pixels ? i % each : i,
                               of_pixels ? message({" of sample ", i / each}) : "", "; the last layer must have one ",
                               of_pixels ? "channel" : "unit", " per class",
                               takes(loss[output], target_kind::values) ? "; for regression, pass float values" : ""});
}

TYPENET_INLINE std::vector<float const*> batch_checks::arranged(char const* what,
                                                                std::vector<batch_input> const& inputs,
                                                                std::size_t size) const {
  std::vector<float const*> all;
  for (int n = 0; n < graph.size.nodes; ++n) {
    if (graph.nodes[n].kind != op::input) continue;
    std::string const name = n > 0 ? name_of_input(graph, n) : "";
    batch_input const* found = nullptr;
    int times = 0;
    for (batch_input const& one : inputs)
      if (one.name == name) found = &one, ++times;
    if (times != 1)
      throw_error<data_error>({what, ": each input must be given exactly once; ",
                               name.empty() ? "the first input, whose name is \"\"," : "the input \"" + name + "\"",
                               times == 0 ? std::string(" is missing") : message({" is given ", times, " times"}),
                               "; other inputs have the names in their named_input<...>"});
    require_count(message({what, ": ", name.empty() ? "samples" : name}).c_str(), found->numbers.size(), size,
                  graph.output_shape(graph.nodes[n]));
    all.push_back(found->numbers.data());
  }
  if (inputs.size() != all.size())
    throw_error<data_error>({what, ": the network has ", static_cast<long long>(all.size()), " inputs; found ",
                             static_cast<long long>(inputs.size()),
                             "; leave out those that the network does not have"});
  return all;
}

TYPENET_INLINE std::size_t batch_checks::samples_of(std::vector<batch_input> const& inputs) const {
  for (batch_input const& one : inputs)
    if (one.name.empty())
      return one.numbers.size() / static_cast<std::size_t>(graph.output_shape(graph.nodes[0]).size());
  return 0;  // arranged() reports it
}

TYPENET_INLINE arranged_targets batch_checks::arranged(std::vector<batch_target> const& targets,
                                                       std::size_t size) const {
  char const* const what = "train_on_batch";
  int const outputs = output_count(graph);
  if (outputs > most_own_outputs)
    throw_error<option_error>({what, ": at most ", most_own_outputs, " outputs may have targets of their own; found ",
                               outputs, " outputs; leave some out"});
  arranged_targets all;
  for (int k = 0; k < outputs; ++k) {
    std::string const name = name_of_output(graph, k);
    batch_target const* found = nullptr;
    int times = 0;
    for (batch_target const& one : targets)
      if (one.output == name) found = &one, ++times;
    if (times != 1)
      throw_error<data_error>({what, ": each output must be given targets exactly once; those of output ", name,
                               times == 0 ? " are missing" : message({" are given ", times, " times"}),
                               "; the network's result is called main"});
    shape const& out = graph.output_shape(graph.nodes[output_node(graph, k)]);
    bool const has_values = found->values.data() != nullptr;
    bool const of_pixels = loss[k] == dsl::loss::categorical_crossentropy && !out.is_flat();
    target_kind const kind = has_values  ? target_kind::values
                             : of_pixels ? target_kind::pixel_classes
                                         : target_kind::classes;
    bool const one_number = loss[k] != dsl::loss::categorical_crossentropy && out.size() == 1;
    if (!takes(loss[k], kind) || (one_number && !has_values))
      throw_error<option_error>({what, ": the loss of output ", name, " needs ",
                                 has_values ? "class labels; found floats; pass std::int32_t labels"
                                            : "float targets; found std::int32_t labels; pass floats",
                                 ", or change its loss in compile()"});
    shape const each = kind == target_kind::values          ? out
                       : kind == target_kind::pixel_classes ? shape{1, out.height, out.width}
                                                            : shape{1};
    require_count(message({what, ": targets of output ", name}).c_str(),
                  has_values ? found->values.size() : found->labels.size(), size, each,
                  has_values ? "float" : "std::int32_t");
    target_view view{.labels = has_values ? nullptr : found->labels.data(),
                     .values = has_values ? found->values.data() : nullptr};
    if (has_values)
      require_shares(loss[k], view.values, static_cast<long long>(size), out.size(), what);
    else
      require_labels(k, kind, view.labels, static_cast<int>(size));
    if (kind == target_kind::pixel_classes) view.labelled = 0;
    for (std::size_t i = 0; kind == target_kind::pixel_classes && i < found->labels.size(); ++i)
      view.labelled += found->labels[i] >= 0 ? 1 : 0;
    all.kinds.push(kind);
    all.each.push_back(view);
  }
  if (targets.size() != all.each.size())
    throw_error<data_error>({what, ": the network has ", static_cast<long long>(all.each.size()), " outputs; found ",
                             static_cast<long long>(targets.size()), " targets; leave out those of other outputs"});
  return all;
}

TYPENET_INLINE void batch_checks::require_one_input(char const* what) const {
  std::string names;
  for (int n = 1; n < graph.size.nodes; ++n)
    if (is_further_input(graph, n)) names += (names.empty() ? "\"" : ", \"") + name_of_input(graph, n) + "\"";
  if (!names.empty())
    throw_error<option_error>({what, ": the network has other inputs besides the first: ", names,
                               "; found only the first; pass all of them by name, the first as \"\""});
}

TYPENET_INLINE void batch_checks::require_count(char const* what, std::size_t found, std::size_t batch,
                                                shape const& each, char const* type) {
  if (batch < 1 && found < 1) throw_error<data_error>({what, ": the batch is empty; pass at least one sample"});
  auto const one = static_cast<std::size_t>(each.size());
  if (found / one == batch && found % one > 0)
    throw_error<data_error>({what, " must be ", counted(each.size(), "number"), " of type ", type,
                             " for each sample; found ", found, ", which is not a multiple of ", each.size(),
                             "; check the shape"});
  if (batch < 1) batch = 1;
  if (batch > 0x7fffffff || found != batch * one)
    throw_error<data_error>({what, " of a batch of ", batch, " must be ",
                             counted(static_cast<long long>(batch) * each.size(), "number"), " of type ", type, ", ",
                             each.size(), " for each sample; found ", found, "; check the shape and the batch"});
}

TYPENET_INLINE void batch_checks::require_size(int batch) {
  option_check{"batch"}.need(batch >= 1, "its size must be 1 or more", batch);
}

}  // namespace dsl::detail::TYPENET_MODE
