// SPDX-License-Identifier: MIT
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/instructions.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/choices.hpp"
#include "fuzz/state_network.hpp"
#include "fuzz/targets.hpp"

namespace {

using namespace dsl;

/// Of the numbers of threads that are allowed, a few are enough.
int few(int threads) { return threads > 2 && threads <= 1024 ? 2 : threads; }

gradient_clip any_clip(fuzz::choices& c) { return {.norm = c.flag() ? c.number() : 0}; }

compile_options any_compile_options(fuzz::choices& c) {
  constexpr loss losses[] = {loss::mean_squared_error, loss::categorical_crossentropy, loss::mean_absolute_error,
                             loss::binary_crossentropy};
  compile_options o{.loss = losses[c.byte() % std::size(losses)], .seed = c.word()};
  if (c.flag()) o.batch_norm_momentum = c.number();
  o.unbiased_running_variance = c.flag();
  if (c.flag()) o.label_smoothing = c.number();
  for (int i = c.byte() % 4; i > 0; --i) o.class_weights.push_back(static_cast<float>(c.number()));
  if (c.flag()) o.verify = &verify;
  return o;
}

template <class Optimizer>
trainer compiled(fuzz::choices& c, Optimizer const& rule) {
  compile_options const o = any_compile_options(c);
  if (c.flag()) return compile<fuzz::small_network>(reference{}, rule, o);
  int const threads = few(c.whole());
  return compile<fuzz::small_network>(native{.threads = threads}, rule, o);
}

trainer any_trainer(fuzz::choices& c) {
  double const rate = c.number();
  switch (c.byte() % 4) {
    case 0: {
      sgd s{.learning_rate = rate, .momentum = c.number(), .nesterov = c.flag(), .weight_decay = c.number()};
      s.decoupled_decay = c.flag(), s.rate_in_velocity = c.flag(), s.clip = any_clip(c);
      return compiled(c, s);
    }
    case 1: {
      adam a{.learning_rate = rate, .beta_1 = c.number(), .beta_2 = c.number(), .epsilon = c.number()};
      a.corrected_epsilon = c.flag(), a.weight_decay = c.number(), a.clip = any_clip(c);
      return compiled(c, a);
    }
    case 2: {
      adamw a{.learning_rate = rate, .beta_1 = c.number(), .beta_2 = c.number(), .epsilon = c.number()};
      a.corrected_epsilon = c.flag(), a.weight_decay = c.number(), a.clip = any_clip(c);
      return compiled(c, a);
    }
    default: {
      rmsprop r{.learning_rate = rate, .rho = c.number(), .momentum = c.number(), .epsilon = c.number()};
      r.centered = c.flag(), r.epsilon_in_root = c.flag(), r.rate_in_velocity = c.flag(), r.weight_decay = c.number();
      r.decoupled_decay = c.flag(), r.clip = any_clip(c);
      return compiled(c, r);
    }
  }
}

std::vector<callback_handle> any_callbacks(fuzz::choices& c) {
  std::vector<callback_handle> all;
  switch (c.byte() % 8) {
    case 0: break;
    case 1: all.emplace_back(learning_rate_schedule{poly_decay{c.number(), c.whole(), c.number()}}); break;
    case 2: all.emplace_back(learning_rate_schedule{step_decay{c.number(), c.whole(), c.number()}}); break;
    case 3: all.emplace_back(learning_rate_schedule{cosine_decay{c.number(), c.number()}}); break;
    case 4: all.emplace_back(learning_rate_schedule{one_cycle{c.number(), c.number(), c.number(), c.number()}}); break;
    case 5: all.emplace_back(learning_rate_schedule{warm_up{poly_decay{.base = c.number()}, c.whole()}}); break;
    case 6: all.emplace_back(learning_rate_schedule{hold{cosine_decay{c.number()}, c.whole()}}); break;
    default: all.emplace_back(terminate_on_nan{}); break;
  }
  if (c.flag()) {
    early_stopping_options o{.patience = c.whole(), .min_delta = c.number()};
    if (c.flag()) o.baseline = c.number();
    o.restore_best_weights = c.flag(), o.start_from_epoch = c.whole();
    all.emplace_back(early_stopping<val_loss>{o});
  }
  return all;
}

bool fits(fuzz::choices& c) {
  static dataset const data = [] {
    std::vector<std::uint8_t> pixels(5 * 4);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
    return in_memory_dataset({1, 2, 2}, 2, std::move(pixels), {0, 1, 0, 1, 1});
  }();
  try {
    trainer t = any_trainer(c);
    fit_options o{.epochs = static_cast<std::int8_t>(c.byte()) % 4, .batch_size = c.whole()};
    if (c.flag()) o.validation = &data;
    o.callbacks = any_callbacks(c);
    if (c.flag()) o.average = weight_average{.start_from_epoch = c.whole(), .momentum = c.number(), .every = c.whole()};
    o.shuffle = c.flag();
    if (c.flag()) o.prefetch = c.whole();
    if (c.flag()) o.loader_threads = few(c.whole());
    o.cache = c.flag();
    if (c.flag()) o.initial_epoch = c.whole();
    if (c.flag()) o.augment = shift_and_flip{.width = c.number(), .height = c.number(), .horizontal_flip = c.flag()};
    t.fit(data, std::move(o));
    return true;
  } catch (error const&) {
    return false;
  }
}

/// The variables of the launcher, and the one that limits the instruction sets.
bool starts(fuzz::choices& c) {
  char const* const names[] = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "PMI_RANK", "PMI_SIZE",
      "SLURM_PROCID"};
  for (char const* name : names) ::setenv(name, c.text().c_str(), 1);
  launch const place = launched();
  for (char const* name : names) ::unsetenv(name);
  ::setenv("TYPENET_MAX_ISA", c.text().c_str(), 1);
  bool good = place.rank >= 0;
  try {
    static_cast<void>(host::find_widest());
  } catch (error const&) {
    good = false;
  }
  ::unsetenv("TYPENET_MAX_ISA");
  return good;
}

}  // namespace

bool dsl::fuzz::options(std::string_view bytes) {
  on_warning = [](char const*) {};
  fuzz::choices c(bytes);
  return c.byte() == 'e' ? starts(c) : fits(c);
}
