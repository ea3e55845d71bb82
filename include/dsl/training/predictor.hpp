// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/shared_weights.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/compile.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/training/trainer_diagnostics.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A network that only predicts and has neither gradients nor an optimizer. make_predictor() returns one. Only one
/// thread at a time may use a predictor, but predictors in several threads may share one set of weights.
class predictor {
 public:
  explicit predictor(std::unique_ptr<dsl::engine> e);

  /// Computes the network's outputs, (batch, outputs), for samples in NCHW. If the normalisation of the training data
  /// is stored with the weights, predict() normalises the samples in the same way. The batch size follows from the
  /// sizes of the spans. This function and the functions below throw data_error if these sizes do not match, and
  /// option_error if the weights have not been set yet.
  void predict(std::span<float const> samples, std::span<float> outputs);
  /// Returns the outputs of one or several such samples. A single sample may be written as a list:
  ///   float const price = p.predict({120, 4, 30})[0];
  std::vector<float> predict(std::span<float const> samples);
  std::vector<float> predict(std::initializer_list<float> sample);
  /// Computes the outputs of a network with several inputs. The name of the first input is "".
  void predict(std::vector<batch_input> const& inputs, std::span<float> outputs);
  /// Returns the outputs for all samples of a data set, (size, outputs). If the data set has no mean and no deviation,
  /// it is normalised as the training data were. Throws option_error if the data set's own normalisation differs from
  /// the normalisation stored with the weights.
  std::vector<float> predict(dataset const& data, int batch_size = 64);
  /// Returns one of several outputs, as trainer::predict_output does.
  std::vector<float> predict_output(std::string_view name, dataset const& data, int batch_size = 64);

  /// Returns the weights, so that make_predictor() can share them. While another predictor also uses them, they cannot
  /// be changed.
  std::shared_ptr<shared_weights> weights() { return engine().weights(); }
  /// Returns the normalisation of samples. set_normalization() replaces it, for weights that were trained elsewhere; {}
  /// means that samples are already normalised.
  dsl::normalization normalization() const { return network_.normalization(); }
  void set_normalization(dsl::normalization n) { network_.set_normalization(std::move(n)); }
  /// Returns the engine, through which weights can be read and written.
  dsl::engine& engine() { return network_.engine(); }
  graph_view const& graph() const { return network_.graph(); }
  /// Returns the bytes of weights, activations, packed kernels, scratch memory and normalised samples. If the predictor
  /// has used only one batch size, this is inference_bytes() of that size plus the executor's executor_bytes() plus the
  /// normalised samples. Shared weights are counted in full.
  long long bytes() { return engine().arena_bytes() + engine().executor_bytes() + normalized_bytes(); }

 private:
  void require_weights();
  long long normalized_bytes() const;
  /// Returns the samples of an input, normalised with `by`.
  std::span<float const> normalized(std::size_t input, dsl::normalization const& by, batch_input const& given);

  trainer network_;
  std::vector<std::vector<float>> normalized_;  // the batch of each input; empty without a normalisation
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the options of an engine that only predicts. They are the same for any network.
template <class Network>
engine_options predicting(std::shared_ptr<shared_weights> weights) {
  engine_options o = options_of<Network>({}, {.loss = loss::mean_squared_error});
  o.weights = std::move(weights);
  return o;
}
/// Whether make_predictor() can be called with these arguments.
template <class... Given>
inline constexpr bool make_predictor_takes = false;
template <class On>
inline constexpr bool make_predictor_takes<On> = executor<std::remove_cvref_t<On>>;
template <class On, class Weights>
inline constexpr bool make_predictor_takes<On, Weights> =
    make_predictor_takes<On> && (std::is_convertible_v<Weights, trainer&> ||
                                 std::is_convertible_v<Weights, std::shared_ptr<shared_weights> const&>);

/// Throws executor_error unless the engine uses `wanted` as its weights.
void require_shared(engine& e, std::shared_ptr<shared_weights> const& wanted);
/// Copies all parameters, running statistics and the normalisation from one engine to another.
void copy_weights(engine& from, engine& to);

/// The type of make_predictor<Network>, a class for the same reason as `compiler`.
template <class Network>
struct predictor_maker {
  /// Returns a predictor that has no weights yet: load them from a file.
  template <executor Executor>
  predictor operator()(Executor const& on) const {
    require_budgets_are_kept<Network, Executor>();
    return predictor(make_engine<operations_in<Network>()>(on, Network::view(), predicting<Network>(nullptr)));
  }
  /// Returns a predictor that reads the weights of another predictor or of a trainer's engine.
  template <executor Executor>
  predictor operator()(Executor const& on, std::shared_ptr<shared_weights> const& weights) const {
    require_budgets_are_kept<Network, Executor>();
    auto made = make_engine<operations_in<Network>()>(on, Network::view(), predicting<Network>(weights));
    require_shared(*made, weights);
    return predictor(std::move(made));
  }
  /// Returns a predictor with a copy of a trainer's weights. Training the trainer further does not change the copy.
  template <executor Executor>
  predictor operator()(Executor const& on, trainer& trained) const {
    predictor made = (*this)(on);
    copy_weights(trained.engine(), made.engine());
    return made;
  }
  /// Reports wrong arguments.
  template <class... Given>
    requires(!make_predictor_takes<Given...>)
  predictor operator()(Given&&...) const
      noexcept(sizeof(broken::make_predictor_takes_an_executor<Network, false, Given...>) != 0);
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Prepares a network for prediction on an executor.
///   auto p = dsl::make_predictor<model>(dsl::native{.threads = 1});
///   dsl::load_weights(p, "model.weights");
/// If a trainer follows the executor, the predictor has a copy of its weights. If the weights() of a predictor or an
/// engine of the same network follow, the predictor reads these; instruction sets and numbers of threads may differ.
/// Throws option_error or executor_error if the weights cannot be shared.
///   auto q = dsl::make_predictor<model>(dsl::native{.threads = 1}, p.weights());
template <class Network>
inline constexpr detail::predictor_maker<Network> make_predictor{};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/predictor_inl.hpp>
#endif
