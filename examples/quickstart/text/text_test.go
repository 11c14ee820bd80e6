package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/examples/quickstart/killed"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
)

func TestMain(m *testing.M) {
	if os.Getenv("BIVOUAC_QUICKSTART") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// tokenizer has a token for each letter from a to h, and 8 for others.
const tokenizer = `{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
"decoder":null,"model":{"type":"BPE","unk_token":"?","vocab":{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"?":8},
"merges":[]}}`

// writeCorpus writes two Parquet files, a tokenizer and the data.yaml of the example.
func writeCorpus(t *testing.T, dir string) (path string) {
	t.Helper()
	type row struct {
		Text string `parquet:"text"`
	}
	text := func(i int, step int) row {
		var b strings.Builder
		for k := range 5 + i%20 {
			b.WriteByte(byte('a' + (i+k*step)%8))
		}
		return row{b.String()}
	}
	var books, code []row
	for i := range 90 {
		books = append(books, text(i, 1))
		if i%3 == 0 {
			code = append(code, text(i, 3))
		}
	}
	yaml, err := os.ReadFile("data.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "data.yaml")
	for _, err := range []error{
		parquettest.Write(filepath.Join(dir, "books.parquet"), 20, books),
		parquettest.Write(filepath.Join(dir, "code.parquet"), 20, code),
		os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(tokenizer), 0o666),
		os.WriteFile(path, yaml, 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A training that is killed twice and started again ends with the weights of one that was not
// killed, and it has learned.
func TestKilledAndResumed(t *testing.T) {
	dir := t.TempDir()
	data := writeCorpus(t, dir)
	program := func(run string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-data", data, "-run", filepath.Join(dir, run), "-steps", "60", "-tokens", "9")
		cmd.Env = append(os.Environ(), "BIVOUAC_QUICKSTART=1")
		return cmd
	}
	whole, err := killed.Run(program("whole"), "")
	if err != nil || len(whole) != 6 {
		t.Fatal(whole, err)
	}
	var lines []string
	for _, at := range []string{"step 30 ", "step 50 ", ""} {
		if lines, err = killed.Run(program("broken"), at); err != nil {
			t.Fatal(err)
		}
	}
	// When step 50 was printed, the save of step 40 had begun, which waits for the save of step 30.
	if !slices.Contains([]string{"resumed at step 30", "resumed at step 40", "resumed at step 50"}, lines[0]) {
		t.Errorf("%q", lines)
	}
	if last := whole[len(whole)-1]; lines[len(lines)-1] != last {
		t.Errorf("%q, want %q", lines, last)
	}
	a, b := filepath.Join(dir, "whole", "60"), filepath.Join(dir, "broken", "60")
	for l, err := range diff.Leaves(t.Context(), a, b, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Status != diff.Same {
			t.Errorf("%s %s is %s", l.Item, l.Path, l.Status)
		}
	}
	var first, last float64
	_, err = fmt.Sscanf(whole[0]+whole[5], "step 10 loss %gstep 60 loss %g", &first, &last)
	if err != nil || last >= first {
		t.Errorf("%q %v", whole, err)
	}
}
