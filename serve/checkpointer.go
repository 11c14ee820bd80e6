package serve

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// checkpointer is a checkpointer of a client.
type checkpointer struct {
	*training.Checkpointer
	id int64
	to *connection

	places   []string      // of the run, and of its further tiers
	patience time.Duration // training.Uploads.Patience, 0 without further tiers
	rows     *recorder     // nil without a journal

	mu       sync.Mutex
	declined map[int64]string               // why the policy did not want steps
	stats    map[int64]checkpoint.SaveStats // of steps that were committed
}

// event sends what happens to the client.
func (c *checkpointer) event(e training.Event) {
	c.record(e)
	c.mu.Lock()
	switch e.Kind {
	case training.Declined:
		c.declined[e.Step] = e.Reason
	case training.SaveCommitted:
		c.stats[e.Step] = e.Stats
	}
	c.mu.Unlock()
	t := checkpointerEvent{Checkpointer: c.id, Event: e.Kind.String(), Step: e.Step, Name: e.Name, Tier: e.Tier,
		Text: e.Reason, Uncertain: e.Uncertain}
	if e.Err != nil {
		t.Error = newFault(e.Err)
		if t.Text == "" {
			t.Text = t.Error.Text
		}
	}
	c.to.send(kindEvent, t)
}

// checkpointerEvent is training.Event as it travels.
type checkpointerEvent struct {
	Checkpointer int64  `json:"checkpointer"`
	Event        string `json:"event"`
	Step         int64  `json:"step"`
	Name         string `json:"name,omitempty"`
	Tier         string `json:"tier,omitempty"`
	Text         string `json:"text"`
	Uncertain    bool   `json:"uncertain,omitempty"`
	Error        *fault `json:"error,omitempty"`
}

// take returns an entry of a map and deletes it.
func take[V any](c *checkpointer, m map[int64]V, step int64) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok = m[step]
	delete(m, step)
	return v, ok
}

// asked is the preservation policy that the client decides.
type asked struct {
	of *checkpointer
}

// Validate implements training.PreservationPolicy.
func (asked) Validate() error { return nil }

// Preserve implements training.PreservationPolicy. Everything is kept if the client does not
// answer.
func (p asked) Preserve(cs []training.Info, _ time.Time) []bool {
	keep := make([]bool, len(cs))
	for i := range keep {
		keep[i] = true
	}
	value, err := p.of.to.ask(map[string]any{"op": "preserve", "checkpointer": p.of.id, "checkpoints": newStepInfos(cs)})
	if err != nil {
		return keep
	}
	var said struct {
		Keep []bool `json:"keep"`
	}
	if err := json.Unmarshal(value, &said); err != nil || len(said.Keep) != len(cs) {
		p.of.to.Log.Warn("answer to preserve was not understood; all steps are kept", "want", len(cs), "got", clipped(value))
		return keep
	}
	return said.Keep
}

// stepInfo is training.Info as it travels.
type stepInfo struct {
	Step      int64                      `json:"step"`
	Directory string                     `json:"directory"`
	TimeNS    int64                      `json:"time_ns"`
	Metrics   map[string]json.RawMessage `json:"metrics"`
	Custom    json.RawMessage            `json:"custom"`
	Path      string                     `json:"path,omitempty"` // of a step that only a further tier has
}

func newStepInfos(cs []training.Info) []stepInfo {
	out := make([]stepInfo, len(cs))
	for i, c := range cs {
		out[i] = stepInfo{c.Step, c.Directory, c.Time.UnixNano(), newMetrics(c.Metrics), c.Custom, ""}
	}
	return out
}

// newMetrics writes metrics as nodes, because JSON lacks some floats.
func newMetrics(m map[string]float64) map[string]json.RawMessage {
	if m == nil {
		return nil
	}
	out := make(map[string]json.RawMessage, len(m))
	for name, v := range m {
		w := &nodeWriter{}
		w.float(v)
		out[name] = w.b
	}
	return out
}

// metrics reads the argument metrics: numbers by name, each a node.
func (a *args) metrics() map[string]float64 {
	var texts map[string]json.RawMessage
	a.into("metrics", &texts)
	if texts == nil {
		return nil
	}
	out := make(map[string]float64, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		v, err := number(texts[name])
		if err != nil && a.err == nil {
			a.err = errs.Wrap("", "metric "+strconv.Quote(name), err)
		}
		out[name] = v
	}
	return out
}

// number reads a node that is a number.
func number(text []byte) (float64, error) {
	n, err := readTree(text, nil)
	if err != nil {
		return 0, err
	}
	switch v := n.Value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Want: "a number", Got: clipped(text)}
}

// checkpointers are the checkpointers of a connection. Numbers are not used twice.
type checkpointers struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*checkpointer
}

// number returns a new number.
func (cs *checkpointers) number() int64 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.last++
	return cs.last
}

func (cs *checkpointers) add(c *checkpointer) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.by == nil {
		cs.by = map[int64]*checkpointer{}
	}
	cs.by[c.id] = c
}

func (cs *checkpointers) find(id int64) (*checkpointer, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.by[id]; c != nil {
		return c, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Subject: "checkpointer " + strconv.FormatInt(id, 10),
		Want: "an open checkpointer of this connection"}
}

// remove forgets a checkpointer and returns it.
func (cs *checkpointers) remove(id int64) (*checkpointer, error) {
	c, err := cs.find(id)
	if err != nil {
		return nil, err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.by, id)
	return c, nil
}

// close closes all. It waits for their saves, but copies nothing more to their further tiers.
func (cs *checkpointers) close() error {
	cs.mu.Lock()
	open := slices.Collect(maps.Values(cs.by))
	cs.by = nil
	cs.mu.Unlock()
	var first error
	for _, c := range open {
		c.endCopies()
		for _, err := range []error{c.endJournal(), c.Close()} {
			if err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}
