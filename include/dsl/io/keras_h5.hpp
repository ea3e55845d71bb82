// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_KERAS_H5)
#error "keras_h5: <dsl/io/keras_h5.hpp> needs HDF5; link typenet::keras_h5 or typenet::compiled_keras_h5"
#endif

// Reads and writes the .weights.h5 files of Keras 3. Needs HDF5: link typenet::keras_h5.
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/keras_h5/write.hpp>
#include <dsl/io/keras_h5/weights.hpp>
