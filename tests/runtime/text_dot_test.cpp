// SPDX-License-Identifier: MIT
// Tests diagrams of networks: the exact text, its structure compared with the graph, and Graphviz if it is installed.
#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/placed_networks.hpp"
#include "support/temporary_directory.hpp"

#include <dsl/text/dot.hpp>
#include <dsl/text/format.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace dsl;

namespace {

bool has(std::string const& text, std::string const& words) { return text.find(words) != std::string::npos; }

/// Parses the part of Graphviz's language that dot() may use; throws if the text is anything else.
class dot_parser {
 public:
  std::map<std::string, std::vector<int>> nodes{};  // the clusters that contain each, from the outermost
  std::map<std::string, std::map<std::string, std::string>> attributes{};
  std::map<int, std::string> clusters{};  // labels
  std::vector<std::pair<std::string, std::string>> edges{};
  int dashed = 0;

  explicit dot_parser(std::string text) : text_(std::move(text)) {
    expect("digraph"), expect("network"), expect("{");
    statements();
    need(token().empty(), "something after the end");
    for (auto const& [from, to] : edges) need(nodes.count(from) && nodes.count(to), "an edge from or to nowhere");
  }

 private:
  static void need(bool holds, std::string const& what) {
    if (!holds) throw std::runtime_error("dot: " + what);
  }
  void expect(std::string const& word) {
    std::string const found = token();
    need(found == word, "'" + word + "' must be here, found '" + found + "'");
  }
  /// Returns the next word, quoted string with its first quote, or sign.
  std::string token() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ == text_.size()) return {};
    if (text_[at_] == '"') {
      std::string s = "\"";
      for (++at_;; ++at_) {
        need(at_ < text_.size() && text_[at_] != '\n', "a string that does not end");
        if (text_[at_] == '"') break;
        if (text_[at_] != '\\') {
          s += text_[at_];
          continue;
        }
        char const c = text_.at(++at_);
        need(c == '"' || c == '\\' || c == 'n', "an escape of no meaning");
        s += c == 'n' ? '\n' : c;
      }
      ++at_;
      return s;
    }
    if (text_.compare(at_, 2, "->") == 0) return at_ += 2, "->";
    std::size_t const begin = at_;
    auto const is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::map<std::string, std::string> list() {
    std::map<std::string, std::string> all;
    for (std::string name = token();; name = token()) {
      expect("=");
      need(all.emplace(name, token()).second, "an attribute twice");
      std::string const next = token();
      if (next == "]") return all;
      need(next == ",", "a comma between attributes");
    }
  }
  void statements() {
    for (std::string word = token(); word != "}"; word = token()) {
      need(!word.empty(), "an end that does not come");
      if (word == "subgraph") {
        std::string const name = token();
        need(name.starts_with("cluster_"), "a subgraph that is no frame");
        int const number = name == "cluster_towers" ? -1 : std::atoi(name.c_str() + 8);
        need(clusters.emplace(number, "").second, "a frame twice");
        expect("{");
        open_.push_back(number);
        statements();
        open_.pop_back();
        continue;
      }
      std::string const next = token();
      if (next == "=") {
        std::string const value = token();
        if (word == "label" && !open_.empty()) clusters[open_.back()] = value.substr(1);
      } else if (next == "->") {
        edges.emplace_back(word, token());
        std::string const end = token();
        if (end == "[")
          dashed += list()["style"] == "dashed", expect(";");
        else
          need(end == ";", "a semicolon");
        continue;
      } else {
        need(next == "[", "a list of attributes");
        auto const found = list();
        if (word != "graph" && word != "node" && word != "edge") {
          need(nodes.emplace(word, open_).second, "a node twice");
          attributes[word] = found;
        }
      }
      expect(";");
    }
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<int> open_{};
};

/// Checks that the diagram has the graph's layers, each in its modules, with what each reads.
template <class Network>
void agrees() {
  constexpr graph_view g = Network::view();
  std::string const text = dot<Network>();
  INFO(text);
  dot_parser const picture(text);
  text::layer_names const names(g);
  std::size_t layers = 0, edges = 0;
  int between = 0;
  for (int i = 0; i < g.size.nodes; ++i) {
    node const& n = g.nodes[i];
    if (n.kind == op::transfer) continue;
    ++layers;
    edges += static_cast<std::size_t>(n.inputs);
    std::string const name = "n" + std::to_string(i);
    REQUIRE(picture.nodes.count(name) == 1);
    std::vector<int> around;
    for (int s = n.scope; s > 0; s = g.scopes[s].parent)
      if (!names.is_one_node(s)) around.insert(around.begin(), s);
    CHECK(picture.nodes.at(name) == around);
    CHECK(has(picture.attributes.at(name).at("label"), "\n" + text::shape(g.output_shape(n))));
    for (int k = 0; k < n.inputs; ++k) {
      int const from = text::maker_of(g, g.input(n, k));
      CHECK(std::count(picture.edges.begin(), picture.edges.end(), std::pair("n" + std::to_string(from), name)) >= 1);
      between += g.nodes[from].device != n.device;
    }
  }
  CHECK(picture.nodes.size() == layers);
  CHECK(picture.edges.size() == edges);
  CHECK(picture.dashed == between);
  for (auto const& [scope, label] : picture.clusters)
    CHECK(label.starts_with(names.path(scope) + " " + names.name(scope)));
  CHECK(dot<Network>() == text);
}

/// Returns Graphviz's output, or nothing if it is not installed.
std::string svg_of(std::string const& picture) {
  if (std::system("command -v dot >/dev/null 2>&1") != 0) return {};
  test::temporary_directory const here;
  std::ofstream(here / "a.dot") << picture;
  std::string const command =
      "dot -Tsvg '" + (here / "a.dot") + "' -o '" + (here / "a.svg") + "' 2>'" + (here / "said") + "'";
  CHECK(std::system(command.c_str()) == 0);
  std::ifstream said(here / "said"), svg(here / "a.svg");
  CHECK(std::string(std::istreambuf_iterator<char>(said), {}).empty());
  return {std::istreambuf_iterator<char>(svg), {}};
}

constexpr char const* head =
    "digraph network {\n"
    "  graph [fontname=\"DejaVu Sans,sans-serif\", fontsize=11, labelloc=t, labeljust=l, style=rounded, "
    "color=\"#888888\", nodesep=0.2, "
    "ranksep=0.25];\n"
    "  node [fontname=\"DejaVu Sans,sans-serif\", fontsize=10, shape=box, style=\"rounded,filled\", color=\"#888888\", "
    "margin=\"0.12,0.04\", height=0.2];\n"
    "  edge [fontname=\"DejaVu Sans,sans-serif\", fontsize=9, color=\"#555555\", arrowsize=0.6];\n";

struct odd_op {
  static constexpr char const* name = "say \"hi\" \\ \n\x01\xc3\xa9";
  static constexpr shape output(shape s) { return s; }
  template <class T>
  static void forward(custom_call<T> const&) {}
  template <class T>
  static void backward(custom_call<T> const&) {}
};
struct block : residual<conv2d<4, 3>, relu, conv2d<4, 3>> {};
struct stage : sequential<block, block, relu> {};

struct two_nodes {
  static constexpr value lower(builder& b, value in) { return relu::lower(b, custom<odd_op>::lower(b, in)); }
};

}  // namespace

TEST_CASE("dot: two strides and dilation", "[dot]") {
  using model = network<image<3, 16, 16>, conv2d<4, 3, stride<2, 1>>, conv2d<4, 3, dilation<2>>,
                        conv2d<4, 3, stride<1, 2>, dilation<3, 1>>>;
  std::string const all = dot<model>();
  CHECK(all.find("0 conv2d 3x3, stride 2x1\\n") != std::string::npos);
  CHECK(all.find("1 conv2d 3x3, dilation 2\\n") != std::string::npos);
  CHECK(all.find("2 conv2d 3x3, stride 1x2, dilation 3x1\\n") != std::string::npos);
}

TEST_CASE("dot: what an operation counts has its name", "[dot]") {
  CHECK(has(dot<network<token_numbers<4>, embedding<9, 6>>>(), "embedding, 9 tokens\\n"));
  CHECK(has(dot<network<sequence<6, 4>, attention<2>>>(), "attention, 2 heads\\n"));
  CHECK(has(dot<network<image<6, 4, 4>, local_response_norm<3>>>(), "local_response_norm, 3 neighbours\\n"));
  CHECK(has(dot<network<image<6, 4, 4>, group_norm<3>>>(), "group_norm, 3 groups\\n"));
}

TEST_CASE("dot: the picture of a network with branches", "[dot]") {
  using model = network<image<3, 8, 8>, conv2d<4, 3, 3, 2>, concat<batch_norm<>, sequential<max_pool2d<1, 1>, relu>>,
                        dropout<0.25>, flatten, dense<1>>;
  CHECK(dot<model>() == std::string(head) + R"(  label="257 parameters, 1,856 multiply-adds per sample";
  n0 [label="input\n3x8x8", fillcolor="#f4f4f4", shape=ellipse];
  n1 [label="0 conv2d 3x3, stride 2\n4x4x4\n112 parameters", fillcolor="#dbe9f6"];
  subgraph cluster_2 {
    label="1 concat";
    n2 [label="1.0 batch_norm\n4x4x4\n16 parameters", fillcolor="#dbe9f6"];
    subgraph cluster_4 {
      label="1.1 sequential";
      n3 [label="1.1.0 max_pool2d 1x1\n4x4x4", fillcolor="#f4f4f4"];
      n4 [label="1.1.1 relu\n4x4x4", fillcolor="#f4f4f4"];
    }
    n5 [label="concat\n8x4x4", fillcolor="#f4f4f4", shape=ellipse];
  }
  n6 [label="2 dropout 0.25\n8x4x4", fillcolor="#f4f4f4"];
  n7 [label="3 flatten\n128", fillcolor="#f4f4f4"];
  n8 [label="4 dense\n1\n129 parameters", fillcolor="#dbe9f6"];
  n0 -> n1;
  n1 -> n2;
  n1 -> n3;
  n3 -> n4;
  n2 -> n5;
  n4 -> n5;
  n5 -> n6;
  n6 -> n7;
  n7 -> n8;
}
)");
  CHECK(has(dot(model::view(), {.title = "mine"}), "label=\"mine\\n257 parameters"));
}

TEST_CASE("dot: equal blocks in a row are drawn once", "[dot]") {
  using model = network<image<3, 8, 8>, conv2d<4, 3>, repeat<3, block>, flatten, dense<2>>;
  dot_parser const picture(dot<model>());
  std::vector<std::string> labels;
  for (auto const& [scope, label] : picture.clusters)
    if (has(label, "block")) labels.push_back(label);
  CHECK(labels == std::vector<std::string>{"1 block\n3 identical blocks; the last is 3"});
  std::size_t const of_a_block = 4;  // two convolutions, a relu, a sum
  CHECK(picture.nodes.size() == 2 + of_a_block + 2);
  CHECK(std::count(picture.edges.begin(), picture.edges.end(), std::pair<std::string, std::string>("n5", "n14")) == 1);
  CHECK(dot_parser(dot<replicate<2, model>>()).nodes.count("outputs") == 1);
  CHECK(dot_parser(dot<model>({.collapse = false})).nodes.size() == 2 + 3 * of_a_block + 2);
}

TEST_CASE("dot: equal blocks within equal blocks, and at the end", "[dot]") {
  dot_parser const inside(dot<network<image<4, 8, 8>, repeat<2, stage>, flatten, dense<2>>>());
  std::vector<std::string> labels;
  for (auto const& [scope, label] : inside.clusters)
    if (has(label, "identical")) labels.push_back(label);
  CHECK(labels == std::vector<std::string>{"0 stage\n2 identical blocks; the last is 1",
                                           "0.0 block\n2 identical blocks; the last is 0.1"});
  CHECK(inside.nodes.size() == 1 + 5 + 2);
  dot_parser const last(dot<replicate<2, network<image<4, 8, 8>, repeat<3, block>>>>());
  CHECK(std::count(last.edges.begin(), last.edges.end(), std::pair<std::string, std::string>("n4", "outputs")) == 1);
}

TEST_CASE("dot: blocks that are not equal, or that others read, are drawn each", "[dot]") {
  auto const count = [](std::string const& text) { return dot_parser(text).nodes.size(); };
  CHECK(count(dot<network<image<4, 8, 8>, sequential<conv2d<4, 3>, relu>, sequential<conv2d<4, 3>, sigmoid>>>()) == 5);
  CHECK(count(dot<network<image<4, 8, 8>, sequential<conv2d<4, 3>, relu>, sequential<conv2d<4, 5>, relu>>>()) == 5);
  CHECK(count(dot<network<image<4, 8, 8>, add<block, block>>>()) == 1 + 2 * 4 + 1);  // side by side
  CHECK(count(dot<network<image<4, 8, 8>, named<"a", block>, named<"b", block>>>()) == 1 + 2 * 4);
  CHECK(count(dot<network<image<4, 8, 8>, named<"a", block>, block>>()) == 1 + 2 * 4);
  using one = sequential<named<"a", conv2d<4, 3>>, relu>;
  using other = sequential<named<"b", conv2d<4, 3>>, relu>;
  CHECK(count(dot<network<image<4, 8, 8>, one, other>>()) == 1 + 2 * 2);
  CHECK(count(dot<network<image<4, 8, 8>, one, one>>()) == 1 + 2);
}

TEST_CASE("dot: devices are frames and colours, copies between them are dashed", "[dot]") {
  using model = network<image<1, 4, 4>, conv2d<2, 3>, add<identity, on<device<1>, conv2d<2, 3>, relu>>,
                        on<device<1>, flatten, dense<3>, softmax>>;
  std::string const text = dot<model>();
  INFO(text);
  dot_parser const picture(text);
  auto const label = [&](char const* begin) {
    for (auto const& [name, a] : picture.attributes)
      if (has(a.at("label"), begin)) return a.at("label") + " " + a.at("fillcolor");
    return std::string();
  };
  std::map<int, std::string> const frames = picture.clusters;
  CHECK(frames.size() == 3);
  std::vector<std::string> labels;
  for (auto const& [scope, l] : frames) labels.push_back(l);
  CHECK(labels == std::vector<std::string>{"1 add", "1.1 on\ndevice 1", "2 on\ndevice 1"});
  CHECK(label("\"0 conv2d") == "\"0 conv2d 3x3\n2x4x4\n20 parameters \"#dbe9f6");
  CHECK(label("\"add") == "\"add\n2x4x4\ndevice 0 \"#dbe9f6");
  CHECK(label("\"1.1.0") == "\"1.1.0 conv2d 3x3\n2x4x4\n38 parameters \"#fde3cf");
  CHECK(picture.dashed == 3);
  CHECK(has(text, " [style=dashed, label=\"0 to 1\"];\n"));
  CHECK(has(text, " [style=dashed, label=\"1 to 0\"];\n"));
}

TEST_CASE("dot: towers and micro-batches", "[dot]") {
  using model = network<image<1, 4, 4>, flatten, dense<3>, softmax>;
  CHECK_FALSE(has(dot<model>(), "batch ["));
  CHECK(dot<replicate<1, model>>() == dot<model>());
  std::string const text = dot<replicate<3, model>>();
  dot_parser const picture(text);
  CHECK(picture.clusters.at(-1) == "towers 0 to 2: each has these layers, and a part of every batch");
  for (char const* name : {"n0", "n1", "n2", "n3"}) CHECK(picture.nodes.at(name) == std::vector<int>{-1});
  CHECK(picture.nodes.at("batch").empty());
  CHECK(picture.edges.front() == std::pair<std::string, std::string>("batch", "n0"));
  CHECK(std::count(picture.edges.begin(), picture.edges.end(), std::pair<std::string, std::string>("n3", "outputs")) ==
        1);
  CHECK(dot(model::view(), {.towers = 3}) == text);
  CHECK(dot_parser(dot<pipeline<4, model>>()).clusters.at(-1) == "every batch is computed in 4 micro-batches");
  CHECK(dot_parser(dot<replicate<2, pipeline<4, model>>>()).clusters.at(-1) ==
        "towers 0 to 1: each has these layers, and a part of every batch\nthis part is computed in 4 micro-batches");
}

TEST_CASE("dot: every network's picture has its layers, modules and edges", "[dot]") {
  agrees<network<image<3, 32, 32>, minigooglenet<10>>>();
  agrees<test::mixed_network>();
  agrees<test::odd_network>();
  agrees<test::chain_on<0, 1>>();
  agrees<test::chain_on<1, 0>>();
  agrees<test::apart_on<0, 1>>();
  agrees<test::torn_on<1, 0>>();
  agrees<test::branches_on<0, 1, 2>>();
  agrees<network<image<1, 2, 2>, two_nodes, add<identity, identity>, flatten>>();
}

TEST_CASE("dot: names may have any character", "[dot]") {
  CHECK(text::dot_string("a\"b\\c\nd\te") == "\"a\\\"b\\\\c\\nd e\"");
  CHECK(text::dot_string("") == "\"\"");
  CHECK(text::dot_string("\na\n") == "\"\\na\\n\"");
  using model = network<image<1, 2, 2>, two_nodes, flatten>;
  dot_parser const picture(dot<model>());
  CHECK(picture.attributes.at("n1").at("label") == "\"say \"hi\" \\ \n \xc3\xa9\n1x2x2");
  std::string const svg = svg_of(dot<model>());
  if (!svg.empty()) CHECK(has(svg, "say &quot;hi&quot; \\ <"));
}

TEST_CASE("dot: a title is text, and the picture sound XML", "[dot][hostile]") {
  using model = network<image<1, 2, 2>, two_nodes, flatten>;
  std::string const title = "&#27;[2J &lt;b> \xff|\xc2\x9b|\x1b \\N";
  std::string const picture = dot<model>({.title = title});
  CHECK(has(picture, R"(label="&amp;#27;[2J &amp;lt;b> ?| |  \\N\n)"));
  std::string const svg = svg_of(picture);  // Graphviz replaces names of characters by the characters
  if (!svg.empty()) CHECK(has(svg, "&amp;#27;[2J &amp;lt;b&gt; ?| |"));
}

TEST_CASE("dot: a title may have any byte", "[dot][hostile]") {
  CHECK(text::dot_string("a\xc2\x9b"
                         "2J\xff\xe2\x82z\xc3\xa9") == "\"a 2J???z\xc3\xa9\"");
  CHECK(text::dot_string("\n\n") == "\"\\n\\n\"");
  CHECK(text::dot_string("") == "\"\"");
}

TEST_CASE("dot: Graphviz draws it without a word", "[dot]") {
  std::string const svg = svg_of(dot<network<image<3, 32, 32>, minigooglenet<10>>>());
  if (svg.empty()) return;  // no Graphviz
  for (char const* words : {"0.2.1 conv_module", "1,656,250 parameters", "0.10.1.2 relu", "96x32x32", "</svg>"})
    CHECK(has(svg, words));
  for (std::string const& other :
       {dot<replicate<2, test::mixed_network>>(), dot<test::branches_on<0, 1, 2>>(), dot<test::apart_on<0, 1>>()})
    CHECK(has(svg_of(other), "</svg>"));
}
