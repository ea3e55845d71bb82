// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allowed_cores.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#ifdef __linux__
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// Returns the text of a small file, or nothing if it can't be opened.
inline std::string text_of(std::string const& path) {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (!file) return text;
  char part[512];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
  std::fclose(file);
  return text;
}

/// Returns how many whole processors `quota` of `period` microseconds allow, at least 1, or 0 for no limit.
inline int processors_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  double const share = quota / period;
  return share < 1 ? 1 : share > 1e6 ? 0 : static_cast<int>(share);
}

/// Returns how many processors the control groups of this process allow, or 0 if they set no limit. The limits of
/// all groups up to the root count, in both versions of Linux's control groups. `root` replaces "/" in tests.
inline int processors_of_control_groups(std::string const& root = "") {
  int least = 0;
  auto const limit = [&](int n) {
    if (n > 0 && (least == 0 || n < least)) least = n;
  };
  std::string const groups = text_of(root + "/proc/self/cgroup");
  for (std::size_t at = 0; at < groups.size();) {  // lines of "number:controllers:/path"
    std::size_t const end = groups.find('\n', at), stop = end == std::string::npos ? groups.size() : end;
    std::string const line = groups.substr(at, stop - at);
    at = stop + 1;
    std::size_t const first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool const unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    std::string const mounted = root + "/sys/fs/cgroup" + (unified ? "" : "/cpu");
    for (std::string path = line.substr(second + 1);; path.resize(path.find_last_of('/'))) {
      std::string const folder = mounted + path;
      if (unified) {
        std::string const text = text_of(folder + "/cpu.max");  // "150000 100000", or "max 100000"
        char* rest = nullptr;
        double const quota = std::strtod(text.c_str(), &rest);
        limit(processors_of(quota, std::strtod(rest, nullptr)));
      } else {
        limit(processors_of(std::atof(text_of(folder + "/cpu.cfs_quota_us").c_str()),
                            std::atof(text_of(folder + "/cpu.cfs_period_us").c_str())));
      }
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

/// Returns how many threads can run at once: the processors that this thread may use, but no more than its control
/// groups allow.
inline int available_processors() {
  int const allowed = detail::allowed_cores().size();
  int const count = allowed > 0 ? allowed : 1;
  int const paid = processors_of_control_groups();
  return paid > 0 && paid < count ? paid : count;
}

}  // namespace dsl::native_cpu::TYPENET_MODE
