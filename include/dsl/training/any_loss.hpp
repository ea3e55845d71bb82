// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/executors/custom_loss.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/rules/broken_options.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace dsl::TYPENET_MODE {

/// Satisfied by a loss that compares a single output y with its target t. The loss of a sample is the mean over the
/// sample's outputs:
///   struct log_cosh {
///     double value(double y, double t) const { return std::log(std::cosh(y - t)); }
///     double derivative(double y, double t) const { return std::tanh(y - t); }  // of the value, with respect to y
///   };
template <class L>
concept loss_of_outputs = requires(L const& l, double y) {
  { l.value(y, y) } -> std::convertible_to<double>;
  { l.derivative(y, y) } -> std::convertible_to<double>;
};

/// Satisfied by a loss that is computed from all outputs of a sample at once. derivative() adds the derivative with
/// respect to each output to the elements of its last argument, which are 0 before the call.
template <class L>
concept loss_of_samples = requires(L const& l, std::span<double const> y, std::span<double> to) {
  { l.value(y, y) } -> std::convertible_to<double>;
  l.derivative(y, y, to);
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Gives a loss's type the interface that executors call.
template <class L>
class custom_loss_of final : public custom_loss {
 public:
  explicit custom_loss_of(L l) : loss_(std::move(l)) {}
  double value(std::span<double const> y, std::span<double const> t) const override {
    if constexpr (loss_of_outputs<L>) {
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(loss_.value(y[i], t[i]));
      return sum / static_cast<double>(y.size());
    } else {
      return static_cast<double>(loss_.value(y, t));
    }
  }
  void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const override {
    if constexpr (loss_of_outputs<L>)
      for (std::size_t i = 0; i < y.size(); ++i)
        to[i] += static_cast<double>(loss_.derivative(y[i], t[i])) / static_cast<double>(y.size());
    else
      loss_.derivative(y, t, to);
  }
  detail::name name() const override { return name_of<L>(); }

 private:
  L loss_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The option `loss` of compile(): one of dsl::loss, or a type that satisfies loss_of_outputs or loss_of_samples.
class any_loss {
 public:
  any_loss(dsl::loss kind) : kind_(kind) {}  // NOLINT(google-explicit-constructor): so that .loss = loss::huber works
  template <class L>
    requires(std::is_class_v<L> && !std::derived_from<L, any_loss>)
  any_loss(L own)  // NOLINT(google-explicit-constructor): .loss = log_cosh{}
      noexcept(sizeof(broken::losses_have_value_and_derivative<L, loss_of_outputs<L> || loss_of_samples<L>>) == 0)
      : kind_(dsl::loss::custom) {
    if constexpr (loss_of_outputs<L> || loss_of_samples<L>)
      own_ = std::make_shared<detail::custom_loss_of<L>>(std::move(own));
  }
  /// Reports a value that is no loss, such as the name of one.
  template <class Found>
    requires(!std::is_class_v<Found> && !std::is_convertible_v<Found const&, dsl::loss>)
  any_loss(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_take_their_type<broken::field::loss, dsl::loss, Found, false>) != 0)
      : kind_(dsl::loss::custom) {}

  /// Returns which of the library's losses this is, or loss::custom for a loss that you have defined.
  dsl::loss kind() const { return kind_; }
  /// Returns your own loss, or null if the loss is one of the library's.
  std::shared_ptr<custom_loss const> const& own() const { return own_; }

 private:
  dsl::loss kind_;
  std::shared_ptr<custom_loss const> own_{};
};

}  // namespace dsl::TYPENET_MODE
