package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader/arrow"   // readers.arrow
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// columnReaders make data sets of the readers of columns. text is the output with a text that
// begins with the number of the sample.
var columnReaders = []struct {
	name string
	make func(dir string, n int) (string, op.Args, error)
	text int
}{
	{"mds", readertest.MDS, 1},
	{"array_record", readertest.ArrayRecord, 0},
	{"parquet", parquettest.Parquet, 1},
	{"arrow", readertest.Arrow, 1},
}

func textOf(t *testing.T, d *readertest.Data, output int, id int64) string {
	t.Helper()
	v, err := d.Values(context.Background(), id)
	if err != nil {
		t.Errorf("sample %d: %v", id, err)
		return ""
	}
	return string(v[0][output].Data)
}

// Every sample is found, from any goroutine, in any order, with caches of any size. Samples and
// fingerprint are equal wherever the data set lies, and differ for other data.
func TestColumnReaders(t *testing.T) {
	ctx := context.Background()
	for _, r := range columnReaders {
		t.Run(r.name, func(t *testing.T) {
			prints := map[string]int{}
			for _, n := range []int{1, 2, 23} {
				for range 2 {
					name, args, err := r.make(t.TempDir(), n)
					if err != nil {
						t.Fatal(err)
					}
					args["cache_bytes"] = 100 * n
					d, err := readertest.Open(ctx, name, args)
					if err != nil {
						t.Fatal(err)
					}
					prints[d.Info().Fingerprint]++
					if d.Info().Samples != int64(n) {
						t.Fatalf("%d samples, want %d", d.Info().Samples, n)
					}
					var group sync.WaitGroup
					for g := range 4 {
						group.Go(func() {
							for i := range n {
								id := int64((i*7 + g) % n)
								words := strings.Fields(strings.ReplaceAll(textOf(t, d, r.text, id), ",", ""))
								if len(words) < 2 || words[1] != fmt.Sprint(id) {
									t.Errorf("sample %d is %q", id, words)
								}
								if d.Size(id) < 0 || d.Describe(id) == "" {
									t.Errorf("sample %d: size %d, %q", id, d.Size(id), d.Describe(id))
								}
							}
						})
					}
					group.Wait()
					if err := d.Close(); err != nil {
						t.Error(err)
					}
					if _, err := d.Values(ctx, 0); !errors.Is(err, errs.Closed) {
						t.Errorf("after Close: %v", err)
					}
				}
			}
			if len(prints) != 3 {
				t.Errorf("fingerprints of three data sets, each made twice: %v", prints)
			}
		})
	}
}

// A damaged byte anywhere in the files is either found or changes nothing: no other value is ever
// delivered. Arrow has no checksums, and in Parquet only pages have them, not their headers: there
// a damaged text is found, and other damage is no more than an error.
func TestColumnReadersFindDamage(t *testing.T) {
	ctx := context.Background()
	for _, r := range columnReaders {
		if r.name == "arrow" {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			const n = 6
			name, args, err := r.make(dir, n)
			if err != nil {
				t.Fatal(err)
			}
			read := func() (all []string, err error) {
				d, err := readertest.Open(ctx, name, args)
				if err != nil {
					return nil, err
				}
				defer d.Close()
				for id := range d.Info().Samples {
					v, err := d.Values(ctx, id)
					if err != nil {
						return nil, err
					}
					all = append(all, fmt.Sprint(v))
				}
				return all, nil
			}
			want, err := read()
			if err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			found := 0
			for _, file := range files {
				if filepath.Base(file) == "index.json" {
					continue // it has no hash of itself
				}
				whole, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				step := 1
				for i := 0; i < len(whole); i += step {
					if i == 700 { // ArrayRecord files are mostly zeros
						step = 1 + len(whole)/150
					}
					b := bytes.Clone(whole)
					b[i] ^= 1 << (i % 8)
					if err := os.WriteFile(file, b, 0o666); err != nil {
						t.Fatal(err)
					}
					got, err := read()
					switch {
					case err == nil && fmt.Sprint(got) != fmt.Sprint(want) &&
						!(r.name == "parquet" && !inText(whole, i)):
						t.Errorf("%s: bit %d of byte %d gives other values:\n%v\n%v", file, i%8, i, got, want)
					case err != nil:
						found++
						if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported && k != errs.Mismatch &&
							k != errs.Exhausted && k != errs.Invalid {
							t.Errorf("%s, byte %d: %v of kind %v", file, i, err, k)
						}
					}
				}
				if err := os.WriteFile(file, whole, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if found < 50 {
				t.Errorf("damage was found %d times", found)
			}
		})
	}
}

// inText reports whether byte i is part of a text of the data set.
func inText(b []byte, i int) bool {
	at := bytes.LastIndex(b[:i+1], []byte("row "))
	return at >= 0 && i-at < 8
}

// What is wrong with the files or the arguments is said with the file.
func TestColumnReadersErrors(t *testing.T) {
	ctx := context.Background()
	for _, r := range columnReaders {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			name, args, err := r.make(dir, 12)
			if err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			file := files[len(files)-1]
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all := func() error {
				d, err := readertest.Open(ctx, name, args)
				if err != nil {
					return err
				}
				defer d.Close()
				for id := range d.Info().Samples {
					if _, err := d.Values(ctx, id); err != nil {
						return errs.Wrap("", d.Describe(id), err)
					}
				}
				return nil
			}
			expect := func(what string, kind errs.Kind) {
				t.Helper()
				if err := all(); !errors.Is(err, kind) || !strings.Contains(err.Error(), filepath.Base(file)) {
					t.Errorf("%s: %v; want %v with %s", what, err, kind, filepath.Base(file))
				}
			}
			for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
				if err := os.WriteFile(file, whole[:n], 0o666); err != nil {
					t.Fatal(err)
				}
				if r.name == "arrow" && n == len(whole)-1 {
					continue // the end of a stream may be missing
				}
				expect(fmt.Sprintf("cut to %d bytes", n), errs.Corrupt)
			}
			if err := os.WriteFile(file, bytes.Repeat([]byte("another format "), len(whole)/15+1)[:len(whole)],
				0o666); err != nil {
				t.Fatal(err)
			}
			expect("another format", errs.Corrupt)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			expect("missing", errs.NotFound)
			if _, err := readertest.Open(ctx, name, op.Args{"paths": []string{}}); !errors.Is(err, errs.Invalid) {
				t.Errorf("no path: %v", err)
			}
			if _, err := readertest.Open(ctx, name, op.Args{"paths": []string{"s3://bucket/x"}}); err == nil ||
				!strings.Contains(err.Error(), "s3://") {
				t.Errorf("a URL: %v", err)
			}
			if err := os.WriteFile(file, whole, 0o666); err != nil {
				t.Fatal(err)
			}
			d, err := readertest.Open(ctx, name, args)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := d.Values(cancelled, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			if r.name == "array_record" {
				return
			}
			for _, list := range [][]string{{"txt"}, {"text", "text"}, {}} {
				args["columns"] = list
				if _, err := readertest.Open(ctx, name, args); !errors.Is(err, errs.Invalid) || len(list) == 1 &&
					!strings.Contains(err.Error(), `did you mean "text"?`) {
					t.Errorf("columns %q: %v", list, err)
				}
			}
		})
	}
}
