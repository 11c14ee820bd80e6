package reader_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/store/blocks"
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
	for name, maker := range readertest.All {
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
