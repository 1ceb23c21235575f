// Charts over the turns of a thread, as SVG: areas on top of each other, or lines.
const WIDE = 960, HIGH = 200, LEFT = 1, RIGHT = 1, TOP = 8, BASE = 199, POINTS = 600, COLOURS = 10;

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// What the chart shows: series by name, each a function of a turn; lines instead of areas; a limit.
const CHARTS = {
  budget: { label: "What the agent reads", unit: "tokens", of: entry => ({ state: entry.tokens, tail: entry.tail }), limit: entry => entry.limit },
  transcript: { label: "Read and transcript", unit: "tokens", lines: true, of: entry => ({ "state and tail": entry.tokens + entry.tail, transcript: entry.heard }) },
  cost: { label: "Model tokens", unit: "tokens", of: entry => entry.read || entry.wrote ? { read: entry.read, wrote: entry.wrote } : {} },
};

function seriesOf(chart, entries) {
  const sums = new Map();
  for (const entry of entries)
    for (const [name, value] of Object.entries(chart.of(entry))) sums.set(name, (sums.get(name) ?? 0) + value);
  const names = [...sums.keys()].filter(name => sums.get(name) > 0);
  return chart.lines ? names : names.sort((one, other) => sums.get(other) - sums.get(one) || (one < other ? -1 : 1));
}

function roundStep(greatest) {
  const rough = Math.max(greatest, 1) / 4, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map(m => m * power).find(step => step >= rough * 0.999);
}

// Of many turns the highest of each stretch is drawn.
function sampled(entries, chart) {
  const stride = Math.ceil(entries.length / POINTS), found = [];
  const height = index => total(chart.of(entries[index]));
  for (let start = 0; start < entries.length; start += stride) {
    let best = start;
    for (let index = start + 1; index < Math.min(start + stride, entries.length); index++) if (height(index) > height(best)) best = index;
    found.push(best);
  }
  if (found.at(-1) !== entries.length - 1) found.push(entries.length - 1);
  return found;
}

function chartOf(kind, entries, choose) {
  const chart = CHARTS[kind], names = seriesOf(chart, entries), at = sampled(entries, chart);
  const heights = at.map(index => {
    const values = chart.of(entries[index]);
    return chart.lines ? Math.max(0, ...Object.values(values)) : total(values);
  });
  const limits = chart.limit ? at.map(index => chart.limit(entries[index]) ?? 0) : [];
  const greatest = Math.max(1, ...heights, ...limits), step = roundStep(greatest), top = step * Math.ceil(greatest / step);
  const across = index => LEFT + (WIDE - LEFT - RIGHT) * (entries.length > 1 ? index / (entries.length - 1) : 0.5);
  const up = value => BASE - (BASE - TOP) * value / top;
  const point = (index, value) => `${across(index).toFixed(1)},${up(value).toFixed(1)}`;
  const label = `${chart.label}, ${plural(entries.length, "commit")}, at most ${number(Math.round(greatest))} ${chart.unit}`;
  const svg = drawn("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label, preserveAspectRatio: "none" });
  for (let value = 0; value <= top * 1.001; value += step)
    svg.append(drawn("line", { class: "rule", x1: LEFT, x2: WIDE - RIGHT, y1: up(value), y2: up(value) }));
  const base = at.map(() => 0);
  names.forEach((name, place) => {
    const values = at.map(index => chart.of(entries[index])[name] ?? 0);
    if (chart.lines) {
      svg.append(drawn("path", { class: `line c${place % COLOURS}`, d: `M${values.map((v, n) => point(at[n], v)).join("L")}` }));
      return;
    }
    const lower = [...base];
    values.forEach((value, n) => { base[n] += value; });
    // One turn alone has no width: it is drawn as a bar.
    const side = at.length > 1 ? 0 : 20, shift = text => text.split(",").map((x, n) => n ? x : +x + side).join(",");
    const upper = at.map((index, n) => point(index, base[n])), under = at.map((index, n) => point(index, lower[n])).reverse();
    svg.append(drawn("path", { class: `area c${place % COLOURS}`, d: `M${[...upper, ...(side ? upper.map(shift) : []), ...(side ? under.map(shift) : []), ...under].join("L")}Z` }));
  });
  if (limits.length) svg.append(drawn("path", { class: "limit", d: `M${limits.map((v, n) => point(at[n], v)).join("L")}` }));
  const marker = drawn("line", { class: "marker", y1: TOP - 6, y2: BASE });
  svg.append(marker);
  const turnAt = event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * WIDE;
    return Math.max(0, Math.min(entries.length - 1, Math.round((x - LEFT) / (WIDE - LEFT - RIGHT) * (entries.length - 1))));
  };
  svg.addEventListener("pointerdown", event => {
    svg.setPointerCapture(event.pointerId);
    choose(turnAt(event));
  });
  svg.addEventListener("pointermove", event => { if (event.buttons) choose(turnAt(event)); });
  const ticks = [];
  for (let value = 0; value <= top * 1.001; value += step) {
    const tick = made("span", { class: "tick" }, value >= 10000 ? `${number(value / 1000)}k` : number(value));
    tick.style.top = `${up(value) / HIGH * 100}%`;
    ticks.push(tick);
  }
  const ends = made("div", { class: "ends" }, made("span", {}, `turn ${entries[0].turn}`), made("span", {}, `turn ${entries.at(-1).turn}`));
  const mark = index => { for (const end of ["x1", "x2"]) marker.setAttribute(end, across(index)); };
  const legend = index => {
    const values = chart.of(entries[index]), limit = chart.limit?.(entries[index]);
    const keys = names.map((name, place) => made("li", { class: values[name] ? "" : "none" },
      made("i", { class: `swatch c${place % COLOURS}` }), made("span", {}, title(name)), made("b", {}, number(values[name]))));
    if (limit) keys.push(made("li", {}, made("i", { class: "swatch dash" }), made("span", {}, "limit of the state"), made("b", {}, number(limit))));
    return keys;
  };
  return { box: made("div", { class: "plot" }, made("div", { class: "ticks" }, ticks), svg, ends), mark, legend, isEmpty: !names.length };
}
