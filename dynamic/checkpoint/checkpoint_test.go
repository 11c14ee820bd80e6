package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	g := random.New(7)
	c := checkpoint.New()
	if _, err := c.Register(g, "rng"); err != nil {
		fmt.Println(err)
		return
	}
	g.Uint32()
	if err := c.Collect(); err != nil {
		fmt.Println(err)
		return
	}
	text, err := c.Serialize()
	fmt.Println(text, err)

	resumed, other := checkpoint.New(), random.New(0)
	if err := resumed.Deserialize(text); err != nil {
		fmt.Println(err)
		return
	}
	_, err = resumed.Register(other, "rng") // which restores it
	fmt.Println(other.State() == g.State(), err)
	// Output:
	// {"version": 2, "states": {"rng": {"state": "Philox_0000000000000007_0000000000000000:0000000000000000_1", "type": "RNG"}}} <nil>
	// true <nil>
}

// collected is a checkpoint with the state of one generator.
func collected(t testing.TB, c *checkpoint.Checkpoint, draws int) *checkpoint.Checkpoint {
	t.Helper()
	g := random.New(1)
	for range draws {
		g.Uint32()
	}
	if _, err := c.Register(g, "rng"); err != nil {
		t.Fatal(err)
	}
	if err := c.Collect(); err != nil {
		t.Fatal(err)
	}
	return c
}

func serialized(t testing.TB, c *checkpoint.Checkpoint) string {
	t.Helper()
	s, err := c.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What no checkpoint is, is told, and leaves the checkpoint as it was.
func TestDeserializeRefuses(t *testing.T) {
	c := collected(t, checkpoint.NewWith(checkpoint.Options{Extend: true}), 3)
	before := serialized(t, c)
	const entry = `{"version": 2, "states": {"x": %s}}`
	for name, b := range map[string]struct {
		text string
		kind errs.Kind
		says string
	}{
		"nothing":               {"", errs.Invalid, "a JSON object"},
		"no JSON":               {"states", errs.Invalid, "a JSON object"},
		"a list":                {"[]", errs.Invalid, "a JSON object"},
		"two":                   {before + before, errs.Invalid, "more text after it"},
		"no states":             {`{"version": 2}`, errs.Invalid, `"states"`},
		"no version":            {`{"states": {}}`, errs.Invalid, "version"},
		"version 1":             {`{"version": 1, "states": {"x": "s"}}`, errs.Invalid, "version"},
		"version 3":             {`{"version": 3, "states": {}}`, errs.Invalid, "version"},
		"version as text":       {`{"version": "2", "states": {}}`, errs.Invalid, "version"},
		"a list of states":      {`{"version": 2, "states": []}`, errs.Invalid, "states"},
		"no entry":              {fmt.Sprintf(entry, `"s"`), errs.Invalid, "entry x"},
		"no state":              {fmt.Sprintf(entry, `{"type": null}`), errs.Invalid, `"state"`},
		"a number as type":      {fmt.Sprintf(entry, `{"state": "s", "type": 5}`), errs.Invalid, "type of entry x"},
		"an extension of text":  {`{"version": 2, "states": {}, "bivouac": "x"}`, errs.Invalid, "bivouac"},
		"a checksum of numbers": {`{"version": 2, "states": {}, "bivouac": {"checksum": 5}}`, errs.Invalid, "bivouac.checksum"},
		"another digit":         {strings.Replace(before, "0_3", "0_2", 1), errs.Corrupt, "states"},
		"another space":         {strings.Replace(before, `"state": `, `"state":  `, 1), errs.Corrupt, "states"},
	} {
		err := c.Deserialize(b.text)
		if !errors.Is(err, b.kind) || !strings.Contains(fmt.Sprint(err), b.says) {
			t.Errorf("%s: got %v, want kind %v and %q", name, err, b.kind, b.says)
		}
		if after := serialized(t, c); after != before {
			t.Fatalf("%s: %s became %s", name, before, after)
		}
	}
	for i := range before {
		if err := c.Deserialize(before[:i]); !errors.Is(err, errs.Invalid) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
}

// Members that are neither of the format nor of the extension are passed over.
func TestForeignKeys(t *testing.T) {
	c := checkpoint.New()
	err := c.Deserialize(`{"comment": [1], "version": 2, "bivouac": {"later": true}, "states": {"x": {"state": "s", "type": null, "more": {}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"version": 2, "states": {"x": {"state": "s", "type": null}}}`, serialized(t, c)); d != "" {
		t.Error(d)
	}
}

func TestMissingAndForeignEntries(t *testing.T) {
	c := checkpoint.New()
	if err := c.Deserialize(`{"version": 2, "states": {"a": {"state": "s", "type": "RNG"}}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Register(random.New(1), "b"); !errors.Is(err, errs.NotFound) {
		t.Errorf("an object without a state: %v", err)
	}
	if err := c.Restore(); !errors.Is(err, errs.Sequence) {
		t.Errorf("a state without an object: %v", err)
	}
	if err := c.Collect(); !errors.Is(err, errs.Sequence) {
		t.Errorf("a state without an object: %v", err)
	}
	if _, err := c.Register(random.New(1), "a"); !errors.Is(err, errs.Invalid) {
		t.Errorf("a state that is none: %v", err)
	}
	if _, err := c.Register(checkpoint.Of(&box{}), "a"); !errors.Is(err, errs.Mismatch) {
		t.Errorf("an object of another type: %v", err)
	}
}

// box is a stream with a state of bytes.
type box struct{ b []byte }

func (b *box) AppendState(dst []byte) ([]byte, error) { return append(dst, b.b...), nil }
func (b *box) SetState(s []byte) error                { b.b = s; return nil }

// Whatever has a position is held like a reader, text as text and bytes in base64.
func TestOf(t *testing.T) {
	for _, s := range []string{"", `{"position":3}`, "\xff\x00", "base64:", "base64:AA=="} {
		from := &box{[]byte(s)}
		c := checkpoint.New()
		key, err := c.RegisterAnonymous(checkpoint.Of(from))
		if again, err2 := c.RegisterAnonymous(checkpoint.Of(from)); err != nil || err2 != nil || again != key {
			t.Fatalf("%q registered as %q and %q: %v, %v", s, key, again, err, err2)
		}
		if err := c.Collect(); err != nil {
			t.Fatal(err)
		}
		to, resumed := &box{}, checkpoint.New()
		if err := resumed.Deserialize(serialized(t, c)); err != nil {
			t.Fatal(err)
		}
		if _, err := resumed.RegisterAnonymous(checkpoint.Of(to)); err != nil || string(to.b) != s {
			t.Errorf("%q became %q, %v", s, to.b, err)
		}
	}
	if err := checkpoint.Of(&box{}).SetState("base64:A"); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if err := checkpoint.Of(&box{}).SetState(7); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
}

// generic is a stream with a type parameter, as loaders are.
type generic[T any] struct{ box }

// A pipeline and a loader are held as readers are.
func TestOfStreams(t *testing.T) {
	def, err := pipeline.Define(pipeline.Options{BatchSize: 3, Seed: 1}, func(p *pipeline.Builder) []pipeline.Node {
		return p.Op("random.uniform", op.Args{"range": []float64{0, 1}})
	})
	if err != nil {
		t.Fatal(err)
	}
	next := func(p *pipeline.Pipeline) []float32 {
		t.Helper()
		b, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f, err := tensor.Of[float32](b.Outputs[0].Sample(2))
		if err != nil {
			t.Fatal(err)
		}
		return append([]float32{}, f...)
	}
	open := func() *pipeline.Pipeline {
		t.Helper()
		p, err := def.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() }) //nolint:errcheck // nothing is written
		return p
	}
	p, c := open(), checkpoint.New()
	next(p)
	_, err1 := c.Register(checkpoint.Of(p), "data")
	_, err2 := c.Register(checkpoint.Of(&generic[*int]{}), "loader")
	if err := errors.Join(err1, err2, c.Collect()); err != nil {
		t.Fatal(err)
	}
	text := serialized(t, c)
	for _, name := range []string{`"type": "Pipeline"`, `"type": "generic"`} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not in %s", name, text)
		}
	}
	q, resumed := open(), checkpoint.New()
	if err := resumed.Deserialize(text); err != nil {
		t.Fatal(err)
	}
	if _, err := resumed.Register(checkpoint.Of(q), "data"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(next(p), next(q)); d != "" {
		t.Error(d)
	}
}

// The current checkpoint is the checkpoint of the EvalContext.
func TestCurrent(t *testing.T) {
	ctx := context.Background()
	e := dynamic.NewEvalContext(dynamic.Options{})
	defer e.Close()
	inside := dynamic.With(ctx, e)
	outer, inner := checkpoint.Current(ctx), checkpoint.Current(inside)
	if outer != checkpoint.Current(ctx) || inner != checkpoint.Current(inside) || outer == inner {
		t.Error("the current checkpoint is not that of its context")
	}
}

// slow is an object whose state takes until somebody lets it.
type slow struct{ begun, go_ chan struct{} }

func (s *slow) GetState() (any, error) {
	close(s.begun)
	<-s.go_
	return "s", nil
}
func (*slow) SetState(any) error { return nil }

// Calls at the same time are an error, and change nothing.
func TestConcurrentMisuse(t *testing.T) {
	c, s := checkpoint.New(), &slow{make(chan struct{}), make(chan struct{})}
	if _, err := c.Register(s, "slow"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Collect(); err != nil {
			t.Error(err)
		}
	})
	<-s.begun
	_, err1 := c.Register(random.New(1), "rng")
	_, err2 := c.Serialize()
	_, err3 := c.Save(t.Context(), filepath.Join(t.TempDir(), "{seq}"))
	for i, err := range []error{err1, err2, err3, c.Collect(), c.Restore(), c.Clear(), c.Deserialize("{}")} {
		if !errors.Is(err, errs.Busy) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	close(s.go_)
	wg.Wait()
	if got, want := serialized(t, c), `{"version": 2, "states": {"slow": {"state": "s", "type": "slow"}}}`; got != want {
		t.Error(got)
	}
	if _, err := os.Stat("{seq}"); err == nil {
		t.Error("a refused call wrote")
	}
}
