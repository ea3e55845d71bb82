// SPDX-License-Identifier: MIT
// Fingerprints: data sets that differ in one thing, which processes and checkpoints must not take for each other.
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/training/fingerprint.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace dsl;

namespace {

struct print {
  std::string of;
  std::uint64_t value;
};
void all_differ(std::vector<print> const& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      INFO(all[k].of << " and " << all[i].of);
      CHECK(all[k].value != all[i].value);
    }
}

}  // namespace

TEST_CASE("fingerprints: every label and every byte of a data set counts", "[fingerprint]") {
  auto const made = [](std::vector<std::uint8_t> pixels, std::vector<std::int32_t> labels) {
    return in_memory_dataset({1, 1, 9}, 3, std::move(pixels), std::move(labels));
  };
  std::vector<std::uint8_t> const pixels(18, 50);
  dataset const data = made(pixels, {0, 1});
  std::vector<print> all{{"itself", fingerprint(data)},
                         {"the first", fingerprint(data.first(1))},
                         {"the first label", fingerprint(made(pixels, {2, 1}))},
                         {"the last label", fingerprint(made(pixels, {0, 2}))}};
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::vector<std::uint8_t> other = pixels;
    ++other[i];
    all.push_back({"byte " + std::to_string(i), fingerprint(made(other, {0, 1}))});
  }
  for (std::size_t i = 0; i <= 9; ++i) {
    dataset normalised = data;
    std::vector<float> mean(9, 0.5F);
    if (i > 0) mean[i - 1] = 0.25F;
    normalised.mean = std::make_shared<std::vector<float> const>(mean);
    all.push_back({"mean " + std::to_string(i), fingerprint(normalised)});
  }
  all_differ(all);
  CHECK(fingerprint(made(pixels, {0, 1})) == fingerprint(data));
}

TEST_CASE("fingerprints: of a large data set they look at pictures from the first to the last", "[fingerprint]") {
  constexpr std::int64_t mib = 1 << 20;
  struct wanted {
    std::int64_t size, bytes, count;
  };
  for (wanted const& w : std::initializer_list<wanted>{{0, 3072, 0},
                                                       {1, 3072, 1},
                                                       {50'000, 3072, 50'000},
                                                       {87'382, 3072, 87'382},
                                                       {87'383, 3072, 87'382},
                                                       {10'000'000, 3072, 87'382},
                                                       {3, 128 * mib, 3},
                                                       {4, 128 * mib, 3},
                                                       {1, 256 * mib, 1},
                                                       {9, 256 * mib, 2},
                                                       {1, 300 * mib, 1},
                                                       {2, 300 * mib, 2},
                                                       {9, 300 * mib, 2},
                                                       {9, 3000 * mib, 2}}) {
    INFO(w.size << " of " << w.bytes << " bytes");
    detail::pictures_looked_at const some{w.size, w.bytes};
    CHECK(some.count() == w.count);
    if (w.count == 0) continue;
    CHECK(some[0] == 0);
    CHECK(some[w.count - 1] == w.size - 1);
    std::int64_t widest = 0, narrowest = w.size;  // of the steps from one to the next
    for (std::int64_t i = 1; i < w.count; ++i) {
      widest = std::max(widest, some[i] - some[i - 1]);
      narrowest = std::min(narrowest, some[i] - some[i - 1]);
    }
    if (w.count == 1) continue;
    CHECK(narrowest >= 1);
    CHECK(widest - narrowest <= 1);
  }
}
