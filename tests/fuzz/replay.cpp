// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// Runs every file of the corpora without libFuzzer: good_* must be accepted, bad_* refused, and finding_*, which a
// fuzzer once found, must be either. Of good_* also runs every beginning, and every byte inverted, which may be either.

namespace {

bool run(dsl::fuzz::named_target const& t, std::string_view bytes, std::string const& what, bool& failed) {
  try {
    return t.run(bytes);
  } catch (std::exception const& e) {
    std::printf("%s: %s: not one of typenet's exceptions: %s\n", t.name, what.c_str(), e.what());
  }
  failed = true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: replay FOLDER"), 2;
  bool failed = false;
  for (dsl::fuzz::named_target const& t : dsl::fuzz::targets) {
    long good = 0, bad = 0, changed = 0;
    for (auto const& entry : std::filesystem::directory_iterator(std::filesystem::path(argv[1]) / t.name)) {
      std::string const name = entry.path().filename().string();
      std::ifstream in(entry.path(), std::ios::binary);
      std::string const bytes{std::istreambuf_iterator<char>(in), {}};
      bool const accepted = run(t, bytes, name, failed);
      bool const is_good = name.starts_with("good_"), is_bad = name.starts_with("bad_");
      if ((is_good && !accepted) || (is_bad && accepted)) {
        std::printf("%s: %s was %s\n", t.name, name.c_str(), accepted ? "accepted" : "refused");
        failed = true;
      }
      good += is_good, bad += is_bad;
      if (!is_good) continue;
      std::size_t const stride = bytes.size() / 500 + 1;
      for (std::size_t i = 0; i < bytes.size(); i += stride, changed += 2) {
        run(t, std::string_view(bytes).substr(0, i), name + " cut at " + std::to_string(i), failed);
        std::string other = bytes;
        other[i] = static_cast<char>(~other[i]);
        run(t, other, name + " with another byte " + std::to_string(i), failed);
      }
    }
    std::printf("%-12s %3ld accepted, %3ld refused, %6ld changed\n", t.name, good, bad, changed);
    bool const refuses = t.run != dsl::fuzz::graphs;  // any bytes make a network
    if (good == 0 || (bad == 0) == refuses) {
      std::printf("%s: its corpus must have good_*%s\n", t.name, refuses ? " and bad_*" : " and no bad_*");
      failed = true;
    }
  }
  return failed ? 1 : 0;
}
