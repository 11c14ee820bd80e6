package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
)

// TestPeek: batches that are looked at before they are taken, also detached ones, are those that
// come, and the state stays behind the batch that was taken last.
func TestPeek(t *testing.T) {
	dir := dataset(t, 23)
	o := pipeline.Options{BatchSize: 5, Seed: 3, Workers: 2}
	plain := start(t, o, training(dir))
	var want [][]string
	var states [][]byte
	state := func(p *pipeline.Pipeline) []byte {
		t.Helper()
		b, err := p.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for range 40 {
		states = append(states, state(plain))
		b := next(t, plain)
		var data [][]byte
		for _, out := range b.Outputs {
			data = append(data, out.Data)
		}
		want = append(want, contents(b, data))
	}
	random := rand.New(rand.NewPCG(5, 5))
	p := start(t, o, training(dir))
	type detached struct{ data [][]byte }
	seen := map[int]detached{} // whose outputs were detached
	for at, flight := 0, 0; at < 30; {
		switch i := random.IntN(4); random.IntN(4) {
		case 0:
			if flight < 4 {
				if ok, err := p.Begin(t.Context(), true); !ok || err != nil {
					t.Fatal(ok, err)
				}
				flight++
			}
		case 1, 2:
			b, err := p.Peek(t.Context(), i)
			if i >= flight {
				if !errors.Is(err, io.EOF) || p.Ready(i) {
					t.Fatalf("batch %d of %d in flight: got %v, want EOF", i, flight, err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !p.Ready(i) {
				t.Fatalf("batch %d was made, and is not ready", at+i)
			}
			d, before := seen[at+i]
			if !before {
				for k := range b.Outputs {
					d.data = append(d.data, b.Detach(k))
				}
				seen[at+i] = d
			}
			if got := contents(b, d.data); fmt.Sprint(got) != fmt.Sprint(want[at+i]) {
				t.Fatalf("batch %d: got %v, want %v", at+i, got, want[at+i])
			}
		case 3:
			if flight == 0 {
				break
			}
			b, err := p.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d, before := seen[at]
			for _, out := range b.Outputs {
				if before != (out.Data == nil) {
					t.Fatalf("batch %d: it was detached: %v, and has data: %v", at, before, out.Data != nil)
				}
				if !before {
					d.data = append(d.data, out.Data)
				}
			}
			if got := contents(b, d.data); fmt.Sprint(got) != fmt.Sprint(want[at]) {
				t.Fatalf("batch %d: got %v, want %v", at, got, want[at])
			}
			if err := p.Release(); err != nil {
				t.Fatal(err)
			}
			at, flight = at+1, flight-1
		}
		if !bytes.Equal(state(p), states[at]) {
			t.Fatalf("the state before batch %d is another one", at)
		}
	}
}
