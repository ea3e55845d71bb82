// SPDX-License-Identifier: MIT
// Compares every operation's row with its loops, without a plan: operands that a row does not name hold NaN, those that
// it names must matter, gradients are compared with finite differences, and results are written over operands and into
// slices where the row allows it. Then each field of each row is changed, which must be noticed.
#include "operations/all.hpp"
#include "support/all_functions.hpp"
#include "support/catch.hpp"
#include "support/random_graph.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native/split_task.hpp>
#include <dsl/executors/host/operations.hpp>
#include <dsl/formats/table.hpp>

#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace dsl;
using namespace dsl::operations;
using operations::row;

namespace {

using numbers = std::vector<double>;
constexpr int batch = 2;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// In the order in which rows list them.
constexpr role all_roles[] = {
    role::kernel, role::recurrent_kernel, role::bias,           role::recurrent_bias, role::gamma,
    role::beta,   role::moving_mean,      role::moving_variance};
static_assert(std::size(all_roles) == role_count);

using test::allowance;

/// An example of an operation: a node, the shapes of its operands and output, and the loops.
struct example {
  node of;
  std::vector<shape> in;
  shape out;
  allowance allowed;
  plain::loops<double> loops = plain::loops_of<double>(of.kind);
  int parameter_size = 0;
};

struct grown {  // x e^x, whose derivative uses x and y
  static constexpr char const* name = "grown";
  template <class T>
  static void forward(custom_call<T> const& c) {
    plain::for_each_channel(c.y, [&](int n, int k) {
      for (long long p = 0; p < c.y.shape.area(); ++p) c.y(n, k, p) = c.x(n, k, p) * detail::exp(c.x(n, k, p));
    });
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    plain::for_each_channel(c.dx, [&](int n, int k) {
      for (long long p = 0; p < c.dx.shape.area(); ++p)
        plain::add_to(c.dx(n, k, p), c.dy(n, k, p) * (c.y(n, k, p) + detail::exp(c.x(n, k, p))), c.accumulate);
    });
  }
};
plain::loops<double> own_loops() {
  return {.forward = [](host::bound_step<double> const& b,
                        plain::step_context const&) { grown::forward<double>({.x = b.x, .y = b.to}); },
          .backward =
              [](host::bound_step<double> const& b, plain::step_context const&) {
                view<double> const y{const_cast<double*>(b.x2.data), b.x2.shape, b.x2.batch, 1,
                                     b.x2.buffer_channels,           0};
                grown::backward<double>({.x = b.x, .y = y, .dy = b.dy, .dx = b.to, .accumulate = b.accumulate});
              }};
}

std::vector<example> examples() {
  constexpr shape s{4, 3, 2};
  constexpr auto always = slices::always, never = slices::never;
  constexpr auto no = renames::never;
  constexpr auto none = plain::parts_of::none, samples = plain::parts_of::samples, channels = plain::parts_of::channels;
  std::vector<example> all{
      {{.kind = op::conv2d, .window = {2, 2, 1, 0, 0}, .groups = 2},
       {s},
       {2, 2, 1},
       {"conv2d", makes::windows, 1, false, false, false, false, slices::where_the_library_does, no, none, 1}},
      {{.kind = op::conv2d, .window = {2, 2, 1, 1, 0, 2, 2, 1}, .groups = 2},
       {s},
       {2, 3, 1},
       {"conv2d", makes::windows, 1, false, false, false, false, slices::where_the_library_does, no, none, 1}},
      {{.kind = op::conv2d_transpose, .window = {2, 3, 2, 1, 1}, .groups = 2},
       {s},
       {2, 5, 3},
       {"conv2d_transpose", makes::stretched, 1, false, false, false, false, always, no, samples, 1}},
      {{.kind = op::batch_norm, .epsilon = 0.1, .momentum = 0.7},
       {s},
       s,
       {"batch_norm", makes::same_shape, 1, false, false, false, true, always, no}},
      {{.kind = op::batch_norm, .epsilon = 0.1, .momentum = 0.7, .frozen = true},
       {s},
       s,
       {"batch_norm", makes::same_shape, 1, false, false, true, false, always, no}},
      {{.kind = op::max_pool2d, .window = {2, 2, 1, 0, 0}},
       {s},
       {4, 2, 1},
       {"max_pool2d", makes::pooled, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::max_pool2d, .window = {3, 2, 1, 1, 0}},
       {s},
       {4, 3, 1},
       {"max_pool2d", makes::pooled, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::avg_pool2d, .window = {3, 2, 1, 1, 0}},
       {s},
       {4, 3, 2},
       {"avg_pool2d", makes::pooled, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::avg_pool2d, .window = {3, 2, 2, 1, 1}, .counts_padding = false},
       {s},
       {4, 2, 2},
       {"avg_pool2d", makes::pooled, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::dropout, .rate = 0.5},
       {s},
       s,
       {"dropout", makes::same_shape, 1, false, true, true, false, slices::in_training, renames::in_inference,
        channels}},
      {{.kind = op::flatten},
       {s},
       {24},
       {"flatten", makes::flat, 1, false, false, false, false, never, renames::without_blocks, samples}},
      {{.kind = op::dense}, {{4}}, {3}, {"dense", makes::units, 1, false, false, false, false, never, no}},
      {{.kind = op::softmax},
       {s},
       s,
       {"softmax", makes::same_shape, 1, false, false, false, false, never, no, samples}},
      {{.kind = op::add}, {s, s}, s, {"add", makes::common_shape, 2, true, false, false, false, always, no, channels}},
      {{.kind = op::add},
       {s, s, s},
       s,
       {"add", makes::common_shape, 2, true, false, false, false, always, no, channels}},
      {{.kind = op::transfer},
       {s},
       s,
       {"transfer", makes::same_shape, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::multiply},
       {s, {4}},
       s,
       {"multiply", makes::broadcast, 2, false, false, false, false, always, no, samples}},
      {{.kind = op::multiply},
       {{1, 3, 2}, {4}},
       s,
       {"multiply", makes::broadcast, 2, false, false, false, false, always, no, samples}},
      {{.kind = op::layer_norm, .epsilon = 0.1},
       {s},
       s,
       {"layer_norm", makes::same_shape, 1, false, true, true, true, always, no, samples}},
      {{.kind = op::group_norm, .epsilon = 0.1, .groups = 2},
       {s},
       s,
       {"group_norm", makes::same_shape, 1, false, true, true, true, always, no, samples}},
      {{.kind = op::local_response_norm, .rate = 0.5, .epsilon = 1.5, .groups = 3, .power = 0.75},
       {s},
       s,
       {"local_response_norm", makes::same_shape, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::channel_scale},
       {s},
       s,
       {"channel_scale", makes::same_shape, 1, false, true, true, true, always, no}},
      {{.kind = op::stochastic_depth, .rate = 0.5},
       {s},
       s,
       {"stochastic_depth", makes::same_shape, 1, false, true, true, false, slices::in_training, renames::in_inference,
        samples}},
      {{.kind = op::channel_slice, .first_channel = 1},
       {s},
       {2, 3, 2},
       {"channel_slice", makes::sliced, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::channel_shuffle, .groups = 2},
       {s},
       s,
       {"channel_shuffle", makes::same_shape, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::attention, .groups = 2},
       {{12, 3, 2}},
       s,
       {"attention", makes::sliced, 1, false, false, false, false, always, no}},
      {{.kind = op::causal_attention, .groups = 2},
       {{12, 3, 2}},
       s,
       {"causal attention", makes::sliced, 1, false, false, false, false, always, no}},
      {{.kind = op::window_attention, .window = {.height = 2, .width = 2, .pad_top = 1}, .rate = 3, .groups = 2},
       {{12, 4, 2}},
       {4, 4, 2},
       {"window_attention", makes::sliced, 1, false, false, false, false, always, no}},
      {{.kind = op::window_attention,
        .window = {.height = 2, .width = 1, .row_dilation = 2, .column_dilation = 2},
        .rate = 3,
        .groups = 2},
       {{12, 4, 2}},
       {4, 4, 2},
       {"window_attention", makes::sliced, 1, false, false, false, false, always, no}},
      {{.kind = op::bounded_window_attention,
        .window = {.height = 2, .width = 2, .pad_top = 1},
        .rate = 3,
        .groups = 2},
       {{12, 4, 2}, {2, 3, 3}},
       {4, 4, 2},
       {"bounded_window_attention", makes::sliced, 2, false, false, false, false, always, no}},
      {{.kind = op::class_token},
       {s},
       {4, 1, 7},
       {"class_token", makes::with_token, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::embedding, .groups = 16},
       {{1, 3, 2}},
       s,
       {"embedding", makes::looked_up, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::position_embedding},
       {s},
       s,
       {"position_embedding", makes::same_shape, 1, false, true, true, false, always, no, samples}},
      {{.kind = op::token_slice, .first_channel = 2},
       {s},
       {4, 1, 3},
       {"token_slice", makes::some_tokens, 1, false, false, false, false, always, no, samples}},
      {{.kind = op::lstm},
       {{3, 1, 3}},
       {2, 1, 3},
       {"lstm", makes::unrolled, 1, false, false, false, false, always, no}},
      {{.kind = op::lstm},
       {{3, 1, 3}},
       {2, 1, 1},
       {"lstm", makes::unrolled, 1, false, false, false, false, always, no}},
      {{.kind = op::gru}, {{3, 1, 3}}, {2, 1, 3}, {"gru", makes::unrolled, 1, false, false, false, false, always, no}},
      {{.kind = op::gru}, {{2, 1, 3}}, {3, 1, 1}, {"gru", makes::unrolled, 1, false, false, false, false, always, no}},
      {{.kind = op::zero_pad2d, .window = {1, 1, 1, 2, 1}},
       {s},
       {4, 6, 5},
       {"zero_pad2d", makes::padded, 1, false, false, false, false, always, no}},
      {{.kind = op::upsample_nearest},
       {s},
       {4, 6, 6},
       {"upsample2d", makes::enlarged, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::upsample_bilinear},
       {s},
       {4, 9, 4},
       {"bilinear upsample2d", makes::enlarged, 1, false, false, false, false, always, no, channels}},
      {{.kind = op::input}, {}, s, {"input", makes::any_shape, 0, false, false, false, false, never, no}},
      {{.kind = op::concat}, {s, s}, {8, 3, 2}, {"concat", makes::joined, 2, true, false, false, false, always, no}},
      {{.kind = op::custom, .custom = &detail::custom_op_of<grown>},
       {s},
       s,
       {"custom", makes::any_shape, 1, false, false, false, false, never, no},
       own_loops()},
  };
  test::for_each_fixture([&]<op Kind>() {
    for (test::sample const& one : test::fixture<Kind>::samples())
      all.push_back({one.of, one.in, one.out, one.allowed, plain::loops_of<double>(Kind), one.parameter_size});
  });
  for (function const f : test::all_functions())
    all.push_back({{.kind = op::activation, .function = f, .rate = 0.3},
                   {s},
                   s,
                   {activations[static_cast<int>(f)].name, makes::same_shape, 1, false, true, true, false, always, no,
                    channels}});
  return all;
}

/// The numbers of a step in NCHW, and the step bound to them by hand. Absent operands hold NaN.
class bench {
 public:
  bench(example const& e, row const& r) : e_(e), r_(r), n_(e.of) {
    test::dice d(5);
    auto const random = [&](std::size_t count, double middle) {
      numbers v(count);
      for (double& x : v) x = middle + d.below(2000) / 1000.0 - 1;
      return v;
    };
    for (shape const& s : e.in) in.push_back(random(count(s), 0));
    for (double& x : in.empty() || e.of.kind != op::embedding ? y : in[0]) x = d.below(10);  // token numbers
    y = numbers(count(e.out), nan);
    dy = random(count(e.out), 0);
    for (role k : all_roles) parameters[index(k)] = random(64, k == role::moving_variance ? 3 : 0);
  }
  static std::size_t index(role k) { return static_cast<std::size_t>(k); }
  static std::size_t count(shape const& s) { return static_cast<std::size_t>(batch * s.size()); }

  std::vector<numbers> in;
  numbers y, dy;
  numbers parameters[role_count], gradients[role_count];
  numbers statistics = numbers(16, nan);
  numbers states = numbers(128, nan);
  std::vector<std::uint8_t> argmax = std::vector<std::uint8_t>(64, 2);  // a position within the picture
  std::uint64_t seed = 1;
  int missing = -1;                               // an optional role that the node omits
  plain::parts_of parts = plain::parts_of::none;  // in which the loops run, if the step can be divided
  node& of() { return n_; }

  /// Runs the forward pass: in training with what the row keeps, in inference without. `slice` writes among channels of
  /// a wider buffer.
  void forward(bool training = true, int slice = 0, numbers* over = nullptr) {
    numbers wide(count(e_.out) * 3, 7);
    host::bound_step<double> b = begin(action::forward);
    for (std::size_t i = 0; i < in.size(); ++i) {
      view<double const> const v = seen(in[i], e_.in[i]);
      i == 0 ? void(b.x = v) : i == 1 ? void(b.x2 = v) : void(b.more.push(v));
    }
    b.to = made(over ? *over : y, e_.out);
    if (slice > 0) b.to = {wide.data(), e_.out, batch, 1, 3 * e_.out.channels, slice};
    for (role k : all_roles) b.parameters[index(k)] = parameters[index(k)].data();
    if (n_.kind == op::batch_norm) b.parameters[index(role::bias)] = nullptr;  // that of a convolution before it
    if (missing >= 0) b.parameters[missing] = nullptr;
    if (training && r_.kept == kept::statistics) b.statistics = statistics.data();
    if (training && r_.kept == kept::states) b.states = states.data();
    if (training && r_.kept == kept::argmax) b.argmax.narrow = {argmax.data(), e_.out, batch, 1, e_.out.channels, 0};
    run(e_.loops.forward, b);
    if (slice == 0) return;
    double neighbours = 0;
    for (double v : wide) neighbours += v == 7 ? 0 : 1;
    for (int n = 0, i = 0; n < batch; ++n)
      for (int c = 0; c < e_.out.channels; ++c)
        for (long long p = 0; p < e_.out.area(); ++p) y[static_cast<std::size_t>(i++)] = b.to(n, c, p);
    if (neighbours != static_cast<double>(y.size())) y.assign(y.size(), nan);
  }

  /// Returns the gradient of sum(dy y) by input `edge`, with the operands that the row names, and fills those of the
  /// parameters.
  numbers backward(int edge, bool accumulate = false, values hidden = values::none, int hidden_parameter = -1) {
    numbers dx(count(e_.in[static_cast<std::size_t>(edge)]), accumulate ? 10 : nan);
    numbers& to = where == over_gradient ? dy : where == over_input ? in[static_cast<std::size_t>(edge)] : dx;
    for (numbers& g : gradients) g.assign(64, nan);
    for (action what : {action::backward, action::backward_weights, action::backward_data}) {
      auto const loop = what == action::backward           ? e_.loops.backward
                        : what == action::backward_weights ? e_.loops.backward_weights
                                                           : e_.loops.backward_data;
      if (!loop) continue;
      host::bound_step<double> b = begin(what);
      numbers const nothing(256, nan);
      b.x = b.x2 = seen(nothing, e_.in[0]);
      int bound = 0;
      numbers copies[3];  // larger: a row with wrong reads may bind an operand in the place of a larger one
      auto const bind = [&](values v, numbers const& from, shape const& s) {
        if (!contains(r_.reads[edge], v)) return;
        numbers const& given = contains(hidden, v) ? nothing : from;
        numbers& copy = copies[bound];
        if (where != over_input) copy = given, copy.resize(256, nan);
        (bound++ == 0 ? b.x : b.x2) = seen(where == over_input ? given : copy, s);
      };
      bind(values::first_input, in[0], e_.in[0]);
      if (in.size() > 1) bind(values::second_input, in[1], e_.in[1]);
      bind(values::output, y, e_.out);
      numbers unread[role_count];
      for (role k : all_roles) {
        int i = -1;
        for (int p = 0; p < r_.parameters; ++p)
          if (r_.roles[p] == k && (r_.parameters_read >> p & 1) != 0) i = p;
        unread[index(k)].assign(64, nan);
        b.parameters[index(k)] = (i < 0 || i == hidden_parameter ? unread : parameters)[index(k)].data();
        b.gradients[index(k)] = gradients[index(k)].data();
      }
      if (missing >= 0) b.parameters[missing] = b.gradients[missing] = nullptr;
      if (parts == plain::parts_of::none || r_.kept == kept::statistics) b.statistics = statistics.data();
      for (role k : all_roles)
        if (parts != plain::parts_of::none && what == action::backward) b.gradients[index(k)] = nullptr;  // frozen
      b.states = states.data();
      b.argmax.narrow = {argmax.data(), e_.out, batch, 1, e_.out.channels, 0};
      b.dy = seen(dy, e_.out);
      b.to = made(to, e_.in[static_cast<std::size_t>(edge)]);
      b.accumulate = accumulate;
      run(loop, b);
    }
    return to;
  }
  enum place { apart, over_gradient, over_input } where = apart;

  double loss() {
    forward();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  }
  double slope(double& at) {
    double const was = at, step = 1e-6;
    at = was + step;
    double const up = loss();
    at = was - step;
    double const down = loss();
    at = was;
    loss();
    return (up - down) / (2 * step);
  }

 private:
  static view<double const> seen(numbers const& v, shape const& s) { return {v.data(), s, batch, 1, s.channels, 0}; }
  static view<double> made(numbers& v, shape const& s) { return {v.data(), s, batch, 1, s.channels, 0}; }
  host::bound_step<double> begin(action what) {
    step_ = {.what = what, .kind = n_.kind, .node = 0};
    host::bound_step<double> b;
    b.step = &step_;
    b.node = &n_;
    return b;
  }
  plain::step_context context() const {
    return {.draw = {seed, 0, 0, static_cast<float>(n_.rate), 0}, .momentum = n_.momentum};
  }

  /// Runs a loop on the whole step, or on its parts from the last to the first.
  void run(plain::loops<double>::loop loop, host::bound_step<double> const& b) const {
    plain::parts_of const by = native_cpu::parts(b, parts);
    if (by == plain::parts_of::none || !b.to.data) return loop(b, context());
    int const each = by == plain::parts_of::samples ? 1 : b.to.shape.channels;
    for (int i = batch * each - 1; i >= 0; --i) {
      plain::step_context c = context();
      c.draw.first += static_cast<std::uint32_t>(i / each);
      c.first_channel = i % each;
      loop(native_cpu::part_of(b, i / each, i % each, by == plain::parts_of::samples ? 0 : 1), c);
    }
  }

  example const& e_;
  row const& r_;
  node n_;
  step step_;
};

bool same(numbers const& a, numbers const& b, double bound = 0) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= bound * (1 + std::abs(b[i])))) return false;
  return true;
}

std::size_t size_of(example const& e, role k) {
  if (e.of.kind == op::lstm || e.of.kind == op::gru) {
    int const rows = recurrent_gates(e.of.kind) * e.out.channels;
    int const columns = k == role::kernel ? e.in[0].channels : k == role::recurrent_kernel ? e.out.channels : 1;
    return static_cast<std::size_t>(rows * columns);
  }
  if (e.parameter_size > 0) return static_cast<std::size_t>(e.parameter_size);
  if (k != role::kernel || e.of.kind == op::class_token) return static_cast<std::size_t>(e.out.channels);
  if (e.of.kind == op::embedding) return static_cast<std::size_t>(e.of.groups * e.out.channels);
  if (e.of.kind == op::window_attention) return static_cast<std::size_t>(offsets_in(e.of.window) * e.of.groups);
  if (e.of.kind == op::position_embedding) return static_cast<std::size_t>(e.out.size());
  auto const pixels = static_cast<std::size_t>(e.of.window.height * e.of.window.width);
  return pixels * static_cast<std::size_t>(e.in[0].channels / e.of.groups * e.out.channels);
}

/// Returns the field of the row that the loops contradict, or nothing. Permissions are only tested where they are
/// given.
std::string fault_of(example const& e, row const& r) {
  if (!e.loops.forward || !e.loops.backward) {
    bool const quiet = r.reads[0] == values::none && r.reads[1] == values::none && r.kept == kept::nothing;
    if (!e.loops.backward_weights && !quiet) return "reads";
  }
  if (!e.loops.forward) {
    bool const quiet = r.parameters == 0 && r.parameters_read == 0 && !r.takes_flat && r.options == options::none &&
                       !r.mixes_samples && !r.gives_probabilities;
    if (!quiet) return "what no step computes";
    return r.gradients == (e.in.empty() ? gradient_steps::none : gradient_steps::copies) ? "" : "gradients";
  }
  bool const two = e.loops.backward_weights && e.loops.backward_data;
  gradient_steps const steps = two                ? gradient_steps::weights_and_data
                               : e.loops.backward ? gradient_steps::one_an_input
                                                  : gradient_steps::copies;
  if (r.gradients != steps) return "gradients";
  auto const y_of = [&](auto change, bool training = true, example const* other = nullptr) {
    bench b(other ? *other : e, r);
    change(b);
    b.forward(training);
    return b.y;
  };
  numbers const y = y_of([](bench&) {}), inferred = y_of([](bench&) {}, false);
  auto const matters = [&](auto change) { return !same(y_of(change), y) || !same(y_of(change, false), inferred); };

  // ---- forward
  for (std::size_t i = 0; i < e.in.size(); ++i)
    if (!matters([&](bench& b) {
          for (double& x : b.in[i]) x += 5;
        }))
      return "inputs";
  if (static_cast<int>(e.in.size()) < r.inputs || (static_cast<int>(e.in.size()) > r.inputs && !r.or_more))
    return "inputs";
  int parameters = 0;
  for (role k : all_roles) {
    bool const reads = matters([&](bench& b) {
      for (double& x : b.parameters[bench::index(k)]) x += 0.5;
    });
    if (reads && (parameters >= r.parameters || r.roles[parameters++] != k)) return "roles";
  }
  if (parameters != r.parameters) return "parameters";
  example deep = e;
  if (e.of.kind == op::dense) deep.in[0].width = 2;
  auto const area = static_cast<std::size_t>(deep.in[0].area());
  numbers const changed = y_of(
      [&](bench& b) {
        for (std::size_t i = 0; i < b.in[0].size(); ++i) b.in[0][i] += i % area != 0 ? 5 : 0;
      },
      true, &deep);
  bool const one_pixel = same(changed, y_of([](bench&) {}, true, &deep));  // the others must not matter
  if (r.takes_flat != one_pixel) return "takes_flat";

  if (r.optional > e.allowed.optional) return "optional";  // loops may require what the row calls optional
  for (int k = r.parameters - r.optional; k < r.parameters; ++k) {
    bench zero(e, r), none(e, r);
    for (double& x : zero.parameters[bench::index(r.roles[k])]) x = 0;
    none.missing = static_cast<int>(r.roles[k]);
    if (!same(zero.backward(0), none.backward(0))) return "optional";
    zero.forward(), none.forward();
    if (!same(zero.y, none.y)) return "optional";
  }
  // ---- options
  bool const draws = matters([](bench& b) { b.seed = 2; });
  auto const option = [&](options o, bool used) { return contains(r.options, o) == used; };
  bool const rate = matters([](bench& b) { b.of().rate = 0.8; });
  if (!option(options::window, matters([](bench& b) { b.of().window = {1, 1, 1, 0, 0}; }))) return "window";
  if (!option(options::slope, rate && !draws) || !option(options::share, rate && draws)) return "rate";
  if (!option(options::epsilon, matters([](bench& b) { b.of().epsilon = 0.3; }))) return "epsilon";
  bench first(e, r), second(e, r);
  second.of().momentum = 0.2;
  first.forward(), second.forward();
  bool const moves =
      !same(first.parameters[bench::index(role::moving_mean)], second.parameters[bench::index(role::moving_mean)]);
  if (!option(options::momentum, moves)) return "momentum";
  if (!option(options::groups, matters([](bench& b) { b.of().groups = 1; }))) return "groups";
  if (!option(options::counted_padding, matters([](bench& b) { b.of().counts_padding = !b.of().counts_padding; })))
    return "counted_padding";
  if (!option(options::first_channel, matters([](bench& b) { b.of().first_channel = 0; }))) return "first_channel";
  if (!option(options::power, matters([](bench& b) { b.of().power = 2; }))) return "power";

  // ---- dependences
  numbers const other = y_of([](bench& b) { b.in[0].back() += 5; });
  bool mixes = false;
  for (std::size_t i = 0; i < bench::count(e.out) / batch; ++i) mixes = mixes || other[i] != y[i];
  if (r.mixes_samples != mixes) return "mixes_samples";
  bool probabilities = true;
  auto const pixels = static_cast<std::size_t>(e.out.area());
  for (std::size_t n = 0, each = bench::count(e.out) / batch; n < batch; ++n)
    for (std::size_t p = 0; p < pixels; ++p) {
      double sum = 0;
      for (std::size_t i = n * each + p; i < (n + 1) * each; i += pixels)
        sum += y[i], probabilities = probabilities && y[i] > 0;
      probabilities = probabilities && std::abs(sum - 1) < 1e-12;
    }
  if (e.of.kind != op::custom && r.gives_probabilities != probabilities) return "gives_probabilities";

  // ---- permissions
  if (r.forward_in_place) {
    bench b(e, r);
    if (!(e.in[0] == e.out)) return "forward_in_place";
    b.forward(true, 0, &b.in[0]);
    if (!same(b.in[0], y)) return "forward_in_place";
  }
  if (r.slices != slices::never) {
    bench b(e, r);
    b.forward(true, e.out.channels);
    if (!same(b.y, y)) return "slices";
  }
  if (r.renames != renames::never) {
    bench b(e, r);
    b.of().rate = 0;
    b.forward();
    if (!same(b.y, b.in[0])) return "renames";
  }
  for (bool training : {true, false}) {
    auto const whole = training ? y : inferred;
    if (!same(y_of([&](bench& b) { b.parts = e.loops.parts; }, training), whole)) return "parts";
  }
  if (steps == gradient_steps::copies) return r.parameters_read == 0 ? "" : "parameters_read";

  // ---- backward
  int const edges = steps == gradient_steps::one_an_input ? static_cast<int>(e.in.size()) : 1;
  for (int edge = 0; edge < edges; ++edge) {
    bench b(e, r);
    b.loss();
    auto& x = b.in[static_cast<std::size_t>(edge)];
    numbers const dx = b.backward(edge);
    numbers gradients[role_count];
    for (std::size_t k = 0; k < role_count; ++k) gradients[k] = b.gradients[k];
    for (std::size_t i = 0; i < x.size(); ++i)
      if (double const d = b.slope(x[i]); !(std::abs(dx[i] - d) <= 1e-6 * (1 + std::abs(d))))
        return "gradient of an input";
    for (int k = 0; k < r.parameters && edge == 0; ++k) {
      if (!parameter{.role = r.roles[k], .frozen = e.of.frozen}.trainable()) continue;
      std::size_t const at = bench::index(r.roles[k]);
      for (std::size_t i = 0; i < size_of(e, r.roles[k]); ++i)
        if (double const d = b.slope(b.parameters[at][i]);
            !(std::abs(gradients[at][i] - d) <= 1e-6 * (1 + std::abs(d))))
          return "gradient of a parameter";
    }
    numbers sums = b.backward(edge, true);
    for (double& v : sums) v -= 10;
    if (!same(sums, dx, 1e-12)) return "accumulate";
    if (bench c = b; e.loops.parts != plain::parts_of::none) {
      c.parts = e.loops.parts;
      if (!same(c.backward(edge), dx)) return "parts";
    }
    auto const noticed = [&](values hidden, int hidden_parameter) {
      numbers const again = b.backward(edge, false, hidden, hidden_parameter);
      bool differs = !same(again, dx);
      for (int k = 0; k < r.parameters; ++k) {
        std::size_t const at = bench::index(r.roles[k]);
        for (std::size_t i = 0;
             parameter{.role = r.roles[k], .frozen = e.of.frozen}.trainable() && i < size_of(e, r.roles[k]); ++i)
          differs = differs || b.gradients[at][i] != gradients[at][i];
      }
      return differs;
    };
    for (values v : {values::first_input, values::second_input, values::output})
      if (contains(r.reads[edge], v) && !noticed(v, -1)) return "reads what does not matter";
    for (int k = 0; k < 8; ++k)
      if ((r.parameters_read >> k & 1) != 0 && (k >= r.parameters || !noticed(values::none, k)))
        return "parameters_read";
    if (r.kept != kept::nothing) {
      bench c = b;
      for (double& v : c.statistics) v += 0.5;
      for (double& v : c.states) v += 0.5;
      for (std::uint8_t& v : c.argmax) v = static_cast<std::uint8_t>(v ^ 1);  // the other column
      if (same(c.backward(edge), dx)) return "kept";
    }
    if (r.gradient_in_place || r.gradient_over_input) {
      for (bench::place p : {bench::over_gradient, bench::over_input}) {
        if (!(p == bench::over_gradient ? r.gradient_in_place : r.gradient_over_input)) continue;
        bench c = b;
        c.where = p;
        if (!(e.in[0] == e.out) || !same(c.backward(edge), dx)) return "gradient_in_place";
      }
    }
  }
  for (int edge = edges; edge < 2; ++edge)
    if (r.reads[edge] != values::none) return "reads";
  return "";
}

bool is_allowed(example const& e, row const& r) {
  allowance const& a = e.allowed;
  return std::string(r.name) == a.name && r.output == a.output && r.inputs == a.inputs && r.or_more == a.or_more &&
         r.forward_in_place == a.forward_in_place && r.gradient_in_place == a.gradient_in_place &&
         r.gradient_over_input == a.gradient_over_input && r.slices == a.slices && r.renames == a.renames &&
         r.optional == a.optional && e.loops.parts == a.parts && (e.of.kind != op::custom || r.gives_probabilities);
}

/// Whether an operation whose row says that its channels may be in any order computes the same for another order of its
/// input's channels and of the numbers per channel, but for this order.
bool keeps_order(example const& e) {
  if (formats::row_of(e.of.kind).order != formats::order_of_input || contains(facts_of(e.of).options, options::share))
    return true;
  auto const turned = [](numbers const& v, shape const& s) {  // channel 0 goes to the end
    numbers all(v);
    auto const area = static_cast<std::size_t>(s.area()), each = static_cast<std::size_t>(s.size());
    for (std::size_t n = 0; n < v.size() / each; ++n)
      for (std::size_t i = 0; i < each; ++i) all[n * each + i] = v[n * each + (i + area) % each];
    return all;
  };
  bench plain(e, facts_of(e.of)), other(e, facts_of(e.of));
  other.in[0] = turned(other.in[0], e.in[0]);
  for (numbers& p : other.parameters) p = turned(p, {e.in[0].channels});
  plain.forward(false), other.forward(false);
  return same(other.y, turned(plain.y, e.out), 1e-12);
}

struct mutant {
  std::string field;
  row with;
};
/// Returns a row with each of its fields changed to every other value that it might have. The list of members is
/// complete, or this does not compile.
std::vector<mutant> mutants_of(row const& r) {
  [[maybe_unused]] auto const& [name, inputs, or_more, parameters, roles, optional, takes_flat, output, used, gradients,
                                reads, parameters_read, kept, forward_in_place, gradient_in_place, gradient_over_input,
                                slices, renames, mixes_samples, gives_probabilities] = r;
  std::vector<mutant> all;
  auto const change = [&](char const* field, auto apply) {
    all.push_back({field, r});
    apply(all.back().with);
  };
  auto const others = [&](char const* field, auto row::* member, int last) {
    for (int v = 0; v <= last; ++v)
      if (v != static_cast<int>(r.*member))
        change(field, [&](row& x) { x.*member = static_cast<std::remove_reference_t<decltype(x.*member)>>(v); });
  };
  auto const bits = [&](char const* field, int first, int last, auto flip) {
    for (int v = first; v <= last; v *= 2) change(field, [&](row& x) { flip(x, v); });
  };
  change("name", [](row& x) { x.name = "another"; });
  others("inputs", &row::inputs, 3);
  others("or_more", &row::or_more, 1);
  others("parameters", &row::parameters, most_roles);
  for (int i = 0; i < r.parameters; ++i)
    for (role k : all_roles)
      if (k != r.roles[i]) change("roles", [&](row& x) { x.roles[i] = k; });
  others("optional", &row::optional, most_roles);
  others("takes_flat", &row::takes_flat, 1);
  others("output", &row::output, static_cast<int>(makes::padded));
  bits("options", 1, static_cast<int>(options::power),
       [](row& x, int v) { x.options = static_cast<options>(static_cast<int>(x.options) ^ v); });
  others("gradients", &row::gradients, static_cast<int>(gradient_steps::copies));
  for (int edge = 0; edge < 2; ++edge)
    bits("reads", 1, static_cast<int>(values::output),
         [&](row& x, int v) { x.reads[edge] = static_cast<values>(static_cast<int>(x.reads[edge]) ^ v); });
  bits("parameters_read", 1, 1 << (most_roles - 1),
       [](row& x, int v) { x.parameters_read = static_cast<unsigned char>(x.parameters_read ^ v); });
  others("kept", &row::kept, static_cast<int>(kept::states));
  others("forward_in_place", &row::forward_in_place, 1);
  others("gradient_in_place", &row::gradient_in_place, 1);
  others("gradient_over_input", &row::gradient_over_input, 1);
  others("slices", &row::slices, static_cast<int>(slices::always));
  others("renames", &row::renames, static_cast<int>(renames::without_blocks));
  others("mixes_samples", &row::mixes_samples, 1);
  others("gives_probabilities", &row::gives_probabilities, 1);
  return all;
}

}  // namespace

TEST_CASE("operations: every row is what its loops do", "[operations]") {
  std::vector<bool> seen(sizeof table / sizeof table[0]);
  seen[static_cast<std::size_t>(op::window_offsets)] = true;  // constants: window_attention_test compares them
  for (example const& e : examples()) {
    row const& r = facts_of(e.of);
    INFO(r.name);
    CHECK(fault_of(e, r) == "");
    CHECK(is_allowed(e, r));
    CHECK(keeps_order(e));
    seen[static_cast<std::size_t>(e.of.kind)] = true;
  }
  CHECK(plain::loops_of<double>(op::window_offsets).parts == plain::parts_of::samples);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    INFO(table[i].name);
    CHECK(seen[i]);
  }
}

TEST_CASE("operations: activations and their slopes far from 0 are numbers", "[operations]") {
  for (std::size_t f = 0; f < std::size(activations); ++f)
    for (float x : {-1e20F, -100.0F, 100.0F, 1e20F}) {
      INFO(activations[f].name << " of " << x);
      float const y = plain::apply(static_cast<function>(f), x, 0.5F);
      CHECK(std::isfinite(y));
      CHECK(std::isfinite(plain::derivative(static_cast<function>(f), x, y, 0.5F)));
    }
}

TEST_CASE("operations: a row with any field changed is noticed", "[operations]") {
  int by_loops = 0, all = 0;
  for (example const& e : examples())
    for (mutant const& m : mutants_of(facts_of(e.of))) {
      INFO(e.allowed.name << " with another " << m.field);
      bool const belied = !fault_of(e, m.with).empty();
      CHECK((belied || !is_allowed(e, m.with)));
      by_loops += belied, ++all;
    }
  for (example e : examples())
    for (plain::parts_of const stated = e.loops.parts;
         plain::parts_of other : {plain::parts_of::none, plain::parts_of::samples, plain::parts_of::channels}) {
      INFO(e.allowed.name << " with other parts");
      e.loops.parts = other;
      CHECK(is_allowed(e, facts_of(e.of)) == (other == stated));
    }
  WARN(by_loops << " of " << all << " by loops, the rest are permissions and names");
  CHECK(all > 700);
  CHECK(2 * by_loops > all);
}
