// SPDX-License-Identifier: MIT
// Tests which parts of a file reach the disk, and when. This program replaces fsync by a function that records the
// calls.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/error.hpp>
#include <dsl/detail/atomic_file.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

}  // namespace

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
