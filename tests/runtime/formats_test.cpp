// SPDX-License-Identifier: MIT
// Compares the rows of formats/table.hpp with a list, in which a change of any field of any row shows. What the
// fields do is tested with the weights and diagrams of networks.
#include "support/catch.hpp"

#include <dsl/formats/table.hpp>
#include <dsl/operations/table.hpp>

#include <string>
#include <string_view>

using namespace dsl;

namespace {

/// Returns what an operation's row says in other words than the default row. The list of members is complete, or this
/// does not compile.
std::string text_of(formats::row const& r) {
  [[maybe_unused]] auto const& [parts, shows_window, keras_class, keras_class_of, kernel_name, kernel_axes,
                                is_activation, takes_activation, order, is_parameter, torch_name] = r;
  std::string text;
  auto const add = [&](bool said, std::string const& word) { text += said ? " " + word : ""; };
  add(std::string_view(parts) != "groups", parts);
  add(shows_window, "window");
  add(std::string_view(keras_class) != "layer", keras_class);
  add(keras_class_of, "class_of_node");
  add(std::string_view(kernel_name) != "kernel", kernel_name);
  add(kernel_axes == formats::axes::table, "table");
  add(kernel_axes == formats::axes::each_channel, "each_channel");
  add(is_activation, "activates");
  add(takes_activation, "takes_activation");
  add(order == formats::order_of_input, "any_order");
  add(order == formats::new_order, "new_order");
  add(order != formats::order_of_input && order != formats::new_order && order != formats::order_of_typenet,
      "own_order");
  add(is_parameter, "parameter");
  add(torch_name, "names_in_torch");
  return text;
}

std::string text_of_all() {
  std::string all;
  for (int kind = 0; kind < operations::count; ++kind)
    if (std::string const text = text_of(formats::row_of(static_cast<op>(kind))); !text.empty())
      all += std::to_string(kind) + " " + operations::table[kind].name + ":" + text + "\n";
  return all;
}

}  // namespace

TEST_CASE("formats: every row says what this list says", "[formats]") {
  CHECK(text_of_all() ==
        "0 input: new_order\n"
        "1 conv2d: window class_of_node takes_activation own_order\n"
        "2 batch_norm: batch_normalization any_order\n"
        "3 relu: activates any_order\n"
        "4 max_pool2d: window any_order\n"
        "5 avg_pool2d: window any_order\n"
        "6 dropout: any_order\n"
        "7 flatten: own_order\n"
        "8 dense: dense takes_activation new_order\n"
        "9 softmax: activates any_order\n"
        "10 concat: own_order\n"
        "11 add: own_order\n"
        "12 custom: own_order\n"
        "13 transfer: any_order\n"
        "14 multiply: own_order\n"
        "15 layer_norm: layer_normalization any_order\n"
        "16 upsample2d: any_order\n"
        "17 bilinear upsample2d: any_order\n"
        "20 channel_scale: layer_scale any_order parameter\n"
        "21 stochastic_depth: any_order\n"
        "22 conv2d_transpose: window conv2d_transpose takes_activation\n"
        "23 attention: heads\n"
        "24 causal attention: heads\n"
        "25 group_norm: group_normalization own_order\n"
        "26 local_response_norm: neighbours\n"
        "27 class_token: class_token each_channel parameter\n"
        "28 position_embedding: position_embedding each_channel parameter\n"
        "30 embedding: tokens embedding embeddings table new_order\n"
        "31 window_attention: heads window window_attention table parameter\n"
        "33 lstm: lstm own_order names_in_torch\n"
        "34 gru: gru own_order names_in_torch\n"
        "35 bounded_window_attention: heads\n"
        "37 head_norm: heads head_norm parameter\n"
        "39 zero_pad2d: any_order\n");
}
