package loader_test

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
	return reader.Info{Format: "readers.made", Samples: m.n, Fingerprint: fmt.Sprint(m.n, m.base)}
}
func (m *made) Size(int64) int64         { return 8 }
func (m *made) Describe(id int64) string { return fmt.Sprintf("made %d", m.base+id) }
func (m *made) Close() error             { return nil }

func (m *made) Shards() []int64 {
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

func openData(t testing.TB, path string, o loader.OpenOptions) *loader.Data {
	t.Helper()
	d, err := loader.Open(context.Background(), path, o)
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
		d := openData(t, path, loader.OpenOptions{})
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
	d := openData(t, dataYAML(t, three), loader.OpenOptions{})
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
	plain := openData(t, dataYAML(t, text+"}"), loader.OpenOptions{})
	phased := openData(t, dataYAML(t, text+", phases: [{from_step: 20, weights: {web: 0, math: 1}}]}"),
		loader.OpenOptions{})
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
		"{reader: made, args: {n: 4}, batch_size: 2, pack: {length: 6, pad: 9, longer: refuse}}"), loader.OpenOptions{})
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
		loader.OpenOptions{})
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
func TestLengthsAreCountedOnce(t *testing.T) {
	const text = "{reader: made, args: {n: 200, text: true}, global_batch: 2, pack: {length: 20}}"
	path := dataYAML(t, text)
	count := func() (calls int, data *loader.Data) {
		var last int64
		d := openData(t, path, loader.OpenOptions{Tokenizer: bytesAsTokens{}, Progress: func(task string, done,
			total int64) {
			if calls++; total != 200 || done < 1 || task == "" {
				t.Error(task, done, total)
			}
			last = max(last, done)
		}})
		if calls > 0 && last != 200 {
			t.Errorf("%d of 200 were counted", last)
		}
		return calls, d
	}
	calls, first := count()
	if calls == 0 {
		t.Fatal("nothing was counted")
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "bivouac.lengths-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	again, second := count()
	if again != 0 || first.Order().String() != second.Order().String() {
		t.Errorf("counted again: %d calls", again)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{3, 20, 44, 100, len(b) - 1} {
		bad := slices.Clone(b)
		bad[at] ^= 1
		if err := os.WriteFile(files[0], bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if calls, _ := count(); calls == 0 {
			t.Errorf("a file that is damaged at %d was used", at)
		}
	}
	if err := os.WriteFile(files[0], b[:len(b)-9], 0o666); err != nil {
		t.Fatal(err)
	}
	if calls, _ := count(); calls == 0 {
		t.Error("a file that was cut was used")
	}
	if calls, _ := count(); calls != 0 {
		t.Error("the file was not written again")
	}
	l, err := loader.New(first, first.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	batch, err := l.Next(context.Background())
	if tokens := numbersOf(t, batch); err != nil || tokens[0] < 1000 {
		t.Error("not the tokens of the user's function", tokens, err)
	}
}

// A data set without a data.yaml.
func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), []byte(fmt.Sprint("picture ", i)),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := openData(t, dir, loader.OpenOptions{})
	o := loader.Options[reader.Fields, []string]{Order: d.Order(), BatchSize: 2,
		Collate: func(list []reader.Fields) (out []string, err error) {
			for i := range list {
				v, err := reader.Decode[struct{ Files string }](&list[i])
				if err != nil {
					return nil, err
				}
				out = append(out, v.Files)
			}
			return out, nil
		}}
	l, err := loader.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got []string
	for b, err := range l.Epoch(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	if diff := cmp.Diff([]string{"picture 0", "picture 1", "picture 2"}, got); diff != "" || d.Len() != 3 {
		t.Error(diff)
	}
	for path, kind := range map[string]errs.Kind{"none": errs.NotFound, "s3://bucket/x": errs.Unsupported,
		"none.yaml": errs.NotFound, "~/x.yml": errs.Unsupported} {
		if _, err := loader.Open(context.Background(), path, loader.OpenOptions{}); !errors.Is(err, kind) {
			t.Errorf("%s: want %v, got %v", path, kind, err)
		}
	}
}

// The fingerprint tells data, their order, fields and tokenizer apart, and not weights.
func TestFingerprintOfOpenedData(t *testing.T) {
	of := func(text string) string { return openData(t, dataYAML(t, text), loader.OpenOptions{}).Fingerprint() }
	a, b := "{name: a, reader: made, args: {n: 10}}", "{name: b, reader: made, args: {n: 20}}"
	base := of("sources: [" + a + ", " + b + "]")
	seen := map[string]string{base: "base"}
	for _, text := range []string{"sources: [" + b + ", " + a + "]", "sources: [" + a + "]",
		"sources: [" + strings.Replace(a, "}}", "}, fields: [number]}", 1) + ", " + b + "]",
		"{pack: {length: 7, longer: cut}, sources: [" + a + ", " + b + "]}"} {
		print := of(text)
		if other, ok := seen[print]; ok {
			t.Errorf("%s and %s are equal", text, other)
		}
		seen[print] = text
	}
	weighted := "sources: [" + strings.Replace(a, "}}", "}, weight: 3}", 1) + ", " + strings.Replace(b, "name: b",
		"name: c", 1) + "]"
	if of(weighted) != base {
		t.Error("weights change the fingerprint")
	}
}

// Each mistake in a data.yaml names the file, the line, the setting, what is wanted and what was
// found.
func TestMistakesInDataFiles(t *testing.T) {
	t.Setenv("RANK_OF_TEST", "three")
	const src = "sources: [{name: a, reader: made, args: {n: 5}}, {name: b, reader: made, args: {n: 5}}]\n"
	for text, want := range map[string]string{
		"":                    "want sources, or a path, got an empty file",
		"seed: 1":             "want sources, or a path, got neither",
		"\nsources: 3":        "sources in line 2 of FILE: invalid: want a list, got 3",
		"sources: []":         "want a list",
		"sources: [3]":        "sources[0] in line 1 of FILE: invalid: want names and values, got 3",
		"sources: [{nam: a}]": `sources[0].nam in line 1 of FILE: invalid: want a known name, got "nam" (did you mean "name"?)`,
		src + "path: x":       "either sources, or path and reader",
		src + "seeed: 1":      `seeed in line 2 of FILE: invalid: want a known name, got "seeed" (did you mean "seed"?)`,
		src + "weights: {}":   "want a known name",
		src + "phases: [{weights: {a: 1, b: 1}}]":                                                          "phases[0] in line 2 of FILE: invalid: want either from_step or from_sample, got neither",
		src + "phases: [{from_step: 1, from_sample: 2, weights: {a: 1, b: 1}}]":                            "got both",
		src + "phases: [{from_step: 1, weights: {a: 1, b: 1}}]":                                            "want global_batch beside from_step",
		src + "phases: [{from_sample: 1, weights: {a: 1}}]":                                                `want a weight for each source, got no weight for "b"`,
		src + "phases: [{from_sample: 1, weights: {a: 1, bb: 1}}]":                                         `phases[0].weights.bb in line 2 of FILE`,
		src + "phases: [{from_sample: 0, weights: {a: 1, b: 1}}]":                                          "want an integer of at least 1, got 0",
		src + "phases: [{from_sample: 9, weights: {a: -1, b: 1}}]":                                         "want a weight of at least 0, got -1",
		src + "phases: [{from_sample: 9, weights: {a: 0, b: 0}}]":                                          "want a position above 0 and 2 weights with a sum above 0",
		src + "phases: [{from_sample: 9, weights: {a: 1, b: 2}}, {from_sample: 8, weights: {a: 1, b: 2}}]": "phases[1] in line 2 of FILE: invalid: want a phase after sample 9, where the phase before begins, got one from sample 8",
		src + "when_exhausted: stop":                                                                       `want "stop first"`,
		src + "pack: {length: 4}":                                                                          "samples of at most 4 tokens, got 5 tokens in sample 4 of source a (made 4)",
		src + "pack: {}":                                                                                   "want a length in tokens, got none",
		src + "pack: {length: 9, field: x}":                                                                `want a field "x" to pack`,
		src + "pack: {length: 9, longer: no}":                                                              `want "cut" or "refuse"`,
		src + "pack: {length: 9}\nbatch_size: null":                                                        "want batches, for packs",
		src + "rank: env":                  `want "env NAME" or "env NAME or NUMBER"`,
		src + "rank: env NO_SUCH_VARIABLE": `want the environment variable NO_SUCH_VARIABLE, got none (write "env NO_SUCH_VARIABLE or 0"`,
		src + "rank: env RANK_OF_TEST":     `rank in line 2 of FILE: invalid: want an integer of at least 0 in RANK_OF_TEST, got "three"`,
		src + "world: 0":                   `want an integer, or "env NAME"`,
		src + "tokenize: t.json":           "t.json: not found: no such file or directory",
		src + "seed: [":                    "YAML or JSON",
		"sources: [{name: a, reader: made, args: {n: 1}}, {name: a, reader: made, args: {n: 1}}]": `want a name that no other source has, got "a"`,
		"{reader: made, args: {n: x}}":                                        `args.n in line 1 of FILE: invalid: want int, got "x"`,
		"{reader: made, args: {n: 3, m: 1}}":                                  "args.m in line 1 of FILE: invalid: want a known name",
		"{reader: made, args: {n: 3, scale: [1, x]}}":                         "args.scale in line 1 of FILE: invalid: want list of float, got a list",
		"{reader: made, args: {n: 3, dtype: int33}}":                          "want a dtype such as uint16",
		"{reader: made}":                                                      "argument n: invalid: want int, got no value",
		"{reader: maade, args: {n: 3}}":                                       `did you mean "made"?`,
		"sources: [{name: a}]":                                                "want a path, or a reader with args, got neither",
		"{path: nowhere/*.jsonl}":                                             "nowhere/*.jsonl: not found",
		"{reader: made, args: {n: 3}, fields: [tokns]}":                       `did you mean "tokens"?`,
		"{reader: made, args: {n: 3}, fields: [tokens, tokens]}":              "want each name at most once",
		"{reader: made, args: {n: 3}, shuffle_window: 2}":                     "want a source that lies in shards",
		"{reader: made, args: {n: 3}, lengths: no.npy, pack: {length: 9}}":    "no.npy: not found",
		"sources: [{name: a, reader: made, args: {n: 3}, shuffle_window: 2}]": "want weights, for a shuffle_window of a source",
	} {
		path := dataYAML(t, text)
		_, err := loader.Open(context.Background(), path, loader.OpenOptions{})
		if err == nil {
			t.Errorf("%q: want an error", text)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), path, "FILE"); !strings.Contains(got, want) {
			t.Errorf("%q:\nwant %s\ngot  %s", text, want, got)
		}
	}
}

func TestEnvironmentOfDataFiles(t *testing.T) {
	const text = "{rank: env RANK_OF_TEST or 0, world: env WORLD_OF_TEST or 4, reader: made, args: {n: 3}}"
	if o := openData(t, dataYAML(t, text), loader.OpenOptions{}).Options(); o.Rank != 0 || o.World != 4 {
		t.Error(o.Rank, o.World)
	}
	t.Setenv("RANK_OF_TEST", "5")
	t.Setenv("WORLD_OF_TEST", "8")
	if o := openData(t, dataYAML(t, text), loader.OpenOptions{}).Options(); o.Rank != 5 || o.World != 8 {
		t.Error(o.Rank, o.World)
	}
}

// Paths and arguments that are paths are relative to the file.
func TestPathsOfDataFiles(t *testing.T) {
	path := dataYAML(t, "{reader: file, args: {files: [a.png, b.png], labels: [4, 5]}}")
	for _, name := range []string{"a.png", "b.png"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := openData(t, path, loader.OpenOptions{})
	f, err := d.At(context.Background(), 1, loader.Random{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := reader.Decode[struct {
		Files  string
		Labels int
	}](&f)
	if err != nil || v.Files != "b.png" || v.Labels != 5 {
		t.Error(v, err)
	}
	if s := d.Describe(1); !strings.Contains(s, "b.png") {
		t.Error(s)
	}
}

// A data.yaml with a tokenizer.json: text becomes its ids, also in packs, and a file that is
// changed gives another fingerprint and counts the lengths again.
func TestTokenizeInDataFiles(t *testing.T) {
	const file = `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"decoder":null,
"post_processor":{"type":"BertProcessing","sep":["s",9],"cls":["c",8]},
"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"ab":7},"merges":["a b"]}}`
	const text = "{reader: made, args: {n: 14, text: true}, tokenize: t.json, fields: [tokens], batch_size: 1"
	path := dataYAML(t, text+"}")
	write := func(file string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "t.json"), []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(file)
	d := openData(t, path, loader.OpenOptions{})
	f, err := d.At(context.Background(), 9, loader.Random{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Decode[[]int32](&f); err != nil || !slices.Equal(v, []int32{8, 7, 2, 9}) {
		t.Error(v, err)
	}
	write(strings.Replace(file, `"sep":["s",9],"cls":["c",8]`, `"sep":["s",9],"cls":["c",7]`, 1))
	if other := openData(t, path, loader.OpenOptions{}); other.Fingerprint() == d.Fingerprint() {
		t.Error("another tokenizer gives the same fingerprint")
	}
	for _, file := range []string{file, strings.Replace(file, `"a b"`, ``, 1)} {
		if err := os.WriteFile(path, []byte(text+", pack: {length: 9}}"), 0o666); err != nil {
			t.Fatal(err)
		}
		write(file)
		packed := openData(t, path, loader.OpenOptions{})
		l, err := loader.New(packed, packed.Options())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for b, err := range l.Epoch(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if tokens := numbersOf(t, b); len(tokens) != 9 || tokens[0] != 8 {
				t.Error(tokens)
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "bivouac.lengths-*")); len(files) != 2 {
		t.Error("want lengths for two tokenizers, got", files)
	}
	write("{}")
	if _, err := loader.Open(context.Background(), path, loader.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "t.json") {
		t.Error(err)
	}
}

// A run goes on with another phase, and with a source that is added at the end of the list.
func TestOpenedRunIsExtended(t *testing.T) {
	const before = `
{seed: 7, shuffle: true, global_batch: 8, sources: [
  {name: web, reader: made, args: {n: 400}, weight: 2}, {name: code, reader: made, args: {n: 150, base: 1000}, weight: 1}`
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
			if slices.ContainsFunc(step, func(n int64) bool { return n < 1000 }) || name == "source" && slices.Min(step) < 2000 {
				t.Errorf("%s: a step after the phase has %v", name, step)
			}
		}
	}
	other := next(strings.Replace(before, "n: 400", "n: 401", 1) + "]}")
	if err := other.Extend(saved); !errors.Is(err, errs.Mismatch) {
		t.Errorf("another source: %v", err)
	}
}
