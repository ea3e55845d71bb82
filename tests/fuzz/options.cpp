// SPDX-License-Identifier: MIT
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/instructions.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/warning.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/state_network.hpp"
#include "fuzz/targets.hpp"

namespace {

using namespace dsl;

/// Numbers made from bytes, as long as there are any; then zeros.
class choices {
 public:
  explicit choices(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    auto const b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  bool flag() { return byte() % 2 == 1; }
  std::uint64_t word() {
    std::uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w = w << 8 | byte();
    return w;
  }
  /// An ordinary number, one at a limit, or any bits at all.
  double number() {
    constexpr double limit = std::numeric_limits<double>::max(), none = std::numeric_limits<double>::quiet_NaN();
    constexpr double known[] = {0.1,  0.9, 0.01, 0,       -0.0,  1,      -1,   0.5,
                                1e-7, 2,   1e30, -1e-300, limit, -limit, none, HUGE_VAL};
    std::uint8_t const b = byte();
    return b < std::size(known) ? known[b] : b < 250 ? b / 250.0 : std::bit_cast<double>(word());
  }
  int whole() {
    constexpr int known[] = {1, 2, 4, 0, -1, 3, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
    std::uint8_t const b = byte();
    return b < std::size(known) ? known[b] : b < 128 ? b : static_cast<int>(static_cast<std::uint32_t>(word()));
  }
  std::string text() {
    std::string t(rest_.substr(0, rest_.find('\0')));
    rest_.remove_prefix(std::min(rest_.size(), t.size() + 1));
    return t;
  }

 private:
  std::string_view rest_;
};

/// Of the numbers of threads that are allowed, a few are enough.
int few(int threads) { return threads > 2 && threads <= 1024 ? 2 : threads; }

gradient_clip any_clip(choices& c) { return {.norm = c.flag() ? c.number() : 0}; }

compile_options any_compile_options(choices& c) {
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
trainer compiled(choices& c, Optimizer const& rule) {
  compile_options const o = any_compile_options(c);
  if (c.flag()) return compile<fuzz::small_network>(reference{}, rule, o);
  int const threads = few(c.whole());
  return compile<fuzz::small_network>(native{.threads = threads}, rule, o);
}

trainer any_trainer(choices& c) {
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

std::vector<callback_handle> any_callbacks(choices& c) {
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

bool fits(choices& c) {
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
bool starts(choices& c) {
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
  choices c(bytes);
  return c.byte() == 'e' ? starts(c) : fits(c);
}
