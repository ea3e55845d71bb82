// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/embedded_weights.hpp>
#include <dsl/plan/make_plan.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void save_embedded_weights(trainer& t, std::string const& path) {
  graph_view const& g = t.graph();
  if (g.size.devices > 1)
    detail::throw_error<option_error>(
        {"embedded weights: the network must be on one device; found ", g.size.devices, "; remove on<...>"});
  plan const p = make_plan(g, {.batch = 1, .mode = mode::inference, .optimizer_slots = 0});
  long long begin[regions] = {}, all = 0;
  for (region r : {region::parameters, region::statistics, region::frozen}) {
    begin[static_cast<int>(r)] = all;
    all += p.region_bytes[static_cast<int>(r)];
  }
  std::string bytes(static_cast<std::size_t>(all), '\0');
  for (int k = 0; k < g.size.parameters; ++k) {
    buffer const& b = p.buffers[p.parameter_buffers[k]];
    std::vector<float> numbers(static_cast<std::size_t>(g.parameters[k].count()));
    t.engine().read_parameter(k, numbers.data());
    std::memcpy(bytes.data() + begin[static_cast<int>(b.where)] + b.offset, numbers.data(),
                numbers.size() * sizeof(float));
  }
  atomic_file file(path, "embedded weights");
  file.write(bytes);
  file.commit();
}

}  // namespace dsl::TYPENET_MODE
