package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/store/blocks"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// BenchmarkBucket reads all samples of an MDS data set once, in batches of 64 by 4 goroutines: from
// a local disk, and from versitygw on this machine. An order is shuffled over all samples, or reads
// one shard after the other.
func BenchmarkBucket(b *testing.B) {
	const samples, size, perShard = 2000, 100_000, 250
	dir := b.TempDir()
	texts := make([][]byte, samples)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range texts {
		texts[i] = make([]byte, size)
		for k := 0; k < size; k += 8 {
			texts[i][k] = byte(r.Uint32())
		}
	}
	if err := readertest.MDSOf(dir, perShard, texts); err != nil {
		b.Fatal(err)
	}
	server := s3test.Start(b)
	url := server.Bucket(b, "bench")
	b.Setenv("AWS_ACCESS_KEY_ID", server.Access)
	b.Setenv("AWS_SECRET_ACCESS_KEY", server.Secret)
	bucket, _, err := s3.Open(b.Context(), url, s3.Options{})
	if err != nil {
		b.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*")
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		p, err := os.ReadFile(f)
		if err == nil {
			sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
			_, err = bucket.Put(b.Context(), "set/"+filepath.Base(f), p, sum, object.Condition{})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	far := readertest.Moved(op.Args{"paths": []string{dir}}, dir, "s3://bench/set?endpoint="+server.Endpoint)
	orders := map[string][]int{"shuffled": rand.Perm(samples), "in order": make([]int, samples)}
	all := make([]int64, samples)
	for i := range samples {
		orders["in order"][i], all[i] = i, int64(i)
	}
	for name, ids := range orders {
		b.Run("disk/"+name, func(b *testing.B) { readEpoch(b, op.Args{"paths": []string{dir}}, ids, nil) })
		for _, block := range []int64{256 << 10, 1 << 20, 4 << 20} {
			for _, cached := range []bool{false, true} {
				b.Run(fmt.Sprintf("block=%dKiB/dir=%v/%s/cold", block>>10, cached, name), func(b *testing.B) {
					readEpoch(b, far, ids, func() *blocks.Cache {
						o := blocks.Options{Block: block}
						if cached {
							o.Dir = b.TempDir()
						}
						return useCache(b, o)
					})
				})
			}
		}
		warm := b.TempDir()
		b.Run("warm/"+name, func(b *testing.B) {
			cache := func() *blocks.Cache { return useCache(b, blocks.Options{Dir: warm}) }
			cache()
			if d, err := reader.Open(b.Context(), "mds", far); err != nil {
				b.Fatal(err)
			} else if err := d.Read(b.Context(), all, make([]reader.Fields, samples)); err != nil {
				b.Fatal(err)
			}
			readEpoch(b, far, ids, cache)
		})
	}
}

// useCache makes a cache the cache of the process, until the benchmark ends.
func useCache(b *testing.B, o blocks.Options) *blocks.Cache {
	b.Helper()
	c, err := blocks.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	before := datafs.SetCache(c)
	b.Cleanup(func() {
		datafs.SetCache(before)
		c.Close() //nolint:errcheck // nothing is lost
	})
	return c
}

// readEpoch reads samples with 4 goroutines. With caches it makes one for each run.
func readEpoch(b *testing.B, args op.Args, ids []int, caches func() *blocks.Cache) {
	b.Helper()
	ctx := context.Background()
	var requests, bytes int64
	for b.Loop() {
		var c *blocks.Cache
		if caches != nil {
			c = caches()
		}
		d, err := reader.Open(ctx, "mds", args)
		if err != nil {
			b.Fatal(err)
		}
		batches := make(chan []int64)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				fields := make([]reader.Fields, 64)
				for batch := range batches {
					if err := d.Read(ctx, batch, fields[:len(batch)]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for lo := 0; lo < len(ids); lo += 64 {
			var batch []int64
			for _, id := range ids[lo:min(len(ids), lo+64)] {
				batch = append(batch, int64(id))
			}
			batches <- batch
		}
		close(batches)
		group.Wait()
		d.Close() //nolint:errcheck // it was only read
		if c != nil {
			requests += c.Stats().Requests
			bytes += c.Stats().Bytes
		}
	}
	n := float64(b.N * len(ids))
	b.ReportMetric(n/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(requests)/n, "requests/sample")
	b.ReportMetric(float64(bytes)/1e6/float64(b.N), "MB/epoch")
}
