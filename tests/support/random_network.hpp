// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/custom.hpp>

#include "support/random_graph.hpp"

namespace dsl::test {

struct bump {  // smooth, and its derivative changes sign
  static constexpr char const* name = "bump";
  template <class T>
  static T value(T x) {
    return x / (1 + x * x);
  }
  template <class T>
  static T derivative(T x) {
    return (1 - x * x) / ((1 + x * x) * (1 + x * x));
  }
};

/// A random network whose custom operations compute something.
class random_network {
 public:
  random_network(dice& d, int channel_block, bool everywhere = true)
      : graph_(d, channel_block, everywhere), view_(graph_.view()) {
    nodes_.assign(view_.nodes, view_.nodes + view_.size.nodes);
    for (node& n : nodes_)
      if (n.kind == op::custom) n.custom = &dsl::detail::custom_op_of<dsl::detail::elementwise_op<bump>>;
    view_.nodes = nodes_.data();
  }
  graph_view const& view() const { return view_; }
  bool ends_in_softmax() const { return nodes_.back().kind == op::softmax; }

 private:
  random_graph graph_;
  graph_view view_;
  std::vector<node> nodes_;
};

}  // namespace dsl::test
