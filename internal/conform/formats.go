package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// formatsSuite has one case for each entry of "files" in the expect.json of each
// folder. A folder is a family; one of a format that Bivouac does not have yet is skipped
// by its name, any other that formatFamilies lacks fails as a whole.
var formatsSuite = suite{cases: formatCases, ignored: formatsIgnored}

var formatsIgnored = map[string]string{
	"safetensors":     "the version that made the cases",
	"numpy":           "the version that made the cases",
	"safe_open_error": "texts are never compared; the verdict is accepted",
}

// formatFamilies compare the content of a file with its entry.
var formatFamilies = map[string]func(ctx context.Context, r *report, o *object, content []byte){
	"npy":         compareNpy,
	"safetensors": compareSafetensors,
}

// absentFormats are families of formats that are not there yet.
var absentFormats = []string{"arrayrecord", "audio", "columnar", "kv", "recordio", "tar", "tfrecord"}

func formatCases(dir string) ([]testCase, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var cases []testCase
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
		if slices.Contains(absentFormats, e.Name()) {
			cases = append(cases, absentFormat(e.Name()))
			continue
		}
		compare, ok := formatFamilies[e.Name()]
		if !ok {
			cases = append(cases, failing(e.Name(), fmt.Sprintf("unknown layout %q", e.Name())))
			continue
		}
		document, err := decode(b)
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

// absentFormat is the case that the family of such a format becomes.
func absentFormat(family string) testCase {
	return testCase{name: family, family: family, path: family, run: func(_ context.Context, r *report) { r.skip = "format:" + family + ": is not there" }}
}

// failing is the case that a family becomes which cannot be judged.
func failing(family, why string) testCase {
	return testCase{name: family, family: family, path: family, run: func(_ context.Context, r *report) { r.fail("%s", why) }}
}

func familyCases(family, folder string, document map[string]any, compare func(context.Context, *report, *object, []byte)) ([]testCase, error) {
	r := &report{ignored: formatsIgnored}
	top := newObject(r, "", document)
	files := top.list("files")
	if len(files) == 0 {
		r.fail("no files")
	}
	top.done()
	var cases []testCase
	for _, f := range r.failures {
		cases = append(cases, failing(family, f))
	}
	listed := map[string]bool{}
	for _, f := range files {
		entry, _ := f.(map[string]any)
		file, ok := entry["file"].(string)
		if !ok {
			cases = append(cases, failing(family, "an entry without file"))
			continue
		}
		listed[filepath.FromSlash(file)] = true
		name := family + "/" + file
		cases = append(cases, testCase{
			name: name, family: family, path: name, core: true,
			run: func(ctx context.Context, r *report) { runFile(ctx, r, folder, entry, compare) },
		})
	}
	unlisted, err := filesNotIn(folder, listed)
	for _, f := range unlisted {
		cases = append(cases, failing(family, "no entry for "+f))
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
func runFile(ctx context.Context, r *report, folder string, entry map[string]any, compare func(context.Context, *report, *object, []byte)) {
	o := newObject(r, "", entry)
	b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(o.str("file"))))
	if err != nil {
		r.fail("%v", err)
		return
	}
	if n := o.integer("size"); n != int64(len(b)) {
		r.fail("size: got %d, want %d", len(b), n)
	}
	compareHash(r, o, "sha256", b)
	compare(ctx, r, o, b)
	o.done()
}

func compareHash(r *report, o *object, key string, b []byte) {
	sum := sha256.Sum256(b)
	if got, want := hex.EncodeToString(sum[:]), o.str(key); got != want {
		r.fail("%s%s: got %s, want %s", o.where, key, got, want)
	}
}

// compareNumbers compares extents as they are spelled: some are beyond int64.
func compareNumbers[T any](r *report, o *object, key string, got []T) {
	var want, have []string
	for _, v := range o.list(key) {
		n, _ := v.(json.Number)
		want = append(want, n.String())
	}
	for _, v := range got {
		have = append(have, fmt.Sprint(v))
	}
	if !slices.Equal(want, have) {
		r.fail("%s%s: got %v, want %v", o.where, key, have, want)
	}
}
