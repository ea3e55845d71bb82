// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace dsl::cu::TYPENET_MODE {

/// Returns the folder for timed plans and compiled kernels: $TYPENET_CACHE, else $XDG_CACHE_HOME/typenet, else
/// $HOME/.cache/typenet. Empty, so that nothing is kept, if TYPENET_CACHE is empty or none of them is set. The folder
/// need not exist.
std::string cache_folder();

/// Returns the bytes of a file in the cache; nothing if it is missing, unreadable, not a regular file or larger than
/// 256 MiB. The cache has code that will run. So nothing is read from a folder that belongs to another user than this
/// one or root, or that others may write to; a warning then says once what to do.
std::optional<std::string> read_cached(std::string const& folder, std::string const& name);

/// Writes a file to the cache atomically, and makes the folder if it is missing. Returns false if that fails, which is
/// no error: the next run repeats the work.
bool write_cached(std::string const& folder, std::string const& name, std::string_view bytes);

}  // namespace dsl::cu::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/cuda/cache_folder_inl.hpp>
#endif
