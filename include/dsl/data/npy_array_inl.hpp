// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/npy_array.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Reads the dictionary of a header, such as {'descr': '<f4', 'fortran_order': False, 'shape': (60, 3), }. If a part is
/// missing, `good` becomes false.
class npy_header {
 public:
  explicit npy_header(std::string_view text) : rest_(text) {}

  bool good = true;

  bool take(char wanted) {
    skip();
    bool const there = !rest_.empty() && rest_[0] == wanted;
    if (there) rest_.remove_prefix(1);
    return there;
  }
  void need(char wanted) { good = take(wanted) && good; }
  std::string_view text() {
    char const quote = take('\'') ? '\'' : '"';
    if (quote == '"') need('"');
    std::size_t const end = rest_.find(quote);
    if (!good || end == std::string_view::npos) return good = false, std::string_view{};
    std::string_view const found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  bool truth() {
    skip();
    for (std::string_view const word : {std::string_view("True"), std::string_view("False")})
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    return good = false;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> all;
    need('(');
    while (good && !take(')')) {
      all.push_back(number());
      if (!take(',')) {
        need(')');
        break;
      }
      if (all.size() > 8) good = false;
    }
    return all;
  }
  bool is_over() {
    skip();
    return rest_.empty();
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  std::int64_t number() {
    skip();
    std::int64_t n = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9' && digits < 16; ++digits)
      n = 10 * n + (rest_[digits] - '0');
    good = good && digits > 0 && digits < 16;
    rest_.remove_prefix(digits);
    return n;
  }

  std::string_view rest_;
};

TYPENET_INLINE npy_array::npy_array(std::string const& path)
    : file_(std::make_shared<mapped_file const>(path, "npy", "give another file")) {
  std::uint8_t const* const data = file_->data();
  std::size_t const size = file_->size();
  constexpr std::uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (size < 10 || std::memcmp(data, magic, sizeof magic) != 0)
    refuse("begin with the signature of a .npy file; found other bytes; write it with numpy.save");
  int const version = data[6];
  if (version < 1 || version > 3 || data[7] != 0)
    refuse(message({"be of format 1.0, 2.0 or 3.0; found ", version, ".", static_cast<int>(data[7])}));
  std::size_t const fixed = version == 1 ? 10 : 12;
  if (size < fixed) refuse("have a complete header; found that the file ends within it");
  std::size_t length = data[8] + std::size_t{256} * data[9];
  if (version > 1) length += (std::size_t{1} << 16) * data[10] + (std::size_t{1} << 24) * data[11];
  if (length > size - fixed)
    refuse(message({"have a header of ", static_cast<long long>(length), " bytes, as the file says; found ",
                    static_cast<long long>(size - fixed)}));
  begin_ = fixed + length;
  read_header(reinterpret_cast<char const*>(data) + fixed, length);
  auto const numbers = static_cast<std::int64_t>((size - begin_) / width_);
  for (std::int64_t const d : dims_)
    if (count_ <= numbers)  // once the product exceeds the file, it may overflow
      count_ = d > 0 && count_ > numbers / d ? numbers + 1 : count_ * d;
  for (std::int64_t const d : dims_)
    if (d == 0) count_ = 0;
  if (count_ != numbers || (size - begin_) % width_ != 0) {
    std::string shape;
    for (std::int64_t const d : dims_) shape += (shape.empty() ? "" : ", ") + std::to_string(d);
    refuse(message({"have numbers of shape [", shape, "] with ", counted(static_cast<long long>(width_), "byte"),
                    " each, as its header says; found ", counted(static_cast<long long>(size - begin_), "byte"),
                    "; save it again"}));
  }
}

TYPENET_INLINE void npy_array::read_header(char const* text, std::size_t size) {
  npy_header header({text, size});
  std::string type;
  bool fortran = false;
  int seen = 0;
  header.need('{');
  while (header.good && !header.take('}')) {
    std::string_view const key = header.text();
    header.need(':');
    if (key == "descr")
      type = header.text(), seen |= 1;
    else if (key == "fortran_order")
      fortran = header.truth(), seen |= 2;
    else if (key == "shape")
      dims_ = header.tuple(), seen |= 4;
    else
      header.good = false;
    if (!header.take(',')) {
      header.need('}');
      break;
    }
  }
  if (!header.good || !header.is_over() || seen != 7)
    refuse("have a header with descr (of plain numbers), fortran_order and shape; found another one");
  if (fortran) refuse("be in C order; found fortran_order; save numpy.ascontiguousarray(x) instead");
  struct {
    char const* name;
    npy_kind kind;
    std::size_t width;
  } constexpr known[] = {{"<f4", npy_kind::real, 4},    {"<f8", npy_kind::real, 8},    {"|u1", npy_kind::natural, 1},
                         {"<u2", npy_kind::natural, 2}, {"<u4", npy_kind::natural, 4}, {"<u8", npy_kind::natural, 8},
                         {"|i1", npy_kind::whole, 1},   {"<i2", npy_kind::whole, 2},   {"<i4", npy_kind::whole, 4},
                         {"<i8", npy_kind::whole, 8}};
  width_ = 0;
  for (auto const& one : known)
    if (type == one.name) kind_ = one.kind, width_ = one.width;
  if (width_ == 0)
    refuse(message({"have little-endian float32, float64 or integers; found ", printable(type.substr(0, 20)),
                    "; convert it with astype(\"<f4\")"}));
}

TYPENET_INLINE void npy_array::refuse(std::string const& what) const {
  detail::throw_error<data_error>({"npy: ", file_->path(), " must ", what});
}

TYPENET_INLINE std::int64_t npy_array::whole_at(std::int64_t i) const {
  std::uint8_t const* const at = bytes() + static_cast<std::size_t>(i) * width_;
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, width_);  // little-endian, as every machine that typenet runs on
  if (kind_ == npy_kind::natural) return static_cast<std::int64_t>(bits);
  int const shift = 64 - 8 * static_cast<int>(width_);
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

TYPENET_INLINE double npy_array::real_at(std::int64_t i) const {
  std::uint8_t const* const at = bytes() + static_cast<std::size_t>(i) * width_;
  if (kind_ != npy_kind::real) {
    std::int64_t const n = whole_at(i);
    return kind_ == npy_kind::natural ? static_cast<double>(static_cast<std::uint64_t>(n)) : static_cast<double>(n);
  }
  float single = 0;
  double twice = 0;
  if (width_ == 8) return std::memcpy(&twice, at, 8), twice;
  return std::memcpy(&single, at, 4), static_cast<double>(single);
}

TYPENET_INLINE std::span<float const> npy_array::floats(std::shared_ptr<std::vector<float>>& copy) const {
  auto const size = static_cast<std::size_t>(count_);
  if (kind_ == npy_kind::real)
    for (std::int64_t i = 0, each = dims_.empty() || dims_[0] < 1 ? 1 : count_ / dims_[0]; i < count_; ++i)
      if (double const x = real_at(i); !isfinite(static_cast<double>(static_cast<float>(x))))
        refuse(message({"have finite numbers in the range of float; found ", x, " as number ", i % each, " of sample ",
                        i / each, "; correct it or remove the sample"}));
  if (kind_ == npy_kind::real && width_ == 4 && reinterpret_cast<std::uintptr_t>(bytes()) % alignof(float) == 0)
    return {reinterpret_cast<float const*>(bytes()), size};
  copy = std::make_shared<std::vector<float>>(size);
  for (std::size_t i = 0; i < size; ++i) (*copy)[i] = static_cast<float>(real_at(static_cast<std::int64_t>(i)));
  return *copy;
}

TYPENET_INLINE std::vector<std::int32_t> npy_array::labels() const {
  if (kind_ == npy_kind::real) refuse("have integers for labels; found floats; convert it with astype(\"<i4\")");
  std::vector<std::int32_t> all(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int64_t const n = whole_at(i);
    if (n < -0x80000000LL || n > 0x7fffffffLL)
      refuse(message({"have labels that fit in 32 bits; found ", n, " at index ", i}));
    all[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(n);
  }
  return all;
}

}  // namespace dsl::detail::TYPENET_MODE
