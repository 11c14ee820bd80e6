// Package formats is the suite of files that other libraries wrote.
package formats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"slices"
)

// formatsSuite has one case for each entry of "files" in the expect.json of each
// folder. A folder is a family; one that formatFamilies lacks fails as a whole.
var Suite = suite.Suite{Cases: formatCases, Ignored: formatsIgnored}

var formatsIgnored = map[string]string{
	"safetensors":     "the version that made the cases",
	"numpy":           "the version that made the cases",
	"pyarrow":         "the version that made the cases",
	"safe_open_error": "texts are never compared; the verdict is accepted",

	"grain_reader_records": "that reader checks no checksum",
	"grain_reader_error":   "likewise",
	"verified_with_mxnet":  "no comparison: it is about how the files were made",
	"continuation_note":    "a rule in words",
}

// formatFamilies compare the content of a file with its entry.
var formatFamilies = map[string]func(ctx context.Context, r *suite.Report, o *suite.Object, content []byte){
	"audio":       compareAudio,
	"npy":         compareNpy,
	"recordio":    compareRecordio,
	"safetensors": compareSafetensors,
	"tar":         compareTar,
	"tfrecord":    compareTFRecord,
}

// formatExtras make the cases of what a family has besides "files": top is the whole document, and
// listed takes the files that the cases read.
var formatExtras = map[string]func(folder string, top *suite.Object, listed map[string]bool) []suite.Case{
	"recordio": recordioExtras,
	"tfrecord": tfrecordExtras,
}

// preparedFamilies are those whose entries share expectations. The function takes them.
var preparedFamilies = map[string]func(top *suite.Object) func(ctx context.Context, r *suite.Report, o *suite.Object,
	content []byte){
	"arrayrecord": arrayRecordFamily,
	"columnar":    columnarFamily,
}

func formatCases(dir string) ([]suite.Case, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []suite.Case
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		folder := filepath.Join(dir, e.Name())
		b, err := os.ReadFile(filepath.Join(folder, "expect.json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if e.Name() == "kv" {
			document, err := suite.Decode(b)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", folder, err)
			}
			own, err := kvCases(folder, document)
			if err != nil {
				return nil, err
			}
			cases = append(cases, own...)
			continue
		}
		compare, ok := formatFamilies[e.Name()]
		if !ok && preparedFamilies[e.Name()] == nil {
			cases = append(cases, suite.Failing(e.Name(), fmt.Sprintf("unknown layout %q", e.Name())))
			continue
		}
		document, err := suite.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		own, err := familyCases(e.Name(), folder, document, compare)
		if err != nil {
			return nil, err
		}
		cases = append(cases, own...)
	}
	return cases, nil
}

func familyCases(family, folder string, document map[string]any,
	compare func(context.Context, *suite.Report, *suite.Object, []byte)) ([]suite.Case, error) {
	r := &suite.Report{Ignored: formatsIgnored}
	top := suite.NewObject(r, "", document)
	files := top.List("files")
	if prepare := preparedFamilies[family]; prepare != nil {
		compare = prepare(top)
	}
	if len(files) == 0 {
		r.Fail("no files")
	}
	listed := map[string]bool{}
	var extra []suite.Case
	if extras := formatExtras[family]; extras != nil {
		extra = extras(folder, top, listed)
	}
	top.Done()
	var cases []suite.Case
	for _, f := range r.Failures {
		cases = append(cases, suite.Failing(family, f))
	}
	cases = append(cases, extra...)
	for _, f := range files {
		entry, _ := f.(map[string]any)
		file, ok := entry["file"].(string)
		if !ok {
			cases = append(cases, suite.Failing(family, "an entry without file"))
			continue
		}
		listed[filepath.FromSlash(file)] = true
		name := family + "/" + file
		cases = append(cases, suite.Case{
			Name: name, Family: family, Path: name, Core: true,
			Run: func(ctx context.Context, r *suite.Report) { runFile(ctx, r, folder, entry, compare) },
		})
	}
	unlisted, err := filesNotIn(folder, listed)
	for _, f := range unlisted {
		cases = append(cases, suite.Failing(family, "no entry for "+f))
	}
	return cases, err
}

// filesNotIn returns the files of a folder that have no entry.
func filesNotIn(folder string, listed map[string]bool) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err == nil && rel != "expect.json" && !listed[rel] {
			out = append(out, rel)
		}
		return err
	})
	return out, err
}

// runFile checks that the file is the one that was judged, and compares it.
func runFile(ctx context.Context, r *suite.Report, folder string, entry map[string]any,
	compare func(context.Context, *suite.Report, *suite.Object, []byte)) {
	o := suite.NewObject(r, "", entry)
	b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(o.Str("file"))))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	if n := o.Integer("size"); n != int64(len(b)) {
		r.Fail("size: got %d, want %d", len(b), n)
	}
	compareHash(r, o, "sha256", b)
	compare(ctx, r, o, b)
	o.Done()
}

func compareHash(r *suite.Report, o *suite.Object, key string, b []byte) {
	sum := sha256.Sum256(b)
	if got, want := hex.EncodeToString(sum[:]), o.Str(key); got != want {
		r.Fail("%s%s: got %s, want %s", o.Where, key, got, want)
	}
}

// compareNumbers compares extents as they are spelled: some are beyond int64.
func compareNumbers[T any](r *suite.Report, o *suite.Object, key string, got []T) {
	var want, have []string
	for _, v := range o.List(key) {
		n, _ := v.(json.Number)
		want = append(want, n.String())
	}
	for _, v := range got {
		have = append(have, fmt.Sprint(v))
	}
	if !slices.Equal(want, have) {
		r.Fail("%s%s: got %v, want %v", o.Where, key, have, want)
	}
}
