package reader_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/store/blocks"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// useCache makes a cache with small blocks the cache of the process, until the test ends.
func useCache(t testing.TB, o blocks.Options) *blocks.Cache {
	t.Helper()
	c, err := blocks.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	before := datafs.SetCache(c)
	t.Cleanup(func() {
		datafs.SetCache(before)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestBucketsGiveTheSameSamples reads each kind of data from a directory and from a bucket: the
// fingerprint and all samples are equal, in any order, in memory and with a cache on disk.
func TestBucketsGiveTheSameSamples(t *testing.T) {
	const n = 24
	ctx := context.Background()
	makers := maps.Clone(readertest.All)
	makers["parquet"] = parquettest.Parquet
	for name, maker := range makers {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kind, args, err := maker(dir, n)
			if err != nil {
				t.Fatal(err)
			}
			b := readertest.NewBucket()
			if err := b.Upload(dir, "some/data"); err != nil {
				t.Fatal(err)
			}
			far := readertest.Moved(args, dir, b.URL+"/some/data")
			if name == "video" {
				if _, err := readertest.Open(ctx, kind, far); !errors.Is(err, errs.Unsupported) {
					t.Errorf("videos in a bucket: %v", err)
				}
				return
			}
			local, err := readertest.Open(ctx, kind, args)
			if err != nil {
				t.Fatal(err)
			}
			defer local.Close()
			for _, o := range []blocks.Options{{Block: 500}, {Block: 1 << 20}, {Block: 512, Size: 512},
				{Block: 1000, Dir: t.TempDir()}, {Block: 512, Size: 8000, Dir: t.TempDir()}} {
				useCache(t, o)
				s, err := readertest.Open(ctx, kind, far)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := s.Info(), local.Info(); got.Fingerprint != want.Fingerprint || got.Samples != want.Samples {
					t.Errorf("block %d: %+v, want %+v", o.Block, got, want)
				}
				ahead := reader.AheadOf(s.Source)
				ids := rand.Perm(int(local.Info().Samples))
				for i, id := range ids {
					if ahead != nil && i%8 == 0 {
						var next []int64
						for _, id := range ids[i:min(len(ids), i+8)] {
							next = append(next, int64(id))
						}
						ahead(next)
					}
					want, err := local.Values(ctx, int64(id))
					if err != nil {
						t.Fatal(err)
					}
					got, err := s.Values(ctx, int64(id))
					if err != nil {
						t.Fatalf("block %d, sample %d: %v", o.Block, id, err)
					}
					for k := range want[0] {
						if !got[0][k].Equal(want[0][k]) {
							t.Fatalf("block %d, sample %d, output %d: %v, want %v", o.Block, id, k, got[0][k], want[0][k])
						}
					}
				}
				s.Close()
			}
		})
	}
}

// openRecords makes a data set of TFRecords, on a disk and in a new bucket.
func openRecords(t *testing.T, o blocks.Options) (*readertest.Bucket, *readertest.Data, *readertest.Data) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	kind, args, err := readertest.TFRecords(dir, 60)
	if err != nil {
		t.Fatal(err)
	}
	b := readertest.NewBucket()
	if err := b.Upload(dir, "set"); err != nil {
		t.Fatal(err)
	}
	useCache(t, o)
	local, err := readertest.Open(ctx, kind, args)
	if err != nil {
		t.Fatal(err)
	}
	far, err := readertest.Open(ctx, kind, readertest.Moved(args, dir, b.URL+"/set"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close(); far.Close() })
	return b, local, far
}

// TestReplacedObject replaces and removes objects of an open data set: the errors name the object
// and both versions, and no sample is a mixture.
func TestReplacedObject(t *testing.T) {
	ctx := context.Background()
	b, local, far := openRecords(t, blocks.Options{Block: 64, Size: 64})
	last := local.Info().Samples - 1
	where := far.Describe(last)
	key := where[strings.Index(where, "set/"):]
	key = key[:strings.IndexByte(key, ',')]
	if err := b.Put(key, []byte("another object")); err != nil {
		t.Fatal(err)
	}
	_, err := far.Values(ctx, last)
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), key) || strings.Count(err.Error(), `tag "`) != 2 {
		t.Errorf("%s was replaced: %v", key, err)
	}
	if got, err := far.Values(ctx, 0); err != nil {
		t.Errorf("another object: %v", err)
	} else if want, err := local.Values(ctx, 0); err != nil || !got[0][0].Equal(want[0][0]) {
		t.Errorf("another object: %v, want %v, %v", got, want, err)
	}
	if err := b.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Values(ctx, last); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), b.URL+"/"+key) {
		t.Errorf("%s was removed: %v", key, err)
	}
}

// TestFailingRequests reads from a bucket that throttles, loses replies and cuts connections: the
// samples are the same.
func TestFailingRequests(t *testing.T) {
	ctx := context.Background()
	b, local, far := openRecords(t, blocks.Options{Block: 128})
	var n atomic.Int64
	b.Fail(func(r simulated.Request) simulated.Fate {
		switch k := n.Add(1); {
		case r.Kind != "Get":
		case k%4 == 1:
			return simulated.Fate{Err: object.ErrThrottled}
		case k%4 == 2:
			return simulated.Fate{Lost: true}
		case k%4 == 3:
			return simulated.Fate{Delay: time.Millisecond}
		}
		return simulated.Fate{}
	})
	ids := make([]int64, local.Info().Samples)
	for i := range ids {
		ids[i] = int64(i)
	}
	reader.AheadOf(far.Source)(ids)
	got, err := far.Values(ctx, ids...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := local.Values(ctx, ids...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !got[i][0].Equal(want[i][0]) {
			t.Errorf("sample %d: %v, want %v", i, got[i][0], want[i][0])
		}
	}
	// A bucket that refuses is asked again by the next read.
	b.Fail(func(simulated.Request) simulated.Fate { return simulated.Fate{Err: errs.Permission} })
	useCache(t, blocks.Options{})
	if _, _, err := reader.Detect(ctx, []string{b.URL + "/set"}); !errors.Is(err, errs.Permission) {
		t.Errorf("a bucket that refuses: %v", err)
	}
	b.Fail(nil)
	if name, _, err := reader.Detect(ctx, []string{b.URL + "/set"}); err != nil || name != "readers.tfrecord" {
		t.Errorf("%s, %v", name, err)
	}
}

// TestPathsOfBuckets finds data in a bucket by folders, patterns, ranges and layouts, as on a disk.
func TestPathsOfBuckets(t *testing.T) {
	ctx := context.Background()
	useCache(t, blocks.Options{})
	b := readertest.NewBucket()
	dir := t.TempDir()
	for _, name := range []string{"plain/part-00.jsonl", "plain/part-01.jsonl", "plain/part-10.jsonl", "plain/readme.md",
		"plain/.hidden", "split/train/a.jsonl", "split/test/b.jsonl", "split/train/.ipynb/c.jsonl",
		"deep/x/1/p.jsonl", "deep/y/1/p.jsonl"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.WriteFile(at, []byte("{\"x\": 1}\n"), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Upload(dir, "in"), b.Put("in/plain/", nil)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, split string }{
		{"/plain", ""}, {"/plain/", ""}, {"/plain/part-*.jsonl", ""}, {"/plain/part-0[01].jsonl", ""}, {"/plain/part-{00..01}.jsonl", ""},
		{"/plain/part-00.jsonl", ""}, {"/split", "train"}, {"/split", "test"}, {"/split", "none"}, {"/split", ""}, {"/deep/*/1/*.jsonl", ""},
		{"/deep/x/*/p.jsonl", ""}, {"/none", ""}, {"/plain/none*", ""}, {"/none/*/x", ""}, {"/plain/part-[", ""},
	} {
		name, args, err := reader.DetectSplit(ctx, []string{dir + c.path}, c.split)
		gotName, got, gotErr := reader.DetectSplit(ctx, []string{b.URL + "/in" + c.path}, c.split)
		if gotName != name || errs.KindOf(gotErr) != errs.KindOf(err) ||
			!reflect.DeepEqual(got["path"], readertest.Moved(args, dir, b.URL+"/in")["path"]) {
			t.Errorf("%s %s: %s %v %v, want %s %v %v", c.path, c.split, gotName, got, gotErr, name, args, err)
		}
	}
	// A folder of class folders, and the bucket itself.
	name, args, err := reader.Detect(ctx, []string{b.URL})
	if err != nil || name != "readers.file" || args["file_root"] != b.URL {
		t.Errorf("a bucket of folders: %s %v %v", name, args, err)
	}
	if _, _, err := reader.Detect(ctx, []string{"sim://no-such-bucket/x"}); !errors.Is(err, errs.NotFound) {
		t.Errorf("no bucket: %v", err)
	}
	// Many files of a folder are described by one list.
	paths := make([]string, 40)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s/many/%02d.jsonl", b.URL, i)
		if err := b.Put(fmt.Sprintf("many/%02d.jsonl", i), []byte("{\"x\": 1}\n")); err != nil {
			t.Fatal(err)
		}
	}
	b.Requests("Head")
	b.Requests("List")
	if _, at, err := datafs.StatAll(ctx, paths); err != nil {
		t.Fatal(at, err)
	}
	if heads, lists := b.Requests("Head"), b.Requests("List"); heads != 0 || lists != 1 {
		t.Errorf("%d and %d requests describe 40 files of a folder, want one list", heads, lists)
	}
	paths = append(paths, b.URL+"/many/none", b.URL+"/other")
	if _, at, err := datafs.StatAll(ctx, paths); !errors.Is(err, errs.NotFound) || at != 40 {
		t.Errorf("a file that is missing: %d, %v", at, err)
	}
}
