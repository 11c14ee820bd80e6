package serve

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"strconv"
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

// flushJournal makes the rows of all steps durable before a step is committed. A journal that cannot
// be written does not stop the save.
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

// endJournal closes the journal after the end of the connection. It waits for the saves first, which
// have rows.
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
	Begin bool   `json:"begin"` // makes the attempt visible
	Names texts  `json:"names"` // of scalars
	Rows  points `json:"rows"`
}

// texts is a list of names that are Unicode.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	c := &cursor{b: b}
	*t = c.texts()
	return c.err
}

// point is a row of a journal: a step with its scalars, or an event.
type point struct {
	step   int64
	at     time.Duration
	values []indexed
	event  *journal.Event
}

// indexed is a value with the number of its name.
type indexed struct {
	name  int
	value float64
}

type points []point

// UnmarshalJSON implements json.Unmarshaler. A step is an array [step, seconds, name, value, …], an
// event an array of texts [name, object, reason, error].
func (p *points) UnmarshalJSON(b []byte) error {
	c := &cursor{b: b}
	for c.enter('['); c.err == nil && c.more(']'); {
		var one point
		c.enter('[')
		if c.peek() == '"' {
			one.event = &journal.Event{}
			for _, field := range []*string{&one.event.Name, &one.event.Object, &one.event.Reason, &one.event.Error} {
				*field = c.text()
			}
		} else {
			one.step = c.integer()
			seconds := c.float()
			if !(seconds >= 0 && seconds < math.MaxInt64/1e9) {
				c.fail("seconds of at least 0 before it")
			}
			one.at = time.Duration(seconds * 1e9)
			for c.err == nil && c.peek() != ']' {
				one.values = append(one.values, indexed{int(c.integer()), c.float()})
			}
		}
		if c.err == nil && c.more(']') {
			c.fail("the end of the row")
		}
		*p = append(*p, one)
	}
	return c.err
}

// float reads a number, or a node for one that JSON does not have.
func (c *cursor) float() float64 {
	if c.peek() == '[' {
		v, err := number(c.skip())
		if err != nil && c.err == nil {
			c.err = err
		}
		return v
	}
	from := c.at
	v, err := strconv.ParseFloat(string(c.word()), 64)
	if err != nil {
		c.at = from
		c.fail("a number of float64")
	}
	return v
}

// journalRows reads the argument journal.
func (k *call) journalRows() *journalRows {
	r := &journalRows{}
	k.args.into("journal", r)
	for _, p := range r.Rows {
		for _, v := range p.values {
			if k.args.err == nil && (v.name < 0 || v.name >= len(r.Names)) {
				k.args.err = &errs.Error{Kind: errs.Invalid, Subject: "argument journal", Want: "the number of a name, below " +
					strconv.Itoa(len(r.Names)), Got: strconv.Itoa(v.name)}
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
		for _, v := range p.values {
			if err := c.rows.scalars.Set(r.Names[v.name], v.value); err != nil && c.rows.refused == nil {
				c.rows.refused = err
				c.journalFailed(err)
			}
		}
		c.rows.StepAt(p.step, p.at, &c.rows.scalars)
		c.rows.scalars.Clear()
	}
}
