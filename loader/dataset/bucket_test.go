package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/store/blocks"
	"github.com/bivouac-ml/bivouac/tensor"
)

// useCache makes a cache the cache of the process, until the test ends.
func useCache(t *testing.T, o blocks.Options) *blocks.Cache {
	t.Helper()
	c, err := blocks.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	before := datafs.SetCache(c)
	t.Cleanup(func() {
		datafs.SetCache(before)
		c.Close() //nolint:errcheck // the test is over
	})
	return c
}

// ranksOf opens a loader for each rank of a data set, at a state.
func ranksOf(t *testing.T, path string, world int, saved []byte) []*loader.Loader[reader.Fields, reader.Fields] {
	t.Helper()
	list := make([]*loader.Loader[reader.Fields, reader.Fields], world)
	for rank := range list {
		d, err := dataset.Open(context.Background(), path, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := d.Options()
		o.Rank, o.World, o.GlobalBatch, o.Seed = rank, world, 12, 7
		l, err := loader.New(d, o)
		if err == nil && saved != nil {
			err = l.SetState(saved)
		}
		if err != nil {
			t.Fatal(err)
		}
		list[rank] = l
		t.Cleanup(func() { errors.Join(l.Close(), d.Close()) }) //nolint:errcheck // the test is over
	}
	return list
}

// steps returns what the ranks get in the next steps.
func steps(t *testing.T, ranks []*loader.Loader[reader.Fields, reader.Fields], n int) (got []string) {
	t.Helper()
	for range n {
		for _, l := range ranks {
			b, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) { // the end of an epoch
				b, err = l.Next(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range b.Values {
				got = append(got, fmt.Sprintf("%v %x", v, v.Data))
			}
		}
	}
	return got
}

// TestRunsMoveBetweenDiskAndBucket stops a run on a bucket and resumes it on a disk, and back, with
// another number of ranks each time: every step is as in a run that stays on the disk.
func TestRunsMoveBetweenDiskAndBucket(t *testing.T) {
	for _, name := range []string{"mds", "jsonl", "webdataset", "file", "array_record", "numpy", "csv"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kind, args, err := readertest.All[name](dir, 150)
			if err != nil {
				t.Fatal(err)
			}
			b := readertest.NewBucket()
			if err := b.Upload(dir, "set"); err != nil {
				t.Fatal(err)
			}
			useCache(t, blocks.Options{Block: 512, Size: 20_000, Dir: t.TempDir()})
			near := dataFile(t, kind, args)
			far := dataFile(t, kind, readertest.Moved(args, dir, b.URL+"/set"))
			run := func(paths ...string) (got []string) {
				var saved []byte
				for part, path := range paths {
					world := []int{1, 3, 2, 4}[part]
					ranks := ranksOf(t, path, world, saved)
					got = append(got, steps(t, ranks, 5+part)...)
					var err error
					if saved, err = ranks[part%world].AppendState(nil); err != nil {
						t.Fatal(err)
					}
				}
				return append(got, string(saved))
			}
			if diff := cmp.Diff(run(near, near, near, near), run(far, near, far, far)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestResumeReadsOnlyWhatItNeeds resumes late in an epoch of a bucket: the samples before are not
// requested.
func TestResumeReadsOnlyWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	const files, size = 300, 5000
	for i := range files {
		at := filepath.Join(dir, "class", fmt.Sprintf("%03d.jpg", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.WriteFile(at, make([]byte, size), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	b := readertest.NewBucket()
	if err := b.Upload(dir, "set"); err != nil {
		t.Fatal(err)
	}
	path := dataFile(t, "readers.file", op.Args{"file_root": b.URL + "/set"})
	useCache(t, blocks.Options{})
	ranks := ranksOf(t, path, 1, nil)
	steps(t, ranks, 20)
	saved, err := ranks[0].AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ranks[0].Close(); err != nil {
		t.Fatal(err)
	}
	c := useCache(t, blocks.Options{})
	steps(t, ranksOf(t, path, 1, saved), 1)
	if n := c.Stats().Requests; n < 12 || n > 100 {
		t.Errorf("%d requests for a batch of 12 after 240 samples", n)
	}
	if n := b.Requests("Head"); n > 4 { // of the folder
		t.Errorf("%d files were described one by one", n)
	}
}

// dataFile writes a data.yaml.
func dataFile(t *testing.T, kind string, args op.Args) string {
	t.Helper()
	text := "reader: " + kind + "\nshuffle: true\nargs:\n"
	for k, v := range args {
		switch v := v.(type) {
		case []string:
			text += fmt.Sprintf("  %s: %s\n", k, quoted(v))
		case string:
			text += fmt.Sprintf("  %s: %q\n", k, v)
		case []tensor.DType:
			text += fmt.Sprintf("  %s: %s\n", k, strings.ReplaceAll(fmt.Sprint(v), " ", ", "))
		default:
			text += fmt.Sprintf("  %s: %v\n", k, v)
		}
	}
	path := filepath.Join(t.TempDir(), "data.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func quoted(list []string) string {
	s := "["
	for i, v := range list {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%q", v)
	}
	return s + "]"
}
