// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/evaluation_metric.hpp>

#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::vector<evaluation_observer*> observers_of(std::vector<metric_handle> const& all) {
  std::vector<evaluation_observer*> made;
  made.reserve(all.size());
  for (metric_handle const& m : all) made.push_back(&m.observer());
  return made;
}

TYPENET_INLINE std::vector<std::string> names_of(std::vector<metric_handle> const& all,
                                                 std::vector<std::string> const& outputs) {
  std::vector<std::string> names;
  for (metric_handle const& m : all) {
    std::string const own = m.name();
    bool plain = !own.empty();
    for (char const c : own)
      plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    auto const is = [&](std::string const& score) {  // tensorboard writes acc as accuracy
      return own == score + "loss" || own == score + "acc" || own == score + "accuracy";
    };
    bool taken = is("");
    for (std::string const& output : outputs) taken = taken || is(output + "_");
    for (std::string const& earlier : names) taken = taken || own == earlier;
    if (!plain || taken)
      throw_error<option_error>(
          {"fit: each of .metrics must have a name of its own, of letters, digits and '_'; found ",
           plain ? own + ", which another score has" : "\"" + own + "\"", "; give it another name"});
    names.push_back(own);
  }
  return names;
}

}  // namespace dsl::detail::TYPENET_MODE
