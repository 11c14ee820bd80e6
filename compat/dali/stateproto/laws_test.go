package stateproto_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

func drawSnapshot(t *rapid.T) stateproto.Snapshot {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return stateproto.Stateless{}
	case 1:
		return stateproto.Random{Philox: rng.NewPhilox(rapid.Uint64().Draw(t, "key"), rapid.Uint64().Draw(t, "sequence"),
			rapid.Uint64Range(0, math.MaxUint64>>2).Draw(t, "offset"))}
	case 2:
		return &stateproto.Reader{Loader: stateproto.NewLoader(rapid.Uint32Range(1, 1<<31-2).Draw(t, "engine"),
			rapid.Int32().Draw(t, "epoch"), rapid.Int32().Draw(t, "age"))}
	}
	return stateproto.Opaque("opaque" + rapid.String().Draw(t, "bytes"))
}

// Any checkpoint is read back the same, and so is each state in it.
func TestCheckpointLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &stateproto.Checkpoint{}
		var snapshots []stateproto.Snapshot
		for range rapid.IntRange(0, 5).Draw(t, "nodes") {
			s := drawSnapshot(t)
			snapshots = append(snapshots, s)
			c.Ops = append(c.Ops, stateproto.Op{Name: rapid.String().Draw(t, "name"), State: s.AppendState([]byte{})})
		}
		if rapid.Bool().Draw(t, "external") {
			p := stateproto.Progress{Iter: rapid.Int64().Draw(t, "iter"), EpochIdx: rapid.Int64().Draw(t, "epoch")}
			i := stateproto.Iterator{Counter: rapid.Int64().Draw(t, "counter"), Size: rapid.Int64().Draw(t, "size"),
				CounterPerGPU: rapid.SliceOfN(rapid.Int64(), 1, 3).Draw(t, "list")}
			c.External = &stateproto.External{Pipeline: p.Append(nil), Iterator: i.Append(nil)}
			if got, err := stateproto.ParseProgress(c.External.Pipeline); err != nil || got != p {
				t.Fatalf("%+v, want %+v: %v", got, p, err)
			}
			if got, err := stateproto.ParseIterator(c.External.Iterator); err != nil || !cmp.Equal(got, i) {
				t.Fatalf("%+v, want %+v: %v", got, i, err)
			}
		}
		got, err := stateproto.Parse(stateproto.Append(nil, c))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatal(diff)
		}
		for i := range got.Ops {
			if diff := cmp.Diff(snapshots[i], got.Ops[i].Snapshot(), cmp.Comparer(func(a, b rng.Philox) bool { return a == b })); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		kind        errs.Kind
		want        string
	}{
		{"cut", "\x0a\x16\x0a\x12__E", errs.Corrupt, "cpts at byte 0"},
		{"cut inside", "\x0a\x02\x0a\x00\x0a\x04\x0a\x09__", errs.Corrupt, "cpts[1].operator_name at byte 6"},
		{"two contexts", "\x12\x02\x0a\x00\x12\x02\x0a\x00", errs.Unsupported, "external_ctx_cpt at byte 4"},
		{"tag", "\x0a\x00\x00", errs.Corrupt, "byte 2"},
	} {
		_, err := stateproto.Parse([]byte(c.bytes))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want+":") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for _, s := range []string{"", "0", "2147483647", "01", "+1", "-1", "1 ", "4294967297", "x"} {
		l := stateproto.Loader{RNG: s}
		if _, err := l.Engine(); !errors.Is(err, errs.Corrupt) {
			t.Errorf("engine %q: %v", s, err)
		}
		r := stateproto.Reader{Loader: l}
		if _, err := stateproto.ParseReader(r.AppendState(nil)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("reader with engine %q: %v", s, err)
		}
		op := stateproto.Op{State: r.AppendState(nil)}
		if got, ok := op.Snapshot().(stateproto.Opaque); !ok || !bytes.Equal(got, op.State) {
			t.Errorf("engine %q: %v", s, got)
		}
	}
	for _, text := range []string{"", "x", "ChAKCjE2NDkzNzQyODkQABgD\n", "ChAKCjE2NDkzNzQyODkQAB", "ChAKCjE2NDkzNzQyODkQABgE="} {
		r := stateproto.Reader{Loader: stateproto.NewLoader(7, 1, 2)}
		if err := r.UnmarshalText([]byte(text)); !errors.Is(err, errs.Corrupt) || r.Loader.Age != 2 {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "{", `{"iter": 1, "epoch_idx": 0} `, `{"iter": 1}{}`, `{"other": 1}`, `{"iter": 1.5}`, `[]`} {
		if _, err := stateproto.ParseProgress([]byte(text)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := stateproto.ParseIterator([]byte(text)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A state in lower case, or one that goes on behind, is not DALI's.
func TestOpaque(t *testing.T) {
	text := rng.NewPhilox(0xabc, 0, 0).String()
	for _, s := range []string{strings.ToLower(text), "P" + strings.ToLower(text[1:]), text + "0", text[1:]} {
		op := stateproto.Op{State: []byte(s)}
		if got := op.Snapshot(); !cmp.Equal(got, stateproto.Snapshot(stateproto.Opaque(s))) {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestProducer(t *testing.T) {
	for _, c := range []struct {
		name, instance string
		output         int
		ok             bool
	}{
		{"__MakeContiguous_CpuToCpu_r", "r", 0, true},
		{"__MakeContiguous_CpuToCpu_r[1]", "r", 1, true},
		{"__MakeContiguous_CpuToCpu___Uniform_0", "__Uniform_0", 0, true},
		{"__MakeContiguous_CpuToCpu_r[01]", "r[01]", 0, true},
		{"__MakeContiguous_CpuToCpu_r[-1]", "r[-1]", 0, true},
		{"__MakeContiguous_CpuToCpu_r[x]", "r[x]", 0, true},
		{"__MakeContiguous_CpuToCpu_r[1", "r[1", 0, true},
		{"MakeContiguous_CpuToCpu_r", "", 0, false},
		{"__Uniform_0", "", 0, false},
	} {
		op := stateproto.Op{Name: c.name}
		if instance, output, ok := op.Producer(); instance != c.instance || output != c.output || ok != c.ok {
			t.Errorf("%s: %q, %d, %v", c.name, instance, output, ok)
		}
	}
}

// FuzzParse reads checkpoints, which are written as they were.
func FuzzParse(f *testing.F) {
	for _, b := range checkpointBytes(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := stateproto.Parse(b)
		if err != nil {
			return
		}
		if got := stateproto.Append(nil, c); !bytes.Equal(got, b) {
			t.Fatalf("%x, want %x", got, b)
		}
		for i := range c.Ops {
			if op := &c.Ops[i]; !bytes.Equal(op.Snapshot().AppendState(nil), op.State) {
				t.Fatalf("another state than %x", op.State)
			}
			c.Ops[i].Producer()
		}
	})
}

// FuzzReader reads states of readers, which are written as they were.
func FuzzReader(f *testing.F) {
	for _, b := range checkpointBytes(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := stateproto.ParseReader(b)
		if err != nil {
			return
		}
		if got := r.AppendState(nil); !bytes.Equal(got, b) {
			t.Fatalf("%x, want %x", got, b)
		}
		text, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again stateproto.Reader
		if err := again.UnmarshalText(text); err != nil || !cmp.Equal(&again, r) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	bytes := largest(b)
	b.SetBytes(int64(len(bytes)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := stateproto.Parse(bytes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	bytes := largest(b)
	c, err := stateproto.Parse(bytes)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(bytes)))
	b.ReportAllocs()
	for b.Loop() {
		bytes = stateproto.Append(bytes[:0], c)
	}
}

// largest returns the checkpoint with the most operators.
func largest(t testing.TB) (out []byte) {
	t.Helper()
	for _, b := range checkpointBytes(t) {
		if len(b) > len(out) {
			out = b
		}
	}
	return out
}
