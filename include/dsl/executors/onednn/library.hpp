// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/host/instructions.hpp>

#include <dnnl.h>

#include <memory>
#include <utility>

// This file alone knows oneDNN's API and how v2 (Debian 12) differs from v3: memory descriptors are structs in v2 and
// handles in v3, and v3 has no operation descriptors. It uses the C API, since dnnl.hpp costs 700 ms per file.

#if defined(DNNL_RUNTIME_OMP) && DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP
#error "typenet needs a oneDNN that is built with OpenMP, because its own kernels share those threads"
#endif

namespace dsl::dnn::TYPENET_MODE {

[[gnu::cold, noreturn]] inline void fail(dnnl_status_t status, char const* call) {
  char const* const what = status == dnnl_out_of_memory       ? "out of memory"
                           : status == dnnl_invalid_arguments ? "invalid arguments"
                           : status == dnnl_unimplemented     ? "not implemented for this processor or shape"
                                                              : "runtime error";
  detail::throw_error<executor_error>({"onednn: ", call, " failed: ", what});
}
inline void check(dnnl_status_t status, char const* call) {
  if (status != dnnl_success) fail(status, call);
}

/// Returns the fastest channel block for convolutions on this processor: 16 if both the library's kernels and typenet's
/// use AVX-512. ONEDNN_MAX_CPU_ISA=AVX2 restricts the library, which then has no fast code for blocks of 16.
inline int preferred_block() {
  bool const wide = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return wide && host::widest() == host::instructions::avx512 ? 16 : 8;
}

#if DNNL_VERSION_MAJOR >= 3
using native_layout = const_dnnl_memory_desc_t;
#else
using native_layout = dnnl_memory_desc_t const*;
#endif

/// Sizes of a tensor's dimensions, outermost first.
struct dims {
  dnnl_dim_t size[4];
  int rank = 4;
};

/// The memory layout of a tensor.
class layout {
 public:
  layout() = default;
  layout(dims const& d, dnnl_format_tag_t tag) {
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t made = nullptr;
    check(dnnl_memory_desc_create_with_tag(&made, d.rank, d.size, dnnl_f32, tag), "dnnl_memory_desc_create_with_tag");
    own(made);
#else
    check(dnnl_memory_desc_init_by_tag(&desc_, d.rank, d.size, dnnl_f32, tag), "dnnl_memory_desc_init_by_tag");
#endif
  }
  explicit layout(native_layout copy_of) {
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t made = nullptr;
    check(dnnl_memory_desc_clone(&made, copy_of), "dnnl_memory_desc_clone");
    own(made);
#else
    desc_ = *copy_of;
#endif
  }

  native_layout get() const {
#if DNNL_VERSION_MAJOR >= 3
    return desc_.get();
#else
    return &desc_;
#endif
  }
  std::size_t bytes() const { return dnnl_memory_desc_get_size(get()); }
  friend bool operator==(layout const& a, layout const& b) { return dnnl_memory_desc_equal(a.get(), b.get()) != 0; }

 private:
#if DNNL_VERSION_MAJOR >= 3
  void own(dnnl_memory_desc_t made) {
    desc_ = std::shared_ptr<dnnl_memory_desc>(made, [](dnnl_memory_desc_t d) { dnnl_memory_desc_destroy(d); });
  }
  std::shared_ptr<dnnl_memory_desc> desc_;
#else
  dnnl_memory_desc_t desc_{};
#endif
};

/// Owns a handle of oneDNN.
template <class Handle, dnnl_status_t (*Destroy)(Handle)>
class owned {
 public:
  owned() = default;
  explicit owned(Handle h) : handle_(h) {}
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned() {
    if (handle_) Destroy(handle_);
  }
  Handle get() const { return handle_; }
  Handle* put() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using engine_handle = owned<dnnl_engine_t, dnnl_engine_destroy>;
using stream_handle = owned<dnnl_stream_t, dnnl_stream_destroy>;
using memory_handle = owned<dnnl_memory_t, dnnl_memory_destroy>;
using primitive_handle = owned<dnnl_primitive_t, dnnl_primitive_destroy>;
using description_handle = owned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using attributes_handle = owned<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;

inline memory_handle make_memory(dnnl_engine_t e, layout const& l, void* data) {
  memory_handle m;
  check(dnnl_memory_create(m.put(), l.get(), e, data), "dnnl_memory_create");
  return m;
}

/// Returns attributes with which a primitive uses the shared scratch memory and, if `adds`, adds to its result.
inline attributes_handle make_attributes(bool adds) {
  attributes_handle a;
  check(dnnl_primitive_attr_create(a.put()), "dnnl_primitive_attr_create");
  check(dnnl_primitive_attr_set_scratchpad_mode(a.get(), dnnl_scratchpad_mode_user), "set_scratchpad_mode");
  dnnl_post_ops_t ops = nullptr;
  check(dnnl_post_ops_create(&ops), "dnnl_post_ops_create");
#if DNNL_VERSION_MAJOR >= 3
  if (adds) dnnl_post_ops_append_sum(ops, 1.0F, 0, dnnl_data_type_undef);
#else
  if (adds) dnnl_post_ops_append_sum(ops, 1.0F);
#endif
  dnnl_status_t const set = dnnl_primitive_attr_set_post_ops(a.get(), ops);
  dnnl_post_ops_destroy(ops);
  check(set, "dnnl_primitive_attr_set_post_ops");
  return a;
}

enum class pass { forward_training, forward_inference, backward_data, backward_weights };

/// A convolution to be built. x, kernel, bias and y are the forward pass's tensors, whatever the pass; a layout with
/// the tag `any` leaves the choice to the library. bias may be null.
struct convolution {
  pass which = pass::forward_training;
  layout const* x = nullptr;
  layout const* kernel = nullptr;
  layout const* bias = nullptr;
  layout const* y = nullptr;
  dnnl_dim_t stride[2] = {1, 1};
  dnnl_dim_t between[2] = {0, 0};  // pixels that are skipped between neighbouring elements of the kernel
  dnnl_dim_t before[2] = {0, 0};
  dnnl_dim_t behind[2] = {0, 0};
  bool adds = false;  // y += instead of y =
};

inline description_handle try_describe(dnnl_engine_t e, convolution const& c, dnnl_alg_kind_t algorithm,
                                       dnnl_primitive_desc_t forward) {
  description_handle d;
  attributes_handle const a = make_attributes(c.adds);
  native_layout const bias = c.bias ? c.bias->get() : nullptr;
  dnnl_prop_kind_t const kind = c.which == pass::forward_inference ? dnnl_forward_inference : dnnl_forward_training;
#if DNNL_VERSION_MAJOR >= 3
  switch (c.which) {
    case pass::forward_training:
    case pass::forward_inference:
      dnnl_convolution_forward_primitive_desc_create(d.put(), e, kind, algorithm, c.x->get(), c.kernel->get(), bias,
                                                     c.y->get(), c.stride, c.between, c.before, c.behind, a.get());
      break;
    case pass::backward_data:
      dnnl_convolution_backward_data_primitive_desc_create(d.put(), e, algorithm, c.x->get(), c.kernel->get(),
                                                           c.y->get(), c.stride, c.between, c.before, c.behind, forward,
                                                           a.get());
      break;
    case pass::backward_weights:
      dnnl_convolution_backward_weights_primitive_desc_create(d.put(), e, algorithm, c.x->get(), c.kernel->get(), bias,
                                                              c.y->get(), c.stride, c.between, c.before, c.behind,
                                                              forward, a.get());
      break;
  }
#else
  dnnl_convolution_desc_t desc;
  dnnl_status_t status = dnnl_success;
  switch (c.which) {
    case pass::forward_training:
    case pass::forward_inference:
      status = dnnl_dilated_convolution_forward_desc_init(&desc, kind, algorithm, c.x->get(), c.kernel->get(), bias,
                                                          c.y->get(), c.stride, c.between, c.before, c.behind);
      break;
    case pass::backward_data:
      status = dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, c.x->get(), c.kernel->get(),
                                                                c.y->get(), c.stride, c.between, c.before, c.behind);
      break;
    case pass::backward_weights:
      status = dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, c.x->get(), c.kernel->get(), bias,
                                                                   c.y->get(), c.stride, c.between, c.before, c.behind);
      break;
  }
  if (status == dnnl_success) dnnl_primitive_desc_create(d.put(), &desc, a.get(), e, forward);
#endif
  return d;
}

/// Returns a description of a convolution with the algorithm `wanted`: direct, Winograd, or the library's choice. Falls
/// back to direct if the library has no other.
inline description_handle describe(dnnl_engine_t e, convolution const& c, dnnl_alg_kind_t wanted) {
  for (;;) {
    description_handle forward;
    if (c.which == pass::backward_data || c.which == pass::backward_weights) {
      convolution hint = c;
      hint.which = pass::forward_training;
      hint.adds = false;
      forward = try_describe(e, hint, wanted, nullptr);
    }
    description_handle d = try_describe(e, c, wanted, forward.get());
    if (d) return d;
    if (wanted == dnnl_convolution_direct) check(dnnl_unimplemented, "a convolution's primitive descriptor");
    wanted = dnnl_convolution_direct;
  }
}

inline layout query(description_handle const& d, dnnl_query_t what) {
  return layout(dnnl_primitive_desc_query_md(d.get(), what, 0));
}

inline char const* implementation(description_handle const& d) {
  char const* name = "";
  dnnl_primitive_desc_query(d.get(), dnnl_query_impl_info_str, 0, static_cast<void*>(&name));
  return name;
}

inline primitive_handle make_primitive(description_handle const& d) {
  primitive_handle p;
  check(dnnl_primitive_create(p.put(), d.get()), "dnnl_primitive_create");
  return p;
}

inline primitive_handle make_reorder(dnnl_engine_t e, layout const& from, layout const& to) {
  description_handle d;
  check(dnnl_reorder_primitive_desc_create(d.put(), from.get(), e, to.get(), e, nullptr),
        "dnnl_reorder_primitive_desc_create");
  return make_primitive(d);
}

}  // namespace dsl::dnn::TYPENET_MODE
