package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/tokenizer"
	"github.com/bivouac-ml/bivouac/tensor"
)

// made is a data set for tests: sample id has id%7+1 tokens base+id, and the number base+id.
type made struct {
	n, base, shard int64
	text, measured bool
}

func init() {
	params := []op.Parameter{
		{Name: "n", Type: op.Int, Required: true, Doc: "Number of samples."},
		{Name: "base", Type: op.Int, Default: 0, Doc: "Number of the first sample."},
		{Name: "shard", Type: op.Int, Default: 0, Doc: "Samples of a shard."},
		{Name: "text", Type: op.Bool, Default: false, Doc: "Text in place of tokens."},
		{Name: "measured", Type: op.Bool, Default: true, Doc: "Whether the source knows its lengths."},
		{Name: "paths", Type: op.Strings, Doc: "Not read."},
		{Name: "dtype", Type: op.DType, Default: tensor.Uint16, Doc: "Type."},
		{Name: "scale", Type: op.Floats, Doc: "Numbers."},
	}
	reader.Register(op.Schema{Name: "made", Module: []string{"readers"}, Doc: "Made.", Params: params,
		Outputs: []op.Port{{Name: "tokens"}, {Name: "number"}}}, reader.Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			d := op.Get[tensor.DType](c, "dtype")
			if op.Get[bool](c, "text") {
				d = tensor.Uint8
			}
			return []tensor.Spec{{DType: d, Shape: tensor.Shape{-1}}, {DType: tensor.Int64, Shape: tensor.Shape{}}}, nil
		},
		Open: func(_ context.Context, c *op.Config) (reader.Source, error) {
			m := &made{int64(op.Get[int](c, "n")), int64(op.Get[int](c, "base")), int64(op.Get[int](c, "shard")),
				op.Get[bool](c, "text"), op.Get[bool](c, "measured")}
			if m.text {
				return withText{m}, nil
			}
			return m, nil
		},
	})
}

func (m *made) Info() reader.Info {
	return reader.Info{Format: "readers.made", Samples: m.n, Files: m.files(), Fingerprint: fmt.Sprint(m.n, m.base)}
}
func (m *made) Size(int64) int64         { return 8 }
func (m *made) Describe(id int64) string { return fmt.Sprintf("made %d", m.base+id) }
func (m *made) Close() error             { return nil }

func (m *made) files() []int64 {
	if m.shard == 0 {
		return nil
	}
	return slices.Repeat([]int64{m.shard}, int(m.n/m.shard))
}

func (m *made) Length(id int64, output int) (int64, bool) {
	return id%7 + 1, m.measured && !m.text && output == 0
}

func (m *made) Fetch(_ context.Context, ids []int64, dst *op.Block) error {
	for s, id := range ids {
		if m.text {
			copy(dst.Out(0, s, int(id%7+1)).Data, "abcdefgh")
		} else {
			tokens, err := tensor.Of[uint16](dst.Out(0, s, int(id%7+1)))
			if err != nil {
				return err
			}
			for i := range tokens {
				tokens[i] = uint16(m.base + id)
			}
		}
		number, _ := tensor.Of[int64](dst.Out(1, s))
		number[0] = m.base + id
	}
	return nil
}

// withText names the first field text.
type withText struct{ *made }

func (withText) Fields() []string { return []string{"text", "number"} }

// bytesAsTokens is a tokenizer of a user: a token for each byte.
type bytesAsTokens struct{}

func (bytesAsTokens) Encode(text []byte, dst []int32) ([]int32, error) {
	for _, b := range text {
		dst = append(dst, int32(b)+1000)
	}
	return dst, nil
}
func (bytesAsTokens) Fingerprint() string { return "bytes" }

// dataYAML writes a data.yaml and returns its path.
func dataYAML(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func openData(t testing.TB, path string, o dataset.OpenOptions) *dataset.Data {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// three is a mixture of three sources, with weights that change.
const three = `
seed: 7
shuffle: true
global_batch: 12
sources:
  - {name: web, reader: made, args: {n: 400}, weight: 0.6}
  - {name: code, reader: made, args: {n: 150, base: 1000}, weight: 0.3}
  - {name: math, reader: made, args: {n: 60, base: 2000, shard: 20}, weight: 0.1, shuffle_window: 2}
phases:
  - {from_step: 20, weights: {web: 0.2, code: 0.2, math: 0.6}}
  - {from_sample: 600, weights: {web: 1, code: 0, math: 1}}
`

// dataKinds are the dataKinds of orders that a data.yaml makes.
var dataKinds = map[string]string{
	"mixture":        three,
	"packed mixture": strings.Replace(three, "600", "1600", 1) + "pack: {length: 16, block: 64}\n",
	"mixture that ends": `
seed: 3
shuffle: true
global_batch: 10
when_exhausted: cycle all
sources:
  - {name: a, reader: made, args: {n: 90}, weight: 2}
  - {name: b, reader: made, args: {n: 31, base: 1000}}
`,
	"joined":    "{seed: 1, shuffle: true, global_batch: 9, sources: [{reader: made, args: {n: 70}}, {reader: made, args: {n: 33, base: 500}}]}",
	"one":       "{shuffle: true, global_batch: 8, reader: made, args: {n: 61}}",
	"windows":   "{shuffle_window: 2, seed: 5, global_batch: 8, reader: made, args: {n: 80, shard: 10}}",
	"packed":    "{shuffle: true, seed: 5, global_batch: 8, reader: made, args: {n: 180}, pack: {length: 9}}",
	"in order":  "{global_batch: 8, reader: made, args: {n: 61}}",
	"drop last": "{global_batch: 8, drop_last: true, reader: made, args: {n: 61}}",
}

// numbersOf returns what a batch shows of its samples: their numbers, or the tokens of its packs.
func numbersOf(t *testing.T, b reader.Fields) (list []int64) {
	t.Helper()
	if v, ok := b.Get("number"); ok {
		list, err := tensor.Of[int64](v)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	v, err := b.Value("tokens")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := tensor.Of[int32](v)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tokens {
		list = append(list, int64(x))
	}
	return list
}

type fields = loader.Loader[reader.Fields, reader.Fields]

// ranksOfData opens the loaders of all ranks, at a state.
func ranksOfData(t *testing.T, path string, world, workers int, saved []byte) (list []*fields) {
	t.Helper()
	for rank := range world {
		d := openData(t, path, dataset.OpenOptions{})
		o := d.Options()
		o.Rank, o.World, o.Workers, o.Log = rank, world, workers, slog.New(slog.DiscardHandler)
		l, err := loader.New(d, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if saved != nil {
			if err := l.SetState(saved); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, l)
	}
	return list
}

// globalSteps reads steps of all ranks and returns the samples of each step. A step of samples that
// are repeated has them once. nil is the end of an epoch.
func globalSteps(t *testing.T, ranks []*fields, n int) (steps [][]int64) {
	t.Helper()
	for range n {
		var step []int64
		for _, l := range ranks {
			b, err := l.Next(context.Background())
			if err != nil {
				if err.Error() != "EOF" {
					t.Fatal(err)
				}
				continue
			}
			if l.LastBatch().Repeated == 0 {
				step = append(step, numbersOf(t, b)...)
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// Any number of ranks and workers, with interruptions anywhere, gives the samples of one rank that
// is never interrupted, step by step.
func TestOpenedDataIsElastic(t *testing.T) {
	for name, text := range dataKinds {
		t.Run(name, func(t *testing.T) {
			path := dataYAML(t, text)
			const steps = 62
			want := globalSteps(t, ranksOfData(t, path, 1, 0, nil), steps)
			for world := 1; world <= 8; world++ {
				var saved []byte
				var got [][]int64
				for part := 0; len(got) < steps; part++ {
					n := min(3+5*part+world, steps-len(got))
					w := (world+part*3-1)%8 + 1
					ranks := ranksOfData(t, path, w, (part+world)%3, saved)
					got = append(got, globalSteps(t, ranks, n)...)
					var err error
					if saved, err = ranks[part%w].AppendState(nil); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("world %d: %s", world, diff)
				}
			}
		})
	}
}

// After every prefix since the last change of weights each source has its part, to within one
// sample.
func TestOpenedMixtureKeepsProportions(t *testing.T) {
	d := openData(t, dataYAML(t, three), dataset.OpenOptions{})
	weights := [][]float64{{0.6, 0.3, 0.1}, {0.2, 0.2, 0.6}, {0.5, 0, 0.5}}
	starts := []int64{0, 240, 600}
	ids := make([]int64, 3000)
	if n := d.Order().Fill(0, ids); n != len(ids) {
		t.Fatal(n)
	}
	phase, counts := 0, make([]float64, 3)
	for pos, id := range ids {
		if phase+1 < len(starts) && int64(pos) == starts[phase+1] {
			phase++
			clear(counts)
		}
		source, _, err := d.Split(id)
		if err != nil {
			t.Fatal(err)
		}
		counts[source]++
		for i, n := range counts {
			if want := float64(int64(pos)-starts[phase]+1) * weights[phase][i]; n-want >= 1 || want-n >= 1 {
				t.Fatalf("position %d: %v of source %d, want %v", pos, n, i, want)
			}
		}
	}
}

// A phase from a step of packs begins with the first block of packing at or after the step: before
// it the order has the weights before, block for block, and from it on only math comes.
func TestPhaseOfPacksBeginsAtItsStep(t *testing.T) {
	const text = `
{seed: 7, shuffle: true, global_batch: 12, pack: {length: 16, block: 64}, sources: [
  {name: web, reader: made, args: {n: 400}, weight: 2}, {name: math, reader: made, args: {n: 60, base: 2000}}]`
	plain := openData(t, dataYAML(t, text+"}"), dataset.OpenOptions{})
	phased := openData(t, dataYAML(t, text+", phases: [{from_step: 20, weights: {web: 0, math: 1}}]}"),
		dataset.OpenOptions{})
	packs, pos := plain.Order().(order.Packer), int64(0)
	for range 20 * 12 {
		first, n, _ := packs.Pack(pos)
		pos = first + n
	}
	from := (pos + 63) / 64 * 64
	want, got := make([]int64, from+500), make([]int64, from+500)
	plain.Order().Fill(0, want)
	phased.Order().Fill(0, got)
	if diff := cmp.Diff(want[:from], got[:from]); diff != "" {
		t.Errorf("before the phase: %s", diff)
	}
	if i := slices.IndexFunc(got[from:], func(id int64) bool { return id < 400 }); i >= 0 {
		t.Errorf("sample %d of web comes %d samples after the phase began", got[from+int64(i)], i)
	}
}

func TestPacksHaveMasks(t *testing.T) {
	d := openData(t, dataYAML(t,
		"{reader: made, args: {n: 4}, batch_size: 2, pack: {length: 6, pad: 9, longer: refuse}}"), dataset.OpenOptions{})
	l, err := loader.New(d, d.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := l.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, name := range b.Names {
		got[name] = fmt.Sprintf("%+v", b.Values[i])
	}
	want := map[string]string{ // of lengths 1, 2, 3, 4: samples 0 and 2, then 1 and 3
		"tokens":      "int32[2,6] [[0 2 2 2 9 9] [1 1 3 3 3 3]]",
		"segment_ids": "int32[2,6] [[1 2 2 2 0 0] [1 1 2 2 2 2]]",
		"positions":   "int32[2,6] [[0 0 1 2 0 0] [0 1 0 1 2 3]]",
		"loss_mask":   "float32[2,6] [[1 1 1 1 0 0] [1 1 1 1 1 1]]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Batches of samples: a field of known shape is stacked, and one that differs in length is joined.
func TestBatchesOfFields(t *testing.T) {
	d := openData(t, dataYAML(t, "{reader: made, args: {n: 9}, batch_size: 3, fields: {ids: tokens, label: number}}"),
		dataset.OpenOptions{})
	l, err := loader.New(d, d.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := l.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	v, err := reader.Decode[struct {
		IDs   []int `field:"ids"`
		Ends  []int `field:"ids_ends"`
		Label []int64
	}](&b)
	if err != nil || !slices.Equal(v.IDs, []int{0, 1, 1, 2, 2, 2}) || !slices.Equal(v.Ends, []int{1, 3, 6}) ||
		!slices.Equal(v.Label, []int64{0, 1, 2}) {
		t.Error(v, err)
	}
}

// Lengths that only reading tells are counted once, with progress, and kept beside the data.yaml. A
// damaged file, or one of other data, is counted again.
// A data set without a data.yaml.
// The fingerprint tells data, their order, fields and tokenizer apart, and not weights.
// Each mistake in a data.yaml names the file, the line, the setting, what is wanted and what was
// found.
// Paths and arguments that are paths are relative to the file.
// A data.yaml with a tokenizer.json: text becomes its ids, also in packs, and a file that is
// changed gives another fingerprint and counts the lengths again.
// A run goes on with another phase, and with a source that is added at the end of the list.
func TestOpenedRunIsExtended(t *testing.T) {
	const before = `
{seed: 7, shuffle: true, global_batch: 8, sources: [
  {name: web, reader: made, args: {n: 400}, weight: 2}, {name: code, reader: made, args: {n: 150, base: 1000},
	weight: 1}`
	const math = `, {name: math, reader: made, args: {n: 60, base: 2000}, weight: 0}`
	next := func(text string) *fields { return ranksOfData(t, dataYAML(t, text), 1, 0, nil)[0] }
	old := next(before + "]}")
	globalSteps(t, []*fields{old}, 20)
	saved, err := old.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := globalSteps(t, []*fields{old}, 5)
	for name, text := range map[string]string{
		"phase":  before + "], phases: [{from_step: 25, weights: {web: 0, code: 1}}]}",
		"source": before + math + "], phases: [{from_step: 25, weights: {web: 0, code: 0, math: 1}}]}",
	} {
		l := next(text)
		if err := l.SetState(saved); !errors.Is(err, errs.Mismatch) {
			t.Errorf("%s: SetState takes a state of another order: %v", name, err)
		}
		if err := l.Extend(saved); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, globalSteps(t, []*fields{l}, 5)); diff != "" {
			t.Errorf("%s: the steps before the phase: %s", name, diff)
		}
		for _, step := range globalSteps(t, []*fields{l}, 5) {
			if slices.ContainsFunc(step, func(n int64) bool { return n < 1000 }) || name == "source" &&
				slices.Min(step) < 2000 {
				t.Errorf("%s: a step after the phase has %v", name, step)
			}
		}
	}
	other := next(strings.Replace(before, "n: 400", "n: 401", 1) + "]}")
	if err := other.Extend(saved); !errors.Is(err, errs.Mismatch) {
		t.Errorf("another source: %v", err)
	}
}

// Lengths come from a file or from a field, if the data.yaml says so. Wrong lengths are an error.
