// SPDX-License-Identifier: MIT
// moments.hpp for a program that is not a test: loaded before it (LD_PRELOAD), with the plan in TYPENET_MOMENTS, "75 0
// 80 3" for a kill at moment 75 and a pause at moment 80, and the two descriptors of pauses in TYPENET_PAUSES.
#include "support/moments.hpp"

#include <cstdlib>
#include <sstream>
#include <utility>

namespace {

[[maybe_unused]] bool const begun = [] {
  using namespace dsl::test::moments;
  char const *const said = std::getenv("TYPENET_MOMENTS"), *const pauses = std::getenv("TYPENET_PAUSES");
  if (!said || !pauses) return false;
  std::istringstream(pauses) >> tells >> waits;
  std::istringstream numbers(said);
  std::vector<planned> all;
  for (int at = 0, what = 0; numbers >> at >> what;) all.push_back({at, static_cast<action>(what)});
  for (char const* name : {"LD_PRELOAD", "TYPENET_MOMENTS", "TYPENET_PAUSES"}) ::unsetenv(name);  // not for gnuplot
  begin(std::move(all));
  return true;
}();

}  // namespace
