package stateproto_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
)

const vectors = "../../../../shared/vectors/dali"

// recordings reads the JSON files of one kind: the files of testdata, at least atLeast of them, and
// all golden vectors if they lie beside the repository.
func recordings[T any](t testing.TB, pattern string, atLeast int) map[string]T {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) < atLeast {
		t.Fatalf("%d of %s in testdata: %v", len(names), pattern, err)
	}
	all, _ := filepath.Glob(filepath.Join(vectors, pattern))
	out := map[string]T{}
	for _, name := range append(names, all...) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var v T
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = v
	}
	return out
}

// recorded is a file of ckpt/pipeline.
type recorded struct {
	Positions []struct {
		K          int64
		Checkpoint []byte // base64 in the file
		Decoded    decoded
		After      decoded `json:"checkpoint_after_next"`
	}
}

// decoded is what another reader made of a checkpoint.
type decoded struct {
	Ops []struct {
		Name   string           `json:"operator_name"`
		State  string           `json:"state_hex"`
		Text   *string          `json:"text"`
		Reader *json.RawMessage `json:"reader_state"`
	}
	External [][2]string `json:"external_ctx"`
}

const pipelinePattern, dynamicPattern = "ckpt/pipeline/*.json", "ckpt/dynamic/reader_*.json"

func TestPipelineVectors(t *testing.T) {
	for name, file := range recordings[recorded](t, pipelinePattern, 9) {
		for _, p := range file.Positions {
			c, err := stateproto.Parse(p.Checkpoint)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := stateproto.Append([]byte("x"), c); string(got) != "x"+string(p.Checkpoint) {
				t.Errorf("%s: other bytes", name)
			}
			if diff := cmp.Diff(build(t, p.Decoded), c); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			checkSnapshots(t, name, c, p.Decoded)
			progress, err := stateproto.ParseProgress(c.External.Pipeline)
			if err != nil || progress.Iter != p.K || !bytes.Equal(progress.Append(nil), c.External.Pipeline) {
				t.Errorf("%s: %+v, %v", name, progress, err)
			}
			after := build(t, p.After)
			if progress, err = stateproto.ParseProgress(after.External.Pipeline); err != nil ||
				!bytes.Equal(progress.Append(nil), after.External.Pipeline) {
				t.Errorf("%s: %+v, %v", name, progress, err)
			}
			checkSnapshots(t, name, after, p.After)
		}
	}
}

// build makes a checkpoint of what another reader found.
func build(t *testing.T, d decoded) *stateproto.Checkpoint {
	t.Helper()
	c := &stateproto.Checkpoint{External: &stateproto.External{}}
	for _, o := range d.Ops {
		state, err := hex.DecodeString(o.State)
		if err != nil {
			t.Fatal(err)
		}
		c.Ops = append(c.Ops, stateproto.Op{Name: o.Name, State: state})
	}
	for _, e := range d.External {
		switch e[0] {
		case "pipeline_data":
			c.External.Pipeline = []byte(e[1])
		case "iterator_data":
			c.External.Iterator = []byte(e[1])
		default:
			t.Fatalf("field %q", e[0])
		}
	}
	return c
}

// checkSnapshots compares states as structs with what another reader found, and
// makes sure that no operator has one that is not known.
func checkSnapshots(t *testing.T, name string, c *stateproto.Checkpoint, d decoded) {
	t.Helper()
	for i := range c.Ops {
		op, want := &c.Ops[i], d.Ops[i]
		snapshot := op.Snapshot()
		if !bytes.Equal(snapshot.AppendState(nil), op.State) {
			t.Errorf("%s: %s: another state", name, op.Name)
		}
		switch s := snapshot.(type) {
		case stateproto.Stateless:
			if want.State != "" {
				t.Errorf("%s: %s has a state", name, op.Name)
			}
		case stateproto.Random:
			if want.Text == nil || *want.Text != s.String() {
				t.Errorf("%s: %s: %v", name, op.Name, s)
			}
		case *stateproto.Reader:
			if want.Reader == nil {
				t.Fatalf("%s: %s is no reader", name, op.Name)
			}
			checkReader(t, name, s, *want.Reader)
		default:
			t.Errorf("%s: %s has a %T", name, op.Name, s)
		}
		instance, output, internal := op.Producer()
		if internal != strings.Contains(op.Name, "MakeContiguous") {
			t.Errorf("%s: %s: %v", name, op.Name, internal)
		}
		if !internal {
			continue
		}
		outputs := 1 + strings.Count(op.Name, "[")
		if c.Op(instance) == nil || stateproto.Contiguous(instance, output, outputs) != op.Name || len(op.State) > 0 {
			t.Errorf("%s: %s: behind output %d of %s", name, op.Name, output, instance)
		}
	}
}

// checkReader compares with [["loader_state", [["rng", "1"], ["current_epoch", 0], ["age", 0]]]].
func checkReader(t *testing.T, name string, r *stateproto.Reader, want json.RawMessage) {
	t.Helper()
	got, err := json.Marshal([][2]any{{"loader_state",
		[][2]any{{"rng", r.Loader.RNG}, {"current_epoch", r.Loader.Epoch}, {"age", r.Loader.Age}}}})
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(compact.String(), string(got)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	engine, err := r.Loader.Engine()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	again := stateproto.Reader{Loader: stateproto.NewLoader(engine, r.Loader.Epoch, r.Loader.Age)}
	if diff := cmp.Diff(r, &again); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestDynamicVectors(t *testing.T) {
	type batch struct {
		State   string          `json:"reader_state"`
		Decoded json.RawMessage `json:"reader_state_decoded"`
	}
	type file struct {
		Epochs   [][]batch
		Restored []struct {
			End string `json:"reader_state_end"`
		}
	}
	for name, file := range recordings[file](t, dynamicPattern, 2) {
		check := func(text string) *stateproto.Reader {
			var r stateproto.Reader
			if err := r.UnmarshalText([]byte(text)); err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
			if again, err := r.MarshalText(); err != nil || string(again) != text {
				t.Errorf("%s: %q, want %q: %v", name, again, text, err)
			}
			if !r.Wire.IsCanonical() || !r.Loader.Wire.IsCanonical() {
				t.Errorf("%s: not laid out as DALI does", name)
			}
			return &r
		}
		for _, epoch := range file.Epochs {
			for _, b := range epoch {
				checkReader(t, name, check(b.State), b.Decoded)
			}
		}
		for _, r := range file.Restored {
			check(r.End)
		}
		if len(file.Epochs) == 0 || len(file.Restored) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// What frameworks' iterators wrote is read and written.
func TestIteratorVectors(t *testing.T) {
	seen := 0
	for name, texts := range recordings[json.RawMessage](t, "*iterators.json", 1) {
		var list []string
		if err := json.Unmarshal(texts, &list); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range list {
			seen++
			i, err := stateproto.ParseIterator([]byte(text))
			if err != nil || string(i.Append(nil)) != text {
				t.Errorf("%s: %+v, %v", text, i, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d texts", seen)
	}
}

// checkpointBytes returns checkpoints and readers' states, for fuzzing.
func checkpointBytes(t testing.TB) (out [][]byte) {
	t.Helper()
	for _, file := range recordings[recorded](t, pipelinePattern, 9) {
		for _, p := range file.Positions {
			out = append(out, p.Checkpoint)
		}
	}
	state, err := base64.StdEncoding.DecodeString("ChAKCjE2NDkzNzQyODkQABgD")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, state)
}
