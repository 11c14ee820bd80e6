package pipeline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/state"
)

func TestStateOfAnotherStreamIsRefused(t *testing.T) {
	dir, other := dataset(t, 7), dataset(t, 8)
	o := pipeline.Options{BatchSize: 2, Seed: 3}
	p := start(t, o, training(dir))
	next(t, p)
	st := save(t, p)
	change := func(f func(o *pipeline.Options)) pipeline.Options { c := o; f(&c); return c }
	for _, c := range []struct {
		name   string
		o      pipeline.Options
		define func(p *pipeline.Builder) []pipeline.Node
		says   []string
	}{
		{"seed", change(func(o *pipeline.Options) { o.Seed = 4 }), training(dir), []string{"seed"}},
		{"batch size", change(func(o *pipeline.Options) { o.BatchSize = 3 }), training(dir), []string{"batch_size", "3", "2"}},
		{"last batch", change(func(o *pipeline.Options) { o.Tail = order.Span }), training(dir), []string{"last_batch", "fill", "partial"}},
		{"data set", o, training(other), []string{"data set fingerprint"}},
		{"graph", o, files(dir), []string{"node"}},
	} {
		q := start(t, c.o, c.define)
		next(t, q)
		before := save(t, q)
		err := q.SetState(st)
		if !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %q", c.name, err, part)
			}
		}
		if !bytes.Equal(before, save(t, q)) {
			t.Errorf("%s: a refused state moved the pipeline", c.name)
		}
		next(t, q)
	}
	moved := start(t, change(func(o *pipeline.Options) {
		o.Workers, o.Prefetch, o.IOWorkers, o.ReadAheadBytes = 3, 7, 2, 1000
	}), training(dir))
	if err := moved.SetState(st); err != nil {
		t.Errorf("tuning is no identity: %v", err)
	}
}

func TestDamagedState(t *testing.T) {
	dir := dataset(t, 5)
	p := start(t, pipeline.Options{BatchSize: 2}, files(dir))
	next(t, p)
	st := save(t, p)
	for cut := range len(st) {
		if err := p.SetState(st[:cut]); err == nil {
			t.Fatalf("a state cut to %d of %d bytes is taken", cut, len(st))
		}
	}
	for name, change := range map[string]func(m map[string]any){
		"damaged":        func(m map[string]any) { m["version"], m["checksum"] = 2, "00000000" },
		"another epoch":  func(m map[string]any) { m["epoch"] = 1 },
		"another batch":  func(m map[string]any) { m["position"] = 4 },
		"inside a batch": func(m map[string]any) { m["position"] = 3 },
		"negative":       func(m map[string]any) { m["position"] = -2 },
		"newer version":  func(m map[string]any) { m["version"] = 99 },
		"another kind":   func(m map[string]any) { m["kind"] = "loader" },
		"bad digest":     func(m map[string]any) { m["digest"] = "zzz" },
	} {
		var m map[string]any
		if err := json.Unmarshal(st, &m); err != nil {
			t.Fatal(err)
		}
		m["version"] = 1 // without a checksum, which would refuse all changes alike
		delete(m, "checksum")
		change(m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetState(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	d, err := state.Unmarshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for range 12 { // what is put together from pieces is the document, in canonical form
		if again, err := d.Marshal(); err != nil || !bytes.Equal(again, save(t, p)) {
			t.Errorf("the state is\n%s\nits document\n%s, %v", save(t, p), again, err)
		}
		next(t, p)
		if d, err = state.Unmarshal(save(t, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SetState(nil); err != nil { // no state is the start
		t.Fatal(err)
	}
	if b := next(t, p); b.Position != 0 {
		t.Errorf("no state is position %d, want 0", b.Position)
	}
	if err := p.SetState(st); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(st, save(t, p)) {
		t.Error("a refused state moved the pipeline")
	}
	if b := next(t, p); b.Position != 2 {
		t.Errorf("goes on at %d, want 2", b.Position)
	}
}

// The state of a pipeline has a digest of an order whose description is long, and Description
// is all of it. States that have the description, as all had, are read as before.
func TestStatesHoldADigestOfALongOrder(t *testing.T) {
	dir := dataset(t, 9)
	long := func(p *pipeline.Builder) []pipeline.Node {
		_, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir, RandomShuffle: true,
			Name: strings.Repeat("reader", 60)})
		return []pipeline.Node{labels}
	}
	field := "order " + strings.Repeat("reader", 60)
	p := start(t, pipeline.Options{BatchSize: 2}, long)
	for range 3 {
		next(t, p)
	}
	st := save(t, p)
	d, err := state.Unmarshal(st)
	if err != nil {
		t.Fatal(err)
	}
	if identity := d.Fields[field]; !order.IsDigest(identity) || order.IdentityOf(p.Description()) != identity {
		t.Fatalf("%s, of %s", identity, p.Description())
	}
	l, err := timeline.Open(st, timeline.Options{Description: p.Description()})
	if err == nil {
		_, err = l.Verify(t.Context(), nil)
	}
	if err != nil {
		t.Error(err)
	}
	d.Fields[field] = p.Description()
	d.Config = state.HashFields(d.Fields)
	old, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	q := start(t, pipeline.Options{BatchSize: 2}, long)
	if err := q.SetState(old); err != nil {
		t.Fatal(err)
	}
	if got := save(t, q); !bytes.Equal(got, st) {
		t.Errorf("a state of before is read as\n%s, want\n%s", got, st)
	}
	d.Fields[field] = strings.Replace(p.Description(), "n=9", "n=8", 1)
	d.Config = state.HashFields(d.Fields)
	other, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.SetState(other); !errors.Is(err, errs.Mismatch) {
		t.Errorf("another order: %v", err)
	}
}
