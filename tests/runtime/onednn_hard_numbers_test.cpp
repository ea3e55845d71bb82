// SPDX-License-Identifier: MIT
#include "support/hard_numbers.hpp"

#include <dsl/executors/onednn.hpp>

using namespace dsl;

TEST_CASE("batch_norm's variance survives a large mean, in oneDNN's channel blocks", "[numbers]") {
  for (float offset : {2.0F, 1e4F, 1e6F}) {
    test::check_variance_near<16>(offset, onednn{});
    test::check_variance_near<19>(offset, onednn{});
    test::check_variance_near<16>(offset, onednn{.threads = 1}, 2);
  }
}

TEST_CASE("a NaN stays one in relu and max pools beside oneDNN", "[numbers]") {
  test::check_nan_is_kept<16>(onednn{});
  test::check_nan_is_kept<32>(onednn{});
  test::check_nan_is_kept<20>(onednn{});
  test::check_nan_is_kept_unfused(onednn{});
}
