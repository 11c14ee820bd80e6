package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/checkpoint/training/journaling"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
)

// lastFlushTimeout bounds the last write of a journal: a store that hangs must not hold the server
// for good.
const lastFlushTimeout = 30 * time.Second

// recorder is the journal of a checkpointer. The client measures the steps.
type recorder struct {
	*journaling.Recorder

	mu      sync.Mutex // held while rows are added: the rows of a call stay together
	scalars journal.Scalars
	refused error // a name that was told
}

// newRecorder returns a recorder that tells the client when the journal cannot be written.
func newRecorder(c *checkpointer) *recorder {
	return &recorder{Recorder: journaling.New(func(err error) { c.journalFailed(err) })}
}

// journalFailed tells the client that rows could not be recorded.
func (c *checkpointer) journalFailed(err error) {
	f := newFault(err)
	c.to.send(kindEvent, checkpointerEvent{Checkpointer: c.id, Event: "journal failed", Text: f.Text, Error: f})
}

// record passes an event of the checkpointer to its journal.
func (c *checkpointer) record(e training.Event) {
	if c.rows != nil {
		c.rows.Checkpointer(e)
	}
}

// flushJournal makes the rows of all steps durable before a step is committed. A journal that
// cannot be written does not stop the save.
func (c *checkpointer) flushJournal(ctx context.Context) error {
	c.rows.Flush(ctx)
	return nil
}

// closeJournal writes what is left of the journal.
func (c *checkpointer) closeJournal() error {
	if c.rows == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastFlushTimeout)
	defer cancel()
	return errs.Wrap("serve.journal", c.places[0], c.rows.Close(ctx))
}

// endJournal closes the journal after the end of the connection. It waits for the saves first,
// which have rows.
func (c *checkpointer) endJournal() error {
	if c.rows == nil {
		return nil
	}
	failed := c.Wait(context.Background())
	return cmp.Or(failed, c.closeJournal())
}

// trainingJournal begins an attempt.
func trainingJournal(k *call) (reply, error) {
	c, err := k.checkpointer()
	var start journal.Start
	k.args.into("start", &start)
	board := k.args.text("tensorboard")
	if err == nil {
		err = k.args.finish()
	}
	if err != nil {
		return reply{}, err
	}
	switch {
	case c.rows == nil:
		err = &errs.Error{Kind: errs.Sequence, Subject: "checkpointer " + strconv.FormatInt(c.id, 10),
			Want: "training.open with journal"}
	case start.From < 0:
		err = &errs.Error{Kind: errs.Invalid, Subject: "argument start", Want: "from of at least 0",
			Got: strconv.FormatInt(start.From, 10)}
	case board != "" && !filepath.IsAbs(board) && !store.IsURL(board):
		err = &errs.Error{Kind: errs.Invalid, Subject: "argument tensorboard", Want: "an absolute path", Got: board}
	case c.rows.Recording():
		err = &errs.Error{Kind: errs.Sequence, Subject: "checkpointer " + strconv.FormatInt(c.id, 10),
			Want: "one training.journal", Got: "a second one"}
	default:
		err = c.rows.Open(c.Checkpointer, start, journaling.Options{TensorBoard: board})
	}
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]bool{"recording": c.rows.Recording()})
}

// trainingRecord records rows, and the end of the attempt.
func trainingRecord(k *call) (reply, error) {
	c, err := k.checkpointer()
	rows := k.journalRows()
	var end *journal.End
	k.args.into("end", &end)
	if err == nil {
		err = k.args.finish()
	}
	if err != nil {
		return reply{}, err
	}
	rows.record(c)
	if end != nil && c.rows != nil {
		if end.Outcome != journal.Preempted { // the grace time bounds the wait of the client
			c.Wait(k.ctx) //nolint:errcheck // the save has the error; its row comes before the end
		}
		c.rows.End(*end)
		c.rows.Flush(k.ctx)
	}
	return reply{json: []byte("{}")}, nil
}

// journalRows are rows of a journal as they travel.
type journalRows struct {
	Begin bool  `json:"begin"` // makes the attempt visible
	Names texts `json:"names"` // of scalars
	Rows  parts `json:"rows"`
}

// texts is a list of names that are Unicode.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	c := &cursor{b: b}
	*t = c.texts()
	return c.err
}

// part is a part of a journal: steps with the same scalars, or an event.
type part struct {
	step    int64     // the first one
	columns []int     // the numbers of the names
	data    []float64 // of each step: its seconds since the begin, and a value for each column
	event   *journal.Event
}

// steps yields the steps: their data without the seconds, and the seconds.
func (p *part) steps(yield func(step int64, at time.Duration, values []float64)) {
	width := 1 + len(p.columns)
	for i := 0; i < len(p.data); i += width {
		yield(p.step+int64(i/width), time.Duration(p.data[i]*1e9), p.data[i+1:i+width])
	}
}

type parts []part

// UnmarshalJSON implements json.Unmarshaler. Steps are an object, an event is an array of texts
// [name, object, reason, error].
func (p *parts) UnmarshalJSON(b []byte) error {
	c := &cursor{b: b}
	for c.enter('['); c.err == nil && c.more(']'); {
		var one part
		if c.peek() == '{' {
			one.read(c)
		} else {
			one.event = &journal.Event{}
			c.enter('[')
			for _, field := range []*string{&one.event.Name, &one.event.Object, &one.event.Reason, &one.event.Error} {
				*field = c.text()
			}
			if c.err == nil && c.more(']') {
				c.fail("the end of the event")
			}
		}
		*p = append(*p, one)
	}
	return c.err
}

// read reads steps.
func (p *part) read(c *cursor) {
	var data []byte
	for c.enter('{'); c.err == nil && c.more('}'); {
		switch name := c.text(); name {
		case "step":
			if p.step = c.integer(); p.step < 0 {
				c.fail("a step of at least 0 before it")
			}
		case "columns":
			p.columns = c.extents()
		case "data":
			var err error
			if data, err = base64.StdEncoding.DecodeString(c.text()); err != nil {
				c.fail("base64 before it")
			}
		default:
			c.fail("step, columns or data")
		}
	}
	width := 8 * (1 + len(p.columns))
	if len(data) == 0 || len(data)%width != 0 {
		c.fail("words of 64 bits for whole steps before it")
	}
	for i := 0; i+8 <= len(data) && c.err == nil; i += 8 {
		v := math.Float64frombits(binary.LittleEndian.Uint64(data[i:]))
		if i%width == 0 && !(v >= 0 && v < math.MaxInt64/1e9) {
			c.fail("seconds of at least 0 before it")
		}
		p.data = append(p.data, v)
	}
}

// journalRows reads the argument journal.
func (k *call) journalRows() *journalRows {
	r := &journalRows{}
	k.args.into("journal", r)
	for _, p := range r.Rows {
		for _, column := range p.columns {
			if k.args.err == nil && column >= len(r.Names) {
				k.args.err = &errs.Error{Kind: errs.Invalid, Subject: "argument journal",
					Want: "the number of a name, below " + strconv.Itoa(len(r.Names)), Got: strconv.Itoa(column)}
			}
		}
	}
	return r
}

// record records the rows. Without a journal they are dropped: the client may have begun it in a
// server that has ended. A name that the journal refuses is told.
func (r *journalRows) record(c *checkpointer) {
	if c.rows == nil || !c.rows.Recording() {
		return
	}
	c.rows.mu.Lock()
	defer c.rows.mu.Unlock()
	if r.Begin {
		c.rows.Begin()
	}
	for _, p := range r.Rows {
		if p.event != nil {
			c.rows.Event(*p.event)
			continue
		}
		p.steps(func(step int64, at time.Duration, values []float64) {
			nonfinite := 0
			for i, column := range p.columns {
				name, v := r.Names[column], values[i]
				c.setScalar(name, v)
				if (math.IsNaN(v) || math.IsInf(v, 0)) && !strings.HasPrefix(name, "job/") {
					nonfinite++
				}
			}
			if nonfinite > 0 {
				c.setScalar("job/nonfinite", float64(nonfinite))
			}
			c.rows.StepAt(step, at, &c.rows.scalars)
			c.rows.scalars.Clear()
		})
	}
}

// setScalar adds a scalar to the row. The first name that the journal refuses is told.
func (c *checkpointer) setScalar(name string, v float64) {
	if err := c.rows.scalars.Set(name, v); err != nil && c.rows.refused == nil {
		c.rows.refused = err
		c.journalFailed(err)
	}
}
