"use strict";
// Draws the charts of the page, which are numbers in the element "charts", and searches its tables.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const drawn = new Map();
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (place) => css(`--c${place % 8}`);
  const pale = (text, share) => {
    const hex = text.replace("#", "");
    const part = (at) => parseInt(hex.length === 3 ? hex[at] + hex[at] : hex.slice(2 * at, 2 * at + 2), 16);
    return `rgba(${part(0)}, ${part(1)}, ${part(2)}, ${share})`;
  };

  const significant = (x, digits) => {
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 1e7 || size < 1e-3) return Number(x.toPrecision(digits)).toExponential().replace("e+", "e");
    return String(Number(x.toPrecision(Math.max(digits, Math.ceil(Math.log10(size) + 1e-9)))));
  };
  const bytes = (x) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; x >= 1024 && unit < 4; unit++) x /= 1024;
    return `${significant(x, 3)} ${units[unit]}`;
  };
  const words = {
    plain: (x, digits) => significant(x, digits),
    seconds: (x, digits) => `${significant(x, digits)} s`,
    bytes,
    share: (x, digits) => `${significant(100 * x, digits)} %`,
    power: (x, digits) => significant(10 ** x, Math.min(digits, 2)),
  };
  const show = (axis, x, digits) => (x == null ? "–" : words[axis.unit || "plain"](x, digits));

  // Series have places of their own: all of them in one list, in which a series has numbers at its own places only.
  const aligned = (chart) => {
    const rows = [];
    chart.series.forEach((series, of) => series.x.forEach((x, at) => rows.push([x, of, at])));
    const isShared = chart.series.every((series) => series.x.length === chart.series[0].x.length && series.x.every((x, at) => x === chart.series[0].x[at]));
    if (isShared) return [chart.series[0].x, ...chart.series.map((series) => series.y)];
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    const data = [rows.map((row) => row[0])];
    chart.series.forEach((series, of) => data.push(rows.map((row) => (row[1] === of ? series.y[row[2]] : undefined))));
    return data;
  };

  // The nearest number of a series at the cursor, since other series have other places.
  const nearest = (plot, series, at, x) => {
    const values = plot.data[series];
    if (series === 0 || values[at] != null) return at;
    const xs = plot.data[0];
    let [low, high] = [at, at];
    while (low >= 0 && values[low] == null) low--;
    while (high < values.length && values[high] == null) high++;
    if (low < 0) return high < values.length ? high : at;
    if (high >= values.length) return low;
    const distance = (place) => Math.abs(plot.valToPos(xs[place], "x") - plot.valToPos(x, "x"));
    return distance(low) <= distance(high) ? low : high;
  };

  const marks = (chart) => ({
    hooks: {
      draw: (plot) => {
        const { ctx, bbox } = plot;
        const ratio = devicePixelRatio || 1;
        ctx.save();
        ctx.font = `${11 * ratio}px system-ui, sans-serif`;
        (chart.marks || []).forEach((mark, number) => {
          const x = plot.valToPos(mark.x, "x", true);
          if (!(x >= bbox.left && x <= bbox.left + bbox.width)) return;
          ctx.strokeStyle = ctx.fillStyle = css("--soft");
          ctx.lineWidth = ratio;
          ctx.setLineDash([3 * ratio, 3 * ratio]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          const isRight = x > bbox.left + 0.7 * bbox.width;
          ctx.textAlign = isRight ? "right" : "left";
          ctx.fillText(mark.text, x + (isRight ? -5 : 5) * ratio, bbox.top + (12 + 14 * (number % 3)) * ratio);
        });
        ctx.restore();
      },
    },
  });

  const bars = uPlot.paths.bars({ size: [0.95, 100], align: 0 });
  const series = (chart) => {
    const barCount = chart.series.filter((one) => one.draw === "bars").length;
    return chart.series.map((one) => {
      const base = {
        label: one.label || " ",
        stroke: () => (one.faint ? pale(color(one.color), 0.45) : color(one.color)),
        width: one.faint ? 1 : 2,
        dash: one.dash ? [5, 4] : undefined,
        spanGaps: true,
        value: (plot, x) => show(chart.y, x, 5),
        points: { show: one.draw === "dots" && one.x.length <= 60, size: 5, fill: () => color(one.color) },
      };
      if (one.draw === "bars") {
        return { ...base, width: 0, paths: bars, fill: () => pale(color(one.color), barCount > 1 ? 0.55 : 0.8), points: { show: false } };
      }
      if (one.draw === "points") {
        const fill = () => pale(color(one.color), 0.4);
        return { ...base, width: 0, paths: () => null, points: { show: true, size: 4, width: 0, fill, stroke: fill } };
      }
      return base;
    });
  };

  const scale = (axis, isVertical, chart) => {
    // As tight as the numbers are: whole powers of ten would leave most of a chart empty.
    if (axis.log) return { distr: 3, log: 10, range: (plot, low, high) => (low == null ? [0.1, 1] : [low / 1.08, high * 1.08]) };
    if (axis.range) return { range: [axis.range[0] - (isVertical ? 0.005 : 0), axis.range[1] + (isVertical ? 0.015 : 0.005)] };
    if (isVertical && chart.series.some((one) => one.draw === "bars")) return { range: (plot, low, high) => [0, high * 1.05 || 1] };
    return {};
  };
  // Round numbers on a logarithmic axis: powers of ten alone would be too few where it is short.
  const logSplits = (plot, which, low, high) => {
    const decades = Math.log10(high / low);
    const every = Math.ceil(decades / 8);
    const leads = decades > 2 ? [1] : decades > 0.9 ? [1, 2, 5] : decades > 0.35 ? [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9] : null;
    if (!leads) {
      const step = 10 ** Math.floor(Math.log10(high - low)) / 2;
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step).filter((_, at, all) => at % Math.ceil(all.length / 6) === 0);
    }
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (((power % every) + every) % every !== 0) continue;
      leads.forEach((lead) => found.push(Number(`${lead}e${power}`)));
    }
    return found.filter((x) => x >= low && x <= high);
  };
  const axisOf = (axis, isVertical) => ({
    label: isVertical ? undefined : axis.label,
    labelSize: 20,
    labelFont: "12px system-ui, sans-serif",
    font: "11px system-ui, sans-serif",
    size: isVertical ? 62 : 34,
    stroke: () => css("--soft"),
    grid: { stroke: () => css("--grid"), width: 1 },
    ticks: { stroke: () => css("--grid"), width: 1, size: 4 },
    splits: axis.log ? logSplits : undefined,
    filter: (plot, splits) => splits,
    values: (plot, splits) => splits.map((x) => (x == null ? "" : show(axis, x, 4))),
  });

  const draw = (chart) => {
    const place = document.getElementById(chart.id);
    // Numbers that are close to each other lie better on a plain axis.
    const heights = chart.series.flatMap((one) => one.y).filter((y) => y != null);
    if (Math.max(...heights) < 4 * Math.min(...heights)) chart.y.log = false;
    if (!place || place.hidden || drawn.has(chart.id)) return;
    const width = place.clientWidth || 480;
    const height = chart.square ? Math.min(width * 0.72, 360) : 260;
    const plot = new uPlot(
      {
        width,
        height,
        scales: { x: { time: false, ...scale(chart.x, false, chart) }, y: scale(chart.y, true, chart) },
        series: [{ label: chart.x.label, value: (plot, x) => show(chart.x, x, 5) }, ...series(chart)],
        axes: [axisOf(chart.x, false), axisOf(chart.y, true)],
        bands: (chart.bands || []).map(([high, low]) => ({
          series: [high + 1, low + 1],
          fill: () => pale(color(chart.series[high].color), 0.14),
        })),
        cursor: { dataIdx: nearest, points: { size: 7 }, drag: { x: true, y: false } },
        legend: { live: true },
        plugins: [marks(chart)],
      },
      aligned(chart),
      place,
    );
    // Names keep their own direction, and pale lines have no place in the legend.
    place.querySelectorAll(".u-legend .u-series").forEach((row, at) => {
      const label = row.querySelector(".u-label");
      if (label) label.dir = "auto";
      if (at > 0 && chart.series[at - 1].faint) row.hidden = true;
    });
    drawn.set(chart.id, plot);
  };
  const drawAll = () => charts.forEach(draw);
  const redraw = () => drawn.forEach((plot) => plot.redraw(false, true));

  document.querySelectorAll(".choices").forEach((choices) => {
    const section = choices.closest("section");
    const choose = () => {
      const chosen = choices.querySelector("input:checked");
      section.querySelectorAll("[data-choice]").forEach((place) => {
        place.hidden = !chosen || place.dataset.choice !== chosen.value;
      });
      drawAll();
    };
    choices.addEventListener("change", choose);
    choose();
  });
  drawAll();

  const search = document.getElementById("search");
  if (search) {
    const rows = [...document.querySelectorAll("table.weights tbody tr, #model table.heat tbody tr")];
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      let count = 0;
      rows.forEach((row) => {
        row.hidden = wanted !== "" && !row.querySelector("th").textContent.toLowerCase().includes(wanted);
        count += row.hidden || row.closest("table.heat") ? 0 : 1;
      });
      document.getElementById("found").textContent = wanted === "" ? "" : `${count} found`;
    });
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
  addEventListener("beforeprint", redraw);
  addEventListener("afterprint", redraw);
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => drawn.forEach((plot, id) => {
      const place = document.getElementById(id);
      if (!place.hidden) plot.setSize({ width: place.clientWidth || 480, height: plot.height });
    }), 120);
  });
  document.documentElement.dataset.drawn = "yes";
})();
