// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws the charts in the page's colours, and again when those or the width change.
"use strict";
(() => {
  const NARROW_PX = 560;
  const ROW_PX = 24; // that a bar which lies has for its name
  const LINE_PX = 17;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const hidden = figures.map(() => new Set());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const fine = matchMedia("(pointer: fine)");
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const limit = (isNarrow) => (isNarrow ? 18 : 40); // characters in a line
  const isAxis = (name) => /^[xy]axis\d*$/.test(name);

  function axisOf(axis, isNarrow) {
    const look = {
      automargin: true,
      gridcolor: colour("--line"),
      linecolor: colour("--line"),
      zerolinecolor: colour("--quiet"),
      tickfont: { size: isNarrow ? 12 : 13 },
      fixedrange: !fine.matches,
    };
    const title = axis.title ? { title: { ...axis.title, standoff: 12, font: { size: 13 } } } : {};
    return { ...axis, ...look, ...title };
  }

  // On a narrow screen, names of bars are broken into lines rather than squeezing the bars.
  function broken(text, limit) {
    const lines = [""];
    for (const word of String(text).split(/(?<= )/)) {
      const last = lines.length - 1;
      if (lines[last] && (lines[last] + word).trimEnd().length > limit) lines.push(word);
      else lines[last] += word;
    }
    return lines.map((line) => line.trimEnd()).join("<br>");
  }

  // What names of several lines take beyond their bars.
  function room(figure, isNarrow) {
    const names = figure.data.flatMap((trace) => (trace.orientation === "h" ? trace.y : []));
    const lines = [...new Set(names)].map((name) => broken(name, limit(isNarrow)).split("<br>"));
    return lines.reduce((sum, one) => sum + Math.max(0, one.length * LINE_PX - ROW_PX), 0);
  }

  function dataOf(figure, index, isNarrow) {
    return figure.data.map((trace) => {
      const drawn = { ...trace };
      if (trace.orientation === "h") {
        drawn.y = trace.y.map((name) => broken(name, limit(isNarrow)));
      } else if (isNarrow && trace.type === "bar") {
        drawn.x = trace.x.map((name) => broken(name, 9));
      }
      drawn.visible = !hidden[index].has(trace.name);
      for (const name of ["error_x", "error_y"]) {
        if (trace[name]) {
          drawn[name] = { ...trace[name], color: colour("--text"), thickness: 1.5, width: 4 };
        }
      }
      return drawn;
    });
  }

  function layoutOf(figure, isNarrow) {
    const axes = { xaxis: {}, yaxis: {}, ...figure.layout };
    const layout = {
      ...figure.layout,
      autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: colour("--font"), size: 13, color: colour("--text") },
      margin: { l: 10, r: isNarrow ? 10 : 20, t: 12, b: 10 },
      hoverlabel: { font: { size: 13 } },
      dragmode: fine.matches ? "zoom" : false,
      showlegend: false, // the page has its own
    };
    for (const name of Object.keys(axes).filter(isAxis)) {
      layout[name] = axisOf(axes[name], isNarrow);
    }
    if (layout.yaxis.categoryarray) {
      layout.yaxis.categoryarray = layout.yaxis.categoryarray.map((name) =>
        broken(name, limit(isNarrow)),
      );
    }
    for (const shape of layout.shapes || []) {
      shape.line = { ...shape.line, color: colour("--text"), width: 1.5 };
    }
    layout.height = (layout.height || 400) + room(figure, isNarrow);
    return layout;
  }

  // A button per series, which hides and shows it.
  function legend(figure, index) {
    if (figure.layout.showlegend === false || figure.data.length < 2) return;
    const list = document.createElement("ul");
    list.className = "legend";
    list.setAttribute("aria-label", "Series");
    const isReversed = (figure.layout.legend || {}).traceorder === "reversed";
    for (const trace of isReversed ? [...figure.data].reverse() : figure.data) {
      const button = document.createElement("button");
      const swatch = document.createElement("i");
      swatch.style.background = (trace.type === "scatter" ? trace.line : trace.marker).color;
      button.type = "button";
      button.append(swatch, trace.name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const wasHidden = hidden[index].delete(trace.name);
        if (!wasHidden) hidden[index].add(trace.name);
        button.setAttribute("aria-pressed", String(wasHidden));
        draw(figure, index);
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    document.getElementById(`chart-${index}`).before(list);
  }

  function draw(figure, index) {
    const place = document.getElementById(`chart-${index}`);
    const isNarrow = place.clientWidth < NARROW_PX;
    Plotly.react(place, dataOf(figure, index, isNarrow), layoutOf(figure, isNarrow), {
      displayModeBar: false,
      responsive: true,
    });
  }

  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth !== width) {
      width = document.documentElement.clientWidth;
      figures.forEach(draw);
    }
  });
  dark.addEventListener("change", () => figures.forEach(draw));
  figures.forEach(legend);
  figures.forEach(draw);
})();
