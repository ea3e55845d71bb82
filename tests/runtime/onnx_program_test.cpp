// SPDX-License-Identifier: MIT
// Tests examples/onnx_to_typenet and examples/export_onnx as their users run them: the headers compile, and no file is
// lost.
#include "support/catch.hpp"
#include "support/onnx_built.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/io/onnx/import_text.hpp>

#include <sys/wait.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using dsl::test::contents;
using dsl::test::has;
using dsl::test::temporary_directory;
using model = dsl::test::built_model;

void write(std::string const& path, std::string const& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// Runs a command in a folder. Returns its exit code and what it wrote to the standard error.
std::pair<int, std::string> run(temporary_directory const& in, std::string const& command) {
  int const status = std::system(("cd '" + in.path.string() + "' && { " + command + "; } 2> said").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(in / "said")};
}

std::string network(float weight = 1) {
  model m({1, 2});
  m.tensor("w", {2, 2}, {weight, 2, 3, 4});
  m.add("MatMul", {"x", "w"}, "y");
  return m.bytes();
}

std::string const tool = TYPENET_ONNX_TO_TYPENET;
std::string const compiles = TYPENET_COMPILERS;  // their paths, with a blank behind each

/// Compiles a file with each compiler.
void require_compiles(temporary_directory const& in, std::string const& file, std::string const& flags) {
  auto const [code, said] = run(
      in, "for c in " + compiles + "; do LC_ALL=C \"$c\" " + flags + " -fsyntax-only -w " + file + " || exit 1; done");
  INFO(said.substr(0, 2000));
  CHECK(code == 0);
}

}  // namespace

TEST_CASE("onnx_to_typenet: no file that it did not write is replaced without --force", "[onnx]") {
  temporary_directory const here;
  fs::create_directories(here / "onnx");
  write(here / "onnx/model.onnx", network());
  write(here / "model.safetensors", "the author's weights");
  auto const [code, said] = run(here, tool + " onnx/model.onnx > model.hpp");
  CHECK(code == 1);
  CHECK(has(said,
            "error: model.safetensors: it must not exist, since it would be replaced; found a file of this name; "
            "give another name, or --force to replace it"));
  CHECK(contents(here / "model.safetensors") == "the author's weights");

  CHECK(run(here, tool + " onnx/model.onnx own.safetensors > model.hpp").first == 0);
  std::string const first = contents(here / "own.safetensors");
  write(here / "onnx/model.onnx", network(5));  // trained again
  CHECK(run(here, tool + " onnx/model.onnx own.safetensors > model.hpp").first == 0);
  CHECK(contents(here / "own.safetensors").size() == first.size());
  CHECK(contents(here / "own.safetensors") != first);
  CHECK(has(contents(here / "own.safetensors"), "\"written_by\":\"onnx_to_typenet\""));

  // A link is not followed, whether or not its file exists; with --force, the ONNX file itself is still safe.
  fs::create_symlink("model.safetensors", here / "link");
  fs::create_symlink("nowhere", here / "dangling");
  for (std::string const name : {"link", "dangling", "onnx", "said"})
    CHECK(run(here, tool + " onnx/model.onnx " + name + " > model.hpp").first == 1);
  CHECK((fs::is_symlink(here / "dangling") && contents(here / "model.safetensors") == "the author's weights"));
  CHECK(run(here, tool + " onnx/model.onnx onnx/model.onnx --force > model.hpp").first == 1);
  CHECK(contents(here / "onnx/model.onnx") == network(5));

  CHECK(run(here, tool + " onnx/model.onnx --force > model.hpp").first == 0);
  CHECK(contents(here / "model.safetensors") == contents(here / "own.safetensors"));
}

TEST_CASE("export_onnx: an existing file is replaced only with --force", "[onnx]") {
  temporary_directory const here;
  write(here / "out.onnx", "mine");
  std::string const program = TYPENET_EXPORT_ONNX;
  auto const [code, said] = run(here, program + " no.weights out.onnx");
  CHECK((code == 1 && has(said, "out.onnx: it must not exist")));
  auto const [forced, missing] = run(here, program + " no.weights out.onnx --force");
  CHECK((forced == 1 && has(missing, "no.weights: No such file")));
  CHECK(contents(here / "out.onnx") == "mine");
  CHECK(run(here, program + " no.weights out.onnx --frce").first == 2);
}

TEST_CASE("onnx_to_typenet --check: the header compiles, or the compiler's first error is told", "[onnx]") {
  temporary_directory const here;
  write(here / "signal.onnx", network());
  auto const [code, said] = run(here, "CXX='" TYPENET_COMPILER "' " + tool + " signal.onnx --check > signal.hpp");
  INFO(said);
  CHECK(code == 0);
  CHECK(has(contents(here / "signal.hpp"), "namespace signal_ {"));
  // A compiler of which everything is wrong: the first error is shown, not the warning before it.
  write(here / "cxx",
        "#!/bin/sh\ncat > source\nprintf 'w: warning: a\\nx.hpp:1: error: b\\nx.hpp:2: error: c\\n' >&2\nexit 1\n");
  fs::permissions(here / "cxx", fs::perms::owner_all);
  auto const [wrong, error] = run(here, "CXX=./cxx " + tool + " signal.onnx --check > signal.hpp");
  CHECK(wrong == 1);
  CHECK(error == "error: --check: the header must compile; found x.hpp:1: error: b\n");
  CHECK(has(contents(here / "source"), contents(here / "signal.hpp")));
  CHECK(run(here, "CXX=./none " + tool + " signal.onnx --check > signal.hpp").first == 1);
  CHECK(run(here, "CXX='" TYPENET_COMPILER "' " + tool + " signal.onnx --check --include onnx > signal.hpp").first ==
        1);
}

TEST_CASE("onnx_to_typenet: a tensor too large for the memory is named", "[onnx][hostile]") {
  if (DSL_TEST_ASAN || DSL_TEST_TSAN) return;  // their address space is larger than any limit
  temporary_directory const here;
  model m({1, 2});
  auto& t = m.tensor("huge", {2, 1 << 24}, {});
  t.clear_raw_data(), t.set_data_location(dsl::test::pb::TensorProto::EXTERNAL);
  auto& entry = *t.add_external_data();
  entry.set_key("location"), entry.set_value("weights");
  m.add("MatMul", {"x", "huge"}, "y");
  write(here / "m.onnx", m.bytes());
  write(here / "weights", "");
  fs::resize_file(here / "weights", 1 << 27);       // sparse
  for (char const* limit : {"120000", "240000"}) {  // KiB: too few for its bytes, and for these and its numbers
    auto const [code, said] = run(here, "ulimit -v " + std::string(limit) + "; " + tool + " m.onnx > m.hpp");
    INFO(said);
    CHECK(code == 1);
    CHECK(has(said,
              "tensor \"huge\" must fit into the memory twice, as it is read and converted; found 134217728 bytes, "
              "and less memory"));
  }
}

TEST_CASE("onnx import: no name of C17 or POSIX becomes a namespace", "[onnx]") {
  temporary_directory const here;
  std::string headers, names;
  for (std::string const name :
       {"assert",   "complex",  "ctype",     "dirent",   "dlfcn",  "errno",   "fcntl",     "fenv",    "float",
        "inttypes", "limits",   "locale",    "math",     "poll",   "pthread", "sched",     "setjmp",  "signal",
        "stdarg",   "stddef",   "stdint",    "stdio",    "stdlib", "string",  "semaphore", "strings", "sys/mman",
        "sys/stat", "sys/time", "sys/types", "sys/wait", "time",   "uchar",   "unistd",    "wchar",   "wctype"})
    headers += "#include <" + name + ".h>\n";
  write(here / "c.h", headers);
  std::string const flags = " -std=gnu++20 -x c++ -U_GNU_SOURCE -D_XOPEN_SOURCE=700 ",
                    compiler = "'" TYPENET_COMPILER "'";
  REQUIRE(run(here, compiler + flags + "-E -P c.h > words && " + compiler + flags + "-E -dM c.h >> words").first == 0);
  std::set<std::string> words{"gamma", "index",  "linux",         "unix", "y1",
                              "errno", "log1pf", "getc_unlocked", "EDOM", "NAN"};
  std::string word;
  for (char c : contents(here / "words") + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      word += c;
    else
      words.insert(std::exchange(word, ""));
  }
  CHECK(words.size() > 2000);
  std::set<std::string> made;
  for (std::string const& each : words) made.insert(dsl::detail::onnx_identifier(each));
  CHECK(made.count("gamma_") == 1);
  CHECK(dsl::detail::onnx_identifier("VGG16") == "VGG16");
  for (std::string const& name : made) names += "namespace " + name + " {}\n";
  write(here / "names.cpp", headers + names);
  require_compiles(here, "names.cpp", flags);
}

TEST_CASE("onnx import: headers of odd names and of deep networks compile", "[onnx]") {
  temporary_directory const here;
  std::string all;
  auto const add = [&](model const& m, char const* name, std::vector<std::string> const& outputs = {}) {
    dsl::test::pb::ModelProto file = m.file;
    for (std::string const& output : outputs) file.mutable_graph()->add_output()->set_name(output);
    all += dsl::imported_network(outputs.empty() ? m.bytes() : file.SerializeAsString(), "x.onnx", "").header(name);
  };
  model odd({1, 3});  // these became equal in headers of earlier versions
  std::vector<std::string> outputs{"y"};
  odd.add("Relu", {"x"}, "y");
  for (std::string const name : {"\xc3\xa9", "\xc3\xa8", "a?", "a\\", "a\"", "a\n", "\xff", "\xfe"})
    odd.add("Sigmoid", {"x"}, name), outputs.push_back(name);
  outputs.push_back(
      std::string("a\0"
                  "1",
                  3));
  odd.add("Tanh", {"x"}, outputs.back());
  outputs.push_back(std::string(1000, 'a'));
  odd.add("Softplus", {"x"}, outputs.back());
  add(odd, "odd", outputs);

  model nested({1, 3}), named({1, 3});
  std::vector<std::string> values;
  std::string last = "x", last_named = "x";
  for (int i = 0; i < 130; ++i) {
    std::string const n = std::to_string(i);
    auto const leaky = [&](model& m, std::string const& from, std::string const& to) -> auto& {
      auto& node = m.add("LeakyRelu", {from}, to);
      model::set_real(node, "alpha", 0.001F * static_cast<float>(i + 1));
      return node;
    };
    leaky(nested, last, "c" + n), nested.add("Tanh", {"c" + n}, "t" + n);
    last = "c" + n, values.push_back("t" + n);
    named.tensor("w" + n, {3, 3}, std::vector<float>(9, 1));
    named.add("MatMul", {last_named, "w" + n}, "m" + n).set_name("/block/l" + n + "/MatMul");
    std::string const to = i < 129 ? "c" + n : "y";
    leaky(named, "m" + n, to).set_name("/block/a" + n + "/LeakyRelu");
    last_named = to;
  }
  model::set(nested.add("Concat", values, "y"), "axis", 1);
  add(nested, "nested");
  add(named, "named_layers");  // 260 in one name
  CHECK(has(all, "named<\"block\""));
  write(here / "all.hpp", all);
  require_compiles(here, "all.hpp", "-std=c++20 -x c++ -I" TYPENET_INCLUDE);
}
