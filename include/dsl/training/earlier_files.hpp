// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/callback_state.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <cstdint>
#include <sys/types.h>

namespace dsl::TYPENET_MODE {

/// The files of other runs that a run has found under the names of its own files. While it trains, a run never deletes
/// or replaces such a file: it keeps a second name, NAME.before or, if that is taken, NAME.before.2 and so on. The run
/// removes this second name only when it has ended normally, and only if
///   - it has at least as many epochs as the file's run: a state and a log tell how many, and every file of a run that
///     has ended normally has a mark, the extended attribute user.typenet.epochs, where the file system has such; or
///   - the run's own file has the same bytes.
/// The other second names stay until a user removes them. A callback that writes a file while the network trains calls
/// keep() before it writes, and then wrote():
///   run.earlier->keep("best.weights", "my_callback");
///   atomic_file file("best.weights", "my_callback");
///   ...
///   run.earlier->wrote("best.weights");
class earlier_files {
 public:
  /// A file in a file system, as it was when it was looked at. All numbers are 0 if there was none.
  struct identity {
    std::uint64_t device = 0, number = 0, size = 0, seconds = 0, nanoseconds = 0;  // the time of its last change
    friend bool operator==(identity const&, identity const&) = default;
  };
  struct file {
    std::string path, kept_as;
    identity is{};
    std::optional<int> epochs{};  // of its run, if known
  };

  /// Gives the file `path` a second name, unless this run has written the file, or there is no such file. `epochs` are
  /// those that the file's run had begun, if the file tells. The file also has its own name until a new file replaces
  /// it; give `writes_into` if the new one is written into the old one, which then has only the second name. Otherwise,
  /// a symbolic link is left alone, because only the link will be replaced. Throws file_error, whose message begins
  /// with `kind`, if this fails; the next call tries again.
  void keep(std::string const& path, char const* kind, std::optional<int> epochs = {}, bool writes_into = false);
  /// Renames a file of another run to such a name, so that no later run takes it for one of this run.
  void set_aside(std::string const& path, char const* kind, std::optional<int> epochs = {});
  /// Says that the run has written this file, or continues it. If another file has this name later, because somebody
  /// has renamed a file, keep() keeps that one, too.
  void wrote(std::string const& path);
  /// Says that the file is another run's, as its content tells: keep() keeps it.
  void found_another(std::string const& path);
  /// Returns a hash of a file's bytes; 0 if there is no such file.
  static std::uint64_t hash_of(std::string const& path);
  /// Whether `path` is still the file for which wrote() was called.
  bool is_own(std::string const& path) const;

  /// Returns the files that now have a second name.
  std::vector<file> const& files() const { return files_; }

  /// Called by fit when a run of so many epochs has ended normally: removes what it no longer needs to keep, and marks
  /// its own files.
  void end(int epochs);
  /// Called by fit if the run does not begin: gives the files their names again.
  void give_back();
  /// Saves or restores which files the run has written and kept. A run that resumes from a state of an earlier version,
  /// which does not tell, takes no file for its own.
  void state(callback_state& s);

 private:
  struct own_file {
    identity is{};
    std::uint64_t hash = 0;  // 0: not needed yet
  };

  static identity look_at(std::string const& path);
  /// Whether the run's own file has the same bytes.
  static bool is_repeated(file const& f);
  /// Removes the second name of a file, unless somebody else has taken it. Returns whether it is gone.
  static bool removed(file const& f);
  bool is_others(std::string const& path) const;
  void add_name(std::string const& path, char const* kind, std::optional<int> epochs, bool moves);

  std::vector<file> files_;
  std::map<std::string, own_file> own_;
  std::optional<std::set<std::uint64_t>> restored_;  // the resumed run's files, as hashes
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/earlier_files_inl.hpp>
#endif
