// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::test {

/// How far values are apart that should agree, and how many were compared: the largest of all differences added.
struct comparison {
  double apart = 0;
  long long values = 0;

  void add(comparison const& other) {
    // NaN and infinity count as far apart, and stay so.
    double const d = std::isfinite(other.apart) ? other.apart : 1e30;
    if (d > apart) apart = d;
    values += other.values;
  }
};

/// A check and its result.
struct finding {
  enum class verdict { good, bad, told };  // told: a figure without a bound
  std::string group, what;
  double measured = 0, bound = 0;
  verdict is = verdict::told;
  std::string note{};
  long long values = 0;  // number compared
};

/// The results of a run on a device. Each line is printed at once, so that a killed run shows how far it came; a
/// failing comparison does not end the run, since the following ones help to find the cause.
class ledger {
 public:
  void begin(std::string group) { group_ = std::move(group); }

  /// Records a comparison, which must be below the bound. A NaN is bad, and so is a comparison of nothing.
  bool within(std::string what, comparison const& c, double bound, std::string note = {}) {
    return add({group_, std::move(what), c.apart, bound, verdict_of(c.apart < bound && c.values > 0),
                c.values > 0 ? std::move(note) : "nothing was compared", c.values});
  }
  bool holds(std::string what, bool good, std::string note = {}) {
    return add({group_, std::move(what), 0, 0, verdict_of(good), std::move(note)});
  }
  void tell(std::string what, comparison const& c) {
    add({group_, std::move(what), c.apart, 0, finding::verdict::told, "", c.values});
  }
  void tell(std::string what, std::string note) {
    add({group_, std::move(what), 0, 0, finding::verdict::told, std::move(note)});
  }

  std::vector<finding> const& findings() const { return findings_; }
  int bad() const {
    int count = 0;
    for (finding const& f : findings_) count += f.is == finding::verdict::bad ? 1 : 0;
    return count;
  }

  /// Returns the number of values compared with a bound by all findings.
  long long values() const {
    long long all = 0;
    for (finding const& f : findings_) all += f.bound > 0 ? f.values : 0;
    return all;
  }

  /// Returns an array of objects in JSON; numbers that JSON cannot express become null.
  std::string json() const {
    std::string text = "[";
    for (finding const& f : findings_) {
      text += text.size() > 1 ? ",\n " : "\n ";
      text += "{\"group\": " + quoted(f.group) + ", \"what\": " + quoted(f.what) + ", \"verdict\": \"" + word(f.is) +
              "\", \"measured\": " + number(f.measured) + ", \"bound\": " + number(f.bound) +
              ", \"values\": " + std::to_string(f.values) + ", \"note\": " + quoted(f.note) + "}";
    }
    return text + "\n]\n";
  }

  void print_to(std::FILE* where) { print_ = where; }

 private:
  static finding::verdict verdict_of(bool good) { return good ? finding::verdict::good : finding::verdict::bad; }
  static char const* word(finding::verdict v) {
    return v == finding::verdict::good ? "good" : v == finding::verdict::bad ? "BAD" : "told";
  }
  bool add(finding f) {
    if (print_) {
      std::fprintf(print_, "%-5s %-14s %s", word(f.is), f.group.c_str(), f.what.c_str());
      if (f.bound > 0)
        std::fprintf(print_, ": %.3g, must be less than %.3g, of %lld values", f.measured, f.bound, f.values);
      else if (f.note.empty() && f.is == finding::verdict::told)
        std::fprintf(print_, ": %.6g", f.measured);
      std::fprintf(print_, "%s%s\n", f.note.empty() ? "" : ": ", f.note.c_str());
      std::fflush(print_);
    }
    findings_.push_back(std::move(f));
    return findings_.back().is != finding::verdict::bad;
  }
  static std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", x);
    return std::isfinite(x) ? text : "null";
  }
  static std::string quoted(std::string_view s) {
    std::string text = "\"";
    for (char const c : s) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return text + '"';
  }

  std::FILE* print_ = nullptr;
  std::string group_;
  std::vector<finding> findings_;
};

}  // namespace dsl::test
