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

/// The files of earlier runs that a run has found under the names of its own files. A run never deletes or replaces
/// such a file: it keeps a second name, NAME.before or, if that is taken, NAME.before.2 and so on. The run removes this
/// second name only if
///   - it has ended normally and has at least as many epochs as the file's run, which a state or a log tells; or
///   - the run's own file has the same bytes, as in a run that resumes and repeats the last epochs before a crash.
/// Nothing tells how many epochs the run of best weights or a plot had. Their second names stay until a user removes
/// them. A callback that writes a file while the network trains calls keep() before it writes, and then wrote():
///   run.earlier->keep("best.weights", "my_callback");
///   atomic_file file("best.weights", "my_callback");
///   ...
///   run.earlier->wrote("best.weights");
class earlier_files {
 public:
  /// A file in a file system, as it was when it was looked at.
  struct identity {
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t bytes = 0;  // identity_of
    friend bool operator==(identity const&, identity const&) = default;
  };
  struct file {
    std::string path, kept_as;
    identity is{};
    std::optional<int> epochs{};  // of its run, if known
  };

  /// Gives the file `path` a second name, unless this run has written the file, or there is no such file. `epochs` are
  /// those that the file's run had begun, if the file tells. The file also has its own name until a new file replaces
  /// it; give `writes_into` if the new one is written into the old one, which then has only the second name. A symbolic
  /// link is left alone, because only the link will be replaced. Throws file_error, whose message begins with `kind`,
  /// if this fails; the next call tries again.
  void keep(std::string const& path, char const* kind, std::optional<int> epochs = {}, bool writes_into = false);
  /// Renames a file of an earlier run to such a name, so that no later run takes it for one of this run.
  void set_aside(std::string const& path, char const* kind, std::optional<int> epochs = {});
  /// Says that the run has written this file, or continues it. If another file has this name later, because somebody
  /// has renamed a file, keep() keeps that one, too.
  void wrote(std::string const& path);
  /// Says that the file is another run's, as its content tells: keep() keeps it.
  void found_another(std::string const& path);
  /// Returns a number that a file's size and its first and last 4,096 bytes determine; 0 if there is no such file.
  static std::uint64_t identity_of(std::string const& path);
  /// Whether `path` is still the file for which wrote() was called.
  bool is_own(std::string const& path) const;

  /// Returns the files that now have a second name.
  std::vector<file> const& files() const { return files_; }

  /// Called by fit when a run has ended normally: removes the files of runs that had at most as many epochs.
  void end(int epochs);
  /// Called by fit if the run does not begin: gives the files their names again.
  void give_back();
  /// Saves or restores which files the run has written. A run that resumes from a state of an earlier version, which
  /// does not tell, takes no file for its own.
  void state(callback_state& s);

 private:
  static identity look_at(std::string const& path);
  /// Whether the run's own file has the same bytes.
  static bool is_repeated(file const& f);
  /// Removes the second name of a file, unless somebody else has taken it. Returns whether it is gone.
  static bool removed(file const& f);
  bool is_others(std::string const& path) const;
  void add_name(std::string const& path, char const* kind, std::optional<int> epochs, bool moves);

  std::vector<file> files_;
  std::map<std::string, identity> own_;
  std::optional<std::set<std::uint64_t>> restored_;  // the resumed run's files: what identity_of returned
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/earlier_files_inl.hpp>
#endif
