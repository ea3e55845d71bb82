// SPDX-License-Identifier: MIT
#pragma once

// Reads and writes the .weights.h5 files of Keras 3. Needs HDF5: link typenet::keras_h5.
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/keras_h5/write.hpp>
#include <dsl/io/keras_h5/weights.hpp>
