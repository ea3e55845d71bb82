// SPDX-License-Identifier: MIT
// Names that somebody else chose: what a terminal gets of them, and what a shell makes of them.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/detail/printable.hpp>
#include <dsl/detail/shell_word.hpp>
#include <dsl/error.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/warning.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

using dsl::detail::printable;
using dsl::detail::shell_path;
using dsl::detail::shell_word;
using dsl::test::contents;
using dsl::test::has;
using dsl::test::temporary_directory;
using dsl::test::thrown;

namespace {

/// No byte that a terminal would obey, in UTF-8 or in an encoding of one byte a character.
bool is_harmless(std::string const& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = static_cast<unsigned char>(text[i]);
    bool const continues = (c & 0xc0) == 0x80;
    if (c < 0x20 || c == 0x7f) return false;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
    if (continues && (i == 0 || (static_cast<unsigned char>(text[i - 1]) & 0x80) == 0)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what names are made of is shown, and not obeyed", "[names]") {
  CHECK(printable("") == "");
  for (char const* plain :
       {"plot.png", "it's 100 %", "C:\\x1b", "\u00e9t\u00e9 \u2192 \u65e5\u672c\u8a9e \U0001f600", "\u00a0"})
    CHECK(printable(plain) == plain);
  CHECK(printable("\x1b[2J\x1b]0;owned\a") == "\\x1b[2J\\x1b]0;owned\\x07");
  CHECK(printable("a\nb\r\tc\x7f") == "a\\x0ab\\x0d\\x09c\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\u009b2J") == "\\xc2\\x9b2J");  // the one-byte form of ESC [
  CHECK(printable("\x9b"
                  "2J\xff\xc3(") == "\\x9b2J\\xff\\xc3(");        // and outside UTF-8
  CHECK(printable("gpj.\u202egnp") == "gpj.\\xe2\\x80\\xaegnp");  // reads as .png from the right
  CHECK(printable("a\u2028b\u2066") == "a\\xe2\\x80\\xa8b\\xe2\\x81\\xa6");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");  // cut short
  CHECK(printable("\xf4\x9f"
                  "z") == "\\xf4\\x9fz");
  std::string every;
  for (int high = 0; high < 256; ++high)
    for (int low = 0; low < 256; ++low) every += {static_cast<char>(high), static_cast<char>(low)};
  CHECK(is_harmless(printable(every)));
  for (std::size_t i = 0; i + 4 < every.size(); i += 97) CHECK(is_harmless(printable(every.substr(i, 4))));
}

TEST_CASE("errors and warnings quote what a file has, without its escapes", "[names]") {
  std::string const evil = "val_loss\x1b]0;x\a\n[INFO] all is well";
  CHECK(std::string(dsl::file_error("found " + evil).what()) == "found val_loss\\x1b]0;x\\x07\\x0a[INFO] all is well");
  dsl::callback_state saved;
  std::string monitor = evil;
  saved("monitor", monitor);
  dsl::callback_state read(saved.bytes(), "checkpoint: run.state's early_stopping 0");
  CHECK(thrown<dsl::file_error>([&] { read.same("monitor", "acc"); }) ==
        "checkpoint: run.state's early_stopping 0 has the monitor val_loss\\x1b]0;x\\x07\\x0a[INFO] all is well, this "
        "one "
        "has acc; choose the same one, or start without");

  temporary_directory const here;
  std::string const said = here / "said";
  std::fflush(stderr);
  int const before = ::dup(2);
  REQUIRE(std::freopen(said.c_str(), "w", stderr) != nullptr);
  dsl::on_warning(evil.c_str());
  std::fflush(stderr);
  ::dup2(before, 2);
  ::close(before);
  CHECK(contents(said) == "[WARNING] val_loss\\x1b]0;x\\x07\\x0a[INFO] all is well\n");
}

TEST_CASE("a word of advice is one word of a shell, whatever the name", "[names]") {
  CHECK(shell_word("runs/a-b_1.png") == "runs/a-b_1.png");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's here") == "'it'\\''s here'");
  CHECK(shell_word("a\nb'\\\x1b\x7f") == "$'a\\012b\\'\\\\\\033\\177'");
  CHECK(shell_path("-rf") == "./-rf");
  CHECK(shell_path("-a b") == "'./-a b'");
  CHECK(shell_path("a-b") == "a-b");
  temporary_directory const here;
  for (std::string const& name :
       {std::string("a b"), std::string("it's"), std::string("$(touch x)"), std::string("`id`"), std::string("~"),
        std::string("*"), std::string("a;b|c&d"), std::string("\"q\""), std::string("\\n"), std::string("a\nb"),
        std::string("tab\t'\\'"), std::string("\x1b[31m"), std::string("!!"), std::string("\u00e9"), std::string("#"),
        std::string("-n"), std::string("a=b"), std::string("{x,y}")}) {
    std::string const word = shell_word(name);
    for (char const c : word) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    std::ofstream(here / "command") << "printf %s " << word << " > '" << (here / "out") << "'\n";
    REQUIRE(std::system(("bash '" + (here / "command") + "'").c_str()) == 0);
    CHECK(contents(here / "out") == name);
  }
}
