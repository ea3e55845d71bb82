// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/confusion_plot.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <cstddef>
#include <string>
#include <fmt/core.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string gnuplot_script(confusion_matrix const& m, confusion_plot_options const& o,
                                          plot_format format) {
  int const n = m.classes();
  std::string script = "$cells << END\n", tics;
  for (int label = 0; label < n; ++label)
    for (int c = 0; c < n; ++c) {
      auto const all = static_cast<double>(m.samples(label));
      double const share = all > 0 ? static_cast<double>(m.count(label, c)) / all : 0;
      script += fmt::format("{} {} {:.6f} {}\n", c, label, share, m.count(label, c));
    }
  script += "END\n" + gnuplot_terminal(o.width, o.height, format);
  for (int c = 0; c < n; ++c)
    tics += (c > 0 ? ", " : "") + gnuplot_label(m.class_names()[static_cast<std::size_t>(c)]) + fmt::format(" {}", c);
  script +=
      fmt::format("set title {} font ',15' textcolor rgb '#333333'\n",
                  gnuplot_string(fmt::format("{}: {:.2f} % of {} correct", o.title, 100 * m.accuracy(), m.samples())));
  script += fmt::format("set xrange [-0.5:{0}]\nset yrange [{0}:-0.5]\nset size ratio 1\n", n - 0.5);
  script += "set xtics rotate by -45 out scale 0 nomirror (" + tics + ") textcolor rgb '#555555'\n";
  script += "set ytics out scale 0 nomirror (" + tics + ") textcolor rgb '#555555'\n";
  script +=
      "set xlabel 'Predicted' textcolor rgb '#555555'\n"
      "set ylabel 'Label' textcolor rgb '#555555'\n"
      "set border 0\nunset key\n"
      "set palette defined (0 '#f7f7f7', 0.02 '#fbe3dd', 0.3 '#f0a08e', 1 '#348abd')\n"
      "set cbrange [0:1]\nset cblabel 'Share of the samples with this label' textcolor rgb '#555555'\n"
      "set cbtics out scale 0.6 textcolor rgb '#555555'\n"
      "plot $cells using 1:2:3 with image pixels";
  if (n <= 30) {
    int const size = n <= 12 ? 11 : n <= 20 ? 8 : 6;
    for (char const* part : {"$4 > 0 && $3 <= 0.6 ? $1 : NaN):2:(stringcolumn(4)) with labels textcolor rgb '#333333'",
                             "$3 > 0.6 ? $1 : NaN):2:(stringcolumn(4)) with labels textcolor rgb '#ffffff'"})
      script += fmt::format(", \\\n     $cells using ({} font ',{}'", part, size);
  }
  return script + "\n";
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void plot(confusion_matrix const& m, std::string const& path, confusion_plot_options const& options) {
  if (m.samples() == 0) throw option_error("plot: the confusion matrix must have samples; pass it to evaluate() first");
  plot_format const format = plot_format_of(path);
  atomic_file file(path, "plot");
  detail::draw_script(detail::gnuplot_script(m, options, format), format, file.descriptor(), path);
  file.commit();
}

}  // namespace dsl::TYPENET_MODE
