// SPDX-License-Identifier: MIT
// Tests which parts of a file reach the disk, and when. This program replaces fsync by a function that records the
// calls.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/error.hpp>
#include <dsl/files/atomic_file.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using dsl::test::contents;
using dsl::test::has;
using dsl::test::temporary_directory;
using dsl::test::thrown;
using dsl::test::warnings;

namespace {

namespace fs = std::filesystem;

struct synced {
  bool folder;
  ino_t which;
  std::string path_was;  // the watched path's content at that time
};
struct watch {
  std::string path;
  int folder_fails = 0;  // with this error code
  std::vector<synced> seen{};
};
watch* watching = nullptr;

bool writes_nothing = false, never_locks = false;

}  // namespace

extern "C" ssize_t write(int descriptor, void const* from, std::size_t size) {
  return writes_nothing ? 0 : ::syscall(SYS_write, descriptor, from, size);
}
extern "C" int flock(int descriptor, int operation) noexcept {
  if (!never_locks) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  errno = EWOULDBLOCK;
  return -1;
}

extern "C" int fsync(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return -1;
  bool const folder = S_ISDIR(status.st_mode);
  if (watching) watching->seen.push_back({folder, status.st_ino, contents(watching->path)});
  if (watching && folder && watching->folder_fails != 0) {
    errno = watching->folder_fails;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace {

ino_t number_of(std::string const& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}
/// Returns the descriptor that the next opened file would get.
int next_descriptor() {
  int const next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  return next;
}
/// Replaces "before" by "after" in a file, and returns what was synced meanwhile. `written` is the name by which the
/// file is opened; `code` is the error of syncing the folder.
std::vector<synced> replace(std::string const& path, std::string const& written, int code = 0) {
  std::ofstream(path) << "before";
  watch w{path, code};
  int const next = next_descriptor();
  {
    dsl::atomic_file file(written, "test");
    file.write("after");
    watching = &w;
    try {
      file.commit();
    } catch (...) {
      watching = nullptr;
      throw;
    }
    watching = nullptr;
  }
  CHECK(contents(path) == "after");
  CHECK(next_descriptor() == next);  // no descriptor stays open
  return w.seen;
}
/// The sync of the file under its own name, then that of its folder.
void file_then_folder(std::vector<synced> const& seen, std::string const& path, std::string const& folder) {
  REQUIRE(seen.size() == 2);
  CHECK_FALSE(seen[0].folder);
  CHECK(seen[0].which == number_of(path));
  CHECK(seen[0].path_was == "before");
  CHECK(seen[1].folder);
  CHECK(seen[1].which == number_of(folder));
  CHECK(seen[1].path_was == "after");
}

}  // namespace

TEST_CASE("a file is synced before it is renamed, and its folder after that", "[files]") {
  temporary_directory const here;
  std::string const inner = here / "inner";
  fs::create_directory(inner);
  file_then_folder(replace(here / "a", here / "a"), here / "a", here.path.string());
  file_then_folder(replace(inner + "/a", inner + "/a"), inner + "/a", inner);
  fs::path const before = fs::current_path();
  fs::current_path(here.path);
  file_then_folder(replace(here / "a", "a"), here / "a", here.path.string());
  file_then_folder(replace(inner + "/a", "inner/a"), inner + "/a", inner);
  fs::current_path(before);

  watch w{here / "b"};
  dsl::atomic_file other(here / "a", "test");
  other.write("after");
  watching = &w;
  other.commit_as(here / "b");
  watching = nullptr;
  REQUIRE(w.seen.size() == 2);
  CHECK(w.seen[0].path_was.empty());
  CHECK(w.seen[1].path_was == "after");
}

TEST_CASE("no output has a name that is reserved for temporary files", "[files][hostile]") {
  temporary_directory const here;
  std::string const path = here / "plot.png.1-0.typenet.tmp";
  CHECK(has(thrown<dsl::file_error>([&] { dsl::atomic_file{path, "weights"}; }),
            "its name is reserved for temporary files; give another name"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a disk that fails after the rename is a warning; a folder that can't be synced there is none", "[files]") {
  temporary_directory const here;
  std::string const path = here / "a";
  for (int code : {EIO, ENOSPC, EDQUOT}) {
    int const next = next_descriptor();
    auto const said = warnings([&] { file_then_folder(replace(path, path, code), path, here.path.string()); });
    CHECK(said == std::vector{"test: " + path + " was written, but its folder could not be synced: " +
                              std::generic_category().message(code) + "; a power failure may lose it"});
    CHECK(next_descriptor() == next);
    CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);
  }
  for (int code : {EINVAL, ENOTSUP, EROFS})
    CHECK(warnings([&] { file_then_folder(replace(path, path, code), path, here.path.string()); }).empty());
}

TEST_CASE("what can be made again waits for no disk", "[files]") {
  temporary_directory const here;
  std::string const path = here / "a";
  watch w{path};
  dsl::atomic_file file(path, "test");
  file.write("whole");
  watching = &w;
  file.commit_unsynced();
  watching = nullptr;
  CHECK(w.seen.empty());
  CHECK(contents(path) == "whole");
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("a folder that may be written to and not read takes files", "[files]") {
  temporary_directory const here;
  std::string const folder = here / "closed", path = folder + "/a";
  fs::create_directory(folder);
  fs::permissions(here.path, fs::perms::all);
  bool const root = ::geteuid() == 0;                              // root may read everything
  if (root && ::chown(folder.c_str(), 65534, 65534) != 0) return;  // a container without other users
  fs::permissions(folder, fs::perms::owner_write | fs::perms::owner_exec);
  if (root && ::seteuid(65534) != 0) return;
  std::vector<synced> seen;
  std::string const said = thrown<dsl::file_error>([&] { seen = replace(path, path); });
  bool const closed = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC) < 0;
  if (root) REQUIRE(::seteuid(0) == 0);
  fs::permissions(folder, fs::perms::owner_all);
  CHECK(closed);
  CHECK(said == "nothing");
  CHECK(seen.size() == 1);
  CHECK(contents(path) == "after");
}

TEST_CASE("a file system that takes nothing more is an error, not a wait for ever", "[files]") {
  temporary_directory const here;
  std::ofstream(here / "file") << "before";
  {
    dsl::atomic_file file(here / "file", "test");
    writes_nothing = true;
    std::string const said = thrown<dsl::file_error>([&] { file.write("after"); });
    writes_nothing = false;
    CHECK(said ==
          "test: cannot write " + here / "file" + ": no more can be written; free some space, or give another path");
  }
  CHECK(contents(here / "file") == "before");
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("where no file can ever be locked nothing is left, and the error says so", "[files]") {
  temporary_directory const here;
  never_locks = true;
  std::string const file = thrown<dsl::file_error>([&] { dsl::atomic_file const f(here / "file", "test"); });
  std::string const lock = thrown<dsl::file_error>([&] { dsl::file_lock const l(here / "file", "test"); });
  never_locks = false;
  CHECK(has(file, "test: cannot write " + here / "file" + ": Resource temporarily unavailable"));
  CHECK(has(lock, "must be written by one run at a time"));
  fs::remove(here / "file.lock");
  CHECK(here.empty());
}

TEST_CASE("a forked child does not remove its parent's file", "[files]") {
  temporary_directory const here;
  dsl::atomic_file file(here / "file", "test");
  file.write("whole");
  pid_t const child = ::fork();
  if (child == 0) {
    file.~atomic_file();
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  file.commit();
  CHECK(contents(here / "file") == "whole");
}

TEST_CASE("a name that leaves no room for the temporary one, or too many open files, is said with what to do",
          "[files]") {
  temporary_directory const here;
  std::size_t const more = ("." + std::to_string(::getpid()) + "-0.typenet.tmp").size();
  auto const said = [&](std::size_t length) {
    return thrown<dsl::file_error>([&] {
      dsl::atomic_file file(here / std::string(length, 'a'), "test");
      file.commit();
    });
  };
  CHECK(said(255 - more) == "nothing");
  for (std::size_t const length : {256 - more, std::size_t{255}})
    CHECK(
        said(length).ends_with(": File name too long; the name of the temporary file beside it is longer: shorten the "
                               "name to " +
                               std::to_string(255 - more) + " bytes"));
  CHECK(said(256).ends_with(": File name too long; give a shorter name"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit const few{static_cast<rlim_t>(next_descriptor()), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::string const full = said(3);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(full.ends_with(": Too many open files; raise the limit of open files"));
}
