package loader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
)

var update = flag.Bool("update", false, "write testdata/python/go.json anew")

// exchanged is a state that one language has written, and what it delivered after it.
type exchanged struct {
	Samples     int64           `json:"samples"`
	Fingerprint string          `json:"fingerprint"`
	Batch       int             `json:"batch_size"`
	Shuffle     bool            `json:"shuffle"`
	Seed        string          `json:"seed"` // JSON of other programs has no integers of 64 bits
	Name        string          `json:"name"`
	DropLast    bool            `json:"drop_last"`
	Rank        int             `json:"rank"`
	World       int             `json:"world"`
	State       json.RawMessage `json:"state"`
	Rest        []int64         `json:"rest"`  // ids of two epochs, of all ranks
	Seeds       []string        `json:"seeds"` // of these samples
}

// drawn is a sample: its id, and the seed of its random numbers.
type drawn struct {
	id   int64
	seed uint64
}

// open returns a loader. With python its data set has an empty fingerprint where e has none, as in
// Python, and not the hash of a Go type.
func (e *exchanged) open(t *testing.T, o loader.Options[drawn, []drawn], python bool) *loader.Loader[drawn, []drawn] {
	t.Helper()
	var ds loader.Map[drawn] = loader.Func(e.Samples, func(_ context.Context, id int64, r loader.Random) (drawn, error) {
		return drawn{id, r.Seed()}, nil
	})
	if e.Fingerprint != "" || python {
		ds = fingered{ds, e.Fingerprint}
	}
	seed, err := strconv.ParseUint(e.Seed, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	o.Shuffle, o.Seed, o.Name = e.Shuffle, seed, e.Name
	o.Collate = func(s []drawn) ([]drawn, error) { return slices.Clone(s), nil }
	l, err := loader.New(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

type fingered struct {
	loader.Map[drawn]
	print string
}

func (f fingered) Fingerprint() string { return f.print }

// twoEpochs returns the samples of the rest of an epoch and of the next one.
func twoEpochs(t *testing.T, l *loader.Loader[drawn, []drawn]) (ids []int64, seeds []string) {
	t.Helper()
	for ends := 0; ends < 2; {
		b, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) {
			ends++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range b {
			ids, seeds = append(ids, d.id), append(seeds, strconv.FormatUint(d.seed, 10))
		}
	}
	return ids, seeds
}

// TestStatesOfPython opens states that bivouac.torch.StatefulDataLoader has written, with workers
// and batches of another number, and compares the rest with what Python delivered.
// test_go_opens_what_python_writes in python/tests writes the file anew and compares it.
func TestStatesOfPython(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "python", "python.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []exchanged
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, e := range cases {
		l := e.open(t, loader.Options[drawn, []drawn]{BatchSize: e.Batch + 3, Workers: 2}, false)
		if err := l.SetState(e.State); err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		ids, seeds := twoEpochs(t, l)
		if !slices.Equal(ids, e.Rest) || !slices.Equal(seeds, e.Seeds) {
			t.Errorf("case %d: got %v, want %v", i, ids, e.Rest)
		}
	}
}

// TestStatesForPython compares testdata/python/go.json, which the tests in Python open, with what a
// loader writes now.
func TestStatesForPython(t *testing.T) {
	var cases []exchanged
	for i := range 16 {
		e := exchanged{Samples: int64(5 + 7*i), Batch: 1 + i%5, Shuffle: i%4 != 3,
			Seed: strconv.FormatUint(uint64(i)<<60+7, 10), World: 1 + i%3, Rank: i % (1 + i%3), DropLast: i%6 == 5}
		if i%2 == 1 {
			e.Name, e.Fingerprint = "images", "v1"
		}
		o := loader.Options[drawn, []drawn]{BatchSize: e.Batch, Rank: e.Rank, World: e.World}
		if e.DropLast {
			o.Tail = order.Drop
		}
		l := e.open(t, o, true)
		for range i * 2 {
			if _, err := l.Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		var err error
		if e.State, err = l.AppendState(nil); err != nil {
			t.Fatal(err)
		}
		one := e.open(t, loader.Options[drawn, []drawn]{BatchSize: 1}, true)
		if err := one.SetState(e.State); err != nil {
			t.Fatal(err)
		}
		e.Rest, e.Seeds = twoEpochs(t, one)
		cases = append(cases, e)
	}
	got := bytes.NewBufferString("[")
	for i, e := range cases { // one line each
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			got.WriteString(",")
		}
		got.WriteString("\n")
		got.Write(line)
	}
	got.WriteString("\n]\n")
	path := filepath.Join("testdata", "python", "go.json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s is not what a loader writes now; -update writes it anew", path)
	}
}
