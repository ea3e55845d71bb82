// SPDX-License-Identifier: MIT
#include <dsl/executors/cuda/cache_folder.hpp>
#include <dsl/executors/cuda/nvrtc.hpp>
#include <dsl/executors/cuda/plan_cache.hpp>
#include <dsl/executors/cuda/plan_trials.hpp>

#include <optional>
#include <stdexcept>
#include <string>

#include "fuzz/targets.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace cu = dsl::cu;

/// With the checksum that the rest of the file has.
std::string repaired(std::string file) {
  if (file.ends_with('\n')) file.pop_back();
  std::string const body = file.substr(0, file.rfind('\n') + 1);
  return body + std::to_string(cu::backend::checksum(body)) + '\n';
}

bool is_plan(std::string const& file) {
  std::string const key = "a device; a convolution; first";
  std::optional<cu::backend::stored_plan> const plan = cu::backend::from_text(file, key);
  if (plan && cu::backend::to_text(key, *plan) != file) throw std::logic_error("a plan was changed");
  return plan.has_value();
}

bool is_trials_or_kernels(std::string const& bytes) {
  static dsl::test::temporary_directory const folder;
  static cu::cubin_file const kernels(folder.path.string(), "a program", "sm_80", 13, 0);
  for (std::string const& name : {kernels.name(), std::string("trials.txt")})
    if (!cu::write_cached(folder.path.string(), name, bytes)) throw std::logic_error("the cache cannot be written");
  cu::plan_trials const trials(folder.path.string(), "trials.txt", "a convolution");
  if (std::optional<std::string> const code = kernels.read(); code && !bytes.ends_with(*code))
    throw std::logic_error("compiled kernels were changed");
  return trials.was_fatal({.engine = 1, .knobs = {{.type = 2, .value = 16}}}) || kernels.read();
}

}  // namespace

bool dsl::fuzz::plan_cache(std::string_view bytes) {
  if (bytes.empty()) return false;
  std::string const file(bytes.substr(1));
  bool const known = is_trials_or_kernels(file);
  return is_plan(bytes[0] == 'f' ? repaired(file) : file) || known;
}
