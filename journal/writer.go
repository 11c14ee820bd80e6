package journal

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/store"
)

// Sizes of what a Writer keeps.
const (
	SegmentBytes = 1 << 20  // of a full segment: each flush writes less than this again
	PendingBytes = 64 << 20 // of rows that the store has not taken yet
)

// WriterOptions configure a Writer. The zero value works.
type WriterOptions struct {
	// Every is the longest time between two flushes while rows arrive. 0 means 5 seconds; below 0
	// nothing is written before Flush and Close. If many rows wait, a flush comes earlier.
	Every time.Duration
	// OnFlush, if not nil, is called after each flush in the background with its error or nil, one
	// call at a time.
	OnFlush func(error)
	// SegmentBytes and PendingBytes replace the constants of these names if they are above 0.
	SegmentBytes, PendingBytes int
	// Now, if not nil, replaces time.Now.
	Now func() time.Time
}

func (o *WriterOptions) withDefaults() WriterOptions {
	var out WriterOptions
	if o != nil {
		out = *o
	}
	if out.Every == 0 {
		out.Every = 5 * time.Second // what a reader may lag behind; a bucket sees 12 small objects a minute
	}
	if out.SegmentBytes <= 0 {
		out.SegmentBytes = SegmentBytes
	}
	if out.PendingBytes <= 0 {
		out.PendingBytes = PendingBytes
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	return out
}

// Writer records one attempt. Its methods may be called concurrently. Close must be called.
type Writer struct {
	st  store.Store
	dir string
	opt WriterOptions

	turn   chan struct{} // holds one element unless a flush is under way
	number int           // of the attempt, chosen by the first flush; owned by the flush under way
	wake   chan struct{} // a row was added
	full   chan struct{} // many rows wait
	quit   context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	start   Start
	since   time.Time // start.Time, with the monotonic clock
	begun   bool      // there is something to write
	step    int64
	sealed  []segment // full, not taken by the store yet
	waiting int       // bytes of sealed
	tail    segment
	flushed int // bytes of tail that the store has, or -1 if it has not even the start row
	lost    Lost
	over    bool
}

// segment has the rows of a file, except its start row. Bytes that are there never change; more may
// follow.
type segment struct {
	number int
	before int64 // rows in the segments before
	rows   int64
	bytes  []byte
}

// New returns a Writer for an attempt of the run in dir of st. It touches no storage before the
// first flush. Version, Attempt, ID, Segment and Time of start are set by the Writer.
func New(st store.Store, dir string, start Start, o *WriterOptions) *Writer {
	w := &Writer{st: st, dir: path.Join(dir, Folder), opt: o.withDefaults(), turn: make(chan struct{}, 1),
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), start: start, step: start.From}
	for _, text := range w.start.texts() {
		*text = short(*text)
	}
	w.since = w.opt.Now()
	w.start.Version, w.start.Attempt, w.start.ID = Version, 0, newID()
	w.start.Time = w.since.UTC().Round(0)
	w.tail.number, w.flushed = 1, -1
	w.turn <- struct{}{}
	ctx, cancel := context.WithCancel(context.Background())
	w.quit = cancel
	if w.opt.Every > 0 {
		w.done.Go(func() { w.run(ctx) })
	}
	return w
}

// run flushes in the background: soon after the first row, and then at most every w.opt.Every.
func (w *Writer) run(ctx context.Context) {
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		if err := w.Flush(ctx); ctx.Err() == nil && w.opt.OnFlush != nil {
			w.opt.OnFlush(err)
		}
		rest := time.NewTimer(w.opt.Every)
		select {
		case <-rest.C:
		case <-w.full:
			rest.Stop()
		case <-ctx.Done():
			rest.Stop()
			return
		}
	}
}

// Start returns the start row of the attempt. Its Attempt is 0 until the first flush has chosen it.
func (w *Writer) Start() Start {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start
}

// Step records the scalars of a step that was done just now. It returns the time of the row.
func (w *Writer) Step(step int64, s *Scalars) Seconds {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.opt.Now().Sub(w.since)
	w.stepAt(step, at, s)
	return inMicros(at)
}

// StepAt records the scalars of a step that was done at a time after Start.Time. It returns the
// time of the row.
func (w *Writer) StepAt(step int64, at time.Duration, s *Scalars) Seconds {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stepAt(step, at, s)
	return inMicros(at)
}

// stepAt records the scalars of a step. w.mu is held.
func (w *Writer) stepAt(step int64, at time.Duration, s *Scalars) {
	w.step = step
	if !w.room(step) {
		return
	}
	w.tail.bytes = appendStep(w.tail.bytes, step, at, s)
	w.added()
}

// Save records a save that has ended.
func (w *Writer) Save(step int64, s Save) {
	s.Error = short(s.Error)
	w.add(Row{Kind: SaveRow, Step: step, Save: &s})
}

// Event records something that happened.
func (w *Writer) Event(e Event) {
	e.Object, e.Tier, e.Reason, e.Error = short(e.Object), short(e.Tier), short(e.Reason), short(e.Error)
	w.add(Row{Kind: EventRow, Step: -1, Event: &e})
}

// Begin makes the start of the attempt visible soon, even if no row follows.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.begun = true
		signal(w.wake)
	}
}

// End records how the attempt ended. Rows after it are dropped.
func (w *Writer) End(e End) {
	e.Error = short(e.Error)
	w.add(Row{Kind: EndRow, Step: -1, End: &e})
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
}

// add records a row of any kind except StepRow. Step -1 is the step of the last StepRow.
func (w *Writer) add(r Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Step < 0 {
		r.Step = w.step
	}
	if !w.room(r.Step) {
		return
	}
	r.At = Seconds(w.opt.Now().Sub(w.since).Seconds())
	w.tail.bytes = appendRow(w.tail.bytes, &r)
	w.added()
}

// room prepares the tail for one more row. It returns false, and counts the row, if there are too
// many rows that the store has not taken. w.mu is held.
func (w *Writer) room(step int64) bool {
	if w.over {
		return false
	}
	if w.waiting >= w.opt.PendingBytes {
		if w.lost.Rows == 0 {
			w.lost.First = step
		}
		w.lost.Last = step
		w.lost.Rows++
		signal(w.wake)
		return false
	}
	if w.lost.Rows > 0 {
		w.tellLost()
	}
	return true
}

// tellLost records which rows were dropped. w.mu is held.
func (w *Writer) tellLost() {
	lost := w.lost
	w.lost = Lost{}
	r := Row{Kind: LostRow, Step: w.step, At: Seconds(w.opt.Now().Sub(w.since).Seconds()), Lost: &lost}
	w.tail.bytes = appendRow(w.tail.bytes, &r)
	w.tail.rows++
}

// added ends the tail if it is full. w.mu is held.
func (w *Writer) added() {
	w.begun = true
	w.tail.rows++
	if len(w.tail.bytes) >= w.opt.SegmentBytes {
		w.sealed = append(w.sealed, w.tail)
		w.waiting += len(w.tail.bytes)
		w.tail = segment{number: w.tail.number + 1, before: w.tail.before + w.tail.rows,
			bytes: make([]byte, 0, w.opt.SegmentBytes+4096)}
		w.flushed = -1
		if w.waiting > w.opt.PendingBytes/8 {
			signal(w.full)
		}
	}
	signal(w.wake)
}

// signal wakes the receiver of c, at once or when it looks next.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// short cuts a text to a length that is fit for a row.
func short(text string) string {
	const most = 4096
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
