package reader_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
