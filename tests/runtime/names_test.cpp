// SPDX-License-Identifier: MIT
// Tests names that others chose: what terminals and shells get of them, and two writers of the same name.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/detail/message.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/detail/shell_word.hpp>
#include <dsl/error.hpp>
#include <dsl/files/file_lock.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/warning.hpp>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using dsl::detail::printable;
using dsl::detail::shell_path;
using dsl::detail::shell_word;
using dsl::test::contents;
using dsl::test::has;
using dsl::test::temporary_directory;
using dsl::test::thrown;

namespace {

namespace fs = std::filesystem;

/// Returns whether the text has no byte that a terminal would interpret, in UTF-8 or in a one-byte encoding.
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
                  "2J\xff\xc3(") == "\\x9b2J\\xff\\xc3(");        // and also outside UTF-8
  CHECK(printable("gpj.\u202egnp") == "gpj.\\xe2\\x80\\xaegnp");  // displayed from right to left, it reads as .png
  CHECK(printable("a\u2028b\u2066") == "a\\xe2\\x80\\xa8b\\xe2\\x81\\xa6");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");  // truncated
  CHECK(printable("\xf4\x9f"
                  "z") == "\\xf4\\x9fz");
  std::string every;
  for (int high = 0; high < 256; ++high)
    for (int low = 0; low < 256; ++low) every += {static_cast<char>(high), static_cast<char>(low)};
  CHECK(is_harmless(printable(every)));
  for (std::size_t i = 0; i + 4 < every.size(); i += 97) CHECK(is_harmless(printable(every.substr(i, 4))));
}

TEST_CASE("errors and warnings quote what a file has, without its escapes", "[names][hostile]") {
  std::string const evil = "val_loss\x1b]0;x\a\n[INFO] all is well";
  CHECK(std::string(dsl::file_error("found " + evil).what()) == "found val_loss\\x1b]0;x\\x07\\x0a[INFO] all is well");
  auto const callback_state_with = [](std::string monitor) {
    dsl::callback_state saved;
    saved("monitor", monitor);
    return dsl::callback_state(saved.bytes(), "checkpoint: run.state's early_stopping 0");
  };
  CHECK(
      thrown<dsl::file_error>([&] { callback_state_with(evil).same("monitor", "acc"); }) ==
      "checkpoint: run.state's early_stopping 0 was saved with monitor val_loss\\x1b]0;x\\x07\\x0a[INFO] all is well, "
      "but this run has acc; use the same monitor, or remove the file to start from the beginning");

  std::string const monitor(1 << 20, '\x1b');  // only an excerpt is quoted
  callback_state_with(monitor).same("monitor", monitor);
  std::string const long_one = thrown<dsl::file_error>([&] { callback_state_with(monitor).same("monitor", "acc"); });
  CHECK(has(long_one, "\\x1b\\x1b..., but this run has acc"));
  CHECK(long_one.size() < 2000);

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
  CHECK(shell_word("plot-\xe4.png") == "$'plot-\\344.png'");  // ISO 8859-1: \xe4 in quotes would be another file
  CHECK(shell_word("\xc2\x9b'\xe2\x80\xae\xc3\xa9") == "$'\\302\\233\\'\\342\\200\\256\\303\\251'");
  CHECK(shell_path("-rf") == "./-rf");
  CHECK(shell_path("-a b") == "'./-a b'");
  CHECK(shell_path("a-b") == "a-b");
  temporary_directory const here;
  for (std::string const& name : {std::string("a b"),
                                  std::string("it's"),
                                  std::string("$(touch x)"),
                                  std::string("`id`"),
                                  std::string("~"),
                                  std::string("*"),
                                  std::string("a;b|c&d"),
                                  std::string("\"q\""),
                                  std::string("\\n"),
                                  std::string("a\nb"),
                                  std::string("tab\t'\\'"),
                                  std::string("\x1b[31m"),
                                  std::string("!!"),
                                  std::string("\u00e9"),
                                  std::string("#"),
                                  std::string("-n"),
                                  std::string("a=b"),
                                  std::string("{x,y}"),
                                  std::string("plot-\xe4.png"),
                                  std::string("\xc2\x9b"
                                              "2J'"),
                                  std::string("gpj.\u202egnp"),
                                  std::string("\xe2\x80")}) {
    std::string const word = shell_word(name);
    CHECK(printable(word) == word);  // otherwise a name pasted from a terminal would differ
    for (char const c : word) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    std::ofstream(here / "command") << "printf %s " << word << " > '" << (here / "out") << "'\n";
    REQUIRE(std::system(("bash '" + (here / "command") + "'").c_str()) == 0);
    CHECK(contents(here / "out") == name);
  }
}

TEST_CASE("a lock is one writer's, ends with its process, and leaves nothing", "[names]") {
  temporary_directory const here;
  std::string const path = here / "plot.png";
  auto const refused = [&] { return thrown<dsl::file_error>([&] { dsl::file_lock const mine(path, "plot"); }); };
  {
    dsl::file_lock const mine(path, "plot");
    CHECK(refused().starts_with("plot: " + path + " must be written by one run at a time; found process " +
                                std::to_string(::getpid()) + " of "));
    CHECK(has(refused(), "; wait until that one ends, or give another path"));
    dsl::file_lock const other(here / "plot.svg", "plot");
    pid_t const child = ::fork();  // a forked copy of the process owns no lock and removes none
    if (child == 0) {
      mine.~file_lock();
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(fs::exists(path + ".lock"));
    CHECK(refused() != "nothing");
    // A name written into the lock file must not reach anybody's terminal as an escape.
    std::ofstream(path + ".lock") << "\x1b[2Jprocess 1\nmore";
    CHECK(has(refused(), "found \\x1b[2Jprocess 1 writing it"));
    std::ofstream(path + ".lock").close();
    CHECK(has(refused(), "found another process writing it"));
  }
  CHECK(fs::is_empty(here.path));

  pid_t const child = ::fork();
  if (child == 0) {
    dsl::file_lock const mine(path, "plot");
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(fs::exists(path + ".lock"));
  CHECK(refused() == "nothing");
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a lock removes no other file, and gets nothing that is printed", "[names][hostile]") {
  temporary_directory const here;
  std::string const path = here / "plot.png";
  {
    dsl::file_lock const mine(path, "plot");
    std::ofstream(here / "new") << "hours of training";
    fs::rename(here / "new", path + ".lock");  // as an output of that name would be written
  }
  CHECK(contents(path + ".lock") == "hours of training");
  fs::remove(path + ".lock");

  // started without standard output: the first file that it opens would take its descriptor
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(0), ::close(1), ::close(2);
    dsl::file_lock const mine(path, "plot");
    for (int stream = 0; stream <= 2; ++stream)
      if (::write(stream, "[INFO] training\n", 16) >= 0) ::_exit(1);
    ::_exit(contents(path + ".lock").starts_with("process ") ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("numbers have a point in every locale", "[names][hostile]") {
  temporary_directory const here;  // few machines have such a locale, so the test makes one if localedef is there
  ::setenv("LOCPATH", here.path.c_str(), 1);
  bool const made =
      std::system(("localedef -i de_DE -f ISO-8859-1 '" + (here / "de_DE") + "' > /dev/null 2>&1").c_str()) == 0 &&
      std::setlocale(LC_NUMERIC, "de_DE") != nullptr;
  if (made) {
    char text[8];
    std::snprintf(text, sizeof text, "%g", 0.5);
    CHECK(std::string(text) == "0,5");
  }
  using dsl::detail::message;
  CHECK(message({"rate ", 0.998, ", then ", -1.5e-300}) == "rate 0.998, then -1.5e-300");
  CHECK(message({1e308, " ", std::numeric_limits<double>::infinity(), " ", 3.0}) == "1e+308 inf 3");
  std::setlocale(LC_NUMERIC, "C");
  ::unsetenv("LOCPATH");
}

TEST_CASE("a lock has one owner at a time, however many ask for it as it changes hands", "[names]") {
  temporary_directory const here;
  std::string const path = here / "plot.png", inside = here / "inside";
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    pid_t const id = ::fork();
    if (id != 0) {
      children.push_back(id);
      continue;
    }
    for (int i = 0; i < 3000; ++i) {
      try {
        dsl::file_lock const mine(path, "plot");
        int const alone = ::open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (alone < 0) ::_exit(1);
        ::close(alone);
        ::unlink(inside.c_str());
      } catch (dsl::file_error const&) {
        continue;
      }
    }
    ::_exit(0);
  }
  for (pid_t const id : children) {
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(status == 0);
  }
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a lock that can't be is an error that says why", "[names]") {
  temporary_directory const here;
  auto const refused = [](std::string const& path) {
    return thrown<dsl::file_error>([&] { dsl::file_lock const mine(path, "plot"); });
  };
  std::string const missing = here / "missing/plot.png";
  CHECK(refused(missing) == "plot: cannot open " + missing + ".lock, which a run locks while it writes " + missing +
                                ": No such file or directory; give a path in an existing, writable folder");
  {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    int const next = ::dup(0);
    ::close(next);
    rlimit const none{static_cast<rlim_t>(next), before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::string const said = refused(here / "plot.png");
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(has(said, ": Too many open files; raise the limit of open files"));
  }
  fs::create_directory(here / "a.lock");
  CHECK(has(refused(here / "a"),
            "a.lock, which is locked while a run writes the file, must be a lock file or not exist; found a folder; "
            "remove it, or give another path"));
  std::ofstream(here / "precious") << "text";
  // whoever may write to this folder must not choose which file is emptied
  fs::create_symlink(here / "precious", here / "b.lock");
  CHECK(
      has(refused(here / "b"),
          "b.lock, which is locked while a run writes the file, must be a lock file or not exist; found a link; remove "
          "it"));
  CHECK(contents(here / "precious") == "text");
  REQUIRE(::mkfifo((here / "c.lock").c_str(), 0600) == 0);
  CHECK(has(refused(here / "c"), "found something that is not a regular file"));
  fs::create_hard_link(here / "precious", here / "d.lock");
  CHECK(has(refused(here / "d"), "found a file with several hard links"));
  CHECK(contents(here / "precious") == "text");
  std::ofstream(here / "e.lock") << "a file of somebody's that only has this name\n";
  CHECK(has(refused(here / "e"), "found a file that is not a lock"));
  CHECK(has(contents(here / "e.lock"), "somebody's"));
  std::string const notes = "process 1 of my notes on processes\n" + std::string(400, 'x');
  std::ofstream(here / "e.lock") << notes;
  CHECK(has(refused(here / "e"), "found a file that is not a lock"));
  CHECK(contents(here / "e.lock") == notes);
  for (std::string const& other : {std::string("\nprocess 1 of my notes"), std::string(19, '\0') + "notes"}) {
    std::ofstream(here / "e.lock") << other;
    CHECK(has(refused(here / "e"), "found a file that is not a lock"));
  }
}

TEST_CASE("the lock of a process that a power failure ended may contain zeros", "[names]") {
  temporary_directory const here;
  for (std::size_t size : {1, 19, 300}) {
    std::ofstream(here / "a.lock") << std::string(size, '\0');
    dsl::file_lock const mine(here / "a", "plot");
    CHECK(contents(here / "a.lock").starts_with("process "));
  }
}
