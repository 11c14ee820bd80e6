package reader_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
)

// energonFolder has folders that Megatron-Energon prepared, with the samples that it reads.
const energonFolder = "../testdata/energon"

// The splits of prepared folders have the samples that Energon reads, in its order.
func TestEnergon(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(energonFolder, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Splits map[string][][2]string
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) != 3 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		dir := filepath.Join(energonFolder, c.Name)
		for split, want := range c.Splits {
			d, err := openSplit(dir, split)
			if err != nil {
				t.Errorf("%s %s: %v", c.Name, split, err)
				continue
			}
			if d.Reader() != "readers.webdataset" || d.Len() != int64(len(want)) || fmt.Sprint(d.Names()) != "[txt json]" {
				t.Errorf("%s %s: %d samples of %v by %s", c.Name, split, d.Len(), d.Names(), d.Reader())
			}
			for id := range d.Len() {
				f, err := d.Sample(t.Context(), id)
				if err != nil || string(f.Values[0].Data) != want[id][1] || !strings.Contains(d.Describe(id), want[id][0]) {
					t.Errorf("%s %s, sample %d, %s: %v %v, want %v", c.Name, split, id, d.Describe(id), f.Values, err, want[id])
				}
			}
			d.Close()
		}
		if _, err := openSplit(dir, ""); !errors.Is(err, errs.Invalid) || !strings.Contains(fmt.Sprint(err), "val") {
			t.Errorf("%s without a split: %v", c.Name, err)
		}
	}
}

// A split.yaml that is damaged, or excludes samples, is refused by its name.
func TestEnergonDamage(t *testing.T) {
	for text, c := range map[string]struct {
		kind errs.Kind
		says string
	}{
		"":                                     {errs.Corrupt, "split_parts"},
		"split_parts: [a":                      {errs.Corrupt, "split.yaml"},
		"split_parts: {train: []}":             {errs.Corrupt, "split_parts"},
		"split_parts: {val: [sub/a.tar]}":      {errs.NotFound, "train"},
		"split_parts: {train: [../a.tar]}":     {errs.Corrupt, "../a.tar"},
		"split_parts: {train: [none.tar]}":     {errs.NotFound, "none.tar"},
		"split_parts: {train: ['{2..1}.tar']}": {errs.Invalid, "{2..1}"},
		"split_parts: {train: [sub/shard_000.tar]}\nexclude: [sub/shard_000.tar/0001]": {errs.Unsupported,
			"sub/shard_000.tar/0001"},
		"split_parts: {train: [sub/shard_000.tar]}\nexclude: ['sub/shard_{000..001}.tar']": {errs.Invalid, "not excluded"},
		"split_parts: {train: [sub/shard_000.tar, sub/shard_000.tar]}":                     {errs.Corrupt, "twice"},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(energonFolder, "ratio"))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".nv-meta/split.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := openSplit(dir, "train")
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%q: %v, want %v that says %q", text, err, c.kind, c.says)
		}
		if err == nil {
			d.Close()
		}
	}
}

// A split.yaml with very many archives is checked about as fast as it is read, and one that is too
// large, or whose ranges name too many archives, is refused.
func TestEnergonOfManyArchives(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".nv-meta"), 0o777); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, ".nv-meta/split.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("split_parts: {train: ['{000000..199999}.tar']}\nexclude: ['x/{000000..199999}.tar/1']\n")
	start := time.Now()
	if _, _, err := reader.DetectSplit(t.Context(), []string{dir}, "train"); !errors.Is(err, errs.NotFound) {
		t.Errorf("archives that are not there: %v", err)
	}
	if d := time.Since(start); d > 20*time.Second { // each was compared with all others: minutes
		t.Errorf("200,000 archives took %v", d)
	}
	write("split_parts: {train: ['a{0..999999}.tar', 'b{0..999999}.tar']}\n")
	if _, _, err := reader.DetectSplit(t.Context(), []string{dir}, "train"); !errors.Is(err, errs.Exhausted) {
		t.Errorf("two million archives: %v", err)
	}
	if err := os.Truncate(at, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reader.DetectSplit(t.Context(), []string{dir}, "train"); !errors.Is(err, errs.Exhausted) {
		t.Errorf("a file of 1 GiB: %v", err)
	}
}

// FuzzEnergon reads any split.yaml.
func FuzzEnergon(f *testing.F) {
	f.Add("split_parts:\n  train:\n  - sub/shard_{000..002}.tar\nexclude: []\n")
	f.Add("split_parts: {train: ['{a,b}{0..3}']}\nexclude: [a0]\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".nv-meta"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".nv-meta/split.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := reader.DetectSplit(t.Context(), []string{dir}, "train"); err == nil {
			t.Errorf("%q: archives that are not there were found", text)
		}
	})
}
