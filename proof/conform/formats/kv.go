package formats

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/lmdb"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// kvCases are the databases of LMDB. Their entries name a folder and its file.
func kvCases(folder string, document map[string]any) ([]suite.Case, error) {
	r := &suite.Report{Ignored: formatsIgnored}
	top := suite.NewObject(r, "", document)
	top.Get("optional") // the library that writes such files is not everywhere
	files := top.List("files")
	if len(files) == 0 {
		r.Fail("no files")
	}
	top.Done()
	var cases []suite.Case
	for _, f := range r.Failures {
		cases = append(cases, suite.Failing("kv", f))
	}
	listed := map[string]bool{}
	for _, f := range files {
		entry, _ := f.(map[string]any)
		file, _ := entry["data_file"].(string)
		listed[filepath.FromSlash(file)] = true
		name := "kv/" + file
		cases = append(cases, suite.Case{Name: name, Family: "kv", Path: name, Core: true,
			Run: func(ctx context.Context, r *suite.Report) { runKV(ctx, r, folder, entry) }})
	}
	unlisted, err := filesNotIn(folder, listed)
	for _, f := range unlisted {
		cases = append(cases, suite.Failing("kv", "no entry for "+f))
	}
	return cases, err
}

// runKV holds the entries of a database against the record: their number, and in the order of the
// keys each key and the hash of its value.
func runKV(ctx context.Context, r *suite.Report, folder string, entry map[string]any) {
	o := suite.NewObject(r, "", entry)
	o.Str("dir")
	o.Str("rule")
	b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(o.Str("data_file"))))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	if n := o.Integer("size"); n != int64(len(b)) {
		r.Fail("size: got %d, want %d", len(b), n)
	}
	compareHash(r, o, "sha256", b)
	d, err := lmdb.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	if n := o.Integer("entries"); n != d.Len() {
		r.Fail("entries: got %d, want %d", d.Len(), n)
	}
	want := o.List("keys_and_value_sha256")
	i := 0
	err = d.Scan(ctx, func(e lmdb.Entry) error {
		v, err := d.Value(e)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(v)
		got := fmt.Sprint([]any{string(e.Key), hex.EncodeToString(sum[:])})
		if i < len(want) && got != fmt.Sprint(want[i]) {
			r.Fail("entry %d: got %s, want %v", i, got, want[i])
		}
		i++
		return nil
	})
	if err != nil || i != len(want) {
		r.Fail("%d entries, want %d: %v", i, len(want), err)
	}
	o.Done()
}
