// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/simulated_device/copies.hpp"
#include "support/simulated_device/streams.hpp"

namespace dsl_test::simulated {

/// Queues library work with a workspace, as two pieces: the first fills the workspace, the second expects to find it
/// unchanged. Other streams may run in between, so two that share a workspace are detected: `spoil` runs instead of
/// `compute`, and the misuse is recorded. `expect` throws if memory is not there.
inline cudaError_t enqueue_with_workspace(state& s, stream& q, char const* what, double milliseconds, void* workspace,
                                          std::size_t bytes, std::function<void()> expect,
                                          std::function<void()> compute, std::function<void()> spoil,
                                          std::vector<std::shared_ptr<object>> uses) {
  auto const mark = std::make_shared<std::uint64_t>(0);
  if (bytes > 0) {
    auto const fill = [&s, what, workspace, bytes, mark] {
      expect_device(s, workspace, bytes, what);
      *mark = s.next_id++ * 0x9E3779B97F4A7C15u;
      for (std::size_t i = 0; i < bytes; ++i) static_cast<char*>(workspace)[i] = static_cast<char>(*mark >> i % 8 * 8);
    };
    if (cudaError_t const e = enqueue(s, q, what, milliseconds / 2, fill, uses); e != cudaSuccess) return e;
    milliseconds /= 2;
  }
  auto const run = [&s, what, workspace, bytes, mark, expect = std::move(expect), compute = std::move(compute),
                    spoil = std::move(spoil)] {
    expect();
    bool same = true;
    if (bytes > 0) expect_device(s, workspace, bytes, what);
    for (std::size_t i = 0; i < bytes; ++i)
      same = same && static_cast<char*>(workspace)[i] == static_cast<char>(*mark >> i % 8 * 8);
    if (same) return compute();
    s.misuse(std::string(what) + ": something else wrote into its workspace while it ran");
    spoil();
  };
  return enqueue(s, q, what, milliseconds, run, std::move(uses));
}

}  // namespace dsl_test::simulated
