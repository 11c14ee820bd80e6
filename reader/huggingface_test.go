package reader_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/arrow"   // readers.arrow
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
	"github.com/bivouac-ml/bivouac/tensor"
)

// huggingFace are folders that Hugging Face's datasets wrote or reads, with the rows that it reads.
const huggingFace = "../testdata/huggingface"

// recordedSplit is what tools/interop/huggingface.py recorded of a split.
type recordedSplit struct {
	Columns []string
	Rows    [][]map[string]any
}

// openSplit opens a split of a folder.
func openSplit(dir, split string) (*reader.Data, error) {
	name, args, err := reader.DetectSplit(context.Background(), []string{dir}, split)
	if err != nil {
		return nil, err
	}
	return reader.Open(context.Background(), name, args)
}

// same compares a value with a recorded one.
func same(dir string, v tensor.Tensor, want map[string]any) error {
	text := string(v.Data)
	switch {
	case want["text"] != nil && v.DType == tensor.Uint8 && text == want["text"]:
		return nil
	case want["hex"] != nil && hex.EncodeToString(v.Data) == want["hex"]:
		return nil
	case want["file"] != nil:
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(want["file"])))
		if err == nil && text != string(b) {
			err = errors.New("other bytes than " + fmt.Sprint(want["file"]))
		}
		return err
	case want["number"] != nil || want["numbers"] != nil:
		list, ok := want["numbers"].([]any)
		if !ok {
			list = []any{want["number"]}
		}
		got, err := tensor.Cast(tensor.Float64, v)
		if err != nil {
			return err
		}
		floats, err := tensor.Of[float64](got)
		if err == nil && fmt.Sprint(floats) != fmt.Sprint(list) {
			err = fmt.Errorf("want %v, got %v", list, floats)
		}
		return err
	}
	return fmt.Errorf("want %v, got %v %q", want, v, text)
}

// Folders that Hugging Face's datasets wrote or reads have the same rows here, in the same order,
// by nothing but their path and a split.
func TestHuggingFaceFolders(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(huggingFace, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Splits map[string]recordedSplit
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 14 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		dir := filepath.Join(huggingFace, c.Name)
		for split, want := range c.Splits {
			name := c.Name + " " + split
			d, err := openSplit(dir, split)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d.Len() != int64(len(want.Rows)) {
				t.Errorf("%s: %d rows, want %d", name, d.Len(), len(want.Rows))
			}
			for id := range min(d.Len(), int64(len(want.Rows))) {
				f, err := d.Sample(t.Context(), id)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for i, column := range want.Columns {
					at := slices.Index(f.Names, column)
					if at < 0 { // an image that is stored is a struct
						at = slices.Index(f.Names, column+".bytes")
					}
					if at < 0 {
						t.Fatalf("%s: no column %s in %v", name, column, f.Names)
					}
					if err := same(dir, f.Values[at], want.Rows[id][i]); err != nil {
						t.Errorf("%s, row %d, %s: %v", name, id, column, err)
					}
				}
			}
			d.Close()
		}
		_, err := openSplit(dir, "")
		if c.Name == "names" { // datasets leaves out a file beside the split and says nothing
			if !errors.Is(err, errs.Invalid) || !strings.Contains(fmt.Sprint(err), "1 beside it, such as trains/b/0.png") {
				t.Errorf("%s without a split: %v", c.Name, err)
			}
		} else if one := len(c.Splits) == 1; one != (err == nil) {
			t.Errorf("%s without a split: %v", c.Name, err)
		} else if !one && (!errors.Is(err, errs.Invalid) || !strings.Contains(fmt.Sprint(err), "one of t")) {
			for split := range c.Splits {
				if !strings.Contains(fmt.Sprint(err), split) {
					t.Errorf("%s without a split: %v", c.Name, err)
				}
			}
		}
		if _, err := openSplit(dir, "trian"); !errors.Is(err, errs.NotFound) || !strings.Contains(fmt.Sprint(err), "trian") {
			t.Errorf("%s with another split: %v", c.Name, err)
		}
	}
}

// copied copies a recorded folder and returns the copy.
func copied(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(huggingFace, name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Damage and mistakes in folders are errors that name the file.
func TestDamagedFolders(t *testing.T) {
	for name, c := range map[string]struct {
		from, split string
		change      func(at func(string) string) error
		kind        errs.Kind
		says        string
	}{
		"a row for a file that is missing": {"jsonl", "",
			func(at func(string) string) error { return os.Remove(at("imgs/1.png")) },
			errs.NotFound, "imgs/1.png"},
		"metadata without file_name": {"jsonl", "", func(at func(string) string) error {
			return os.WriteFile(at("metadata.jsonl"), []byte(`{"filename":"imgs/0.png","text":"x"}`), 0o666)
		}, errs.Mismatch, "file_name"},
		"empty metadata": {"jsonl", "", func(at func(string) string) error {
			return os.WriteFile(at("metadata.jsonl"), nil,
				0o666)
		},
			errs.Invalid, "metadata.jsonl"},
		"metadata without rows": {"csv", "train", func(at func(string) string) error {
			return os.WriteFile(at("train/metadata.csv"), []byte("file_name,text\n"), 0o666)
		}, errs.Invalid, "metadata.csv"},
		"cut metadata": {"csv", "train", func(at func(string) string) error {
			return os.Truncate(at("train/metadata.csv"),
				60)
		},
			errs.Corrupt, "metadata.csv"},
		"a path out of the folder": {"csv", "train", func(at func(string) string) error {
			return os.WriteFile(at("train/metadata.csv"), []byte("file_name,text\n../../x.png,a\n"), 0o666)
		}, errs.Invalid, "../../x.png"},
		"an empty path": {"csv", "train", func(at func(string) string) error {
			return os.WriteFile(at("train/metadata.csv"), []byte("file_name,text\n\"\",a\n"), 0o666)
		}, errs.Invalid, "file_name"},
		"metadata of two formats": {"jsonl", "", func(at func(string) string) error {
			return os.WriteFile(at("metadata.csv"), []byte("file_name\nimgs/0.png\n"), 0o666)
		}, errs.Invalid, "metadata.csv"},
		"metadata beside the splits": {"classes", "train", func(at func(string) string) error {
			return os.WriteFile(at("metadata.csv"), []byte("file_name,n\ntrain/cat/0.png,1\n"), 0o666)
		}, errs.Invalid, "belongs to no split"},
		"images and sounds": {"classes", "train", func(at func(string) string) error {
			return os.WriteFile(at("train/cat/9.wav"), []byte("x"), 0o666)
		}, errs.Invalid, "9.wav"},
		"a shard that is missing": {"saved", "",
			func(at func(string) string) error { return os.Remove(at("data-00003-of-00011.arrow")) },
			errs.NotFound, "data-00003-of-00011.arrow"},
		"a shard that is cut": {"saved", "",
			func(at func(string) string) error { return os.Truncate(at("data-00003-of-00011.arrow"), 100) },
			errs.Corrupt, "data-00003-of-00011.arrow"},
		"an empty shard": {"saved", "",
			func(at func(string) string) error { return os.Truncate(at("data-00003-of-00011.arrow"), 0) },
			errs.Corrupt, "data-00003-of-00011.arrow"},
		"a state that is cut": {"saved", "", func(at func(string) string) error { return os.Truncate(at("state.json"), 30) },
			errs.Corrupt, "state.json"},
		"a state without files": {"saved", "", func(at func(string) string) error {
			return os.WriteFile(at("state.json"),
				[]byte("{}"), 0o666)
		},
			errs.Corrupt, "_data_files"},
		"a state that leads out": {"saved", "", func(at func(string) string) error {
			return os.WriteFile(at("state.json"), []byte(`{"_data_files":[{"filename":"../x.arrow"}]}`), 0o666)
		}, errs.Corrupt, "_data_files[0]"},
		"a split that is missing": {"savedsplits", "test",
			func(at func(string) string) error { return os.RemoveAll(at("test")) },
			errs.NotFound, "test"},
		"splits that lead out": {"savedsplits", "../x", func(at func(string) string) error {
			return os.WriteFile(at("dataset_dict.json"), []byte(`{"splits":["../x"]}`), 0o666)
		}, errs.Corrupt, "dataset_dict.json"},
		"no splits": {"savedsplits", "", func(at func(string) string) error {
			return os.WriteFile(at("dataset_dict.json"), []byte(`{}`), 0o666)
		}, errs.Corrupt, "dataset_dict.json"},
		"a Parquet file that is cut": {"repo", "train", func(at func(string) string) error {
			return os.Truncate(at("data/train-00001-of-00003.parquet"), 50)
		}, errs.Corrupt, "train-00001-of-00003.parquet"},
	} {
		dir := copied(t, c.from)
		if err := c.change(func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }); err != nil {
			t.Fatal(err)
		}
		d, err := openSplit(dir, c.split)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %v that says %q", name, err, c.kind, c.says)
		}
		if err == nil {
			d.Close()
		}
	}
}

// A folder has another fingerprint if its files, its labels or the columns differ, and the same one
// elsewhere. A file that changed while it is read is an error of its sample.
func TestFolderFingerprints(t *testing.T) {
	prints := map[string]string{}
	for _, name := range []string{"classes", "csv", "jsonl", "parquet", "sounds", "spoken", "order"} {
		split := map[string]string{"classes": "train", "csv": "train", "sounds": "train"}[name]
		dir := copied(t, name)
		for _, root := range []string{dir, filepath.Join(huggingFace, name)} {
			d, err := openSplit(root, split)
			if err != nil {
				t.Fatal(err)
			}
			print := d.Info().Fingerprint
			if other, ok := prints[print]; ok && other != name {
				t.Errorf("%s has the fingerprint of %s", name, other)
			} else if !ok && root != dir {
				t.Errorf("%s has another fingerprint elsewhere", name)
			}
			prints[print] = name
			d.Close()
		}
	}
	dir := copied(t, "csv")
	open := func(args op.Args) *reader.Data {
		t.Helper()
		args["path"], args["split"] = dir, "train"
		d, err := reader.Open(t.Context(), "folder", args)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open(op.Args{"columns": []string{"score"}})
	defer d.Close()
	if fmt.Sprint(d.Names()) != "[image score]" || prints[d.Info().Fingerprint] != "" {
		t.Errorf("%v: a fingerprint of other columns", d.Names())
	}
	if n, ok := d.Source.(reader.Named); !ok || n.Name(0) != "train/2.png" {
		t.Error("the name of a sample is not its path")
	}
	if err := os.WriteFile(filepath.Join(dir, "train/2.png"),
		[]byte("longer than before, and not a picture at all, by any means, nor by its first bytes"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Sample(t.Context(), 0); !errors.Is(err, errs.Mismatch) {
		t.Errorf("a file that changed: %v", err)
	}
	for _, columns := range [][]string{{"scor"}, {"score", "score"}, {"file_name"}} {
		if d, err := reader.Open(t.Context(), "folder", op.Args{"path": dir, "split": "train",
			"columns": columns}); err == nil {
			d.Close()
			t.Errorf("columns %q were taken", columns)
		}
	}
}

// FuzzFolderNames puts a file with any path into a folder: it has one split, or none.
func FuzzFolderNames(f *testing.F) {
	err := fs.WalkDir(os.DirFS(huggingFace), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			f.Add(path, "train/a.png")
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		splits := reader.SplitsOf([]string{a, b})
		n := 0
		for _, list := range splits {
			n += list
		}
		if n > 2 || n == 0 {
			t.Errorf("%q and %q: %v", a, b, splits)
		}
	})
}
