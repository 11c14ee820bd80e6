
// The page. Its address says what is open: #run=NAME&step=N.

const inlined = byId('data').textContent.trim();
const report = inlined ? JSON.parse(inlined) : null; // the data of a page in a file
const everySeconds = 5, pageOfRuns = 200;
let token = '', offset = 0, drawn = '', open = null, asked = new AbortController();

// takeToken takes the token out of the address, so that it is not copied with it.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  try {
    if (given) sessionStorage.setItem('token', given);
    token = given || sessionStorage.getItem('token') || '';
  } catch { token = given || ''; }
  if (given) history.replaceState(null, '', location.pathname);
}

// get asks the server, or looks into the data of the file.
async function get(name, parameters, signal) {
  if (report) return fromReport(name, parameters);
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters || {})) for (const v of [value].flat()) if (v !== '' && v !== null && v !== undefined) q.append(key, v);
  const answer = await fetch(`/api/${name}?${q}`, {signal, headers: token ? {Authorization: 'Bearer ' + token} : {}});
  const body = await answer.json();
  byId('token-form').hidden = answer.status !== 401;
  if (!answer.ok) throw new Error(body.error.message);
  return body;
}

function fromReport(name, p) {
  const none = () => { throw new Error('This file does not have it; bivouac ui shows it.'); };
  switch (name) {
    case 'runs': {
      const text = (p.search || '').toLowerCase(), down = p.sort.startsWith('-'), key = p.sort.replace('-', '');
      const runs = report.runs.runs.filter(r => searched(r).includes(text));
      if (key) runs.sort((a, b) => compare(column(a, key), column(b, key), down));
      return {...report.runs, matched: runs.length, offset: p.offset, runs: runs.slice(p.offset, p.offset + p.limit)};
    }
    case 'run': return report.details[p.run] || none();
    case 'operators': return report.operators[p.run] || none();
    case 'curves': {
      const c = report.curves[p.run] || none();
      return {...c, names: c.lines.map(l => l.scalar), lines: c.lines.filter(l => !p.scalar || p.scalar.includes(l.scalar))};
    }
    case 'step': {
      const s = report.steps[p.run];
      if (!s || (p.step !== undefined && s.step !== p.step)) none();
      const leaves = s.leaves.filter(l => `${l.item} ${l.path} ${l.dtype || ''}`.toLowerCase().includes((p.search || '').toLowerCase()));
      return {...s, matched: leaves.length, offset: 0, leaves};
    }
  }
  return none();
}

// These three say what the server says of search and order.
function searched(r) {
  return [r.run, r.state, r.tags.join(' '), r.error && 'failed ' + r.error.message, faults(r) && 'damaged',
    r.killed && 'killed'].filter(Boolean).join(' ').toLowerCase();
}

function column(r, key) {
  if (key.startsWith('scalar:')) {
    const s = r.scalars.find(s => s.name === key.slice(7));
    return s && typeof s.value === 'number' ? s.value : null;
  }
  switch (key) {
    case 'name': return r.run;
    case 'damaged': return faults(r);
    case 'committed': return r.committed ? Date.parse(r.committed) : -Infinity;
  }
  return r[key];
}

function compare(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
}

const faults = r => r.not_whole + r.set_aside + r.missing + r.damaged;

// attempt runs work, and says what went wrong. What a person has asked for is said until that
// person asks for something else; an update takes back only what an update has said.
async function attempt(work, update) {
  const said = byId('problem');
  try {
    await work();
    if (!update || said.dataset.update) said.replaceChildren();
  } catch (e) {
    if (e.name === 'AbortError' || (update && said.textContent && !said.dataset.update)) return;
    said.dataset.update = update ? 'yes' : '';
    said.replaceChildren(e instanceof TypeError && !report ? 'The server does not answer.' : e.message);
  }
}

// keepFocus calls redraw, and gives the focus back to the element with the same id.
function keepFocus(redraw) {
  const id = document.activeElement && document.activeElement.id;
  redraw();
  if (id && document.activeElement !== byId(id) && byId(id)) byId(id).focus({preventScroll: true});
}

// The list of runs.

const orders = {'': 'Order of the arguments', name: 'Name', state: 'State', step: 'Step', attempts: 'Attempts', killed: 'Killed',
  superseded: 'Superseded steps', kept: 'Steps kept', committed: 'Last commit', bytes: 'Size', damaged: 'Damage'};

async function showRuns() {
  const sort = byId('sort').value;
  const list = await get('runs', {search: byId('search').value, sort: sort && (byId('down').checked ? '-' : '') + sort,
    offset, limit: pageOfRuns}, asked.signal);
  const said = JSON.stringify(list.runs) + list.matched;
  const states = Object.entries(list.counts.states).sort().map(([name, n]) => `${n} ${name}`).join(', ');
  byId('about').textContent = `${list.version}. ${list.paths.join(' ')}` +
    (list.looked ? `. Looked at ${local(list.looked)}` : '');
  byId('summary').textContent = `${list.total} runs: ${states || 'none looked at yet'}. ${list.counts.killed} had attempts that were ` +
    `killed, ${list.counts.damaged} have damage, ${list.counts.failed} could not be read. ${list.kept} steps are kept, ` +
    `${size(list.bytes)}.` + (list.pending ? ` ${list.pending} not looked at yet.` : '') + (list.problem ? ` ${list.problem}` : '');
  const shown = `${list.matched} of ${list.total} runs match` + (list.runs.length < list.matched ?
    `; ${list.offset + 1} to ${list.offset + list.runs.length} are shown` : '');
  if (byId('shown').textContent !== shown) byId('shown').textContent = shown;
  if (said === drawn) return;
  drawn = said;
  const scalars = [...new Set(list.runs.flatMap(r => r.scalars.map(s => s.name)))].slice(0, 20);
  const known = [...byId('sort').options].map(o => o.value);
  for (const s of scalars) if (!known.includes('scalar:' + s)) byId('sort').append(h('option', {value: 'scalar:' + s}, 'Last ' + s));
  keepFocus(() => byId('runs-table').replaceWith(fill(table('Runs', ['Run', 'State', '>Step', '>Attempts', '>Killed', '>Superseded',
    '>Kept', 'Last commit', '>Size', 'Damage', 'Last values', 'Tags'], list.runs.map(row)), {id: 'runs-table'}, [])));
  byId('pages').hidden = list.matched <= pageOfRuns;
  byId('before').disabled = offset === 0;
  byId('after').disabled = offset + list.runs.length >= list.matched;
}

function row(r) {
  const link = h('a', {href: '#' + new URLSearchParams({run: r.run}), id: 'run ' + r.run}, r.name);
  if (r.pending) return [link, h('span', {class: 'quiet'}, 'not looked at yet'), '', '', '', '', '', '', '', '', '', ''];
  if (r.error) return [link, h('span', {class: 'bad'}, 'failed: ' + r.error.message), '', '', '', '', '', '', '', '', '', ''];
  const damage = [[r.not_whole, 'not whole'], [r.missing, 'missing'], [r.set_aside, 'set aside'], [r.damaged, 'damaged']]
    .filter(([n]) => n).map(([n, what]) => `${n} ${what}`).join(', ');
  return [link, r.state || r.kind, r.total ? `${r.step} of ${r.total}` : r.kind === 'run' ? String(r.step) : '', String(r.attempts),
    String(r.killed), String(r.superseded), String(r.kept), when(r.committed), size(r.bytes),
    damage ? h('span', {class: 'bad'}, damage) : h('span', {class: 'quiet'}, 'none'),
    r.scalars.slice(0, 4).map(s => h('div', null, `${s.name} ${shortNumber(s.value)}`)), r.tags.join(', ')];
}

// One run.

async function showRun() {
  const mine = open, told = await get('run', {run: mine.run}, asked.signal);
  if (open !== mine) return;
  const said = JSON.stringify(told);
  if (told.kind === 'run') await showOperators();
  if (open !== mine || said === mine.said) return;
  mine.said = said;
  offerSheet(told);
  const part = (id, ...children) => keepFocus(() => byId(id).replaceChildren(...children.flat(9).filter(Boolean)));
  part('words', told.text);
  part('notes', told.warnings.concat(told.show ? told.show.problems : []).map(w => h('p', {class: 'warn'}, w)));
  if (told.show && told.show.attempts.length) part('timeline', drawTimeline(roomFor(byId('timeline')), told), wide('Attempts',
    table('Attempts', ['Attempt', 'Began', '>From step', '>To step', '>Superseded', 'State'], told.show.attempts.map(a =>
      [String(a.attempt), when(a.began), String(a.from), String(a.last), String(a.superseded),
        a.state + (a.error ? ': ' + a.error : '') + (a.fresh ? ', begun anew' : '')]))));
  else part('timeline', h('p', {class: 'quiet'}, told.kind === 'run' ? 'There is no journal.' : 'A checkpoint by itself has no attempts.'));
  const history = told.history || {saves: [], events: [], left: 0};
  part('saves', h('details', null, h('summary', {id: 'saves-all'}, `${history.saves.length} saves, ${history.events.length} events` +
    (history.left ? `, ${history.left} earlier ones` : '')),
  wide('Saves', table('Saves', ['>Step', '>Attempt', 'Time', '>Took', '>Trainer waited', '>Size', 'Error'], history.saves.slice(-200).reverse()
    .map(s => [String(s.step), String(s.attempt), when(s.time), s.took.toFixed(3) + ' s', s.blocked.toFixed(3) + ' s',
      s.bytes ? size(s.bytes) : '', s.error]))),
  wide('Events', table('Events', ['>Step', '>Attempt', 'Time', 'Event'], history.events.slice(-200).reverse().map(e =>
    [String(e.step), String(e.attempt), when(e.time), [e.name, e.object, e.tier, e.reason, e.error].filter(Boolean).join(' ')])))));
  const steps = told.ls ? told.ls.steps : [];
  mine.steps = steps.map(s => s.step);
  part('kept', wide('Steps kept', table(`${steps.length} steps kept`, ['>Step', 'Committed', '>Size', 'Tags', 'Last scrub', 'Metrics', 'Leaves'],
    steps.slice().reverse().map(s => [String(s.step), when(s.committed), size(s.bytes), (s.tags || []).join(', '),
      s.scrub ? s.scrub.sound ? ['sound, ', when(s.scrub.time)] : h('span', {class: 'bad'}, 'DAMAGED: ' + s.scrub.damaged.join('; ')) : '',
      Object.entries(s.metrics || {}).map(([k, v]) => `${k} ${shortNumber(v)}`).join(', '),
      h('button', {type: 'button', id: 'leaves-' + s.step, onclick: () => go({run: mine.run, step: s.step})}, `Leaves of step ${s.step}`)]))),
  told.ls && told.ls.skipped.map(s => h('p', {class: 'bad'}, `${s.directory} is not whole: ${s.reason}`)),
  told.ls && (told.ls.missing || []).map(m => h('p', {class: 'bad'}, `missing: ${m}`)),
  told.ls && told.ls.set_aside.map(s => h('p', {class: 'bad'}, `${s} was set aside`)));
  if (told.kind === 'run' && told.show && told.show.journal) await showCurves();
}

// frame makes the parts of the page of a run. Each has its heading.
function frameRun() {
  byId('run-title').textContent = open.run;
  const names = h('fieldset', {id: 'scalars'}, h('legend', null, 'Scalars'));
  byId('run-body').replaceChildren(
    h('h3', null, 'State'), h('pre', {id: 'words', tabindex: 0}), h('div', {id: 'notes'}),
    h('h3', null, 'Timeline'), h('div', {id: 'timeline'}),
    h('h3', null, 'Curves'),
    h('div', {class: 'fields'}, report ? null : h('label', null, 'Smooth ', h('input', {type: 'range', id: 'smooth', min: 0, max: 0.99, step: 0.01,
      value: 0, onchange: () => attempt(showCurves)})),
    h('label', {class: 'check'}, h('input', {type: 'checkbox', id: 'log', onchange: () => attempt(showCurves)}), 'Logarithmic')),
    names, h('div', {id: 'curves', class: 'curves'}),
    h('h3', null, 'Operators'), h('div', {id: 'operators'}),
    h('h3', null, 'Contact sheet of a step'), sheetForm(),
    h('h3', null, 'Saves'), h('div', {id: 'saves'}),
    h('h3', null, 'Steps'), h('div', {id: 'kept'}), h('div', {id: 'step'}));
}

async function showCurves() {
  const mine = open, chosen = mine.scalars;
  const told = await get('curves', {run: mine.run, scalar: chosen, smooth: byId('smooth') && +byId('smooth').value || ''}, asked.signal);
  if (open !== mine) return;
  mine.scalars = chosen || told.lines.map(l => l.scalar);
  const box = byId('scalars');
  if (box.dataset.names !== told.names.join('\n')) {
    box.dataset.names = told.names.join('\n');
    keepFocus(() => box.replaceChildren(h('legend', null, 'Scalars'), ...told.names.map(name => h('label', {class: 'check'},
      h('input', {type: 'checkbox', id: 'scalar ' + name, checked: mine.scalars.includes(name), onchange: e => {
        mine.scalars = mine.scalars.filter(n => n !== name).concat(e.target.checked ? [name] : []).slice(-16);
        attempt(showCurves);
      }}), name))));
  }
  const room = Math.min(480, roomFor(byId('curves')));
  byId('curves').replaceChildren(...(mine.scalars.length ? told.lines : []).map((l, i) => drawCurve(room, l, told.marks, byId('log').checked, i)));
}

// The leaves of a step.

async function showStep() {
  const mine = open, at = byId('step');
  at.replaceChildren(h('h3', {id: 'step-title', tabindex: -1}, `Leaves of step ${mine.step}`), h('p', {id: 'step-about', role: 'status'}, 'Reading…'),
    h('form', {role: 'search', onsubmit: e => e.preventDefault()},
      h('label', null, 'Search leaves ', h('input', {type: 'search', id: 'leaf-search', oninput: later(() => attempt(() => showLeaves(0)))}))),
    h('div', {id: 'leaves'}), h('p', null, h('button', {type: 'button', id: 'more', hidden: true, onclick: () =>
      attempt(() => showLeaves(mine.leaves))}, 'More leaves')),
    report ? null : compared(mine));
  await showLeaves(0);
  if (open === mine) byId('step-title').focus();
}

async function showLeaves(from) {
  const mine = open;
  const told = await get('step', {run: mine.run, step: mine.step, search: byId('leaf-search').value, offset: from || ''}, asked.signal);
  if (open !== mine) return;
  mine.leaves = told.offset + told.leaves.length;
  byId('step-about').textContent = `${told.layout}, ${size(told.storage.bytes)} in ${told.storage.files} files, ` +
    `${told.manifest ? 'every byte is covered by checksums' : 'no manifest: only what the format checks is covered'}. Items: ` +
    told.items.map(i => `${i.name || 'the checkpoint'} (${i.kind}${i.leaves ? `, ${i.leaves} leaves, ${size(i.bytes)}` : ''})`).join(', ') +
    `. ${told.matched} of ${told.total} leaves match.`;
  if (!from) byId('leaves').replaceChildren();
  byId('leaves').append(...branches(told.leaves.map(l => ({leaf: l, keys: [l.item, ...l.path.split('.')].filter(Boolean)})), 0));
  byId('more').hidden = mine.leaves >= told.matched;
}

// branches draws leaves as a tree of their keys. Every branch of few leaves is open.
function branches(list, depth) {
  const out = new Map();
  for (const l of list) {
    const key = l.keys[Math.min(depth, l.keys.length - 1)];
    if (!out.has(key)) out.set(key, []);
    out.get(key).push(l);
  }
  return [...out].flatMap(([key, below]) => below.length === 1 || depth > 40 || below.some(l => l.keys.length <= depth + 1) ?
    below.map(l => leafLine(l.leaf, l.keys.slice(depth).join('.'))) :
    h('details', {open: list.length <= 60}, h('summary', null, `${key}: ${below.length} leaves, ` +
      size(below.reduce((n, l) => n + l.leaf.bytes, 0))), ...branches(below, depth + 1)));
}

function leafLine(l, name) {
  const mine = open, what = l.dtype ? `${l.dtype}[${l.shape.join(',')}]` : l.value !== undefined ? `string ${JSON.stringify(l.value)}` : l.kind;
  const line = h('div', {class: 'leaf'}, h('b', null, name), h('span', null, what), h('span', {class: 'quiet'}, size(l.bytes)),
    l.error && h('span', {class: 'bad'}, l.error));
  if (l.dtype && !l.error && !report && !l.dtype.startsWith('complex')) {
    line.append(h('button', {type: 'button', 'aria-label': `Histogram of ${l.path}`, onclick: async e => {
      e.target.disabled = true;
      await attempt(async () => {
        const g = await get('histogram', {run: mine.run, step: mine.step, item: l.item, leaf: l.path}, asked.signal);
        line.querySelectorAll('figure').forEach(f => f.remove());
        line.append(drawHistogram(Math.min(640, roomFor(line)), g));
      });
      e.target.disabled = false;
    }}, 'Histogram'));
  }
  return line;
}

// compared makes the part that compares the step with another one.
function compared(mine) {
  const choice = h('select', {id: 'against'}, (mine.steps || []).filter(s => s !== mine.step).reverse().map(s => h('option', {value: s}, String(s))));
  if (!choice.options.length) return null;
  const result = h('div', {id: 'changes', role: 'status'});
  return h('div', null, h('h3', null, 'Changes'), h('form', {onsubmit: e => {
    e.preventDefault();
    result.replaceChildren('Reading both steps…');
    attempt(async () => {
      const d = await get('diff', {run: mine.run, step: mine.step, against: choice.value}, asked.signal).catch(e => {
        result.replaceChildren();
        throw e;
      });
      result.replaceChildren(h('p', null, `${d.differ} of ${d.leaves} leaves differ between step ${d.against} and step ${d.step}.`),
        wide('Changes', table('Leaves that differ', ['Leaf', 'Status', 'Was', 'Is', '>Elements', '>By at most'], d.changes.map(c =>
          [[c.item, c.path].filter(Boolean).join(' '), c.status, c.was || '', c.is || '', c.elements ? String(c.elements) : '',
            c.max_abs === undefined ? '' : shortNumber(c.max_abs)]))));
    });
  }}, h('label', null, 'Compare with step ', choice), h('button', null, 'Compare')), result);
}

// The address, and updates.

function go(parameters) { location.hash = '#' + new URLSearchParams(parameters); }

function route() {
  const q = new URLSearchParams(location.hash.slice(1)), run = q.get('run'), step = q.get('step');
  if (q.get('token')) { takeToken(); return route(); }
  asked.abort(); // the server ends what nobody waits for
  asked = new AbortController();
  byId('runs').hidden = run !== null;
  byId('run').hidden = run === null;
  document.title = run === null ? 'Bivouac' : `${run} - Bivouac`;
  if (run === null) {
    open = null;
    return attempt(showRuns);
  }
  const same = open && open.run === run;
  open = {...same ? open : {said: '', operators: '', steps: []}, run, step: step === null ? undefined : +step};
  if (!same) {
    frameRun();
    byId('run-title').focus();
  }
  return attempt(async () => {
    await showRun();
    if (step !== null) await showStep();
  });
}

// later calls do when no further call comes for a moment.
function later(do_) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(do_, 250); };
}

function start() {
  takeToken();
  byId('sort').append(...Object.entries(orders).map(([value, text]) => h('option', {value}, text)));
  const again = () => { offset = 0; attempt(showRuns); };
  byId('find').addEventListener('submit', e => { e.preventDefault(); again(); });
  byId('search').addEventListener('input', later(again));
  for (const id of ['sort', 'down']) byId(id).addEventListener('change', again);
  byId('before').addEventListener('click', () => { offset = Math.max(0, offset - pageOfRuns); attempt(showRuns); });
  byId('after').addEventListener('click', () => { offset += pageOfRuns; attempt(showRuns); });
  document.querySelector('.skip').addEventListener('click', e => { e.preventDefault(); byId('main').focus(); });
  byId('token-form').addEventListener('submit', e => {
    e.preventDefault();
    token = byId('token').value.trim();
    try { sessionStorage.setItem('token', token); } catch { /* it is asked for again */ }
    route();
  });
  window.addEventListener('hashchange', route);
  route();
  byId('live-label').hidden = report !== null;
  if (report) return;
  const beat = async () => {
    if (byId('live').checked && !document.hidden && byId('token-form').hidden) await attempt(() => open ? showRun() : showRuns(), true);
    setTimeout(beat, everySeconds * 1000);
  };
  setTimeout(beat, 1000);
}

start();
