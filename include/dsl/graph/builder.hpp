// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>
#include <dsl/graph/verdict.hpp>

namespace dsl {

/// The input and the output of a layer's lower(): a tensor of the graph and its shape.
struct value {
  int tensor = -1;
  dsl::shape shape{};
};

namespace detail {

/// The largest depth of nested modules. GCC and Clang can evaluate about 120 nested calls of lower(), nvcc about 60.
inline constexpr int most_nested = 100;
/// A number that is larger than the number of layers and modules in any network.
inline constexpr int all_scopes = 0x7fffffff;

/// A value that tap<"name"> has named. A builder keeps them in a list, the last one first.
struct tapped_value {
  name own{};
  value named{};
  bool is_read = false;
  tapped_value* before = nullptr;
};

}  // namespace detail

/// Appends nodes to a graph. Every layer's lower() receives a builder. Without storage, a builder only counts. A
/// network is lowered twice: first to count nodes, then into arrays of exactly these sizes. append() does not check its
/// arguments; rules/diagnose.hpp checks the whole graph afterwards.
class builder {
 public:
  constexpr builder() = default;
  /// Lowers at most `scopes` layers and modules. The next one breaks the rule lower_is_constant.
  constexpr explicit builder(int scopes) : last_scope_(scopes) {}
  template <graph_sizes Sizes>
  constexpr explicit builder(graph<Sizes>& g)
      : nodes_(g.nodes), edges_(g.edges), tensors_(g.tensors), parameters_(g.parameters), scopes_(g.scopes) {}

  /// Lowers a network that is known only at run time, into arrays of the sizes that a first builder has counted.
  constexpr builder(node* nodes, int* edges, tensor* tensors, dsl::parameter* parameters, scope* scopes)
      : nodes_(nodes), edges_(edges), tensors_(tensors), parameters_(parameters), scopes_(scopes) {}

  builder(builder const&) = delete;
  builder& operator=(builder const&) = delete;
  constexpr ~builder() {
    for (; taps_ > 0; --taps_) {
      detail::tapped_value* const before = last_tap_->before;
      delete last_tap_;
      last_tap_ = before;
    }
  }

  /// Return what has been appended so far, and the first broken rule.
  constexpr graph_sizes const& sizes() const { return sizes_; }
  constexpr verdict const& first_fault() const { return fault_; }
  /// Returns how many nodes had been appended when the first rule was broken.
  constexpr int nodes_before_fault() const { return nodes_before_fault_; }

  /// Appends a node with one output of shape `out`. Parameters that have been declared since the previous node belong
  /// to the new node.
  constexpr value append(node n, value const* inputs, int count, shape out) {
    n.first_input = sizes_.edges;
    n.inputs = count > 0 ? count : 0;
    n.output = sizes_.tensors;
    n.scope = scope_;
    n.device = static_cast<short>(device_);
    n.frozen = frozen_;
    n.first_parameter = first_parameter_;
    n.parameters = sizes_.parameters - first_parameter_;
    first_parameter_ = sizes_.parameters;
    if (nodes_) {
      nodes_[sizes_.nodes] = n;
      tensors_[sizes_.tensors] = {out, sizes_.nodes};
      for (int i = 0; i < n.inputs; ++i) {
        int const t = inputs[i].tensor;
        edges_[sizes_.edges + i] = t;
        if (t >= 0 && t < sizes_.tensors) ++tensors_[t].readers;
      }
      for (int k = n.first_parameter; k < sizes_.parameters; ++k)
        if (parameters_[k].rank == 0)
          parameters_[k].rank = n.kind == op::channel_scale           ? 3  // as PyTorch has it, for broadcasting
                                : parameters_[k].role != role::kernel ? 1
                                : n.kind == op::dense                 ? 2
                                                                      : 4;
    }
    sizes_.edges += n.inputs;
    ++sizes_.nodes;
    require(out.size() <= 0x7fffffffLL, {.broken = rule::tensor_fits_32_bits, .first = out, .found = out.size()});
    return {sizes_.tensors++, out};
  }
  constexpr value append(node n, value in, shape out) { return append(n, &in, 1, out); }
  /// Appends a node with an array of inputs: append({.kind = op::add}, both, in.shape).
  template <int Count>
  constexpr value append(node n, value const (&inputs)[Count], shape out) {
    return append(n, inputs, Count, out);
  }

  /// Declares a parameter of the next node to be appended. For the layout of the parameter, see struct parameter.
  constexpr void parameter(dsl::parameter p) {
    p.node = sizes_.nodes;
    p.frozen = frozen_;
    if (!p.constant) p.initial = initial_;
    p.factors = p.constant ? update_factors{0, 0} : factors_;
    long long count = 1;
    for (int d : p.dims) count = d > 0 && count > 0xffffffffffLL / d ? 0xffffffffffLL : count * d;
    require(count <= 0x7fffffffLL,
            {.broken = rule::parameter_fits_32_bits, .first = {p.dims[0], 1, 1}, .found = count});
    if (parameters_) parameters_[sizes_.parameters] = p;
    ++sizes_.parameters;
  }

  /// Puts nodes appended from now on on `device`. Returns the previous device, to be restored afterwards. A network on
  /// several devices needs <dsl/placement.hpp>.
  constexpr int move_to(int device) {
    int const before = device_;
    device_ = device;
    if (device >= sizes_.devices) sizes_.devices = device + 1;
    return before;
  }

  /// Makes a value a further output of the network. The output's name is that of the current layer. `before` is the
  /// number of tensors before this layer, which has to compute the value itself: from<...> may return an earlier one.
  constexpr void mark_output(value out, int before = 1) {
    bool is_new = out.tensor >= before;
    if (is_new && nodes_ && out.tensor < sizes_.tensors) {
      node& n = nodes_[tensors_[out.tensor].producer];
      is_new = n.further_output == 0;  // else it is that of a named_output within this one
      if (is_new) n.further_output = scope_;
    }
    require(is_new, {.broken = rule::outputs_have_layers});
  }

  /// Gives a value a name, by which tapped() finds it: what tap<"name"> does. Of several values with one name, a later
  /// layer reads the last one, so another must have been read before.
  constexpr void tap(detail::name own, value v) {
    mark_scope();
    detail::tapped_value const* const other = find_tap(own);
    if (other != nullptr) require(other->is_read, {.broken = rule::taps_are_read_before_their_name_is_used_again});
    last_tap_ = new detail::tapped_value{own, v, false, last_tap_};
    ++taps_;
  }
  /// Returns the last value that has been given this name: what from<"name"> reads. If there is none, breaks a rule and
  /// returns `otherwise`.
  constexpr value tapped(detail::name own, value otherwise) {
    mark_scope();
    detail::tapped_value* const found = find_tap(own);
    if (!require(found != nullptr, {.broken = rule::from_reads_an_earlier_tap, .found = taps_})) return otherwise;
    found->is_read = true;
    return found->named;
  }
  /// Return the number of named values so far, and the name of number i.
  constexpr int taps() const { return taps_; }
  constexpr detail::name tap_name(int i) const {
    detail::tapped_value const* t = last_tap_;
    for (int k = taps_ - 1; k > i; --k) t = t->before;
    return t->own;
  }

  /// Sets whether parameters of nodes appended from now on are frozen. Returns the previous setting, to be restored
  /// afterwards.
  constexpr bool freeze(bool frozen) {
    bool const before = frozen_;
    frozen_ = frozen;
    return before;
  }

  /// Sets the initializer of kernels declared from now on. Returns the previous one, to be restored afterwards.
  constexpr initializer initialize_with(initializer const& initial) {
    initializer const before = initial_;
    initial_ = initial;
    return before;
  }
  /// Multiplies the factors of parameters declared from now on. Returns the previous factors, for set_factors().
  constexpr update_factors scale_updates(update_factors const& by) {
    update_factors const before = factors_;
    factors_ = {before.learning_rate * by.learning_rate, before.weight_decay * by.weight_decay};
    return before;
  }
  constexpr void set_factors(update_factors const& f) { factors_ = f; }
  /// If `holds` is false and no rule has been broken before, records `why` and its place; faults after the first may be
  /// its consequences. lower() must then continue with any shape.
  constexpr bool require(bool holds, fault const& why) {
    if (!holds && fault_.holds()) {
      static_cast<fault&>(fault_) = why;
      fault_.depth = depth_ < deepest_layer ? depth_ : deepest_layer;
      for (int i = 0; i < fault_.depth; ++i) fault_.path[i] = path_[i];
      nodes_before_fault_ = sizes_.nodes;
    }
    return holds;
  }

  /// Requires a condition as require() does, unless the network's input is in intended<...>. It is for probable
  /// mistakes that a user may nevertheless intend.
  constexpr bool require_unless_intended(bool holds, fault const& why) { return require(holds || is_intended_, why); }
  constexpr void set_intended() { is_intended_ = true; }
  constexpr bool is_intended() const { return is_intended_; }

  /// Lowers a child of a combinator, and records the child's place for error messages and weight names:
  ///   value const out = b.lower_child<Child>(i, in);
  template <class Child>
  constexpr value lower_child(int index, value in);  // in layer.hpp, since it checks whether Child is a layer
  constexpr value lower_child(int index, detail::name name, value (*lower)(builder&, value), value in) {
    int const depth = depth_;
    int const parent = enter(index, name);
    int const here = scope_;
    bool const lowers = require(here <= last_scope_, {.broken = rule::lower_is_constant}) &&
                        require(depth < detail::most_nested, {.broken = rule::modules_end});
    value const out = lowers ? lower(*this, in) : in;
    if (scope_ != here || depth_ != depth + 1) {
      scope_ = here;
      depth_ = depth + 1;
      if (depth < deepest_layer) path_[depth] = index;
      require(false, {.broken = rule::children_are_left});
    }
    if (tensors_) check(out);
    leave(parent);
    return out;
  }

  /// Replaces the name of the current layer's type, including in the names of the layer's weights.
  constexpr void name_layer(detail::name own) {
    if (!scopes_) return;
    scopes_[scope_].name = own;
    scopes_[scope_].is_named = true;
  }
  /// Makes the index of each child of the current layer a part of the names of the child's weights.
  constexpr void number_children() {
    if (scopes_) scopes_[scope_].numbers_children = true;
  }

  /// Do in two parts what lower_child does: int const parent = b.enter(i, detail::name_of<Child>()); ...;
  /// b.leave(parent);
  constexpr int enter(int index, detail::name name) {
    if (scopes_) scopes_[sizes_.scopes] = {scope_, index, name};
    if (depth_ < deepest_layer) path_[depth_] = index;
    ++depth_;
    int const parent = scope_;
    scope_ = sizes_.scopes++;
    return parent;
  }
  constexpr void leave(int parent) {
    if (int const left_over = sizes_.parameters - first_parameter_; left_over > 0) {
      require(false, {.broken = rule::parameters_have_a_node, .found = left_over});
      first_parameter_ = sizes_.parameters;
    }
    scope_ = parent;
    if (depth_ > 0) --depth_;
  }

 private:
  constexpr void mark_scope() {
    if (scopes_) scopes_[scope_].is_mark = true;
  }
  constexpr detail::tapped_value* find_tap(detail::name own) const {
    detail::tapped_value* t = last_tap_;
    for (int k = 0; k < taps_; ++k, t = t->before) {
      bool same = t->own.size == own.size;
      for (int i = own.size; same && i-- > 0;) same = t->own.data[i] == own.data[i];  // names end differently
      if (same) return t;
    }
    return nullptr;
  }

  /// Checks that the value that a layer returned is a tensor of the graph and has the tensor's shape.
  constexpr void check(value const& v) {
    if (v.tensor < 0 || v.tensor >= sizes_.tensors) {
      require(false, {.broken = rule::values_are_in_the_graph, .wanted = sizes_.tensors, .found = v.tensor});
      return;
    }
    shape const& made = tensors_[v.tensor].shape;
    if (v.shape != made) require(false, {.broken = rule::values_keep_their_shape, .first = v.shape, .second = made});
  }

  node* nodes_ = nullptr;
  int* edges_ = nullptr;
  tensor* tensors_ = nullptr;
  dsl::parameter* parameters_ = nullptr;
  scope* scopes_ = nullptr;
  graph_sizes sizes_{.scopes = 1};
  detail::tapped_value* last_tap_ = nullptr;
  int taps_ = 0;
  verdict fault_{};
  int nodes_before_fault_ = 0x7fffffff;
  int first_parameter_ = 0;
  int last_scope_ = detail::all_scopes;
  int scope_ = 0;
  int device_ = 0;
  bool frozen_ = false;
  bool is_intended_ = false;
  initializer initial_{};
  update_factors factors_{};
  int depth_ = 0;
  int path_[deepest_layer] = {};
};

}  // namespace dsl
