// SPDX-License-Identifier: MIT
// A user's program with a static HDF5, all of whose parts are linked.
#include <cstdio>

#include <hdf5.h>

int main() {
  bool const opened = H5open() >= 0;
  std::printf("HDF5: deflate %d, szip %d\n", static_cast<int>(H5Zfilter_avail(H5Z_FILTER_DEFLATE)),
              static_cast<int>(H5Zfilter_avail(H5Z_FILTER_SZIP)));
  return opened ? 0 : 1;
}
