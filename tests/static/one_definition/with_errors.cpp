// SPDX-License-Identifier: MIT
// The error comes late, so that a network is used where nothing but the language has been seen.
#include <dsl/language.hpp>
#include <dsl/placement/share.hpp>

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<4, 3>, dsl::relu>;
static_assert(model::training_bytes(1) > 0 && dsl::share_of<model>(0, 1).bytes > 0);

#include <dsl/error.hpp>

#include <cstdio>
#include <cstring>

long long bytes_by_the_language_alone(int batch);
long long share_by_the_language_alone(int batch);

namespace {

bool refuses(long long (*bytes)(int)) {
  for (int batch : {0, -3}) {
    char wanted[80];
    std::snprintf(wanted, sizeof wanted, "bytes: a batch must have at least one sample; found %d", batch);
    try {
      bytes(batch);
      return false;
    } catch (dsl::option_error const& e) {
      if (std::strcmp(e.what(), wanted) != 0) return false;
    }
  }
  return bytes(1) > 0;
}
bool const while_initialising = refuses([](int batch) { return model::training_bytes(batch); });

}  // namespace

int main() {
  bool ok = while_initialising;
  ok = refuses([](int batch) { return model::training_bytes(batch); }) && ok;
  ok = refuses([](int batch) { return dsl::share_of<model>(0, batch).bytes; }) && ok;
  ok = refuses(&bytes_by_the_language_alone) && ok;
  ok = refuses(&share_by_the_language_alone) && ok;
  return ok ? 0 : 1;
}
