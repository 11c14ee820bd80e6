// Package timeline reads the state document of a loader and tells what the run has delivered and
// will deliver: which samples step 1234 has on rank 3, when sample 77 comes again, and whether the
// digest matches the order.
//
// A loader's document names its order, the place of the run in it, and the size of its batches from
// each step on:
//
//	fields.order     an order that order.Parse knows; the caller passes its tables
//	fields.samples   the length of the data set
//	epoch, extra.index       the place
//	extra.step               batches since the beginning
//	extra.history            [step, position, size of a global batch]: the size from there on
//	digest, extra.coverage   of all ids, and of the ids of the last and of this epoch
//
// So nothing is read and nothing is replayed: any step is found in constant time. To find batches
// of packs, the timeline walks through the packs from the place, or from the start of the epoch. If
// samplers, streams or batches out of order decide what is delivered, the document does not
// describe it, and Open returns an error.
//
// The document of a pipeline names the order of each of its readers, which share one position. Of
// returns the timeline of one reader.
package timeline

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// Place is where a batch begins.
type Place struct {
	Step  int64 // batches before this one, since the beginning
	Epoch int64
	Index int64 // samples of the epoch before this batch, over all ranks
}

// segment is a range of batches of one size.
type segment struct {
	Place
	global int64
}

// Timeline is a run that a document describes. It is immutable.
type Timeline struct {
	eras      []era         // eras of the epochs, in order
	shards    *order.Shards // set if the epochs of a pipeline have different lengths
	packs     bool          // batches count packs
	walker    *walker
	broken    bool  // the epochs before the state's epoch are not known
	epochStep int64 // for packs: the step with which the epoch of the state begins
	samples   int64 // ids of orders are below this number; 0 if not known
	alone     bool  // only the first epoch is known
	here      Place
	segments  []segment // in order of their steps
	tail      order.Tail
	first     int64 // the first step that the document describes
	doc       state.Document
	extra     document.Extra // for a loader
	readers   []reader       // for a pipeline
	sorted    bool           // readers are in the order of the graph
}

// Coverage proves which ids an epoch has drawn. It holds their number, their sum modulo 2^63 and
// their exclusive or.
type Coverage = document.Coverage

// Options supply what a document may leave open.
type Options struct {
	// Tail is the policy for the end of epochs, Short or Drop, if the steps counted so far do not
	// tell.
	Tail order.Tail
	// Walk, if not nil, is called while the timeline walks through the samples of an epoch to find its
	// batches of packs: every 65,536 packs, and at the end, where done is total. total is 0 if it is
	// not known. If Walk returns an error, the walk ends and returns it.
	Walk func(epoch, done, total int64) error
	// Order, if not nil, is the order of the run, and Description is its String. One of them is needed
	// if the document holds only a digest of the order. They are compared with the document.
	Order       order.Order
	Description string
	// Tables are the tables of the orders, which a document names only by a hash: lengths, sizes of
	// shards, selections. See order.Parse.
	Tables []order.Table
	// Readers are the names of the readers of a pipeline in the order of its graph. The first one
	// decides the epochs. They are needed only if the document leaves the order open.
	Readers []string
}

// Open reads the state document of a loader or of a pipeline. It fails in the same cases as
// state.Unmarshal and OpenDocument.
func Open(text []byte, o Options) (*Timeline, error) {
	doc, err := state.Unmarshal(text)
	if err != nil {
		return nil, err
	}
	return OpenDocument(doc, o)
}

// OpenDocument works like Open for a document that was read before. The error is of kind
// errs.Unsupported if the document does not tell the order; it wraps an *order.MissingTables if
// tables are missing. It is of kind errs.Corrupt if the document contradicts itself.
func OpenDocument(doc state.Document, o Options) (_ *Timeline, err error) {
	if o.Tail != order.Short && o.Tail != order.Drop {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "timeline.Open", Subject: "Options.Tail",
			Want: "order.Short or order.Drop", Got: o.Tail.String()}
	}
	t := &Timeline{doc: doc, tail: o.Tail}
	switch doc.Kind {
	case "loader":
	case "pipeline":
		return t, t.readPipeline(o)
	default:
		return nil, unsupported("kind", "the state of a loader or a pipeline", strconv.Quote(doc.Kind))
	}
	if t.extra, err = document.ReadExtra(doc, false); err != nil {
		return nil, errs.Wrap("timeline.Open", "", err)
	}
	if t.extra.Window != nil || t.extra.Since > 0 {
		return nil, unsupported("extra", "a state of batches in order",
			"one with batches handed out out of order, or since a snapshot")
	}
	switch unit := doc.Fields["batches"]; unit {
	case "":
	case "packs":
		t.packs, t.walker = true, &walker{counts: map[walkKey]int64{}, told: o.Walk, drop: o.Tail == order.Drop}
	default:
		return nil, unsupported("fields: batches", "batches that count samples or packs", "batches of "+unit)
	}
	if err := t.readOrder(o); err != nil {
		return nil, err
	}
	t.here = Place{Step: t.extra.Step, Epoch: doc.Epoch, Index: t.extra.Index}
	if t.here.Epoch < 0 || t.here.Index < 0 || t.here.Index > t.lengthOf(t.here.Epoch) || t.here.Step < 0 ||
		t.lengthOf(t.here.Epoch) == 0 && len(t.eras) == 1 && t.here.Step > 0 {
		return nil, corrupt("extra", fmt.Sprint("a place in an epoch of ", t.lengthOf(t.here.Epoch), " samples"), t.here)
	}
	if t.packs {
		return t, t.readPackedHistory()
	}
	return t, t.readHistory()
}

// readOrder finds the order of a loader and the length of its epochs, as the loader does.
func (t *Timeline) readOrder(o Options) (err error) {
	identity, ok := t.doc.Fields["order"]
	if !ok {
		return unsupported("fields", "an order", "a sampler or streams, which only the program knows")
	}
	last, err := o.orderOf(identity)
	if err != nil {
		return errs.Wrap("timeline.Open", "fields: order", err)
	}
	if _, are := last.(order.Packer); t.packs && !are {
		return corrupt("fields: order", "an order of packs (the batches count packs)", identity)
	}
	if t.samples, err = strconv.ParseInt(t.doc.Fields["samples"], 10, 64); err != nil || t.samples < 0 {
		return corrupt("fields: samples", "a number of samples", strconv.Quote(t.doc.Fields["samples"]))
	}
	spans := t.extra.Spans
	if len(spans) == 0 {
		spans = [][3]int64{{0, t.samples, 0}}
	}
	for i, span := range spans {
		if span[0] < 0 || span[1] < 0 || span[2] < 0 || i > 0 && span[0] < spans[i-1][0] || i == len(spans)-1 &&
			span[1] != t.samples {
			return corrupt("extra.spans", fmt.Sprint("epochs that rise, up to ", t.samples, " samples"), span)
		}
		t.addEra(last, span)
	}
	return nil
}

// addEra adds the epochs in which the data set has the length of span, with the order that the
// loader has in them.
func (t *Timeline) addEra(o order.Order, span [3]int64) {
	e := era{epoch: span[0], order: o, start: span[2]}
	if span[1] < t.samples {
		if first, ok := order.First(o, span[1]); ok {
			e.order = first
		}
	}
	n, once := e.order.Len()
	e.length, e.once = span[1], once
	if epochs, ok := e.order.(order.Epochs); ok {
		e.length = epochs.EpochLen()
		e.start = e.epoch * e.length
	} else if once {
		e.length = n
	}
	if k := len(t.eras); k > 0 {
		last := t.eras[k-1]
		e.position = last.position + (e.epoch-last.epoch)*last.length
		if last.epoch == e.epoch {
			t.eras = t.eras[:k-1]
		}
	} else if e.epoch > 0 {
		t.broken = true // the document does not describe earlier epochs
		e.position = t.doc.Position - t.extra.Index - (t.doc.Epoch-e.epoch)*e.length
	}
	t.eras = append(t.eras, e)
}

// orderOf returns the order with the identity that the document has.
func (o Options) orderOf(identity string) (order.Order, error) {
	differs := func(what, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: what, Want: identity + ", as in the state", Got: got,
			Remedy: "give the order of this run after its last extension"}
	}
	if o.Order != nil {
		for _, version := range []int{order.Version, 1} {
			if as := order.At(o.Order, version); as.String() == identity || order.Identity(as) == identity {
				return as, nil
			}
		}
		return nil, differs("Options.Order", order.Identity(o.Order))
	}
	description := identity
	if o.Description != "" {
		if description = o.Description; description != identity && order.IdentityOf(description) != identity {
			return nil, differs("Options.Description", order.IdentityOf(description))
		}
	}
	return order.Parse(description, o.Tables...)
}

// readHistory finds the segments. The steps tell whether short batches were left out. If epochs
// were broken off, readHistory keeps only the epoch of the state.
func (t *Timeline) readHistory() error {
	if len(t.extra.History) == 0 {
		return corrupt("extra.history", "the size of a batch", "no entry")
	}
	for _, h := range t.extra.History {
		if h[0] < 0 || h[1] < 0 || h[2] < 1 || h[0] > t.here.Step {
			return corrupt("extra.history", "steps, positions and sizes of batches up to the place", h)
		}
		s := segment{Place: Place{Step: h[0]}, global: h[2]}
		s.Epoch, s.Index = t.locate(h[1])
		t.segments = append(t.segments, s)
	}
	t.first = t.segments[0].Step
	other := order.Drop
	if t.tail == order.Drop {
		other = order.Short
	}
	for _, t.tail = range []order.Tail{t.tail, other} {
		if ok, err := t.consistent(t.here); ok && !t.broken || err != nil {
			return err
		}
	}
	last := t.segments[len(t.segments)-1]
	t.broken = true
	t.segments = []segment{{Place: t.here, global: last.global}}
	t.first = t.here.Step
	if back := min(t.doc.Batch, t.here.Step-last.Step); back > 0 && back*last.global <= t.here.Index+last.global-1 {
		t.segments[0].Place = Place{Step: t.here.Step - back, Epoch: t.here.Epoch,
			Index: max(0, t.here.Index-back*last.global)}
		t.first = t.segments[0].Step
	}
	return nil
}

// readPackedHistory finds the segments if batches count packs. A segment begins with the first
// batch of the epoch of the state, so that its steps are found without the epochs before.
func (t *Timeline) readPackedHistory() error {
	begin, ok := t.begin(t.here.Epoch)
	if !ok || len(t.extra.History) == 0 || t.doc.Batch < 0 || t.doc.Batch > t.here.Step {
		return corrupt("extra.history", "batches that lead to the place", t.here)
	}
	t.broken = t.broken || t.doc.Position != begin+t.here.Index
	t.epochStep = t.here.Step - t.doc.Batch
	epoch := segment{Place: Place{Step: t.epochStep, Epoch: t.here.Epoch}}
	within := []segment{epoch}
	for _, h := range t.extra.History {
		if h[0] < 0 || h[1] < 0 || h[2] < 1 || h[0] > t.here.Step || h[1] > t.doc.Position {
			return corrupt("extra.history", "steps, positions and sizes of batches up to the place", h)
		}
		s := segment{Place: Place{Step: h[0]}, global: h[2]}
		if h[0] > t.epochStep {
			s.Epoch, s.Index = t.here.Epoch, t.here.Index-(t.doc.Position-h[1])
			if s.Index < 0 {
				return corrupt("extra.history", "a position in the epoch", h)
			}
			within = append(within, s)
			continue
		}
		within[0].global = h[2]
		if s.Epoch, s.Index = t.locate(h[1]); !t.broken && s.Epoch < t.here.Epoch {
			t.segments = append(t.segments, s)
		}
	}
	if within[0].global == 0 {
		within = within[1:] // the sizes before the first change were forgotten
	}
	t.segments = append(t.segments, within...)
	if last := t.segments[len(t.segments)-1]; last.Step < t.here.Step {
		t.segments = append(t.segments, segment{t.here, last.global}) // later batches are found from here
	}
	t.first = t.segments[0].Step
	return nil
}

// consistent reports whether each segment leads to the next one, and the last one to a place.
func (t *Timeline) consistent(end Place) (bool, error) {
	for i, s := range t.segments {
		if t.packs && s.Epoch == t.here.Epoch {
			break
		}
		to := end
		if i+1 < len(t.segments) {
			to = t.segments[i+1].Place
		}
		if to.Step < s.Step || to.Epoch < s.Epoch {
			return false, nil
		}
		p, _, err := t.placeUnchecked(s, to.Step)
		if err != nil {
			return false, err
		}
		if p, err = t.normal(p, s.global); err != nil {
			return false, err
		}
		if to, err = t.normal(to, s.global); err != nil || p != to {
			return false, err
		}
	}
	return true, nil
}

// segmentOf returns the segment of a step.
func (t *Timeline) segmentOf(step int64) segment {
	s := t.segments[0]
	for _, next := range t.segments[1:] {
		if next.Step <= step {
			s = next
		}
	}
	return s
}

// Here returns the place of the run, where the next batch begins.
func (t *Timeline) Here() Place { return t.here }

// EpochLen returns the number of samples of the current epoch of the run.
func (t *Timeline) EpochLen() int64 { return t.lengthOf(t.here.Epoch) }

// Batches returns the number of batches of the current epoch of the run: the batches that are left,
// and the batches that the document describes.
func (t *Timeline) Batches() (int64, error) {
	if t.tail == order.Span {
		return 0, unsupported("fields: last_batch", "batches that end with their epoch", "fill")
	}
	before, err := t.batchesBefore(t.here)
	if err != nil {
		return 0, err
	}
	left, err := t.count(t.here.Epoch, t.here.Index, t.segmentOf(t.here.Step).global)
	return before + left, err
}

// Order returns the order. For a data set that has grown it is the order of all samples.
func (t *Timeline) Order() order.Order { return t.eras[len(t.eras)-1].order }

// Document returns the document.
func (t *Timeline) Document() state.Document { return t.doc }

// World returns the number of ranks of the loader that wrote the document.
func (t *Timeline) World() int { return int(max(1, t.extra.World)) }

// drops reports whether short batches at the end of epochs are left out.
func (t *Timeline) drops() bool {
	if t.packs {
		t.walker.mu.Lock()
		defer t.walker.mu.Unlock()
		drop, err := t.dropsPacks()
		return drop && err == nil
	}
	return t.tail == order.Drop
}

// FirstStep returns the first step that the document describes. It is 0, unless the size of batches
// changed more often than the document remembers, or an epoch was broken off.
func (t *Timeline) FirstStep() int64 { return t.first }

// Batch is a global batch: the samples of a step on all ranks.
type Batch struct {
	Place
	IDs   []int64
	Packs []int // for a batch of packs: where each pack ends in IDs
}

// Rank returns the samples of one of world ranks. If a batch has fewer samples than ranks, a rank
// without a sample repeats one, as order.RepeatSample does.
func (b Batch) Rank(rank, world int) []int64 {
	first, last, _ := b.share(rank, world)
	return b.IDs[first:last]
}

// share returns the slice of the samples that belongs to a rank, and the packs in it.
func (b Batch) share(rank, world int) (first, last int, ends []int) {
	n := len(b.IDs)
	if b.Packs != nil {
		n = len(b.Packs)
	}
	lo, hi := order.Slice(n, rank, world)
	if n > 0 {
		hi = max(hi, lo+1)
	}
	if b.Packs == nil || n == 0 {
		return lo, hi, nil
	}
	if lo > 0 {
		first = b.Packs[lo-1]
	}
	return first, b.Packs[hi-1], b.Packs[lo:hi]
}

// PacksOf returns the samples of each pack of a rank, or nil if batches count samples.
func (b Batch) PacksOf(rank, world int) (packs [][]int64) {
	first, _, ends := b.share(rank, world)
	for _, end := range ends {
		packs = append(packs, b.IDs[first:end])
		first = end
	}
	return packs
}

// Batch returns the batch that was or will be delivered in a step. Later batches have the size of
// the last segment. The error is of kind errs.Invalid for a step that the document does not
// describe.
func (t *Timeline) Batch(step int64) (Batch, error) {
	if step < t.first {
		return Batch{}, &errs.Error{Kind: errs.Invalid, Op: "timeline.Batch", Subject: fmt.Sprint("step ", step),
			Want: fmt.Sprint("a step of at least ", t.first), Got: "a step that the state does not describe"}
	}
	p, n, err := t.span(step)
	if err != nil {
		return Batch{}, err
	}
	if n < 1 {
		return Batch{}, &errs.Error{Kind: errs.Invalid, Op: "timeline.Batch", Subject: fmt.Sprint("step ", step),
			Got: "epochs without batches"}
	}
	if t.alone && p.Epoch > 0 {
		return Batch{}, t.unknownEpoch(p.Epoch)
	}
	b := Batch{Place: p, IDs: make([]int64, n)}
	if b.Packs, err = t.packEnds(p, n); err != nil {
		return Batch{}, err
	}
	return b, t.fill(p.Epoch, p.Index, b.IDs)
}

// fill writes the ids of an epoch, from an index on.
func (t *Timeline) fill(epoch, index int64, dst []int64) error {
	return t.fillFrom(t.eraOf(epoch).order, epoch, index, dst)
}

// fillFrom writes the ids that an order of the run has, from an index of an epoch on.
func (t *Timeline) fillFrom(o order.Order, epoch, index int64, dst []int64) error {
	_, first, ok := t.orderAt(epoch)
	if !ok || first > math.MaxInt64-index {
		return &errs.Error{Kind: errs.Invalid, Op: "timeline", Subject: fmt.Sprint("epoch ", epoch),
			Got: "an epoch beyond the largest position"}
	}
	pos := first + index
	if n := o.Fill(pos, dst); n < len(dst) {
		return corrupt("fields: order", fmt.Sprint("ids up to position ", pos+int64(len(dst))), pos+int64(n))
	}
	return nil
}

// OneEpoch returns the timeline of a single epoch, in batches of one size of which some were
// delivered. It is for states of other systems. The error is of kind errs.Invalid for an order that
// never ends, a size below 1, or more batches than the epoch has.
func OneEpoch(o order.Order, global, delivered int64, opt Options) (*Timeline, error) {
	n, once := o.Len()
	t := &Timeline{samples: n, alone: true, tail: opt.Tail, segments: []segment{{global: global}}}
	t.oneEra(o, n, true)
	if !once || global < 1 || delivered < 0 || delivered > t.batches(n, global) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "timeline.OneEpoch",
			Want: "an order that ends, and at most its batches",
			Got:  fmt.Sprint(delivered, " batches of ", global, " from ", o)}
	}
	t.here = Place{Step: delivered, Index: min(n, delivered*global)}
	return t, nil
}

func (t *Timeline) unknownEpoch(epoch int64) error {
	return &errs.Error{Kind: errs.Invalid, Op: "timeline", Subject: fmt.Sprint("epoch ", epoch),
		Want: "the epoch of the state", Got: "an epoch that the state does not describe"}
}

func corrupt(subject, want string, got any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "timeline.Open", Subject: subject, Want: want, Got: fmt.Sprint(got)}
}

func unsupported(subject, want, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "timeline.Open", Subject: subject, Want: want, Got: got}
}
