package text

import (
	"context"
	_ "embed" // data.yaml
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/tensor"
)

//go:embed data.yaml
var dataYAML []byte

// tokenizer has a token for each letter, one for "ab", and 8 and 9 around each text.
const tokenizer = `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"decoder":null,
"post_processor":{"type":"BertProcessing","sep":["s",9],"cls":["c",8]},
"model":{"type":"BPE","vocab":{"x":0,"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"ab":7},"merges":["a b"]}}`

// letters are what texts are made of.
const letters = "abcdef"

// texts are the texts of the data: text i has i letters, up to 45.
func texts(n int) []string {
	list := make([]string, n)
	for i := range list {
		var b strings.Builder
		for k := range i % 46 {
			b.WriteByte(letters[(i+k*k)%len(letters)])
		}
		list[i] = b.String()
	}
	return list
}

// tokensOf are the tokens of a text, cut to the length of a row.
func tokensOf(text string) []int32 {
	out := []int32{8}
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], "ab") {
			out = append(out, 7)
			i++
			continue
		}
		out = append(out, int32(1+strings.IndexByte(letters, text[i])))
	}
	return append(out, 9)[:min(len(out)+1, 32)]
}

// write makes the folder of the example, with texts in two files of the split train and others in
// validation.
func write(t *testing.T, list []string) string {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	type row struct {
		Text string `parquet:"text"`
		ID   int64  `parquet:"id"`
	}
	var rows []row
	for i, text := range list {
		rows = append(rows, row{text, int64(i)})
	}
	must(os.MkdirAll(filepath.Join(dir, "corpus/data"), 0o777))
	at := func(name string) string { return filepath.Join(dir, name) }
	must(parquettest.Write(at("corpus/data/train-00000-of-00002.parquet"), 20, rows[:len(rows)/2]))
	must(parquettest.Write(at("corpus/data/train-00001-of-00002.parquet"), 20, rows[len(rows)/2:]))
	must(parquettest.Write(at("corpus/data/validation-00000-of-00001.parquet"), 20, []row{{"fff", 0}}))
	must(os.WriteFile(at("tokenizer.json"), []byte(tokenizer), 0o666))
	must(os.WriteFile(at("data.yaml"), dataYAML, 0o666))
	return at("data.yaml")
}

func open(t *testing.T, path string) *loader.Loader[reader.Fields, reader.Fields] {
	t.Helper()
	data, l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), data.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// column returns the numbers of a field.
func column(t *testing.T, batch reader.Fields, name string) []int32 {
	t.Helper()
	v, ok := batch.Get(name)
	if !ok || len(v.Shape) != 2 || v.Shape[1] != 32 {
		t.Fatalf("%s is %v", name, v)
	}
	list, err := tensor.Of[int32](v)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAllTextsComeOnce: the segments of the rows of an epoch are the tokens of all texts, each
// once.
func TestAllTextsComeOnce(t *testing.T) {
	list := texts(100)
	l := open(t, write(t, list))
	var want, got []string
	for _, text := range list {
		want = append(want, fmt.Sprint(tokensOf(text)))
	}
	for {
		batch, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tokens, segments, positions := column(t, batch, "tokens"), column(t, batch, "segment_ids"), column(t, batch,
			"positions")
		for from := 0; from < len(tokens); {
			to := from + 1
			for to < len(tokens) && to%32 != 0 && segments[to] == segments[from] {
				to++
			}
			if segments[from] > 0 {
				got = append(got, fmt.Sprint(tokens[from:to]))
				if positions[from] != 0 || int(positions[to-1]) != to-from-1 {
					t.Errorf("positions %v", positions[from:to])
				}
			}
			from = to
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%d segments, want %d:\n%v\n%v", len(got), len(want), got, want)
	}
}

// TestResume: a loader that begins at a saved state delivers the same rows, over the end of an
// epoch.
func TestResume(t *testing.T) {
	path := write(t, texts(60))
	next := func(l *loader.Loader[reader.Fields, reader.Fields]) string {
		t.Helper()
		batch, err := l.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return "the end of the epoch"
		}
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(column(t, batch, "tokens"))
	}
	l := open(t, path)
	for range 3 {
		next(l)
	}
	saved, err := l.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	if err := other.SetState(saved); err != nil {
		t.Fatal(err)
	}
	for range 25 {
		if want, got := next(l), next(other); got != want {
			t.Fatalf("after the resume: %s, want %s", got, want)
		}
	}
}
