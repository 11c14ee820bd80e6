package record

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/recording"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) {
	if os.Getenv("RECORD_TEST_JOB") != "" {
		os.Exit(recordSome())
	}
	os.Exit(m.Run())
}

func recordSome() int {
	weights := map[string]any{"w": []float32{1, 2}}
	for _, err := range []error{
		Resumed(30),
		Step(31, []int64{5, 3, math.MinInt64, math.MaxInt64}, weights, &Options{Epoch: 2, Loss: []float64{0.5, math.Inf(1)}}),
		Step(-1, nil, nil, nil),
	} {
		if err != nil {
			return 1
		}
	}
	if !On() || Step(32, nil, func() {}, nil) == nil {
		return 2
	}
	return 0
}

// What a process records is read back.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECORD_TEST_JOB=1", recording.Variable+"="+dir, "RANK=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := recording.Parse(text)
	if err != nil || f.Torn || f.Header.Rank != 3 || f.Header.PID != cmd.Process.Pid || len(f.Entries) != 3 {
		t.Fatalf("%+v: %v", f, err)
	}
	digest, err := Digest(map[string]any{"w": []float32{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	e := f.Entries[1]
	ids := []int64{5, 3, math.MinInt64, math.MaxInt64}
	if !f.Entries[0].IsResumed || f.Entries[0].Resumed != 30 || f.Entries[2].HasStep {
		t.Errorf("%+v", f.Entries)
	}
	if !e.HasStep || e.Step != 31 || e.Epoch != 2 || e.Weights != digest || !slices.Equal(e.IDs, ids) || len(e.Loss) != 2 {
		t.Errorf("%+v", f.Entries)
	}
}

// Without the variable nothing happens, at the cost of a call.
func TestOff(t *testing.T) {
	ids, weights := []int64{1}, map[string]any{"w": func() {}}
	if n := testing.AllocsPerRun(100, func() {
		if Step(1, ids, weights, nil) != nil || Resumed(1) != nil || On() {
			t.Fatal("records are written")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Step(1, nil, nil, nil)
	}
}

var update = flag.Bool("update", false, "write testdata/vectors.json anew")

// vectors are what Go and Python must agree on. python/tests/test_record.py builds the same trees.
type vectors struct {
	Digests map[string]string `json:"digests"`
	IDs     []idVector        `json:"ids"`
	Losses  map[string]string `json:"losses"`
}

type idVector struct {
	IDs  []int64 `json:"ids"`
	Text string  `json:"text"`
}

func bfloat16(bits ...uint16) tensor.Tensor {
	t := tensor.New(tensor.BFloat16, len(bits))
	for i, b := range bits {
		t.Data[2*i], t.Data[2*i+1] = byte(b), byte(b>>8)
	}
	return t
}

func specimens() map[string]any {
	return map[string]any{
		"empty":   map[string]any{},
		"scalars": map[string]any{"none": nil, "yes": true, "n": -3, "big": uint64(math.MaxUint64), "x": 0.1, "nan": math.NaN(), "text": "Schnee ☃"},
		"arrays": map[string]any{
			"b/c":    tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3),
			"a.d":    tensor.FromSlice([]int64{-1, math.MaxInt64}, 2),
			"none":   tensor.FromSlice([]float64{}, 0, 4),
			"scalar": tensor.ScalarOf(float32(7)),
			"mask":   tensor.FromSlice([]bool{true, false}, 2),
			"half":   bfloat16(0x3f80, 0xc000),
		},
		"nested": map[string]any{"10": []any{map[string]any{"w": []uint8{1, 2}}, map[string]any{}, "x"}, "9": map[string]any{"": 1}},
	}
}

// Digests, ids and losses are as docs/format/record.md says, in every language.
func TestVectors(t *testing.T) {
	got := vectors{Digests: map[string]string{}, Losses: map[string]string{}}
	for name, tree := range specimens() {
		digest, err := Digest(tree)
		if err != nil {
			t.Fatal(err)
		}
		got.Digests[name] = digest
	}
	for _, ids := range [][]int64{{}, {0}, {1, 2, 3}, {5, 3, math.MinInt64, math.MaxInt64, -1}, {1 << 40, 300, 299}} {
		got.IDs = append(got.IDs, idVector{ids, recording.EncodeIDs(ids)})
	}
	for text, loss := range map[string]float64{"0.5": 0.5, "0.1": 0.1, "inf": math.Inf(1), "-0.0": math.Copysign(0, -1)} {
		got.Losses[text] = recording.EncodeLoss(loss)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/vectors.json", text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/vectors.json")
	if err != nil || string(want) != string(text) {
		t.Errorf("got %s: %v", text, err)
	}
}

// The order of keys and the kind of containers do not enter a digest; types, shapes and bits do.
func TestDigestLaws(t *testing.T) {
	type pair struct {
		B int64     `bivouac:"b"`
		A []float32 `bivouac:"a"`
	}
	base, err := Digest(map[string]any{"a": []float32{1, 0}, "b": 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tree  any
		equal bool
	}{
		"struct":    {pair{2, []float32{1, 0}}, true},
		"and empty": {map[string]any{"a": []float32{1, 0}, "b": 2, "c": []any{}}, true},
		"type":      {map[string]any{"a": []float64{1, 0}, "b": 2}, false},
		"shape":     {map[string]any{"a": tensor.FromSlice([]float32{1, 0}, 1, 2), "b": 2}, false},
		"sign of 0": {map[string]any{"a": []float32{1, float32(math.Copysign(0, -1))}, "b": 2}, false},
		"name":      {map[string]any{"a": []float32{1, 0}, "c": 2}, false},
		"float":     {map[string]any{"a": []float32{1, 0}, "b": 2.0}, false},
	} {
		if got, err := Digest(c.tree); err != nil || (got == base) != c.equal {
			t.Errorf("%s: %s: %v", name, got, err)
		}
	}
}
