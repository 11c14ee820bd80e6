// Package timeline tells from the state document of a loader alone what the run
// has delivered and will deliver: which samples were step 1234 on rank 3, when
// sample 77 comes again, whether the digest is that of the order.
//
// A loader's document names its order, where in it the run stands, and how large
// its batches were from which step on:
//
//	fields.order     an order that order.Parse knows; the tables that it is over are given
//	fields.samples   the length of the data set
//	epoch, extra.index       the place
//	extra.step               batches since the beginning
//	extra.history            [step, position, size of a global batch] from which on
//	digest, extra.coverage   of all ids, and of those of the last and of this epoch
//
// So nothing is read and nothing is replayed: any step is found in constant time.
// Where samplers, streams or batches out of order decide what is delivered, a
// document does not tell it; then Open says so.
//
// The document of a pipeline names the order of each of its readers. They share one
// position; Of tells of the samples of one of them.
package timeline

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// Place is where a batch begins.
type Place struct {
	Step  int64 // batches before it, since the beginning
	Epoch int64
	Index int64 // samples of the epoch before it, over all ranks
}

// segment is a run of batches of one size.
type segment struct {
	Place
	global int64
}

// Timeline is a run that a document describes. It is immutable.
type Timeline struct {
	order    order.Order
	own      int64 // samples of an epoch of order
	samples  int64 // ids of order are below; 0: not known
	length   int64 // samples of an epoch of the run
	once     bool  // the order is that of one epoch, for all
	alone    bool  // no other epoch than the first is known
	wrap     bool  // batches go on over the end of an epoch
	here     Place
	segments []segment // in order of their steps
	dropLast bool
	first    int64 // the first step that can be told
	doc      state.Document
	extra    extra
	readers  []reader // of a pipeline
	sorted   bool     // readers are in the order of the graph
}

// extra is what a loader's document holds of use here.
type extra struct {
	Coverage []Coverage `json:"coverage"`
	History  [][3]int64 `json:"history"`
	Index    int64      `json:"index"`
	Spans    [][3]int64 `json:"spans"`
	Since    int64      `json:"since"`
	Step     int64      `json:"step"`
	World    int        `json:"world"`
	Window   *struct{}  `json:"window"`
}

// Coverage proves which ids an epoch has drawn: their number, sum modulo 2^63 and
// exclusive or.
type Coverage struct {
	Count int64 `json:"count"`
	Epoch int64 `json:"epoch"`
	Sum   int64 `json:"sum"`
	XOR   int64 `json:"xor"`
}

// Add counts ids.
func (c *Coverage) Add(ids []int64) {
	for _, id := range ids {
		c.Sum = (c.Sum + id) & math.MaxInt64
		c.XOR ^= id
	}
	c.Count += int64(len(ids))
}

// Options say what a document may leave open.
type Options struct {
	// DropLast says that short batches at the end of epochs are left out, where the
	// steps counted so far do not tell.
	DropLast bool
	// Order, if not nil, is the order of the run, and Description its String. One of them
	// is needed where the document holds a digest of the order. They are held against the
	// document.
	Order       order.Order
	Description string
	// Tables are those that orders are over, which a document names only by a hash: lengths,
	// sizes of shards, selections. See order.Parse.
	Tables []order.Table
	// Readers are the names of the readers of a pipeline in the order of its graph, of which
	// the first decides the epochs. They are needed only where the document leaves it open.
	Readers []string
}

// Open reads the state document of a loader or of a pipeline. Errors: as those of
// state.Unmarshal; errs.Unsupported where the order cannot be told from it, which wraps an
// *order.MissingTables where tables are missing; errs.Corrupt where it contradicts itself.
func Open(document []byte, o Options) (*Timeline, error) {
	doc, err := state.Unmarshal(document)
	if err != nil {
		return nil, err
	}
	t := &Timeline{doc: doc, dropLast: o.DropLast}
	switch doc.Kind {
	case "loader":
	case "pipeline":
		return t, t.readPipeline(o)
	default:
		return nil, unsupported("kind", "the state of a loader or a pipeline", strconv.Quote(doc.Kind))
	}
	if err := readExtra(doc, &t.extra); err != nil {
		return nil, err
	}
	if t.extra.Window != nil || t.extra.Since > 0 {
		return nil, unsupported("extra", "a state of batches in order", "one with batches handed out out of order, or since a snapshot")
	}
	if unit := doc.Fields["batches"]; unit != "" {
		return nil, unsupported("fields: batches", "batches of a number of samples", "batches of "+unit+", whose sizes only the order knows")
	}
	if err := t.readOrder(o); err != nil {
		return nil, err
	}
	t.here = Place{Step: t.extra.Step, Epoch: doc.Epoch, Index: t.extra.Index}
	if err := t.checkSpans(); err != nil {
		return nil, err
	}
	if t.here.Index < 0 || t.here.Index > t.length || t.here.Step < 0 || t.length == 0 && t.here.Step > 0 {
		return nil, corrupt("extra", fmt.Sprint("a place in an epoch of ", t.length, " samples"), t.here)
	}
	return t, t.readHistory()
}

// checkSpans refuses the state of a run whose data set has grown, while it is in an epoch
// of another length than those that come. Later it tells of that epoch and what comes.
func (t *Timeline) checkSpans() error {
	if len(t.extra.Spans) == 0 {
		return nil
	}
	_, epochs := t.order.(order.Epochs)
	if last := t.extra.Spans[len(t.extra.Spans)-1]; t.here.Epoch < last[0] || !epochs && !t.once {
		return unsupported("extra.spans", fmt.Sprint("a state of epoch ", last[0], " or later, of an order with epochs"), fmt.Sprint("one of epoch ", t.here.Epoch, ", in a run whose data set has grown"))
	}
	return nil
}

// readExtra decodes the part of a document that is the loader's own.
func readExtra(doc state.Document, e *extra) error {
	b, err := json.Marshal(doc.Extra)
	if err == nil {
		err = json.Unmarshal(b, e)
	}
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "timeline.Open", Subject: "extra", Err: err}
	}
	return nil
}

// readOrder finds the order of a loader and the length of its epochs, as the loader does.
func (t *Timeline) readOrder(o Options) (err error) {
	identity, ok := t.doc.Fields["order"]
	if !ok {
		return unsupported("fields", "an order", "a sampler or streams, which only the program knows")
	}
	if t.order, err = o.orderOf(identity); err != nil {
		return errs.Wrap("timeline.Open", "fields: order", err)
	}
	if t.samples, err = strconv.ParseInt(t.doc.Fields["samples"], 10, 64); err != nil || t.samples < 0 {
		return corrupt("fields: samples", "a number of samples", strconv.Quote(t.doc.Fields["samples"]))
	}
	n, once := t.order.Len()
	t.length, t.once = t.samples, once
	if e, ok := t.order.(order.Epochs); ok {
		t.length = e.EpochLen()
	} else if once {
		t.length = n
	}
	t.own = t.length
	return nil
}

// orderOf returns the order of which a document has the identity.
func (o Options) orderOf(identity string) (order.Order, error) {
	differs := func(what, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: what, Want: identity + ", that of the state", Got: got, Remedy: "it is the order of another run, or of the run before it was extended"}
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

// readHistory finds the segments. It tells by the steps whether short batches were
// left out; where epochs were broken off it keeps to the one the run is in.
func (t *Timeline) readHistory() error {
	if len(t.extra.History) == 0 {
		return corrupt("extra.history", "the size of a batch", "none")
	}
	for _, h := range t.extra.History {
		if h[0] < 0 || h[1] < 0 || h[2] < 1 || h[0] > t.here.Step {
			return corrupt("extra.history", "steps, positions and sizes of batches up to the place", h)
		}
		s := segment{Place: Place{Step: h[0]}, global: h[2]}
		if t.length > 0 {
			s.Epoch, s.Index = h[1]/t.length, h[1]%t.length
		}
		t.segments = append(t.segments, s)
	}
	t.first = t.segments[0].Step
	for _, drop := range []bool{t.dropLast, !t.dropLast} {
		t.dropLast = drop
		if len(t.extra.Spans) == 0 && t.consistent() {
			return nil
		}
	}
	last := t.segments[len(t.segments)-1]
	t.segments = []segment{{Place: t.here, global: last.global}}
	t.first = t.here.Step
	if back := min(t.doc.Batch, t.here.Step-last.Step); back > 0 && back*last.global <= t.here.Index+last.global-1 {
		t.segments[0].Place = Place{Step: t.here.Step - back, Epoch: t.here.Epoch, Index: max(0, t.here.Index-back*last.global)}
		t.first = t.segments[0].Step
	}
	return nil
}

// consistent reports whether the segments lead to one another and to the place.
func (t *Timeline) consistent() bool {
	for i, s := range t.segments {
		end := t.here
		if i+1 < len(t.segments) {
			end = t.segments[i+1].Place
		}
		if end.Step < s.Step || t.normal(t.at(s, end.Step), s.global) != t.normal(end, s.global) {
			return false
		}
	}
	return true
}

// normal is the end of an epoch, behind which batches of a size do not come any more, as the
// beginning of the next one.
func (t *Timeline) normal(p Place, global int64) Place {
	if t.length > 0 && t.batches(t.length-p.Index, global) == 0 {
		p.Epoch, p.Index = p.Epoch+1, 0
	}
	return p
}

// batches is how many batches of a size n samples give.
func (t *Timeline) batches(n, global int64) int64 {
	if t.dropLast {
		return n / global
	}
	return (n + global - 1) / global
}

// at returns where a step of a segment begins.
func (t *Timeline) at(s segment, step int64) Place {
	if t.wrap {
		return t.around(s, step)
	}
	d := step - s.Step
	rest, epoch := t.batches(t.length-s.Index, s.global), t.batches(t.length, s.global)
	if d < rest || epoch == 0 {
		return Place{step, s.Epoch, s.Index + min(d, rest)*s.global}
	}
	d -= rest
	return Place{step, s.Epoch + 1 + d/epoch, d % epoch * s.global}
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

// Here returns where the run stands: the batch that comes next begins there.
func (t *Timeline) Here() Place { return t.here }

// EpochLen returns the number of samples of an epoch.
func (t *Timeline) EpochLen() int64 { return t.length }

// Order returns the order.
func (t *Timeline) Order() order.Order { return t.order }

// Document returns the document.
func (t *Timeline) Document() state.Document { return t.doc }

// World returns the number of ranks of the loader that wrote the document.
func (t *Timeline) World() int { return max(1, t.extra.World) }

// DropLast reports whether short batches at the end of epochs are left out.
func (t *Timeline) DropLast() bool { return t.dropLast }

// FirstStep returns the first step that the document tells of: 0, unless the size
// of batches changed more often than is remembered, or an epoch was broken off.
func (t *Timeline) FirstStep() int64 { return t.first }

// Batch is a global batch: the samples of a step on all ranks.
type Batch struct {
	Place
	IDs []int64
}

// Rank returns the samples of one of so many ranks. A rank of a batch with fewer samples
// than ranks has the sample that it repeats, as loader.RepeatSample has it.
func (b Batch) Rank(rank, world int) []int64 {
	n := len(b.IDs)
	lo, hi := n*rank/world, n*(rank+1)/world
	if n > 0 {
		hi = max(hi, lo+1)
	}
	return b.IDs[lo:hi]
}

// Batch returns what was or will be delivered in a step, by batches of the size they
// have at the end. The error is of kind errs.Invalid for a step that the document
// does not tell of.
func (t *Timeline) Batch(step int64) (Batch, error) {
	if step < t.first {
		return Batch{}, &errs.Error{Kind: errs.Invalid, Op: "timeline.Batch", Subject: fmt.Sprint("step ", step), Want: fmt.Sprint("step ", t.first, " or later"), Got: "one of which the state does not tell"}
	}
	if t.length == 0 || t.batches(t.length, t.segmentOf(step).global) == 0 {
		return Batch{}, &errs.Error{Kind: errs.Invalid, Op: "timeline.Batch", Subject: fmt.Sprint("step ", step), Got: "epochs have no batches"}
	}
	p, n := t.span(step)
	if t.alone && p.Epoch > 0 {
		return Batch{}, t.unknownEpoch(p.Epoch)
	}
	b := Batch{Place: p, IDs: make([]int64, n)}
	return b, t.fill(p.Epoch, p.Index, b.IDs)
}

// span returns where a step begins, and its samples.
func (t *Timeline) span(step int64) (p Place, n int64) {
	s := t.segmentOf(step)
	p = t.at(s, step)
	if t.wrap {
		return p, s.global
	}
	return p, min(s.global, t.length-p.Index)
}

// fill writes the ids of an epoch from an index on.
func (t *Timeline) fill(epoch, index int64, dst []int64) error {
	pos := index
	if !t.once {
		if epoch > (math.MaxInt64-index)/max(1, t.length) {
			return &errs.Error{Kind: errs.Invalid, Op: "timeline", Subject: fmt.Sprint("epoch ", epoch), Got: "beyond the largest position"}
		}
		pos += epoch * t.length
	}
	if n := t.order.Fill(pos, dst); n < len(dst) {
		return corrupt("fields: order", fmt.Sprint("ids up to position ", pos+int64(len(dst))), pos+int64(n))
	}
	return nil
}

// OneEpoch returns the timeline of a single epoch, in batches of one size of which
// some were delivered: what states of others tell. The error is of kind errs.Invalid
// for an order that does not end, sizes below 1, or more batches than there are.
func OneEpoch(o order.Order, global, delivered int64, opt Options) (*Timeline, error) {
	n, once := o.Len()
	t := &Timeline{order: o, length: n, own: n, samples: n, once: true, alone: true, dropLast: opt.DropLast, segments: []segment{{global: global}}}
	if !once || global < 1 || delivered < 0 || delivered > t.batches(n, global) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "timeline.OneEpoch", Want: "an order that ends, and batches of it", Got: fmt.Sprint(delivered, " batches of ", global, " from ", o)}
	}
	t.here = Place{Step: delivered, Index: min(n, delivered*global)}
	return t, nil
}

func (t *Timeline) unknownEpoch(epoch int64) error {
	return &errs.Error{Kind: errs.Invalid, Op: "timeline", Subject: fmt.Sprint("epoch ", epoch), Want: "the epoch of the state", Got: "one of which it does not tell"}
}

func corrupt(subject, want string, got any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "timeline.Open", Subject: subject, Want: want, Got: fmt.Sprint(got)}
}

func unsupported(subject, want, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "timeline.Open", Subject: subject, Want: want, Got: got}
}
