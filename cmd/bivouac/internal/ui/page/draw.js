'use strict';
// Elements and drawings. Text comes into the page as text only, never as HTML.

// h makes an element. Attributes that begin with "on" are listeners; true is an attribute without a
// value, and null, undefined and false none.
function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(9).filter(c => c !== null && c !== undefined && c !== false));
  return element;
}

const byId = id => document.getElementById(id);

// size renders bytes as the commands do.
function size(n) {
  if (n < 1024) return n + ' B';
  let i = -1;
  do { n /= 1024; i++; } while (n >= 1024 && i < 5);
  return n.toFixed(1) + ' ' + 'KMGTPE'[i] + 'iB';
}

// shortNumber renders a value in a few characters. Names such as "NaN" stay.
function shortNumber(v) {
  if (typeof v !== 'number') return String(v);
  return v === 0 || (Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6) ? String(+v.toPrecision(6)) : v.toExponential(3);
}

function when(time) {
  return time ? h('time', {datetime: new Date(time).toISOString()}, local(time)) : '';
}

// local writes a time as the commands do: 2006-01-02 15:04:05.
function local(time) {
  const d = new Date(time), two = n => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
    `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// table makes a table. A column that begins with ">" has numbers. The first cell of a row heads it.
function table(caption, columns, rows) {
  const right = columns.map(c => c.startsWith('>'));
  return h('table', null, h('caption', null, caption),
    h('thead', null, h('tr', null, columns.map((c, i) =>
      h('th', {scope: 'col', class: right[i] ? 'number' : null}, c.replace(/^>/, ''))))),
    h('tbody', null, rows.map(row => h('tr', null, row.map((cell, i) =>
      h(i ? 'td' : 'th', {scope: i ? null : 'row', class: right[i] ? 'number' : null}, cell))))));
}

// wide is a part that scrolls by itself, also with the keyboard.
function wide(label, ...children) {
  return h('div', {class: 'wide', role: 'region', 'aria-label': label, tabindex: 0}, children);
}

// ticks returns round numbers from low to high, about n of them.
function ticks(low, high, n) {
  const rough = (high - low) / n;
  if (!(rough > 0) || !isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= rough) || rough;
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high && out.length < 50; k++) out.push(k * step);
  return out;
}

// The drawings have the width of the place that they are drawn for, so that text keeps its size.
function roomFor(element) {
  return Math.max(280, Math.min(960, element.clientWidth || 640));
}

// drawTimeline draws attempts over steps: a row each, with kills, resumes, saves, and at the bottom
// the steps that are kept, and what is damaged.
function drawTimeline(room, run) {
  const show = run.show, most = 30;
  const attempts = show.attempts.slice(-most), hidden = show.attempts.length - attempts.length;
  const left = 84, right = 16, row = 22, top = 8;
  const last = Math.max(1, show.steps || 0, show.step, ...attempts.map(a => a.last), ...show.kept);
  const x = s => left + (room - left - right) * Math.min(1, s / last);
  const bottom = top + row * (attempts.length + 1), height = bottom + 28;
  const parts = ticks(0, last, Math.max(2, Math.floor(room / 110))).map(s => [
    svg('line', {class: 'grid', x1: x(s), x2: x(s), y1: top, y2: bottom}),
    svg('text', {class: 'quiet', x: x(s), y: height - 10, 'text-anchor': 'middle'}, String(+s.toPrecision(12)))]);
  attempts.forEach((a, i) => {
    const y = top + row * i, counts = a.last - a.superseded;
    const bar = (name, from, to, title) => to > from &&
      svg('rect', {class: name, x: x(from), y: y + 4, width: Math.max(1, x(to) - x(from)), height: row - 10}, svg('title', null, title));
    parts.push(svg('text', {x: 0, y: y + 15}, 'attempt ' + a.attempt),
      bar('did', a.from, counts, `steps ${a.from + 1} to ${counts}`),
      bar('again', Math.max(a.from, counts), a.last, `steps ${counts + 1} to ${a.last}: superseded`));
    if (a.from > 0) parts.push(svg('path', {class: 'resume', d: `M${x(a.from) - 3} ${y + 2}l9 7l-9 7z`},
      svg('title', null, `resumed from step ${a.from}`)));
    if (a.state.startsWith('killed')) parts.push(svg('path', {class: 'kill',
      d: `M${x(a.last) - 5} ${y + 4}l10 10m0 -10l-10 10`}, svg('title', null, `killed at step ${a.last}`)));
  });
  const line = new Map(attempts.map((a, i) => [a.attempt, i]));
  for (const s of run.history ? run.history.saves : []) {
    if (line.has(s.attempt)) parts.push(svg('rect', {class: s.error ? 'failed' : 'save', x: x(s.step) - 1,
      y: top + row * line.get(s.attempt) + row - 6, width: 2, height: 5}, svg('title', null,
      (s.error ? 'failed save at step ' : 'saved at step ') + s.step)));
  }
  const y = top + row * attempts.length;
  parts.push(svg('text', {x: 0, y: y + 15}, 'kept'), show.kept.map(s =>
    svg('circle', {class: 'resume', cx: x(s), cy: y + 11, r: 4}, svg('title', null, `step ${s} is kept`))));
  for (const s of run.ls ? run.ls.skipped : []) {
    parts.push(svg('path', {class: 'failed', d: `M${x(s.step)} ${y + 4}l6 7l-6 7l-6 -7z`},
      svg('title', null, `step ${s.step} is not whole`)));
  }
  return h('figure', null, svg('svg', {viewBox: `0 0 ${room} ${height}`, role: 'img',
    'aria-label': 'Timeline of the attempts over steps. The table of attempts says the same.'}, parts.flat(9).filter(Boolean)),
  h('figcaption', null, 'Bars: steps that an attempt did; dashed: superseded. ▶ resumed, ✕ killed, ▌ saved, ● kept, ◆ not whole.' +
    (hidden ? ` ${hidden} earlier attempts are not drawn.` : '')));
}

// drawCurve draws one scalar.
function drawCurve(room, line, marks, logarithmic, color) {
  const height = 240, left = 64, right = 12, top = 12, bottom = 30;
  const value = y => y === null ? null : logarithmic ? (y > 0 ? Math.log10(y) : null) : y;
  const all = [line.points, line.means || []];
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const points of all) for (const [px, py] of points) {
    const v = value(py);
    if (v === null) continue;
    x0 = Math.min(x0, px); x1 = Math.max(x1, px); y0 = Math.min(y0, v); y1 = Math.max(y1, v);
  }
  const empty = x0 > x1;
  if (empty) [x0, x1, y0, y1] = [0, 1, 0, 1];
  if (x0 === x1) x1++;
  if (y0 === y1) { const pad = Math.abs(y0) * 0.1 || 1e-9; y0 -= pad; y1 += pad; }
  // Halves do not overflow.
  const x = s => left + (room - left - right) * (s - x0) / (x1 - x0);
  const y = v => top + (height - top - bottom) * (1 - (v / 2 - y0 / 2) / (y1 / 2 - y0 / 2));
  const path = points => {
    let d = '', pen = 'M';
    for (const [px, py] of points) {
      const v = value(py);
      if (v === null) { pen = 'M'; continue; }
      d += pen + x(px).toFixed(1) + ' ' + y(v).toFixed(1);
      if (pen === 'M') d += 'h0.01';
      pen = 'L';
    }
    return d;
  };
  const parts = [
    ticks(y0, y1, 4).map(v => [svg('line', {class: 'grid', x1: left, x2: room - right, y1: y(v), y2: y(v)}),
      svg('text', {class: 'quiet', x: left - 6, y: y(v) + 4, 'text-anchor': 'end'},
        shortNumber(logarithmic ? +(10 ** v).toPrecision(3) : +v.toPrecision(6)))]),
    ticks(x0, x1, Math.max(2, Math.floor(room / 110))).map(s => svg('text', {class: 'quiet', x: x(s), y: height - 8,
      'text-anchor': 'middle'}, String(+s.toPrecision(12)))),
    marks.filter(m => m >= x0 && m <= x1).map(m => svg('line', {class: 'mark', x1: x(m), x2: x(m), y1: top, y2: height - bottom},
      svg('title', null, `resumed from step ${m}`))),
    svg('path', {class: `curve c${color % 6}` + (line.means ? ' faint' : ''), d: path(line.points)}),
    line.means ? svg('path', {class: `curve c${color % 6}`, d: path(line.means)}) : null,
  ];
  const finite = line.points.filter(p => p[1] !== null), end = finite[finite.length - 1];
  const low = finite.reduce((m, p) => Math.min(m, p[1]), Infinity), high = finite.reduce((m, p) => Math.max(m, p[1]), -Infinity);
  const words = (end ? `last ${shortNumber(end[1])} at step ${end[0]}, lowest ${shortNumber(low)}, highest ${shortNumber(high)}` :
    'no finite value') + `, ${line.steps} steps` + (line.nonfinite ? `, ${line.nonfinite} of them not finite` : '') +
    (logarithmic && empty && end ? '; nothing is above 0' : '');
  return h('figure', null, h('figcaption', null, h('strong', null, line.scalar), ': ' + words),
    svg('svg', {viewBox: `0 0 ${room} ${height}`, role: 'img', 'aria-label': `${line.scalar} over steps: ${words}`},
      parts.flat(9).filter(Boolean)));
}

// drawHistogram draws the bins of an array, and says its numbers.
function drawHistogram(room, g) {
  const height = 140, left = 8, right = 8, bottom = 22, n = g.bins.length;
  const most = Math.max(1, ...g.bins.map(b => b.count)), wideness = (room - left - right) / Math.max(1, n);
  const words = [`${g.elements} elements`, g.zeros && `${g.zeros} zeros`, g.nan && `${g.nan} NaN`,
    g.infinite && `${g.infinite} infinite`, g.min !== undefined && `from ${shortNumber(g.min)} to ${shortNumber(g.max)}`,
    g.mean !== undefined && `mean ${shortNumber(g.mean)}`, g.std !== undefined && `standard deviation ${shortNumber(g.std)}`]
    .filter(Boolean).join(', ');
  return h('figure', null, n > 0 && svg('svg', {viewBox: `0 0 ${room} ${height}`, role: 'img', 'aria-label': `Histogram of ${g.leaf}: ${words}`},
    g.bins.map((b, i) => b.count > 0 && svg('rect', {class: 'bar', x: left + i * wideness, width: Math.max(1, wideness - 1),
      y: (height - bottom) * (1 - b.count / most), height: Math.max(1, (height - bottom) * b.count / most)},
    svg('title', null, `${b.count} from ${shortNumber(b.from)} to ${shortNumber(b.to)}`))).filter(Boolean),
    svg('text', {class: 'quiet', x: left, y: height - 6}, shortNumber(g.min)),
    svg('text', {class: 'quiet', x: room - right, y: height - 6, 'text-anchor': 'end'}, shortNumber(g.max))),
  h('figcaption', null, words));
}
