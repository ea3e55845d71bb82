// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/executors/host/plain_batch_norm.hpp>

#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// A tower of an engine in host memory. Its batch_norms exchange means and variances with those of the other towers.
/// Gradients are summed elsewhere: see in_process.hpp.
template <class T>
class host_tower final : public host::tower<T> {
 public:
  /// `layout` says where the running means and variances are in memory.
  host_tower(communicator& group, graph_view const& g, engine_options const& o, plan const& layout)
      : group_(group), graph_(g), options_(o), layout_(layout) {
    long long const count = layout.region_bytes[static_cast<int>(region::statistics)] / number_bytes;
    int most = 0;
    for (int n = 0; n < g.size.nodes; ++n)
      if (g.nodes[n].kind == op::batch_norm && g.output_shape(g.nodes[n]).channels > most)
        most = g.output_shape(g.nodes[n]).channels;
    if (o.moments != tower_moments::synchronized) {
      moments_.resize(static_cast<std::size_t>(count));
      sent_.resize(moments_.size());
      find_momenta();
    } else {
      sums_.resize(2 * static_cast<std::size_t>(most));
      numbers_.resize(sums_.size());
      sent_.resize(1 + sums_.size());
      received_.resize(sent_.size() * static_cast<std::size_t>(group.ranks()));
    }
  }

  T* moments() override { return moments_.empty() ? nullptr : moments_.data(); }

  double keeps(double momentum, int micro) const override {
    double power = 1;
    for (int m = 0; m < micro; ++m) power *= momentum;
    return momentum * (1 - power) / (1 - momentum * power);
  }

  void move_running_moments(int batches, T* running) override {
    if (moments_.empty()) return;
    for (std::size_t i = 0; i < moments_.size(); ++i) {
      sent_[i] = static_cast<double>(moments_[i]);
      moments_[i] = 0;  // a NaN would stay, since the next batch's moments replace these as 0 * old + new
    }
    group_.fold(batches, sent_.data(), static_cast<long long>(sent_.size()), mover(*this, running));
    for (std::size_t i = 0; i < sent_.size(); ++i)
      if (momenta_[i] >= 0) running[i] = static_cast<T>(sent_[i]);
  }

  void batch_norm_forward(view<T const> const& x, plain::batch_norm_parameters<T> const& p, T* statistics,
                          view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) override {
    int const channels = x.shape.channels;
    double *const means = sums_.data(), *const squares = means + channels;
    double const own = static_cast<double>(x.batch) * static_cast<double>(x.shape.area());
    for (int c = 0; c < channels; ++c) {
      plain::channel_moments const m = plain::moments_of(x, c);
      means[c] = m.mean;
      squares[c] = m.squares;
    }
    double const count = join(p, channels, own, means, momentum, unbiased);
    T *const mean = numbers_.data(), *const variance = mean + channels;
    for (int c = 0; c < channels; ++c) {
      mean[c] = static_cast<T>(means[c]);
      variance[c] = static_cast<T>(squares[c] / count);
      statistics[c] = mean[c];
      statistics[channels + c] = static_cast<T>(1 / detail::sqrt(squares[c] / count + epsilon));
    }
    plain::batch_norm_forward<T>(x, {p.gamma, p.beta, mean, variance, nullptr}, nullptr, y, epsilon, 0, false, relu);
  }

  void batch_norm_backward(plain::batch_norm_gradient<T> const& d, T* dgamma, T* dbeta, view<T> const& dx, int whole,
                           bool accumulate) override {
    int const channels = d.x.shape.channels;
    plain::batch_norm_sums(d, dgamma, dbeta);
    for (int c = 0; c < channels; ++c) {
      auto const at = static_cast<std::size_t>(c);
      sums_[at] = static_cast<double>(dgamma[c]);
      sums_[at + static_cast<std::size_t>(channels)] = static_cast<double>(dbeta[c]);
    }
    group_.all_reduce(sums_.data(), 2 * channels);
    if (!dx.data) return;
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(channels); ++i) numbers_[i] = static_cast<T>(sums_[i]);
    T const count = static_cast<T>(whole) * static_cast<T>(d.x.shape.area());
    plain::batch_norm_backward_data<T>(d, numbers_.data(), numbers_.data() + channels, count, dx, accumulate);
  }

  double const* join_moments(host::sample_sums const& s, plain::batch_norm_parameters<T> const& p, double momentum,
                             bool unbiased, double& count) override {
    for (int c = 0; c < s.channels; ++c) {
      double mean = 0;
      double squares = 0;
      for (int n = 0; n < s.samples; ++n) mean += s.get(n, 0, c);
      mean /= s.samples;
      for (int n = 0; n < s.samples; ++n) {
        double const d = s.get(n, 0, c) - mean;
        squares += s.get(n, 1, c) + s.area * d * d;
      }
      auto const at = static_cast<std::size_t>(c);
      sums_[at] = mean;
      sums_[at + static_cast<std::size_t>(s.channels)] = squares;
    }
    count = join(p, s.channels, s.area * s.samples, sums_.data(), momentum, unbiased);
    return sums_.data();
  }
  double const* join_gradients(host::sample_sums const& s, T const* statistics, T* dgamma, T* dbeta) override {
    for (int c = 0; c < s.channels; ++c) {
      double sum = 0;
      double product = 0;
      for (int n = 0; n < s.samples; ++n) sum += s.get(n, 0, c), product += s.get(n, 1, c);
      product *= static_cast<double>(statistics[s.channels + c]);
      auto const at = static_cast<std::size_t>(c);
      sums_[at] = product;
      sums_[at + static_cast<std::size_t>(s.channels)] = sum;
      dgamma[c] = static_cast<T>(product);
      dbeta[c] = static_cast<T>(sum);
    }
    group_.all_reduce(sums_.data(), 2 * s.channels);
    return sums_.data();
  }

 private:
  static constexpr long long number_bytes = sizeof(T);

  void find_momenta() {
    momenta_.assign(moments_.size(), -1.0);
    for (int n = 0; n < graph_.size.nodes; ++n) {
      node const& x = graph_.nodes[n];
      if (x.kind != op::batch_norm || x.frozen) continue;
      double const momentum = options_.batch_norm_momentum >= 0 ? options_.batch_norm_momentum : x.momentum;
      for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k) {
        if (graph_.parameters[k].trainable()) continue;
        long long const at = layout_.buffers[layout_.parameter_buffers[k]].offset / number_bytes;
        for (long long i = at; i < at + graph_.parameters[k].count(); ++i)
          momenta_[static_cast<std::size_t>(i)] = momentum;
      }
    }
  }

  void exchange(std::size_t count) { group_.all_gather(sent_.data(), static_cast<long long>(count), received_.data()); }
  double const* part(int rank, std::size_t stride) const {
    return received_.data() + static_cast<std::size_t>(rank) * stride;
  }

  /// Combines the running means and variances of all towers. `in_turn` updates the old value with the batch of each
  /// tower, one after the other. `averaged` updates the same old value separately for each tower, with that tower's
  /// batches, and takes the mean of the results.
  struct mover final : rank_fold {
    host_tower const& tower;
    T const* running;

    mover(host_tower const& t, T const* at) : tower(t), running(at) {}
    double operator()(long long i, double const* batches, double const* moments) const override {
      bool const averages = tower.options_.moments == tower_moments::averaged;
      double const momentum = tower.momenta_[static_cast<std::size_t>(i)];
      double value = static_cast<double>(running[i]);
      double sum = 0;
      int towers = 0;
      for (int r = 0; r < tower.group_.ranks(); ++r) {
        if (batches[r] == 0) continue;  // the tower had no samples
        double kept = momentum;
        for (int more = static_cast<int>(batches[r]) - 1; more > 0; --more) kept *= momentum;
        double const own = kept * value + (1 - kept) * moments[r];
        if (!averages) value = own;
        sum += own;
        ++towers;
      }
      return averages && towers > 0 ? sum / towers : value;
    }
  };

  /// Replaces the means and the sums of squared deviations of this tower's `count` values per channel by those of the
  /// values of all towers (Chan, Golub, LeVeque 1979). Then updates the running means and variances with the result,
  /// and returns the number of values per channel in all towers.
  double join(plain::batch_norm_parameters<T> const& p, int channels, double count, double* moments, double momentum,
              bool unbiased) {
    auto const c = static_cast<std::size_t>(channels);
    std::size_t const stride = 2 * c + 1;
    sent_[0] = count;
    for (std::size_t i = 0; i < 2 * c; ++i) sent_[1 + i] = moments[i];
    exchange(stride);
    double all = 0;
    for (int r = 0; r < group_.ranks(); ++r) all += part(r, stride)[0];
    for (std::size_t i = 0; i < c; ++i) {
      double sum = 0;
      for (int r = 0; r < group_.ranks(); ++r) sum += part(r, stride)[0] * part(r, stride)[1 + i];
      double const mean = sum / all;
      double squares = 0;
      for (int r = 0; r < group_.ranks(); ++r) {
        double const* const from = part(r, stride);
        double const d = from[1 + i] - mean;
        squares += from[1 + c + i] + from[0] * d * d;
      }
      moments[i] = mean, moments[c + i] = squares;
      auto const move = [&](T& running, double now) {
        running = static_cast<T>(momentum * static_cast<double>(running) + (1 - momentum) * now);
      };
      move(p.moving_mean[i], mean + (p.bias ? static_cast<double>(p.bias[i]) : 0.0));
      move(p.moving_variance[i], squares / (unbiased && all > 1 ? all - 1 : all));
    }
    return all;
  }

  communicator& group_;
  graph_view graph_;
  engine_options options_;
  plan const& layout_;
  std::vector<T> moments_;       // of this tower's batch, until the update
  std::vector<double> momenta_;  // per moment: its momentum; -1: padding
  std::vector<T> numbers_;
  std::vector<double> sums_, sent_, received_;
};

class host_communicator : public host::group {
 public:
  owner<host::tower<float>> make_tower(graph_view const& g, engine_options const& o, plan const& layout,
                                       float) override;
  owner<host::tower<double>> make_tower(graph_view const& g, engine_options const& o, plan const& layout,
                                        double) override;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/host_tower_inl.hpp>
#endif
