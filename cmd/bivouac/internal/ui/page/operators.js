// The operators of the data of a run.

const mostDrawnOperators = 60, mostListedOperators = 500;

// showOperators says what the operators of the data do, or did.
async function showOperators() {
  const mine = open, told = await get('operators', {run: mine.run}, asked.signal);
  if (open !== mine) return;
  const said = JSON.stringify(told);
  if (said === mine.operators) return;
  mine.operators = said;
  const r = told.recorded, place = byId('operators');
  if (!r) {
    place.replaceChildren(h('p', {class: told.error ? 'bad' : 'quiet'}, told.error ? told.error.message :
      'The run has recorded no operators. A job in Go whose data come from a pipeline records them while it trains.'));
    return;
  }
  keepFocus(() => place.replaceChildren(h('p', {id: 'operators-state'}, whose(told)), h('p', null, flowOf(r)),
    notCounted(r), r.operators.length ? drawOperators(roomFor(place), r) : h('p', {class: 'quiet'}, 'No operator has begun yet.'),
    r.operators.length ? h('details', {open: mine.operatorsOpen, ontoggle: e => { mine.operatorsOpen = e.target.open; }},
      h('summary', {id: 'operators-all'}, `${r.operators.length} operators as a table`),
      wide('Operators', tableOfOperators(r))) : ''));
}

// whose says of which attempt the numbers are, and whether they still change.
function whose(told) {
  const r = told.recorded;
  const by = (told.attempt ? `attempt ${told.attempt}` : 'an attempt that the journal of this run does not have') +
    (r.world > 1 ? `, by one of ${r.world} ranks` : '');
  if (told.live) return `Live: told by ${by}, at step ${r.step}, ${local(r.time)}.`;
  const why = told.state === 'running' ? 'The job has told nothing new.' : 'No job is running that tells more.';
  return `${why} Recorded by ${by}, at step ${r.step}, ${local(r.time)}` +
    (told.state && told.state !== 'running' ? `; the attempt: ${told.state}` : '') + (told.newer ? '. A later attempt has recorded nothing' : '') + '.';
}

const ms = ns => `${shortNumber(+(ns / 1e6).toPrecision(3))} ms`;

function flowOf(r) {
  return `${r.batches} batches and ${r.samples} samples were delivered. ${r.queue} of ${r.depth} batches are in the making or ready. ` +
    `Readers hold ${size(r.read_ahead)} ahead, ${size(r.read_ahead_peak)} at most.` + (r.faults ? ` ${r.faults} samples failed and were excused.` : '') +
    (r.timed ? ` The trainer waited ${(r.waited_ns / 1e9).toFixed(3)} s in all; ${r.starved} times the next batch was not ready.` : '');
}

function notCounted(r) {
  const missing = [!r.timed && 'times (Options.EnableTiming)', !r.measured && 'memory (Options.EnableMemoryStats)'].filter(Boolean);
  return missing.length ? h('p', {class: 'quiet'}, `The pipeline does not count ${missing.join(' and ')}.`) : '';
}

// queueOf says what waits at an operator: fetched samples at readers, and batches after outputs.
function queueOf(o, r) {
  return [o.reader && `${size(r.read_ahead)} read ahead`, o.output && `${r.queue} of ${r.depth} batches`].filter(Boolean).join(', ');
}

function perSample(o) { return o.samples ? o.time_ns / o.samples : 0; }

function tableOfOperators(r) {
  const all = r.operators.reduce((sum, o) => sum + o.time_ns, 0), left = r.operators.length - mostListedOperators + (r.left || 0);
  return table('Operators' + (left > 0 ? `; ${left} more are not listed` : ''), ['Operator', 'Kind', 'Inputs', '>Time a sample', '>Share of time',
    'Queue', '>Largest batch', '>Memory held'], r.operators.slice(0, mostListedOperators).map(o => [o.name, o.kind, (o.inputs || []).join(', '),
    o.samples ? ms(perSample(o)) : '', all && o.samples ? (100 * o.time_ns / all).toFixed(1) + ' %' : '', queueOf(o, r),
    r.measured ? size(o.largest) : '', r.measured ? size(o.held) : '']));
}

// drawOperators draws a row for each operator, below its inputs, with arcs from the inputs and a bar
// for its share of the time.
function drawOperators(room, r) {
  const list = r.operators.slice(0, mostDrawnOperators), row = 40, gutter = Math.min(72, room / 5), left = gutter + 14;
  const at = new Map(list.map((o, i) => [o.name, i])), y = i => row * i + 16, most = Math.max(1, ...list.map(o => o.time_ns));
  const all = list.reduce((sum, o) => sum + o.time_ns, 0) || 1;
  const parts = list.flatMap((o, i) => (o.inputs || []).filter(name => at.has(name)).map(name => {
    const from = at.get(name), wide = i === from + 1 ? 0 : Math.min(gutter - 4, 10 + 7 * (i - from));
    return svg('path', {class: 'edge', d: `M${gutter} ${y(from)}C${gutter - wide * 1.3} ${y(from) + 12} ${gutter - wide * 1.3} ${y(i) - 12} ${gutter} ${y(i)}`},
      svg('title', null, `${name} feeds ${o.name}`));
  }));
  const letters = Math.floor((room - left) / 7); // that fit beside the arcs
  const fits = text => text.length > letters ? text.slice(0, letters - 1) + '…' : text;
  list.forEach((o, i) => {
    const numbers = [o.samples && `${ms(perSample(o))} a sample, ${(100 * o.time_ns / all).toFixed(1)} %`, queueOf(o, r),
      r.measured && `${size(o.held)} held`].filter(Boolean).join('; ');
    parts.push(svg('circle', {class: o.reader ? 'resume' : 'did', cx: gutter, cy: y(i), r: 4.5}, svg('title', null, `${o.name}: ${o.kind}`)),
      svg('text', {x: left, y: y(i) + 4}, fits(o.name === o.kind ? o.name : `${o.name}: ${o.kind}`)),
      svg('text', {class: 'quiet', x: left, y: y(i) + 18}, fits(numbers)));
    if (o.time_ns) parts.push(svg('rect', {class: 'bar', x: left, y: y(i) - 13, height: 4,
      width: Math.max(1, (room - left) * o.time_ns / most)}, svg('title', null, `${(100 * o.time_ns / all).toFixed(1)} % of the time`)));
  });
  return h('figure', null, svg('svg', {viewBox: `0 0 ${room} ${row * list.length + 4}`, role: 'img',
    'aria-label': 'Graph of the operators. The table of operators says the same.'}, parts),
  h('figcaption', null, 'Each operator stands below its inputs; lines lead from them. Bars: its share of the time.' +
    (r.operators.length > list.length ? ` ${r.operators.length - list.length} further operators are not drawn.` : '')));
}
