// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>
#include <dsl/pictures/folder.hpp>
#include <dsl/pictures/read.hpp>
#include <dsl/pictures/resize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <jpeglib.h>
#include <png.h>

namespace dsl::detail::TYPENET_MODE {

/// Decodes and resizes files.
class picture_source final : public sample_source {
 public:
  picture_source(std::vector<std::string> files, dsl::shape sample, picture_folder_options const& o)
      : files_(std::move(files)), sample_(sample), centre_(o.centre), limits_(o.limits) {}

  void read(std::int64_t i, float* out) const override {
    rgb_picture const whole = read_picture(files_[static_cast<std::size_t>(i)], limits_);
    picture_part const part = centre_ ? centre_part(whole) : picture_part{&whole, 0, 0, whole.height, whole.width};
    resize_to_planes(part, sample_.width, sample_.height, out);
  }
  std::string identity() const override {
    std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a, of the names without the folders that lead to a class
    for (std::string const& f : files_)
      for (char const c : std::string_view(f.c_str() + above_class(f), f.size() + 1 - above_class(f)))
        sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return message({static_cast<std::int64_t>(files_.size()), " pictures (", static_cast<long long>(sum >> 32), ") as ",
                    sample_.channels, "x", sample_.height, "x", sample_.width, centre_ ? ", centred" : "",
                    ", by libpng ", static_cast<int>(png_access_version_number()), " and libjpeg ", JPEG_LIB_VERSION});
  }
  std::vector<std::string> const& files() const { return files_; }

 private:
  /// Returns where the part CLASS/FILE of a path begins. identity() uses only this part, so that it does not depend on
  /// where the data's folder is.
  static std::size_t above_class(std::string const& file) {
    std::size_t const last = file.rfind('/');
    if (last == file.npos || last == 0) return 0;
    std::size_t const before = file.rfind('/', last - 1);
    return before == file.npos ? 0 : before + 1;
  }

  std::vector<std::string> files_;
  dsl::shape sample_;
  bool centre_;
  picture_limits limits_;
};

TYPENET_INLINE void require_colours(dsl::shape const& sample) {
  if (sample.channels != 3 || sample.height < 1 || sample.width < 1)
    throw_error<option_error>({"picture_folder: samples must have 3 channels, and a height and a width above 0; found ",
                               sample.channels, "x", sample.height, "x", sample.width});
}

/// Removes the files that cannot be decoded from a list, and calls drop(i) for each of them. Returns their names.
template <class Drop>
std::vector<std::string> skip_unreadable(std::vector<std::string>& files, dsl::shape const& sample,
                                         picture_folder_options const& o, Drop drop) {
  std::vector<std::string> skipped;
  if (o.unreadable != unreadable::skip) return skipped;
  picture_source const all(files, sample, o);
  std::vector<float> room(static_cast<std::size_t>(sample.size()));
  for (std::size_t i = files.size(); i-- > 0;) {
    try {
      all.read(static_cast<std::int64_t>(i), room.data());
    } catch (data_error const&) {
      skipped.push_back(files[i]);
      files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
      drop(static_cast<std::ptrdiff_t>(i));
    }
  }
  std::reverse(skipped.begin(), skipped.end());
  return skipped;
}

TYPENET_INLINE bool is_picture(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name.ends_with(".png") || name.ends_with(".jpg") || name.ends_with(".jpeg");
}

/// Returns the sorted names of a folder's folders, or of its pictures, without those that begin with a dot. An entry
/// that cannot be followed, such as a link to itself, is refused or added to `skipped`.
TYPENET_INLINE std::vector<std::string> names_in(std::string const& path, bool folders, unreadable o,
                                                 std::vector<std::string>& skipped) {
  std::vector<std::string> names;
  auto const fail = [&](char const* what, std::string const& name, std::string const& why, char const* advice) {
    throw data_error(message({"picture_folder: cannot read ", what, printable(name), ": ", why, advice}));
  };
  char const* const give =
      folders ? "; give a folder with a folder for each class" : "; make it readable, or leave this class out";
  if (path.find('\0') != std::string::npos) fail("the folder ", path, "its name has a NUL byte", give);
  try {
    for (auto const& entry : std::filesystem::directory_iterator(path)) {
      std::string name = entry.path().filename().string();
      if (name.starts_with('.') || (!folders && !is_picture(name))) continue;
      std::error_code failed;
      bool const is_folder = entry.is_directory(failed);
      if (failed && o == unreadable::refuse)
        fail("", entry.path().string(), failed.message(), "; remove it, or set .unreadable = unreadable::skip");
      if (failed)
        skipped.push_back(entry.path().string());
      else if (is_folder == folders)
        names.push_back(std::move(name));
    }
  } catch (std::filesystem::filesystem_error const& e) {
    fail("the folder ", path, e.code().message(), give);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE picture_folder read_picture_folder(std::string const& path, dsl::shape sample,
                                                  picture_folder_options const& options) {
  detail::require_colours(sample);
  std::vector<std::string> skipped;
  std::vector<std::string> const folders = detail::names_in(path, true, options.unreadable, skipped);
  picture_folder_options with_names = options;
  if (with_names.class_names.empty()) with_names.class_names = folders;
  std::vector<std::string> const& names = with_names.class_names;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(c), names[c]) !=
        names.begin() + static_cast<std::ptrdiff_t>(c))
      throw option_error(detail::message({"picture_folder: each of the class_names must be unique; found ",
                                          detail::printable(names[c]), " twice; leave out one of them"}));
  if (names.empty())
    throw data_error(detail::message(
        {"picture_folder: ", detail::printable(path), " must have a folder for each class; found none"}));
  for (std::string const& folder : folders)
    if (std::find(names.begin(), names.end(), folder) == names.end())
      throw data_error(detail::message({"picture_folder: each folder of ", detail::printable(path),
                                        " must be one of the class_names; found ", detail::printable(folder),
                                        "; add it to them, or move it away"}));
  std::vector<std::string> files;
  std::vector<std::int32_t> labels;
  for (std::size_t c = 0; c < names.size(); ++c) {
    std::size_t const before = files.size();
    std::string const folder = path + "/" + names[c];
    if (std::find(folders.begin(), folders.end(), names[c]) == folders.end()) continue;  // a test set may lack a class
    for (std::string const& name : detail::names_in(folder, false, options.unreadable, skipped))
      files.push_back(detail::message({folder, "/", name}));
    if (files.size() == before)
      throw data_error(detail::message({"picture_folder: ", detail::printable(folder),
                                        " must have a file whose name ends in .png, .jpg or .jpeg; found none"}));
    labels.resize(files.size(), static_cast<std::int32_t>(c));
  }
  picture_folder all =
      read_picture_files(std::move(files), std::move(labels), static_cast<int>(names.size()), sample, with_names);
  all.skipped.insert(all.skipped.end(), skipped.begin(), skipped.end());
  return all;
}

TYPENET_INLINE picture_folder read_picture_files(std::vector<std::string> files, std::vector<std::int32_t> labels,
                                                 int classes, dsl::shape sample,
                                                 picture_folder_options const& options) {
  detail::require_colours(sample);
  if (files.size() != labels.size())
    throw data_error(detail::message({"picture_folder: each file must have a label; found ",
                                      detail::counted(static_cast<long long>(files.size()), "file"), " and ",
                                      detail::counted(static_cast<long long>(labels.size()), "label")}));
  if (std::vector<std::string> const& names = options.class_names;
      !names.empty() && names.size() != static_cast<std::size_t>(classes < 0 ? 0 : classes))
    throw option_error(detail::message({"picture_folder: class_names must have a name for each class; found ",
                                        detail::counted(static_cast<long long>(names.size()), "name"), " for ",
                                        detail::counted(classes, "class", "classes")}));
  std::vector<std::string> skipped =
      detail::skip_unreadable(files, sample, options, [&](std::ptrdiff_t i) { labels.erase(labels.begin() + i); });
  auto const source = std::make_shared<detail::picture_source const>(std::move(files), sample, options);
  return {source_classes(sample, source, classes, std::move(labels), options.class_names), source->files(),
          std::move(skipped)};
}

TYPENET_INLINE picture_folder read_picture_files(std::vector<std::string> files, int values, std::vector<float> wanted,
                                                 dsl::shape sample, picture_folder_options const& options) {
  detail::require_colours(sample);
  if (values < 1)
    throw data_error(detail::message({"picture_folder: each file must have 1 value or more; found ", values}));
  if (wanted.size() != files.size() * static_cast<std::size_t>(values))
    throw data_error(detail::message({"picture_folder: each file must have ", detail::counted(values, "value"),
                                      "; found ", detail::counted(static_cast<long long>(files.size()), "file"),
                                      " and ", detail::counted(static_cast<long long>(wanted.size()), "value")}));
  std::vector<std::string> skipped = detail::skip_unreadable(files, sample, options, [&](std::ptrdiff_t i) {
    wanted.erase(wanted.begin() + i * values, wanted.begin() + (i + 1) * values);
  });
  auto const source = std::make_shared<detail::picture_source const>(std::move(files), sample, options);
  return {source_values(sample, source, values, std::move(wanted)), source->files(), std::move(skipped)};
}

}  // namespace dsl::TYPENET_MODE
