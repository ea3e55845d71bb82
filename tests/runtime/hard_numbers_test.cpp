// SPDX-License-Identifier: MIT
#include "support/hard_numbers.hpp"

using namespace dsl;

TEST_CASE("batch_norm's variance survives a large mean", "[numbers]") {
  for (float offset : {2.0F, 1e4F, 1e6F}) {
    test::check_variance_near<3>(offset, reference<float>{});
    test::check_variance_near<3>(offset, reference<float>{}, 2);
  }
}

TEST_CASE("a NaN stays one in relu and max pools", "[numbers]") {
  test::check_nan_is_kept<5>(reference<float>{});
  test::check_nan_is_kept<5>(reference<double>{});
  test::check_nan_is_kept_unfused(reference<float>{});
}
