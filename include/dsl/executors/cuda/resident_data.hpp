// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/device.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A data set in device memory: images as bytes, labels, the mean image, and the order of an epoch. CIFAR-10's 50,000
/// training images take 147 MiB.
class resident_data {
 public:
  resident_data(api const& a, cudaStream_t s, dataset const& data)
      : api_(&a),
        stream_(s),
        data_(data),
        picture_(data.sample.size()),
        pictures_(a, data.size * picture_, s),
        labels_(a, 4 * data.size, s),
        order_(a, 4 * data.size, s) {
    if (data.mean) {
      if (static_cast<long long>(data.mean->size()) != picture_)
        throw option_error(detail::message({"data: the mean must have as many numbers as an image; found ",
                                            data.mean->size(), " for ", picture_, "; use mean_picture(train)"}));
      mean_.emplace(a, 4 * picture_, s);
      copy(mean_->data(), data.mean->data(), 4 * picture_);
    }
    std::vector<std::int32_t> labels(static_cast<std::size_t>(data.size));
    for (std::int64_t i = 0; i < data.size; ++i) labels[static_cast<std::size_t>(i)] = data.label(i);
    copy(labels_.data(), labels.data(), 4 * data.size);
    long long const at_once = 4096;  // copied in pieces, since images need not be contiguous on the host
    std::vector<std::uint8_t> some(static_cast<std::size_t>(at_once * picture_));
    for (std::int64_t first = 0; first < data.size; first += at_once) {
      std::int64_t const count = data.size - first < at_once ? data.size - first : at_once;
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(data.pixels(first + i), picture_, some.data() + i * picture_);
      copy(pictures_.data() + first * picture_, some.data(), count * picture_);
    }
  }

  /// Whether this object holds the data set d. Copies of a data set share its storage.
  bool is(dataset const& d) const {
    return d.storage == data_.storage && d.begin == data_.begin && d.size == data_.size && d.mean == data_.mean;
  }
  /// Whether the kernels can gather this data: images must be bytes, with one class each. The loader provides all other
  /// data, batch by batch.
  static bool takes(dataset const& d) { return d.has_bytes() && d.has_classes() && !d.deviation; }
  static long long bytes_for(dataset const& d) { return d.size * (d.sample.size() + 8) + 4 * d.sample.size(); }
  long long bytes() const {
    return pictures_.bytes() + labels_.bytes() + order_.bytes() + (mean_ ? mean_->bytes() : 0);
  }

  /// Copies an epoch's order to the device, always to the same place.
  void load_order(std::uint64_t seed, int epoch, bool shuffle) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(data_.size));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    if (shuffle) epoch_order(seed, epoch, order);
    std::vector<std::uint32_t> narrow(order.begin(), order.end());
    copy(order_.data(), narrow.data(), 4 * data_.size);
  }

  std::uint8_t const* pictures() const { return pictures_.as<std::uint8_t>(); }
  std::int32_t const* labels() const { return labels_.as<std::int32_t>(); }
  std::uint32_t const* order() const { return order_.as<std::uint32_t>(); }
  float const* mean() const { return mean_ ? mean_->as<float>() : nullptr; }
  shape const& sample() const { return data_.sample; }

 private:
  void copy(void* to, void const* from, long long bytes) {
    (*api_)(api_->cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
  }

  api const* api_;
  cudaStream_t stream_;
  dataset data_;
  long long picture_;
  device_memory pictures_, labels_, order_;
  std::optional<device_memory> mean_;
};

}  // namespace dsl::cu::TYPENET_MODE
