// SPDX-License-Identifier: MIT
#include <dsl/dsl.hpp>
#include <dsl/io/keras_h5.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/choices.hpp"
#include "fuzz/targets.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace dsl;
using fuzz::choices;
using keras_h5::detail::handle;

// Whether the ReLU is a layer in Keras, and whether two convolutions are one SeparableConv2D, changes the groups.
using read_network =
    network<image<2, 2, 2>, concat<conv2d<2, 1>, sequential<conv2d<2, 1>, relu>>, conv2d<4, 1, groups<4>, bias<false>>,
            conv2d<2, 1>, batch_norm<>, flatten, dense<2>, softmax>;

trainer& read_trainer() {
  static trainer t = compile<read_network>(reference{}, sgd{.learning_rate = 0.1}, {.seed = 1});
  return t;
}

std::vector<float> parameter_of(engine& e, int k) {
  std::vector<float> all(static_cast<std::size_t>(e.graph().parameters[k].count()));
  e.read_parameter(k, all.data());
  return all;
}

std::vector<std::vector<float>> parameters_of(engine& e) {
  std::vector<std::vector<float>> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) all.push_back(parameter_of(e, k));
  return all;
}

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The file that save_keras_h5 writes with some options, open in memory, and the names that it has.
struct saved_file {
  handle file{};
  std::vector<std::string> names{};

  saved_file(bool fused, bool separable) {
    keras_h5_options const o{.fused_activations = fused, .separable_convolutions = separable};
    test::temporary_directory const here;
    save_keras_h5(read_trainer(), here / "x", o);
    std::ifstream in(here / "x", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access.id(), 1 << 16, 0);
    H5Pset_file_image(access.id(), bytes.data(), bytes.size());
    std::string const name = std::to_string(fused) + std::to_string(separable);  // files of one name are one to HDF5
    file = handle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
    if (!file) throw std::logic_error("keras_h5: HDF5 cannot open what save_keras_h5 wrote");
    names.emplace_back("layers");
    for (std::string const& group : keras_h5::groups(read_network::view(), {fused, separable})) {
      names.push_back(group);
      names.push_back(group + "/vars");
    }
    for (std::string& dataset : keras_h5::file(here / "x").datasets("layers")) names.push_back(std::move(dataset));
  }
};

saved_file const& saved(bool fused, bool separable) {
  static std::array<saved_file, 4> const all{saved_file{false, false}, {true, false}, {false, true}, {true, true}};
  return all[(fused ? 1U : 0U) + (separable ? 2U : 0U)];
}

/// The number of files that HDF5 could not write. Each stays open.
int unwritten = 0;

/// A tree in memory, which HDF5 writes to a file at the end. Calls that HDF5 refuses change nothing. HDF5 1.10.8 cannot
/// write a file after a copy of a group into itself, or after the removal of a group that hard links lead back to, so
/// neither is made. It also fails for about one in a million of other trees.
class tree {
 public:
  tree(saved_file const& from, std::string const& path, choices& c) : from_(from), c_(c) {
    handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose), how(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_fapl_core(access.id(), 1 << 16, 1);
    H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
    if (c.flag()) H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    if (c.flag()) H5Pset_userblock(how.id(), hsize_t{512} << c.byte() % 3);
    if (c.flag()) {
      std::size_t const address = std::size_t{4} << c.byte() % 2;
      H5Pset_sizes(how.id(), address, std::size_t{4} << c.byte() % 2);
    }
    if (c.flag()) H5Pset_link_creation_order(how.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    file_ = handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, how.id(), access.id()), written);
    links_ = handle(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links_.id(), 1);
    if (!file_ || H5Ocopy(from.file.id(), "layers", file_.id(), "layers", H5P_DEFAULT, H5P_DEFAULT) < 0)
      throw std::logic_error("keras_h5: HDF5 cannot begin a file in memory");
  }

  void change() {
    std::uint8_t const kind = c_.byte() % 12;
    std::string const at = name();
    switch (kind) {
      case 0: remove(at); break;
      case 1: move(at, name()); break;
      case 2: link(at, name()); break;
      case 3: soft_link(at, name()); break;
      case 4: H5Lcreate_external("none", name().c_str(), id(), at.c_str(), links_.id(), H5P_DEFAULT); break;
      case 5: own_link(at); break;
      case 6: copy(at, name()); break;
      case 7: group(at); break;
      case 8: dataset(at); break;
      case 9: attribute(at); break;
      case 10: commit(at); break;
      default: two_ways(at); break;
    }
  }

  /// A name that the network's file has, with or without a change, or any other.
  std::string name() {
    static std::string const others[] = {"layers/activation", "layers/re_lu_1", "layers/conv2d_9/vars/0",
                                         "optimizer/vars/0",  "elsewhere",      "layers/dropout/seed_generator/vars/0"};
    std::uint8_t const b = c_.byte();
    if (b >= 250) return c_.text();
    if (b >= 240) return others[b % std::size(others)];
    std::string all = from_.names[b % from_.names.size()];
    if (b < 120) return all;
    switch (c_.byte() % 6) {
      case 0: return all + "_1";
      case 1: return all + "/vars/0";
      case 2: return all + "/" + c_.text();
      case 3: return all.substr(0, all.rfind('/') + 1) + std::string(1000 + c_.byte() % 50, 'n');
      case 4: all[c_.byte() % all.size()] = static_cast<char>(c_.byte() | 1); return all;
      default: return all.substr(0, all.size() - 1);
    }
  }

 private:
  hid_t id() const { return file_.id(); }
  static herr_t written(hid_t file) {
    herr_t const result = H5Fclose(file);
    if (result < 0) ++unwritten;
    return result;
  }
  void remove(std::string const& at) const {
    if (!has_cycle_) H5Ldelete(id(), at.c_str(), H5P_DEFAULT);
  }
  void move(std::string const& at, std::string const& to) {
    has_cycle_ |= leads_to_group_of(at, to);
    H5Lmove(id(), at.c_str(), id(), to.c_str(), links_.id(), H5P_DEFAULT);
  }
  void link(std::string const& at, std::string const& to) {
    has_cycle_ |= leads_to_group_of(at, to);
    H5Lcreate_hard(id(), at.c_str(), id(), to.c_str(), links_.id(), H5P_DEFAULT);
  }
  /// Whether hard links lead from an object to the group in which the name `to` is or would be made.
  bool leads_to_group_of(std::string const& at, std::string to) const {
    H5O_info_t group{};
    do {
      std::size_t const end = to.rfind('/', to.find_last_not_of('/'));
      to = end == to.npos ? "." : end == 0 ? "/" : to.substr(0, end);
    } while (to != "." && to != "/" && H5Oget_info_by_name(id(), to.c_str(), &group, H5P_DEFAULT) < 0);
    if (group.addr == 0 && H5Oget_info_by_name(id(), to.c_str(), &group, H5P_DEFAULT) < 0) return true;
    auto const same = [](hid_t, char const*, H5O_info_t const* found, void* wanted) -> herr_t {
      return found->addr == *static_cast<haddr_t*>(wanted);
    };
    return H5Ovisit_by_name(id(), at.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE, same, &group.addr, H5P_DEFAULT) > 0;
  }
  void soft_link(std::string const& at, std::string const& to) {
    if (c_.flag()) remove(to);
    H5Lcreate_soft(at.c_str(), id(), to.c_str(), links_.id(), H5P_DEFAULT);
  }
  void copy(std::string const& at, std::string const& to) {
    if (leads_to_group_of(at, to)) return;  // a copy of a group into itself
    if (c_.flag()) remove(to);
    H5Ocopy(id(), at.c_str(), id(), to.c_str(), H5P_DEFAULT, links_.id());
  }
  /// A link of a class that only this program knows; HDF5 cannot follow it.
  void own_link(std::string const& at) {
    static H5L_class_t const kind = [] {
      H5L_class_t k{};
      k.version = H5L_LINK_CLASS_T_VERS;
      k.id = H5L_TYPE_UD_MIN;
      k.trav_func = [](char const*, hid_t, void const*, std::size_t, hid_t, hid_t) -> hid_t { return -1; };
      H5Lregister(&k);
      return k;
    }();
    if (c_.flag()) remove(at);
    std::string const data = c_.text();
    H5Lcreate_ud(id(), at.c_str(), kind.id, data.data(), data.size(), links_.id(), H5P_DEFAULT);
  }
  void group(std::string const& at) {
    if (c_.flag()) remove(at);
    handle const how(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
    if (c_.flag()) H5Pset_link_creation_order(how.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (c_.flag()) H5Pset_link_phase_change(how.id(), 0, 0);
    handle const made(H5Gcreate2(id(), at.c_str(), links_.id(), how.id(), H5P_DEFAULT), H5Gclose);
    for (int i = c_.byte() % 16; i > 0 && made; --i)
      handle const inner(H5Gcreate2(made.id(), std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Gclose);
  }
  /// Puts a group, in which two links lead to the object, in an object's place. keras_h5_file_test has so many that the
  /// reader gives up, which takes a second.
  void two_ways(std::string const& at) {
    if (doubled_ == 8) return;
    ++doubled_;
    std::string const aside = "aside";
    move(at, aside);
    for (char const* way : {"/0", "/1"}) link(aside, at + way);
    remove(aside);
  }

  handle type() {
    handle t(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    switch (c_.byte() % 16) {
      case 0: break;
      case 1: t = handle(H5Tcopy(H5T_IEEE_F32BE), H5Tclose); break;
      case 2: t = handle(H5Tcopy(H5T_IEEE_F64LE), H5Tclose); break;
      case 3:
      case 4: return floats(t, c_.flag() ? 5 : 8);
      case 5: {
        std::size_t n[8] = {};
        for (std::size_t& x : n) x = c_.byte();
        H5Tset_fields(t.id(), n[0] % 33, n[1] % 33, n[2] % 33, n[3] % 33, n[4] % 33);
        H5Tset_precision(t.id(), n[5] % 65);
        H5Tset_size(t.id(), n[6] % 9);
        H5Tset_ebias(t.id(), n[7]);
        if (c_.flag()) H5Tset_order(t.id(), H5T_ORDER_BE);
        if (c_.flag()) H5Tset_norm(t.id(), H5T_NORM_NONE);
        break;
      }
      case 6: return {H5Tcreate(H5T_OPAQUE, c_.flag() ? 2 : 1 + c_.byte() % 8), H5Tclose};
      case 7: return {H5Tcopy(c_.flag() ? H5T_STD_I32LE : H5T_STD_U16BE), H5Tclose};
      case 8:
      case 9:
        t = handle(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(t.id(), c_.flag() ? H5T_VARIABLE : 1 + c_.byte() % 16);
        if (c_.flag()) H5Tset_cset(t.id(), H5T_CSET_UTF8);
        break;
      case 10: {
        handle of(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
        H5Tinsert(of.id(), "re", 0, t.id());
        H5Tinsert(of.id(), "im", 4, t.id());
        return of;
      }
      case 11: {
        handle of(H5Tenum_create(H5T_STD_I16LE), H5Tclose);
        std::int16_t const one = 1;
        H5Tenum_insert(of.id(), "one", &one);
        return of;
      }
      case 12: {
        hsize_t const dims[] = {hsize_t{1} + c_.byte() % 4, 2};
        return {H5Tarray_create2(t.id(), 1 + c_.byte() % 2, dims), H5Tclose};
      }
      case 13: return {H5Tvlen_create(t.id()), H5Tclose};
      case 14: return {H5Tcopy(c_.flag() ? H5T_STD_REF_OBJ : H5T_STD_REF_DSETREG), H5Tclose};
      default: return {H5Tcopy(H5T_STD_B32LE), H5Tclose};
    }
    return t;
  }
  /// Floats of 16 bits.
  static handle floats(handle const& t, std::size_t exponent) {
    handle of(H5Tcopy(t.id()), H5Tclose);
    H5Tset_fields(of.id(), 15, 15 - exponent, exponent, 0, 15 - exponent);
    H5Tset_size(of.id(), 2);
    H5Tset_ebias(of.id(), (std::size_t{1} << (exponent - 1)) - 1);
    return of;
  }

  /// The shape that the network wants under this name, if it wants any, or another one.
  handle space(std::string const& at) {
    hsize_t dims[H5S_MAX_RANK] = {};
    switch (c_.byte() % 8) {
      case 0: return {H5Screate(H5S_SCALAR), H5Sclose};
      case 1: return {H5Screate(H5S_NULL), H5Sclose};
      case 2:
      case 3: {
        constexpr hsize_t known[] = {0, 1, 2, 3, 4, 8, 100, 1U << 31, hsize_t{1} << 40, ~hsize_t{1}};
        int const rank = c_.flag() ? c_.byte() % 5 : c_.byte() % 33;
        for (int i = 0; i < rank; ++i) dims[i] = known[c_.byte() % std::size(known)];
        return {H5Screate_simple(rank, dims, nullptr), H5Sclose};
      }
      default: {
        handle const wanted(H5Dopen2(from_.file.id(), at.c_str(), H5P_DEFAULT), H5Dclose);
        if (wanted) return {H5Dget_space(wanted.id()), H5Sclose};
        dims[0] = 2;
        return {H5Screate_simple(1, dims, nullptr), H5Sclose};
      }
    }
  }

  void lay_out(handle const& how, handle const& shape) {
    hsize_t dims[H5S_MAX_RANK] = {};
    int const rank = H5Sget_simple_extent_dims(shape.id(), dims, nullptr);
    switch (c_.byte() % 8) {
      case 0: H5Pset_layout(how.id(), H5D_COMPACT); break;
      case 1:
        for (hsize_t& d : dims) d = std::clamp<hsize_t>(d, 1, 4);
        H5Pset_chunk(how.id(), rank, dims);
        if (c_.flag()) H5Pset_shuffle(how.id());
        if (c_.flag()) H5Pset_fletcher32(how.id());
        if (c_.flag()) H5Pset_deflate(how.id(), 1);
        break;
      case 2: H5Pset_external(how.id(), "none", 0, H5F_UNLIMITED); break;
      case 3: H5Pset_virtual(how.id(), shape.id(), ".", name().c_str(), shape.id()); break;
      default: break;
    }
    H5Pset_obj_track_times(how.id(), c_.flag());
  }

  void dataset(std::string const& at) {
    if (c_.flag()) remove(at);
    handle const of = type(), shape = space(at), how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    lay_out(how, shape);
    handle const made(H5Dcreate2(id(), at.c_str(), of.id(), shape.id(), links_.id(), how.id(), H5P_DEFAULT), H5Dclose);
    if (!made || c_.byte() % 8 == 1) return;
    std::size_t const size = bytes_of(of, shape);
    bool const outside = H5Pget_external_count(how.id()) != 0 || H5Pget_layout(how.id()) == H5D_VIRTUAL;
    if (size > 0 && !outside) H5Dwrite(made.id(), of.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers(size).data());
  }
  /// The size of values that have no pointers in them and fit into memory; otherwise 0.
  static std::size_t bytes_of(handle const& of, handle const& shape) {
    hssize_t const count = H5Sget_simple_extent_npoints(shape.id());
    if (!of || count <= 0 || count > 4096 || H5Tis_variable_str(of.id()) != 0) return 0;
    if (H5Tdetect_class(of.id(), H5T_VLEN) != 0 || H5Tdetect_class(of.id(), H5T_REFERENCE) != 0) return 0;
    return static_cast<std::size_t>(count) * H5Tget_size(of.id());
  }
  std::string numbers(std::size_t size) {
    std::string all(size, '\0');
    std::uint8_t const step = c_.byte();
    for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<char>(i * i * 37 + step * i);
    return all;
  }

  void attribute(std::string const& at) {
    handle const object(H5Oopen(id(), at.c_str(), H5P_DEFAULT), H5Oclose), of = type(), shape = space(at);
    std::string const key = c_.flag() ? "dtype" : c_.text();
    if (H5Sget_simple_extent_npoints(shape.id()) > 4096) return;  // HDF5 allocates all bytes of an attribute
    if (c_.flag()) H5Adelete(object.id(), key.c_str());
    handle const made(H5Acreate2(object.id(), key.c_str(), of.id(), shape.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    std::string const text = c_.flag() ? "bfloat16" : c_.text();
    if (!made) return;
    hssize_t const count = H5Sget_simple_extent_npoints(shape.id());
    if (H5Tis_variable_str(of.id()) > 0 && count > 0 && count <= 64) {
      std::vector<char const*> const all(static_cast<std::size_t>(count), text.c_str());
      if (c_.byte() % 4 != 1) H5Awrite(made.id(), of.id(), static_cast<void const*>(all.data()));
    } else if (std::size_t const size = bytes_of(of, shape)) {
      H5Awrite(made.id(), of.id(), numbers(size).data());
    }
  }
  void commit(std::string const& at) {
    if (c_.flag()) remove(at);
    handle const of = type();
    H5Tcommit2(id(), at.c_str(), of.id(), links_.id(), H5P_DEFAULT, H5P_DEFAULT);
  }

  saved_file const& from_;
  choices& c_;
  handle file_{};
  handle links_{};
  int doubled_ = 0;
  bool has_cycle_ = false;
};

keras_h5_options any_options(choices& c, bool fused, bool separable) {
  keras_h5_options o{.fused_activations = fused, .separable_convolutions = separable};
  std::uint8_t const b = c.byte();
  if (b & 1) o.fused_activations = !fused;
  if (b & 2) o.separable_convolutions = !separable;
  o.strict = !(b & 4), o.skip_mismatch = b & 8;
  std::vector<std::string> const all =
      keras_h5::groups(read_network::view(), {o.fused_activations, o.separable_convolutions});
  if (b & 16) o.only = {all[c.byte() % all.size()]};
  if (b & 32) o.unused = {"layers/conv2d_9", c.text()};
  if (b & 64) {
    o.groups = all;
    o.groups[c.byte() % all.size()] = c.text();
  }
  return o;
}

/// The numbers of a dataset as HDF5 converts them. HDF5 has no conversion for bfloat16 in an opaque type. Throws if
/// they are not in this file or if a link other than a hard one leads to them.
std::vector<float> numbers_in(hid_t file, std::string const& name) {
  for (std::size_t end = 0; end != name.npos;) {
    end = name.find('/', end + 1);
    H5L_info_t info{};
    if (H5Lget_info(file, name.substr(0, end).c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
      throw std::logic_error("keras_h5: a link was followed");
  }
  handle const set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  handle const shape(H5Dget_space(set.id()), H5Sclose), type(H5Dget_type(set.id()), H5Tclose);
  handle const how(H5Dget_create_plist(set.id()), H5Pclose);
  H5D_layout_t const layout = H5Pget_layout(how.id());
  if ((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(how.id()) != 0)
    throw std::logic_error("keras_h5: numbers were read that are not in one piece in this file");
  std::vector<float> all(static_cast<std::size_t>(H5Sget_simple_extent_npoints(shape.id())));
  std::vector<std::uint16_t> halves(all.size());
  bool const opaque = H5Tget_class(type.id()) == H5T_OPAQUE;
  void* const to = opaque ? static_cast<void*>(halves.data()) : static_cast<void*>(all.data());
  if (H5Dread(set.id(), opaque ? type.id() : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
    throw std::logic_error("keras_h5: HDF5 cannot read what was accepted");
  for (std::size_t i = 0; opaque && i < all.size(); ++i) all[i] = std::bit_cast<float>(std::uint32_t{halves[i]} << 16);
  return all;
}

/// Throws if a parameter is neither what the file has nor what it was, or if the lists do not say which.
void check_loaded(engine& e, keras_h5_options const& o, loaded_weights const& found, std::string const& path,
                  std::vector<std::vector<float>> const& before) {
  graph_view const& g = e.graph();
  weight_layout const layout(g, weight_convention::keras);
  keras_h5::detail::dataset_names const names(g, o);
  handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  auto place = names.places().begin();
  std::size_t loaded = 0, all = 0;
  for (int n = 0; n < g.size.nodes; ++n) {
    if (!has_weights(g, g.nodes[n])) continue;
    for (int i = 0; i < g.nodes[n].parameters; ++i, ++all) {
      int const k = g.nodes[n].first_parameter + i;
      std::vector<float> const ours = parameter_of(e, k);
      if (std::string const name = place->dataset(i);
          std::find(found.names.begin(), found.names.end(), name) == found.names.end()) {
        if (!same_bits(ours, before[static_cast<std::size_t>(k)]))
          throw std::logic_error("keras_h5: a parameter that was not loaded has changed");
      } else {
        std::vector<float> theirs(ours.size());
        layout.from_ours(k, ours.data(), theirs.data());
        std::vector<float> const wanted = numbers_in(file.id(), name);
        for (std::size_t j = 0; j < theirs.size(); ++j)
          if (wanted.size() != theirs.size() ||
              (std::bit_cast<std::uint32_t>(wanted[j]) != std::bit_cast<std::uint32_t>(theirs[j]) &&
               !(std::isnan(wanted[j]) && std::isnan(theirs[j]))))
            throw std::logic_error("keras_h5: a parameter has other numbers than " + name);
        ++loaded;
      }
    }
    ++place;
  }
  if (loaded != found.names.size() || loaded != static_cast<std::size_t>(found.loaded) || loaded == 0 ||
      loaded + found.missing.size() + found.mismatched.size() + found.skipped.size() != all)
    throw std::logic_error("keras_h5: the lists of what was loaded do not have each parameter once");
  if ((o.strict && !found.missing.empty()) || (!o.skip_mismatch && !found.mismatched.empty()))
    throw std::logic_error("keras_h5: a file was accepted that lacks weights");
}

}  // namespace

/// Leaves out what HDF5 loses when it cannot write a file. Objects that the reader leaves open are counted.
extern "C" char const* __lsan_default_suppressions();
extern "C" char const* __lsan_default_suppressions() { return "leak:libhdf5"; }

bool dsl::fuzz::keras_h5(std::string_view bytes) {
  // Otherwise HDF5 would try to close the files that it could not write when the program ends, and could crash.
  [[maybe_unused]] static herr_t const as_it_is = H5dont_atexit();
  static std::vector<std::vector<float>> const before = parameters_of(read_trainer().engine());
  // HDF5 keeps its half a megabyte for each open file, instead of returning it.
  [[maybe_unused]] static herr_t const kept = H5set_free_list_limits(-1, -1, -1, -1, -1, -1);
  dsl::keras_h5::detail::silence const quiet;
  choices c(bytes);
  engine& e = read_trainer().engine();
  for (int k = 0; k < e.graph().size.parameters; ++k) e.write_parameter(k, before[static_cast<std::size_t>(k)].data());
  std::uint8_t const kind = c.byte();
  saved_file const& from = saved(kind & 1, kind & 2);
  keras_h5_options const o = any_options(c, kind & 1, kind & 2);
  static test::temporary_directory const here;
  int const failed = unwritten;
  std::string const path = here / ("x" + std::to_string(failed));
  {
    tree all(from, path, c);
    for (int i = 0; i < 64 && !c.done(); ++i) all.change();
  }
  if (unwritten > failed) return false;
  ssize_t const open = H5Fget_obj_count(hid_t{H5F_OBJ_ALL}, H5F_OBJ_ALL);
  bool accepted = false;
  try {
    check_loaded(e, o, load_keras_h5(e, path, o), path, before);
    accepted = true;
  } catch (error const&) {
    for (int k = 0; k < e.graph().size.parameters; ++k)
      if (!same_bits(parameter_of(e, k), before[static_cast<std::size_t>(k)]))
        throw std::logic_error("keras_h5: a refused file has changed a parameter");
  }
  if (H5Fget_obj_count(hid_t{H5F_OBJ_ALL}, H5F_OBJ_ALL) != open)
    throw std::logic_error("keras_h5: the reader has left files, groups or datasets open");
  return accepted;
}
