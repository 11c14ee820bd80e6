package torchdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/order"
)

// tdPlayer is what a script drives: a loader, or one made of nodes.
type tdPlayer interface {
	start(ctx context.Context) error // iter(loader)
	next(ctx context.Context) (any, error)
	state() ([]byte, error)
	load(b []byte) error
	close() error
}

// tdLoader is a loader with what the script may change of it.
type tdLoader struct {
	*torchdata.Loader[any, any]
	data    any
	sampler order.Sampler // the one that set_epoch is for
}

func (l *tdLoader) start(ctx context.Context) error       { return l.Start(ctx) }
func (l *tdLoader) next(ctx context.Context) (any, error) { return l.Next(ctx) }
func (l *tdLoader) state() ([]byte, error)                { return l.StateDict() }
func (l *tdLoader) load(b []byte) error                   { return l.LoadStateDict(b) }
func (l *tdLoader) close() error                          { return l.Close() }

// tdScenario is a scenario file.
type tdScenario struct {
	Name       string                     `json:"name"`
	Family     string                     `json:"family"`
	Dataset    json.RawMessage            `json:"dataset"`
	Loader     map[string]json.RawMessage `json:"loader"`
	Node       map[string]json.RawMessage `json:"node"`
	Script     [][]json.RawMessage        `json:"script"`
	Outcomes   []map[string]any           `json:"outcomes"`
	GlobalSeed int64                      `json:"global_seed"`
	Unordered  bool                       `json:"unordered"`
	Unstable   []string                   `json:"unstable_paths"`
}

// tdPlay replays the script of a scenario.
type tdPlay struct {
	*tdScenario
	global   *torchdata.Generator
	warnings []string
	loaders  map[string]*tdSeat
	states   map[string][]byte
}

// tdSeat is a loader of the script, with its iterator.
type tdSeat struct {
	tdPlayer
	iterating, ended bool
	again            int64 // how often the iterator was asked after its end
}

// tdOutcome is what came of one entry of the script.
type tdOutcome struct {
	plain    map[string]any // in the form of the vectors, without error and warnings
	err      error
	warnings []string
	again    int64 // of the loader, see tdSeat
}

func newPlay(s *tdScenario) *tdPlay {
	return &tdPlay{tdScenario: s, global: new(torchdata.NewGenerator(uint64(s.GlobalSeed))),
		loaders: map[string]*tdSeat{}, states: map[string][]byte{}}
}

func (p *tdPlay) close() (err error) {
	for _, l := range p.loaders {
		err = errors.Join(err, l.close())
	}
	return err
}

// tdLimit is how long a call may take before it counts as a hang.
const tdLimit = 60 * time.Second

// step does one entry of the script.
func (p *tdPlay) step(ctx context.Context, entry []json.RawMessage) tdOutcome {
	ctx, cancel := context.WithTimeout(ctx, tdLimit)
	defer cancel()
	var op, name string
	if err := json.Unmarshal(entry[0], &op); err != nil {
		return tdOutcome{err: err}
	}
	if len(entry) > 1 {
		_ = json.Unmarshal(entry[1], &name) // a number for seed
	}
	p.warnings = nil
	o := tdOutcome{plain: map[string]any{}}
	o.err = p.do(ctx, &o, op, name, entry)
	o.warnings = p.warnings
	if l := p.loaders[name]; l != nil {
		o.again = l.again
	}
	if ctx.Err() != nil {
		o.plain["hang"] = true
	}
	return o
}

func (p *tdPlay) do(ctx context.Context, o *tdOutcome, op, name string, entry []json.RawMessage) error {
	switch op {
	case "new":
		return p.build(name, entry[2:])
	case "seed":
		var seed int64
		err := json.Unmarshal(entry[1], &seed)
		*p.global = torchdata.NewGenerator(uint64(seed))
		return err
	case "rng":
		o.plain["value"] = tdPlain(p.global.Int63())
		return nil
	case "json":
		return p.toJSON(name)
	case "recheck":
		return p.show(o, p.states[name])
	}
	l := p.loaders[name]
	if l == nil {
		o.plain["skipped"] = true
		return nil
	}
	return p.drive(ctx, o, l, op, name, entry)
}

// drive does what needs a loader.
func (p *tdPlay) drive(ctx context.Context, o *tdOutcome, l *tdSeat, op, name string, entry []json.RawMessage) error {
	switch op {
	case "del":
		delete(p.loaders, name)
		return l.close()
	case "iter":
		err := l.start(ctx)
		l.iterating, l.ended, l.again = err == nil, false, 0
		return err
	case "next", "drain":
		return p.read(ctx, o, l, entry)
	case "state":
		b, err := l.state()
		if err != nil {
			return err
		}
		p.states[textOf(entry[2])] = b
		return p.show(o, b)
	case "load":
		b, ok := p.states[textOf(entry[2])]
		if !ok {
			o.plain["skipped"] = true
			return nil
		}
		return l.load(b)
	case "load_empty":
		return l.load([]byte("{}"))
	}
	return p.touch(o, l, op, entry)
}

// touch does what only loaders of data sets have.
func (p *tdPlay) touch(o *tdOutcome, seat *tdSeat, op string, entry []json.RawMessage) error {
	l, ok := seat.tdPlayer.(*tdLoader)
	if !ok {
		return fmt.Errorf("%q of a loader of nodes", op)
	}
	switch op {
	case "len":
		n, known := l.Len()
		if !known {
			return errNoLength
		}
		o.plain["len"] = tdPlain(n)
		return nil
	case "set_epoch":
		s, ok := l.sampler.(order.EpochSetter)
		if !ok {
			return fmt.Errorf("a sampler without epochs")
		}
		s.SetEpoch(integer(entry[2]))
		return nil
	case "grow":
		l.data.(growing).grow(integer(entry[2]))
		return nil
	case "setattr":
		var v any
		if err := json.Unmarshal(entry[3], &v); err != nil {
			return err
		}
		if f, ok := v.(float64); ok {
			v = int(f)
		}
		return l.Change(textOf(entry[2]), v)
	}
	return fmt.Errorf("unknown entry %q", op)
}

// errNoLength stands for Python's TypeError of len().
var errNoLength = &tdError{"TypeError", "no length is known"}

func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // no text has the same end as a wrong name
	return s
}

func integer(raw json.RawMessage) (n int64) {
	_ = json.Unmarshal(raw, &n)
	return n
}

// read does next and drain.
func (p *tdPlay) read(ctx context.Context, o *tdOutcome, l *tdSeat, entry []json.RawMessage) error {
	if !l.iterating {
		o.plain["skipped"] = true
		return nil
	}
	most := int64(-1)
	if len(entry) > 2 {
		most = integer(entry[2])
	}
	batches := []any{}
	defer func() { o.plain["batches"] = batches }()
	for most < 0 || int64(len(batches)) < most {
		if l.ended { // the next Next would begin the next epoch
			l.again++
			o.plain["stop"] = true
			return nil
		}
		b, err := l.next(ctx)
		if errors.Is(err, io.EOF) {
			l.ended, o.plain["stop"] = true, true
			return nil
		}
		if err != nil {
			return err
		}
		batches = append(batches, tdPlain(b))
	}
	return nil
}

// show puts a state into the outcome.
func (p *tdPlay) show(o *tdOutcome, b []byte) error {
	v, err := (&tdDecoder{}).parse(b)
	o.plain["state"] = v
	return err
}

// toJSON does json.loads(json.dumps(state)): a state with a tensor cannot.
func (p *tdPlay) toJSON(name string) error {
	v, err := (&tdDecoder{}).parse(p.states[name])
	if err == nil && hasTensor(v) {
		return &tdError{"TypeError", "Object of type Tensor is not JSON serializable"}
	}
	return err
}

func hasTensor(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) > 7 && v[:7] == "tensor "
	case map[string]any:
		for _, x := range v {
			if hasTensor(x) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if hasTensor(x) {
				return true
			}
		}
	}
	return false
}
