// The samples of a step, as pictures.

const samplesAtOnce = 64;

// sheetForm makes the part that draws the samples of a step.
function sheetForm() {
  const step = h('input', {type: 'number', id: 'sheet-step', min: 1, step: 1, required: true, inputmode: 'numeric'});
  return h('div', null, h('form', {id: 'sheet-form', onsubmit: e => { e.preventDefault(); drawSheet(0); }},
    h('label', null, 'Step ', step), h('button', {id: 'sheet-draw'}, 'Draw the samples')),
  h('p', {id: 'sheet-about', role: 'status'}), h('ul', {id: 'sheet', class: 'sheet'}),
  h('p', null, h('button', {type: 'button', id: 'sheet-more', hidden: true, onclick: () => drawSheet(open.sheet)}, 'More samples')));
}

// offerSheet names the last step of the run, unless a person has named one. A page in a file has the
// sheet of one step, or says why it has none.
function offerSheet(told) {
  const last = told.show ? told.show.step : 0, step = byId('sheet-step');
  byId('sheet-form').hidden = report !== null || last < 1;
  if (last < 1) {
    byId('sheet-about').textContent = told.kind === 'run' ? 'No step is done yet.' : 'A checkpoint by itself does not tell its samples.';
  } else if (report) {
    const has = (report.sheets || {})[open.run];
    if (has && has.sheet) showSheet(has.sheet, 0);
    else byId('sheet-about').textContent = has ? has.error.message : 'This file has no samples. bivouac ui --export FILE --sheet draws ' +
      'those of the last step of each run, of at most 20 runs.';
  } else if (!step.value) {
    step.value = last;
  }
}

// drawSheet asks for samples of the step, from one on.
async function drawSheet(from) {
  const mine = open, about = byId('sheet-about'), buttons = [byId('sheet-draw'), byId('sheet-more')];
  const step = from ? mine.sheetStep : +byId('sheet-step').value;
  buttons.forEach(b => { b.disabled = true; });
  about.textContent = 'Reading…';
  await attempt(async () => {
    const s = await get('sheet', {run: mine.run, step, offset: from || '', limit: samplesAtOnce}, asked.signal);
    if (open !== mine) return;
    mine.sheetStep = step;
    showSheet(s, from);
  });
  if (about.textContent === 'Reading…') about.textContent = '';
  buttons.forEach(b => { b.disabled = false; });
}

function showSheet(s, from) {
  const seen = s.offset + s.samples.length;
  open.sheet = seen;
  byId('sheet-about').textContent = `Step ${s.step}, epoch ${s.epoch}: ${seen} of ${s.total} samples` +
    (s.delivered ? '' : ', to come after the newest saved step') + '.' +
    (s.pictures || !s.samples.length ? '' : ' None of them has a picture that can be decoded; their other fields are shown.') +
    s.warnings.map(w => ' ' + w).join('');
  if (!from) byId('sheet').replaceChildren();
  byId('sheet').append(...s.samples.map(d => h('li', null, h('figure', null,
    d.picture && h('img', {src: d.picture, alt: `${d.title}, ${d.lines[0]}`}),
    h('figcaption', null, h('b', null, d.title), d.lines.filter(Boolean).map(line => h('span', null, line)))))));
  byId('sheet-more').hidden = report !== null || seen >= s.total;
}
