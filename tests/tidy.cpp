// SPDX-License-Identifier: MIT
// For clang-tidy: everything that needs no library and a user may include, weight and ONNX files and MPI's towers where
// their libraries are there; once.
#include <dsl/callbacks.hpp>
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/data/npy.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/models.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/regression_scores.hpp>
#if __has_include(<nlohmann/json.hpp>)
#include <dsl/io/safetensors.hpp>
#endif
#if __has_include(<hdf5.h>)
#include <dsl/io/keras_h5.hpp>
#endif
#if __has_include(<png.h>) && __has_include(<jpeglib.h>)
#include <dsl/pictures.hpp>
#endif
#if __has_include(<onnx/onnx_pb.h>) && __has_include(<google/protobuf/message.h>)
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx_import.hpp>
#endif
#if __has_include(<mpi.h>)
#include <dsl/towers/mpi.hpp>
#endif
