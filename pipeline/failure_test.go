package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
)

func TestDamagedSampleIsAnErrorAtItsPosition(t *testing.T) {
	dir := dataset(t, 12)
	victim := filepath.Join(dir, classes[1], "0004.jpg") // id 5 in sorted order: batch 1
	whole, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]struct {
		change func() error
		kind   errs.Kind
		op     string
	}{
		"cut":   {func() error { return os.WriteFile(victim, whole[:len(whole)/2], 0o666) }, errs.Corrupt, "decoders.image"},
		"text":  {func() error { return os.WriteFile(victim, []byte("hello"), 0o666) }, errs.Corrupt, "decoders.image"},
		"empty": {func() error { return os.WriteFile(victim, nil, 0o666) }, errs.Corrupt, "decoders.image"},
	} {
		if err := damage.change(); err != nil {
			t.Fatal(err)
		}
		for _, prefetch := range []int{pipeline.NoPrefetch, 1, 4} {
			p := start(t, pipeline.Options{BatchSize: 3, Workers: 2, Prefetch: prefetch}, files(dir))
			next(t, p)
			before := save(t, p)
			for range 2 { // the position is kept: trying again finds the same
				_, err := p.Next(context.Background())
				if !errors.Is(err, damage.kind) {
					t.Fatalf("%s: got %v, want kind %v", what, err, damage.kind)
				}
				for _, part := range []string{damage.op, victim, "position 5", "jpeg"} {
					if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(part)) {
						t.Errorf("%s: %v does not name %q", what, err, part)
					}
				}
				if after := save(t, p); !bytes.Equal(before, after) {
					t.Errorf("%s: the state moved from\n%s\nto\n%s", what, before, after)
				}
			}
			if err := p.Skip(); err != nil {
				t.Fatal(err)
			}
			if b := next(t, p); b.Position != 6 || b.Index != 2 {
				t.Errorf("%s: after Skip comes position %d", what, b.Position)
			}
			p.Close()
		}
	}
}

func TestVanishedFile(t *testing.T) {
	dir := dataset(t, 4)
	p := start(t, pipeline.Options{BatchSize: 4, Prefetch: pipeline.NoPrefetch}, files(dir))
	gone := filepath.Join(dir, classes[0], "0000.jpg")
	whole, err := os.ReadFile(gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(context.Background()); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), gone) ||
		!strings.Contains(err.Error(), "readers.file") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(gone, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if b := next(t, p); b.Position != 0 {
		t.Errorf("once the file is back comes position %d", b.Position)
	}
}

func TestMissingData(t *testing.T) {
	for dir, kind := range map[string]errs.Kind{filepath.Join(t.TempDir(), "none"): errs.NotFound, t.TempDir(): errs.Invalid} {
		d, err := pipeline.Define(pipeline.Options{}, files(dir))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.New(context.Background(), nil); !errors.Is(err, kind) || !strings.Contains(err.Error(), dir) {
			t.Errorf("got %v, want kind %v", err, kind)
		}
	}
}

func TestCancellation(t *testing.T) {
	dir := dataset(t, 5)
	p := start(t, pipeline.Options{BatchSize: 2}, files(dir))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 {
		if _, err := p.Next(ctx); !errors.Is(err, errs.Canceled) || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	at := p.Position()
	if b := next(t, p); b.Position != at {
		t.Errorf("goes on at %d, want %d", b.Position, at)
	}
}

func TestClosed(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 2, Prefetch: 4}, files(dataset(t, 5)))
	next(t, p)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := p.Next(context.Background())
	for _, err := range []error{err, p.SetState(nil), p.Skip()} {
		if !errors.Is(err, errs.Closed) {
			t.Errorf("got %v", err)
		}
	}
}

// A sample of a size that nobody has memory for, known before there is data, fails as one
// whose size the data tells.
func TestSamplesBeyondMemory(t *testing.T) {
	for _, n := range []int{1 << 40, 1 << 60} {
		p := start(t, pipeline.Options{BatchSize: 2}, func(b *pipeline.Builder) []pipeline.Node {
			return b.Op("ones", op.Args{"shape": []int{n}})
		})
		if _, err := p.Next(context.Background()); !errors.Is(err, errs.Exhausted) {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}
