// SPDX-License-Identifier: MIT
#include <minigooglenet_options.hpp>

#include <string>
#include <utility>
#include <vector>

#include "fuzz/targets.hpp"

// CLI11 splits the words, the program's own functions check them.
bool dsl::fuzz::command_line(std::string_view bytes) {
  std::vector<std::string> words;
  for (std::string_view rest = bytes; !rest.empty();) {
    std::size_t const end = rest.find('\n');
    std::string word(rest.substr(0, end));
    if (std::size_t const zero = word.find('\0'); zero != std::string::npos) word.resize(zero);  // as in argv
    words.insert(words.begin(), std::move(word));  // CLI11 takes the last one first
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  try {
    static settings s;  // an App is made once, because that takes longer than to use it
    static CLI::App app("a fuzzer");
    [[maybe_unused]] static bool const declared = (declare(app, s), true);
    s = settings();
    app.parse(std::move(words));
    check(s);
    return true;
  } catch (CLI::ParseError const&) {
    return false;
  } catch (error const&) {
    return false;
  }
}
