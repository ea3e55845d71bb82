// SPDX-License-Identifier: MIT
// EXPECT: callbacks: each must be derived from dsl::callback, or be a std::shared_ptr to such a callback; write struct name : dsl::callback
// EXPECT-RE: callbacks_derive_from_callback<.*counts_epochs
#include <dsl/dsl.hpp>

#ifdef FIXED
struct counts_epochs : dsl::callback {
  int epochs = 0;
  void on_epoch_end(dsl::fit_run&) override { ++epochs; }
};
#else
struct counts_epochs {
  int epochs = 0;
  void on_epoch_end(dsl::fit_run&) { ++epochs; }
};
#endif
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3, .callbacks = {counts_epochs{}}}); }
