// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dsl/plan/budget.hpp>
#include <dsl/plan/verify.hpp>
#include "support/random_plan.hpp"
#include "support/symbolic_executor.hpp"
#include "support/symbolic_interpreter.hpp"

// What the planner and the checker say today, in tables: the figures of many plans, and the rule that each single
// change of a plan breaks. A commit that is to leave plans and verdicts alone leaves the tables alone; another one
// shows in them what it changes. TYPENET_WRITE_TABLES=1 writes tests/fixtures/plan_figures.txt and plan_changes.txt
// again.

namespace {

using namespace dsl;
using namespace dsl::test;

/// Compares a table with the file of that name, or writes the file.
void compare(std::string const& name, std::string const& found) {
  std::string const path = std::string(TYPENET_TEST_DATA) + "/" + name;
  if (std::getenv("TYPENET_WRITE_TABLES")) {
    std::ofstream(path) << found;
    return;
  }
  std::ifstream in(path);
  std::string const text{std::istreambuf_iterator<char>(in), {}};
  std::istringstream wanted(text), lines(found);
  std::string was, is;
  int different = 0;
  while (wanted || lines) {
    was.clear(), is.clear();
    std::getline(wanted, was);
    std::getline(lines, is);
    if (was != is && ++different <= 5) UNSCOPED_INFO("was " << was << "\nis  " << is);
  }
  INFO(path << " has " << different
            << " other lines; if they are meant to change, TYPENET_WRITE_TABLES=1 writes it again");
  CHECK(text == found);
}

// ---- figures of plans ----

class fingerprint {
 public:
  template <class... T>
  void add(T const&... all) {
    ((sum_ = (sum_ ^ static_cast<std::uint64_t>(static_cast<long long>(all))) * 1099511628211U), ...);  // FNV-1a
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 14695981039346656037U;
};

std::uint64_t fingerprint_of(plan const& p) {
  fingerprint f;
  for (step const& s : p.steps) {
    f.add(s.what, s.kind, s.node, s.batch_norm, s.activation, s.edge, s.group, s.first_operand, s.operands);
    f.add(s.device, s.micro, s.first_wait, s.waits, s.again);
  }
  for (operand const& o : p.operands) f.add(o.what, o.how, o.index, o.buffer, o.channel);
  for (buffer const& b : p.buffers) {
    f.add(b.where, b.shape.channels, b.shape.height, b.shape.width, b.block, b.element_bytes, b.device);
    f.add(b.bytes, b.offset, b.first, b.last);
  }
  for (auto const* table : {&p.activations, &p.gradients})
    for (placement const& at : *table) f.add(at.buffer, at.channel);
  for (auto const* numbers : {&p.parameter_buffers, &p.parameter_gradient_buffers, &p.waits, &p.again})
    for (int n : *numbers) f.add(n);
  for (device_bytes const& d : p.devices)
    for (long long bytes : d.bytes) f.add(bytes);
  for (long long bytes : p.region_bytes) f.add(bytes);
  f.add(p.labels, p.metrics, p.micro_batches);
  return f.value();
}

std::string figures_of(plan const& p) {
  int of_action[static_cast<int>(action::update) + 1] = {}, again = 0, grouped = 0;
  for (step const& s : p.steps) {
    ++of_action[static_cast<int>(s.what)];
    again += s.again;
    grouped += s.group >= 0;
  }
  std::ostringstream row;
  row << p.steps.size() << " steps (";
  for (int const& n : of_action) row << (&n == of_action ? "" : " ") << n;
  row << "), " << again << " again, " << grouped << " in groups, " << p.operands.size() << " operands, "
      << p.buffers.size() << " buffers, " << p.waits.size() << " waits, bytes";
  for (long long bytes : p.region_bytes) row << ' ' << bytes;
  row << ", fingerprint " << std::hex << fingerprint_of(p) << '\n';
  return row.str();
}

// ---- each single change of a plan ----

constexpr char const* rule_names[] = {"holds",
                                      "tables_cover_the_graph",
                                      "buffers_fit_what_they_hold",
                                      "buffers_lie_aligned_in_their_region",
                                      "parameters_do_not_overlap",
                                      "gradients_and_slots_mirror_the_parameters",
                                      "devices_share_out_the_regions",
                                      "slices_are_whole_channel_blocks",
                                      "copies_fill_blocks_from_the_front",
                                      "the_batch_is_loaded_first",
                                      "steps_fit_their_node",
                                      "fused_values_have_one_reader",
                                      "every_node_runs_once",
                                      "what_runs_again_repeats_the_first_time",
                                      "operands_are_what_the_step_needs",
                                      "every_read_has_its_write",
                                      "values_live_to_their_last_use",
                                      "only_elementwise_steps_overwrite_their_input",
                                      "gradient_contributions_are_summed_once",
                                      "gradients_are_complete_when_read",
                                      "micro_batches_come_in_order",
                                      "the_loss_is_computed_once",
                                      "gradients_are_reduced_once_when_they_are_whole",
                                      "gradients_are_measured_when_they_are_whole",
                                      "parameters_are_updated_once_after_their_gradients",
                                      "groups_are_independent",
                                      "live_buffers_do_not_overlap",
                                      "steps_use_their_devices_memory",
                                      "steps_wait_for_earlier_ones",
                                      "devices_do_not_race"};
static_assert(std::size(rule_names) == static_cast<int>(plan_rule::devices_do_not_race) + 1);

struct verdicts {
  int of_rule[std::size(rule_names)] = {};
  long long places = 0;  // the sum of the steps and numbers that the verdicts name
};

/// Changes a plan in all places in turn, and counts the rules that the checker finds broken.
class changer {
 public:
  explicit changer(random_plan const& c) : c_(c), right_(c.make()), p_(right_) {
    REQUIRE(verify(c_.g, right_).holds());
    REQUIRE(symbolic::execute(c_.g, right_, wanted_));
  }

  void change_all(std::map<std::string, verdicts>& all) {
    all_ = &all;
    change_steps();
    change_operands();
    change_buffers();
    change_tables();
  }

 private:
  void change_steps() {
    for (int s = 0; s < right_.steps.size(); ++s) {
      step& x = p_.steps[s];
      by("step.what", x.what, {1, 5}, static_cast<int>(action::update) + 1);
      by("step.kind", x.kind, {1, 7}, static_cast<int>(op::custom));
      by("step.node", x.node, {1, -1});
      by("step.batch_norm", x.batch_norm, {1, -1, 2});
      by("step.activation", x.activation, {1, -1, 2});
      by("step.edge", x.edge, {1, -1});
      by("step.first_operand", x.first_operand, {1, -1, 1000});
      by("step.operands", x.operands, {1, -1, 1000});
      by("step.device", x.device, {1, -1});
      by("step.micro", x.micro, {1, -1});
      by("step.first_wait", x.first_wait, {1, -1, 1000});
      by("step.waits", x.waits, {1, -1, 1000});
      x.again = !x.again;
      judge("step.again is the opposite");
      x.again = !x.again;
      with("a step without its group", [&](plan& p) { p.steps[s].group = -1; });
      with("a step is left out", [&](plan& p) { p.steps.erase(s); });
      with("a step twice in a row", [&](plan& p) { p.steps.insert(s, right_.steps[s]); });
      with("a step once more at the end", [&](plan& p) { p.steps.insert(p.steps.size(), right_.steps[s]); });
      with("a step comes first", [&](plan& p) { move(p, s, 0); });
      with("a step comes last", [&](plan& p) { move(p, s, right_.steps.size() - 1); });
      with("a step comes five earlier", [&](plan& p) { move(p, s, s > 5 ? s - 5 : 0); });
      if (int const reader = next_forward_step(s); reader > 0) {
        with("a step also computes the activation that reads it",
             [&](plan& p) { fuse(p, s, reader, &step::activation); });
        with("a step also computes the batch_norm that reads it",
             [&](plan& p) { fuse(p, s, reader, &step::batch_norm); });
      }
      if (s == 0) continue;
      with("two steps change places", [&](plan& p) { std::swap(p.steps[s - 1], p.steps[s]); });
      with("two steps are one group", [&](plan& p) { p.steps[s - 1].group = p.steps[s].group = 1000; });
      with("two steps are group 0", [&](plan& p) { p.steps[s - 1].group = p.steps[s].group = 0; });
    }
  }
  /// Returns the first forward step after step s that reads what step s writes, or -1.
  int next_forward_step(int s) const {
    step const& x = right_.steps[s];
    if (x.what != action::forward || x.again || x.operands == 0) return -1;
    operand const& written = right_.operands[x.first_operand + x.operands - 1];
    for (int r = s + 1; r < right_.steps.size(); ++r) {
      step const& y = right_.steps[r];
      if (y.what != action::forward || y.again || y.micro != x.micro) continue;
      for (int i = y.first_operand; i < y.first_operand + y.operands; ++i)
        if (operand const& o = right_.operands[i]; o.what == content::activation && o.index == written.index) return r;
    }
    return -1;
  }
  /// Lets step s compute the node of a later step, too, which is left out.
  void fuse(plan& p, int s, int later, int step::* as) const {
    step const &x = right_.steps[s], &y = right_.steps[later];
    p.steps[s].*as = y.node;
    p.operands[x.first_operand + x.operands - 1] = right_.operands[y.first_operand + y.operands - 1];
    p.steps.erase(later);
  }
  void change_operands() {
    for (int i = 0; i < right_.operands.size(); ++i) {
      operand& o = p_.operands[i];
      by("operand.what", o.what, {1, 4}, static_cast<int>(content::states) + 1);
      by("operand.how", o.how, {1, 2}, static_cast<int>(access::accumulate) + 1);
      by("operand.index", o.index, {1, -1});
      by("operand.buffer", o.buffer, {1, -1, 1000, -1000});
      by("operand.channel", o.channel, {1, -1});
      with("operand.buffer is the number of buffers", [&](plan& p) { p.operands[i].buffer = p.buffers.size(); });
      if (i == 0) continue;
      with("an operand is the one before it", [&](plan& p) { p.operands[i] = p.operands[i - 1]; });
      with("two operands change places", [&](plan& p) { std::swap(p.operands[i - 1], p.operands[i]); });
    }
  }
  void change_buffers() {
    int const line = right_.options.target.alignment;
    for (int b = 0; b < right_.buffers.size(); ++b) {
      buffer& x = p_.buffers[b];
      by("buffer.where", x.where, {1}, regions);
      by("buffer.shape.channels", x.shape.channels, {1, -1});
      by("buffer.shape.height", x.shape.height, {1});
      by("buffer.shape.width", x.shape.width, {1});
      by("buffer.block", x.block, {1});
      by("buffer.element_bytes", x.element_bytes, {1});
      by("buffer.device", x.device, {1, -1});
      by("buffer.bytes", x.bytes, {1, -1, line, -line});
      by("buffer.offset", x.offset, {1, line, -line, 1 << 20});
      for (int other = b + 1; other < right_.buffers.size() && other < b + 4; ++other)
        with("two buffers in one place", [&](plan& p) { p.buffers[b].offset = right_.buffers[other].offset; });
    }
  }
  void change_tables() {
    int const line = right_.options.target.alignment;
    int const all = right_.buffers.size();
    for (auto const table : {&plan::activations, &plan::gradients})
      for (int t = 0; t < (right_.*table).size(); ++t)
        with("placement.buffer is the number of buffers", [&](plan& p) { (p.*table)[t].buffer = all; });
    for (auto const table : {&plan::parameter_buffers, &plan::parameter_gradient_buffers, &plan::again})
      for (int i = 0; i < (right_.*table).size(); ++i)
        with("the number of buffers in a table", [&](plan& p) { (p.*table)[i] = all; });
    for (placement& at : p_.activations) {
      by("activations: buffer", at.buffer, {1, -1, 1000, -1000});
      by("activations: channel", at.channel, {1, -1});
    }
    for (placement& at : p_.gradients) {
      by("gradients: buffer", at.buffer, {1, -1, 1000, -1000});
      by("gradients: channel", at.channel, {1, -1});
    }
    for (int& b : p_.parameter_buffers) by("parameter_buffers", b, {1, -1, 1000});
    for (int& b : p_.parameter_gradient_buffers) by("parameter_gradient_buffers", b, {1, -1, 1000});
    for (int& s : p_.waits) by("waits", s, {1, -1, 3, -3, 1000});
    for (int& b : p_.again) by("again", b, {1, -1, 1000});
    for (device_bytes& d : p_.devices)
      for (long long& bytes : d.bytes) by("devices: bytes", bytes, {1, line, -line});
    for (long long& bytes : p_.region_bytes) by("region_bytes", bytes, {1, line, -line});
    by("labels", p_.labels, {1, -1});
    by("metrics", p_.metrics, {1, -1});
    by("micro_batches", p_.micro_batches, {1, -1});
    for (int plan_options::* const field : {&plan_options::batch, &plan_options::optimizer_slots,
                                            &plan_options::all_reduce_buckets, &plan_options::micro_batches})
      with("an option is negative", [&](plan& p) { p.options.*field = -1; });
    for (int target::* const field :
         {&target::channel_block, &target::alignment, &target::element_bytes, &target::state_bytes})
      with("a target's number is negative", [&](plan& p) { p.options.target.*field = -1; });
    shorter("activations: one less", &plan::activations);
    shorter("gradients: one less", &plan::gradients);
    shorter("parameter_buffers: one less", &plan::parameter_buffers);
    shorter("parameter_gradient_buffers: one less", &plan::parameter_gradient_buffers);
    shorter("again: one less", &plan::again);
    shorter("devices: one less", &plan::devices);
  }

  /// Adds each number to a field, or to the number of a field's enumerator, modulo `values`.
  template <class T>
  void by(std::string const& name, T& field, std::vector<int> const& numbers, int values = 0) {
    T const right = field;
    for (int n : numbers) {
      if constexpr (std::is_enum_v<T>)
        field = static_cast<T>((static_cast<int>(right) + n) % values);
      else
        field = right + static_cast<T>(n);
      judge(name + (n < 0 ? " - " : " + ") + std::to_string(std::abs(n)));
    }
    field = right;
  }
  template <class T>
  void shorter(std::string const& name, detail::list<T> plan::* table) {
    if ((right_.*table).size() > 0) with(name, [&](plan& p) { (p.*table).erase((p.*table).size() - 1); });
  }
  void move(plan& p, int from, int to) const {
    p.steps.erase(from);
    p.steps.insert(to, right_.steps[from]);
  }
  template <class Change>
  void with(std::string const& name, Change change) {
    plan p = right_;
    change(p);
    judge(name, p);
  }

  void judge(std::string const& name) { judge(name, p_); }
  void judge(std::string const& name, plan const& p) {
    plan_verdict const v = verify(c_.g, p);
    verdicts& row = (*all_)[name];
    ++row.of_rule[static_cast<int>(v.broken)];
    row.places += v.step + v.index;
    if (!v.holds()) return;
    symbolic::outcome found;
    bool const right = symbolic::execute(c_.g, p, found) && found == wanted_;
    if (right) return;
    INFO(name);
    CHECK(right);
  }

  random_plan const& c_;
  plan const right_;
  plan p_;
  symbolic::outcome wanted_{};
  std::map<std::string, verdicts>* all_ = nullptr;
};

}  // namespace

TEST_CASE("the figures of plans are those of the table") {
  std::ostringstream table;
  table << "# Plans of random networks. In parentheses: the steps of each action, from load to update; bytes: of each\n"
           "# region. The fingerprint changes with anything in a plan. plan_changes_test.cpp writes this.\n";
  for (int i = 0; i < 200; ++i) table << i << ": " << figures_of(random_plan(i).make());
  table << "# What is computed again so that the plan fits into 80 % of its bytes.\n";
  for (int i = 0; i < 60; ++i) {
    random_plan const c(i);
    if (c.options.mode != mode::training) continue;
    long long const bytes = make_plan(c.g, c.options).bytes();
    recomputation const r = choose_recomputation(c.g, c.options, bytes * 8 / 10);
    table << i << ": " << bytes << " bytes, then " << r.bytes << " at cost " << r.cost << ", tensors";
    for (int t = 0; t < r.again.size(); ++t)
      if (r.again[t]) table << ' ' << t;
    table << '\n';
  }
  compare("plan_figures.txt", table.str());
}

TEST_CASE("each single change of a plan breaks the rules of the table, or changes nothing") {
  std::map<std::string, verdicts> all;
  for (int i = 0; i < 30; ++i) {
    INFO("plan " << i);
    changer(random_plan(i)).change_all(all);
  }
  std::ostringstream table;
  table << "# The rules that single changes break in the plans of 30 random networks, and how often. At the end of a\n"
           "# line: the sum of the steps and numbers that the verdicts name. plan_changes_test.cpp writes this.\n";
  for (auto const& [name, row] : all) {
    table << name << ':';
    for (std::size_t r = 0; r < std::size(rule_names); ++r)
      if (row.of_rule[r] > 0) table << ' ' << rule_names[r] << ' ' << row.of_rule[r] << ',';
    table << " at " << row.places << '\n';
  }
  compare("plan_changes.txt", table.str());
}
