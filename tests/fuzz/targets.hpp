// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace dsl::fuzz {

/// Reads bytes as a file of its format would be read. Returns whether they were accepted; false if an exception of
/// <dsl/error.hpp> refused them. Any other exception leaves the target, and is a finding.
using target = bool (*)(std::string_view bytes);

/// A state of a run, with its callbacks. The first byte is not part of the file: after 'f', the fields that only a
/// program can compute (fingerprints, checksum, the number of bytes of the callbacks) are set to those of a sound file,
/// so that a fuzzer gets beyond them.
bool state(std::string_view bytes);
bool safetensors(std::string_view bytes);
/// As many records as the bytes have room for, and at least one.
bool cifar(std::string_view bytes);
bool csv(std::string_view bytes);
bool npy(std::string_view bytes);
/// A PNG or JPEG, also with the checksums of a PNG's chunks set right.
bool pictures(std::string_view bytes);
bool classes(std::string_view bytes);
/// An event file, and a record whose frame is right.
bool events(std::string_view bytes);
/// An ONNX file as a network: its header, graph and weights.
bool onnx(std::string_view bytes);
/// The weights in one of Keras's .weights.h5 files. The bytes are no file: HDF5 itself writes the file, since other
/// bytes would find the mistakes of HDF5's parser. They are the options of the load, how HDF5 writes, and the changes
/// to a tree that begins as what save_keras_h5 writes.
bool keras_h5(std::string_view bytes);
/// A text, whose characters become tokens and samples.
bool text(std::string_view bytes);
/// The pattern of a file name, such as "{epoch:02d}".
bool pattern(std::string_view bytes);
/// A plan, a list of plans that failed, or compiled kernels in the cache of the GPU executor. The first byte is not
/// part of the file: after 'f', the checksum of the plan is set right.
bool plan_cache(std::string_view bytes);
/// The command line of minigooglenet_cifar, one argument a line.
bool command_line(std::string_view bytes);
/// Numbers for the options of compile, fit and the optimizers, and the environment variables of launchers.
bool options(std::string_view bytes);
/// Not a file: the choices of a random network, of how to plan it and of what is done with it. The plan is verified and
/// executed with hashes; native and reference must compute the same numbers.
bool graphs(std::string_view bytes);

struct named_target {
  char const* name;
  target run;
};
inline constexpr named_target targets[] = {
    {"state", state},
    {"safetensors", safetensors},
    {"cifar", cifar},
    {"csv", csv},
    {"npy", npy},
    {"pictures", pictures},
    {"classes", classes},
    {"events", events},
    {"pattern", pattern},
    {"text", text},
    {"options", options},
    {"graphs", graphs},
#ifdef TYPENET_HAS_ONNX
    {"onnx", onnx},
#endif
#ifdef TYPENET_HAS_KERAS_H5
    {"keras_h5", keras_h5},
#endif
#ifdef TYPENET_FUZZ_HAS_CLI11
    {"command_line", command_line},
#endif
#ifdef TYPENET_HAS_CUDA
    {"plan_cache", plan_cache},
#endif
};

/// A file in memory, for readers that take a path.
class memory_file {
 public:
  explicit memory_file(std::string_view bytes);
  memory_file(memory_file const&) = delete;
  memory_file& operator=(memory_file const&) = delete;
  ~memory_file();

  std::string const& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace dsl::fuzz
