// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

#include <map>
#include <string>
#include <vector>
#include <cstdint>
#include <sys/types.h>

namespace dsl::TYPENET_MODE {

/// The files of earlier runs that a run has found under the names of its own files. A run never deletes or replaces
/// such a file before it has ended: a file keeps a second name, NAME.before or, if that is taken, NAME.before.2 and so
/// on. Only a run that has ended normally, after at least as many epochs as the earlier run, removes the files that it
/// has set aside; if no file says how many epochs that were, it removes none. A callback that writes a file while the
/// network trains calls keep() before it replaces the file:
///   run.earlier->keep("best.weights", "my_callback");
class earlier_files {
 public:
  struct file {
    std::string path, kept_as;
    ino_t number = 0;  // of the file in its file system
  };

  /// Gives the file `path`, of a run that had begun `epochs` epochs, a second name, unless this run has written the
  /// file, has resumed and thus continues its own files, or there is no such file. A symbolic link is left alone,
  /// because only the link will be replaced. Throws file_error, whose message begins with `kind`, if this fails.
  void keep(std::string const& path, char const* kind, int epochs = 0);
  /// Renames such a file, so that no later run takes it for a file of this one. Throws file_error.
  void set_aside(std::string const& path, char const* kind, int epochs);
  /// Says that the run has written this file, or continues it. If another file has this name later, because somebody
  /// has renamed a file, keep() keeps that one, too.
  void wrote(std::string const& path);
  /// Says that a resumed run finds a file of another run under the name of its own file: somebody has renamed files, or
  /// another run has been given the same name. keep() then keeps the file.
  void found_another(std::string const& path) { own_[path] = another; }
  /// Returns a number that a file's size and its first and last 4,096 bytes determine; 0 if there is no such file. A
  /// callback whose state has the number of its file can find out whether found_another() applies.
  static std::uint64_t identity_of(std::string const& path);
  /// Whether `path` is still the file for which wrote() was called.
  bool is_own(std::string const& path) const;

  /// Returns the files that now have a second name.
  std::vector<file> const& files() const { return files_; }

  /// Called by fit: whether the run begins at its first step.
  void begin(bool is_new) { new_ = is_new; }
  /// Called by fit when a run has ended normally: removes the files, if the run has at least the earlier run's epochs.
  void end(int epochs);
  /// Says that there is the state of an earlier run that had begun `epochs` epochs. It may need the files.
  void found_state_after(int epochs) {
    if (epochs > epochs_) epochs_ = epochs;
  }
  /// Called by fit if the run does not begin: gives the files their names again.
  void give_back();

 private:
  static constexpr ino_t another = ~ino_t{0};

  /// Returns the number of a file or a link in its file system; 0 if there is none.
  static ino_t number_of(std::string const& path);
  void add_name(std::string const& path, char const* kind, int epochs, bool moves);

  bool new_ = false;
  int epochs_ = 0;  // the most that an earlier run had begun
  std::vector<file> files_;
  std::map<std::string, ino_t> own_;  // the numbers of the run's own files; 0: not known
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/earlier_files_inl.hpp>
#endif
