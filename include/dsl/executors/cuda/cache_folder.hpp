// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

namespace dsl::cu::TYPENET_MODE {

/// Where timed plans and compiled kernels are kept from one run to the next: $TYPENET_CACHE, else
/// $XDG_CACHE_HOME/typenet, else $HOME/.cache/typenet. Empty, so nothing is kept, where TYPENET_CACHE is set to nothing
/// or none of them is. The folder need not exist.
std::string cache_folder();

/// The bytes of a file of the cache; nothing where it is missing, unreadable, not a regular file or larger than 256
/// MiB.
std::optional<std::string> read_cached(std::string const& folder, std::string const& name);

/// Writes a file of the cache, all or nothing, and makes the folder where it is missing. False where that can't be
/// done, which is no error: the next run then works as hard as this one.
bool write_cached(std::string const& folder, std::string const& name, std::string_view bytes);

}  // namespace dsl::cu::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda/cache_folder_inl.hpp>
#endif
