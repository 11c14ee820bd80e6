package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/tokenizer"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestLengthsAreCountedOnce(t *testing.T) {
	const text = "{reader: made, args: {n: 200, text: true}, global_batch: 2, pack: {length: 20}}"
	path := dataYAML(t, text)
	count := func() (calls int, data *dataset.Data) {
		var last int64
		d := openData(t, path, dataset.OpenOptions{Tokenizer: bytesAsTokens{}, Progress: func(task string, done,
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

func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), []byte(fmt.Sprint("picture ", i)),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := openData(t, dir, dataset.OpenOptions{})
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
		if _, err := dataset.Open(context.Background(), path, dataset.OpenOptions{}); !errors.Is(err, kind) {
			t.Errorf("%s: want %v, got %v", path, kind, err)
		}
	}
}

func TestFingerprintOfOpenedData(t *testing.T) {
	of := func(text string) string { return openData(t, dataYAML(t, text), dataset.OpenOptions{}).Fingerprint() }
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
		src + "rank: env":                         `want "env NAME" or "env NAME or NUMBER"`,
		src + "rank: env NO_SUCH_VARIABLE":        `want the environment variable NO_SUCH_VARIABLE, got none (write "env NO_SUCH_VARIABLE or 0"`,
		src + "rank: env RANK_OF_TEST":            `rank in line 2 of FILE: invalid: want an integer of at least 0 in RANK_OF_TEST, got "three"`,
		src + "world: 0":                          `want an integer, or "env NAME"`,
		src + "tokenize: t.json":                  "t.json: not found: no such file or directory",
		"{reader: made, args: {n: 3}, weight: 2}": "weight in line 1 of FILE: invalid: want a known name",
		src + "seed: [":                           "YAML or JSON",
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
		_, err := dataset.Open(context.Background(), path, dataset.OpenOptions{})
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
	if o := openData(t, dataYAML(t, text), dataset.OpenOptions{}).Options(); o.Rank != 0 || o.World != 4 {
		t.Error(o.Rank, o.World)
	}
	t.Setenv("RANK_OF_TEST", "5")
	t.Setenv("WORLD_OF_TEST", "8")
	if o := openData(t, dataYAML(t, text), dataset.OpenOptions{}).Options(); o.Rank != 5 || o.World != 8 {
		t.Error(o.Rank, o.World)
	}
}

func TestPathsOfDataFiles(t *testing.T) {
	path := dataYAML(t, "{reader: file, args: {files: [a.png, b.png], labels: [4, 5]}}")
	for _, name := range []string{"a.png", "b.png"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := openData(t, path, dataset.OpenOptions{})
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
	d := openData(t, path, dataset.OpenOptions{})
	f, err := d.At(context.Background(), 9, loader.Random{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := reader.Decode[[]int32](&f); err != nil || !slices.Equal(v, []int32{8, 7, 2, 9}) {
		t.Error(v, err)
	}
	write(strings.Replace(file, `"sep":["s",9],"cls":["c",8]`, `"sep":["s",9],"cls":["c",7]`, 1))
	if other := openData(t, path, dataset.OpenOptions{}); other.Fingerprint() == d.Fingerprint() {
		t.Error("another tokenizer gives the same fingerprint")
	}
	for _, file := range []string{file, strings.Replace(file, `"a b"`, ``, 1)} {
		if err := os.WriteFile(path, []byte(text+", pack: {length: 9}}"), 0o666); err != nil {
			t.Fatal(err)
		}
		write(file)
		packed := openData(t, path, dataset.OpenOptions{})
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
	if _, err := dataset.Open(context.Background(), path, dataset.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "t.json") {
		t.Error(err)
	}
}

func TestLengthsThatAreGiven(t *testing.T) {
	const text = "{reader: made, args: {n: 6}, batch_size: 1, pack: {length: 20}, lengths: "
	open := func(lengths string, list []uint16) (*dataset.Data, error) {
		path := dataYAML(t, text+lengths+"}")
		b, err := npy.Encode(tensor.FromSlice(list), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "l.npy"), b, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(context.Background(), path, dataset.OpenOptions{})
		if err == nil {
			t.Cleanup(func() { d.Close() })
		}
		return d, err
	}
	for lengths, list := range map[string][]uint16{"l.npy": {1, 2, 3, 4, 5, 6}, "{field: number}": {0, 1, 2, 3, 4, 5}} {
		d, err := open(lengths, list)
		if err != nil {
			t.Fatal(lengths, err)
		}
		var of []int32
		for _, n := range list {
			of = append(of, int32(n))
		}
		want, err := order.NewLengths(of)
		if err != nil || !strings.Contains(d.Order().String(), want.String()) {
			t.Errorf("%s: want %s in %s", lengths, want, d.Order())
		}
	}
	for lengths, want := range map[string]string{"{field: numbr}": `did you mean "number"?`,
		"{file: x}": "a known name", "{field: tokens}": "one number"} {
		if _, err := open(lengths, []uint16{1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", lengths, want, err)
		}
	}
	if _, err := open("l.npy", []uint16{1, 2}); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(),
		"a length for each of 6 samples") {
		t.Error(err)
	}
	d, err := open("l.npy", make([]uint16, 6)) // all 0, so that all samples share a pack
	if err != nil {
		t.Fatal(err)
	}
	l, err := loader.New(d, d.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Next(context.Background()); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(),
		"as its length said") {
		t.Error(err)
	}
}
