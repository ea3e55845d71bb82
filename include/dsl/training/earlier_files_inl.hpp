// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/earlier_files.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

inline constexpr char const* epochs_mark = "user.typenet.epochs";

/// Calls f(bytes, count) with the parts of a file. Returns false if the file cannot be read.
template <class F>
bool read_parts(std::string const& path, F f) {
  constexpr std::size_t most = std::size_t{1} << 20;
  try {
    input_file in(path, "file", "");
    std::string part;
    for (std::size_t left = in.size(); left > 0; left -= part.size()) {
      part.clear();
      in.append(part, left < most ? left : most);
      f(part.data(), part.size());
    }
    return true;
  } catch (data_error const&) {
    return false;
  }
}

/// Returns how many epochs the run of a file had that has ended normally.
TYPENET_INLINE std::optional<int> marked_epochs(std::string const& path) {
  char text[16]{};
  if (::lgetxattr(path.c_str(), epochs_mark, text, sizeof text - 1) <= 0) return std::nullopt;
  int const epochs = std::atoi(text);
  return epochs > 0 ? std::optional(epochs) : std::nullopt;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void earlier_files::keep(std::string const& path, char const* kind, std::optional<int> epochs,
                                        bool writes_into) {
  struct stat status{};
  bool const is_file =
      ::lstat(path.c_str(), &status) == 0 && (S_ISREG(status.st_mode) || (writes_into && S_ISLNK(status.st_mode)));
  if (!is_file || !is_others(path)) return;
  if (std::optional<int> const marked = detail::marked_epochs(path); marked && marked > epochs) epochs = marked;
  add_name(path, kind, epochs, writes_into);
  own_[path] = {look_at(path)};  // a write that fails need not keep it once more
}

TYPENET_INLINE void earlier_files::set_aside(std::string const& path, char const* kind, std::optional<int> epochs) {
  add_name(path, kind, epochs, true);
}

TYPENET_INLINE void earlier_files::wrote(std::string const& path) {
  ::lremovexattr(path.c_str(), detail::epochs_mark);  // it may be a file of an ended run, which this one continues
  identity const was = own_[path].is;
  own_[path] = {look_at(path)};
  // A run may be killed between its file and the state that knows it. When it resumes, it writes the same file first.
  if (restored_)
    std::erase_if(files_, [&](file const& f) {
      return f.path == path && (f.is == was || was.number == 0) && is_repeated(f) && removed(f);
    });
}

TYPENET_INLINE void earlier_files::found_another(std::string const& path) {
  own_[path].is = {.number = ~std::uint64_t{0}};  // no file has this number
}

TYPENET_INLINE bool earlier_files::is_own(std::string const& path) const {
  auto const own = own_.find(path);
  return own != own_.end() && own->second.is.number != 0 && own->second.is == look_at(path);
}

TYPENET_INLINE bool earlier_files::is_others(std::string const& path) const {
  if (auto const own = own_.find(path); own != own_.end() && own->second.is.number != 0)
    return own->second.is != look_at(path);
  return !restored_ || !restored_->contains(hash_of(path));
}

TYPENET_INLINE bool earlier_files::is_repeated(file const& f) {
  identity const there = look_at(f.path);
  return there.number != f.is.number && there.size == f.is.size && hash_of(f.path) != 0 &&
         hash_of(f.path) == hash_of(f.kept_as);
}

TYPENET_INLINE bool earlier_files::removed(file const& f) {
  return look_at(f.kept_as) == f.is && ::unlink(f.kept_as.c_str()) == 0;
}

TYPENET_INLINE std::uint64_t earlier_files::hash_of(std::string const& path) {
  detail::fingerprint f;
  std::uint64_t size = 0;
  bool const read = detail::read_parts(path, [&](char const* bytes, std::size_t n) { f.add(bytes, n), size += n; });
  f.add(size);
  return read ? f.value() : 0;
}

TYPENET_INLINE void earlier_files::give_back() {
  for (file const& f : files_) {
    if (look_at(f.kept_as) != f.is) continue;
    identity const there = look_at(f.path);
    if (there.number == 0)
      std::rename(f.kept_as.c_str(), f.path.c_str());
    else if (there == f.is)
      ::unlink(f.kept_as.c_str());
  }
  files_.clear();
}

TYPENET_INLINE void earlier_files::end(int epochs) {
  int most = 0;
  for (file const& f : files_)
    if (f.epochs && *f.epochs > most) most = *f.epochs;
  std::erase_if(files_, [&](file const& f) { return ((f.epochs && most <= epochs) || is_repeated(f)) && removed(f); });
  std::string const mark = std::to_string(epochs);
  for (auto const& [path, own] : own_)
    if (epochs > 0 && is_own(path)) ::lsetxattr(path.c_str(), detail::epochs_mark, mark.data(), mark.size(), 0);
}

TYPENET_INLINE void earlier_files::state(callback_state& s) {
  constexpr std::size_t size = sizeof(std::uint64_t);
  std::string hashes = s.restores() ? "none" : "", kept;
  if (!s.restores()) {
    std::set<std::uint64_t> all;
    if (restored_) all = *restored_;
    for (auto& [path, own] : own_) {
      if (own.hash == 0 && is_own(path)) own.hash = hash_of(path);
      all.insert(own.hash);
    }
    for (std::uint64_t const hash : all) hashes.append(reinterpret_cast<char const*>(&hash), size);
    for (file const& f : files_) {
      std::int64_t const epochs = f.epochs.value_or(-1);
      kept.append(reinterpret_cast<char const*>(&epochs), size)
          .append(reinterpret_cast<char const*>(&f.is), sizeof f.is);
      kept.append(f.path).push_back('\0');
      kept.append(f.kept_as).push_back('\0');
    }
  }
  s("fit's files", hashes);
  s("fit's kept files", kept);
  if (!s.restores() || hashes == "none") return;
  restored_.emplace();
  for (std::size_t at = 0; at + size <= hashes.size(); at += size) {
    std::uint64_t hash = 0;
    std::memcpy(&hash, hashes.data() + at, size);
    if (hash != 0) restored_->insert(hash);
  }
  for (std::size_t at = 0; at + size + sizeof(identity) < kept.size();) {
    std::int64_t epochs = 0;
    file f;
    std::memcpy(&epochs, kept.data() + at, size);
    std::memcpy(&f.is, kept.data() + at + size, sizeof f.is);
    f.path = kept.c_str() + at + size + sizeof f.is;
    at += size + sizeof f.is + f.path.size() + 1;
    if (at < kept.size()) f.kept_as = kept.c_str() + at;
    at += f.kept_as.size() + 1;
    if (epochs >= 0) f.epochs = static_cast<int>(epochs);
    // A state from elsewhere cannot choose which file is removed.
    if (f.kept_as.starts_with(f.path + ".before") && look_at(f.kept_as) == f.is) files_.push_back(f);
  }
}

TYPENET_INLINE earlier_files::identity earlier_files::look_at(std::string const& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

TYPENET_INLINE void earlier_files::add_name(std::string const& path, char const* kind, std::optional<int> epochs,
                                            bool moves) {
  identity const is = look_at(path);
  std::string name = path + ".before";
  int code = EEXIST;
  for (int n = 2; code == EEXIST && n < 100'000; ++n) {
    // A link never replaces a file. Where there are none, a name that is free is taken by renaming.
    code = ::link(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    if (identity const there = look_at(name); code != 0 && there.number != 0) {
      // An earlier call, or a run that was killed, has kept it.
      if (!moves && (there == is || (there.size == is.size && hash_of(name) != 0 && hash_of(name) == hash_of(path))))
        return;
      code = EEXIST;
    } else if (code != 0) {
      code = std::rename(path.c_str(), name.c_str()) == 0 ? 0 : errno;
    } else if (moves && ::unlink(path.c_str()) != 0) {
      code = errno;
      ::unlink(name.c_str());
    }
    if (code == EEXIST) name = path + ".before." + std::to_string(n);
  }
  if (code != 0)
    detail::throw_error<file_error>({kind, ": ", path, " of an earlier run must be kept as ", name,
                                     ", but renaming failed: ", std::strerror(code),
                                     "; make the folder writable, or give another path"});
  files_.push_back({path, name, look_at(name), epochs});
}

}  // namespace dsl::TYPENET_MODE
