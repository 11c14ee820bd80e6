package checkpoint_test

import (
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A load from a bucket asks once for each large part of an array, whether it lies as a whole in the
// memory that is asked for or only as rows, is compressed or not, is in a database or in files of
// its own. A flipped bit anywhere in what it reads is an error, or changes nothing.
func TestLoadFromBucket(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options.Bivouac{
		"database":   {},
		"files":      {Layout: options.PlainZarr3},
		"compressed": {Compression: options.Zstd},
		"zarr 2":     {Layout: options.OCDBTZarr2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gets atomic.Int64
			server := simulated.NewServer(0, simulated.Lies{})
			counted := server.Bucket(func(q simulated.Request) simulated.Fate {
				if q.Kind == "Get" {
					gets.Add(1)
				}
				return simulated.Fate{}
			})
			open := func() *object.Store { return object.New(counted, "", object.Options{SkipProbe: true}) }
			r := rand.New(rand.NewPCG(1, 2))
			root := tree.NewDict()
			root.Set("large", tree.NewLeaf(noise(r, tensor.Float32, 3000, 2000))) // 6 sub-chunks of 4 MiB
			root.Set("small", tree.NewLeaf(noise(r, tensor.Float32, 100)))
			if err := checkpoint.Save(t.Context(), "c", root, &checkpoint.SaveOptions{
				Options: options.Options{Bivouac: o}, Store: open()}); err != nil {
				t.Fatal(err)
			}
			load := func() (*tree.Node, error) {
				lo := checkpoint.LoadOptions{}
				lo.File.Store = open()
				return checkpoint.Load(t.Context(), "c", &lo)
			}
			got, err := load()
			if err != nil || !tree.Equal(got, root) {
				t.Fatalf("%v, or other values", err)
			}
			if n := gets.Load(); n > 6+12 {
				t.Errorf("a load of 6 large parts sent %d requests for bytes", n)
			}
			plain := server.Bucket(nil)
			flips, found := 0, 0
			for _, key := range server.Keys() {
				if !strings.Contains(key, "/objects/") {
					continue
				}
				a, err := plain.Head(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				was := make([]byte, a.Size)
				if err := plain.Get(t.Context(), key, 0, "", was); err != nil {
					t.Fatal(err)
				}
				for range min(6, int(a.Size>>20)) {
					flips++
					b := append([]byte(nil), was...)
					b[r.IntN(len(b))] ^= 1 << r.IntN(8)
					reput(t, plain, key, b)
					now, err := load()
					if err == nil && !tree.Equal(now, root) {
						t.Fatalf("%s: a flipped bit was loaded", key)
					}
					if err != nil {
						found++
					}
				}
				reput(t, plain, key, was)
			}
			if flips == 0 || found*2 < flips {
				t.Errorf("%d bits were flipped, and %d noticed", flips, found)
			}
			if got, err := load(); err != nil || !tree.Equal(got, root) {
				t.Errorf("with all bits as they were: %v", err)
			}
		})
	}
}

// What costs time in a bucket is the requests that wait for each other. A save in the background
// holds its caller up for four of them, and a load of 96 MiB takes as long as 20.
func TestTurnsOfBucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const turn = 30 * time.Millisecond
		server := simulated.NewServer(0, simulated.Lies{})
		st := func() *object.Store {
			return object.New(server.Bucket(func(simulated.Request) simulated.Fate { return simulated.Fate{Delay: turn} }),
				"", object.Options{})
		}
		r, root := rand.New(rand.NewPCG(1, 2)), tree.NewDict()
		for _, name := range []string{"a", "b", "c", "d"} {
			root.Set(name, tree.NewLeaf(noise(r, tensor.Float32, 3000, 2000)))
		}
		began := time.Now()
		response, err := checkpoint.SaveAsync(t.Context(), "runs/7/100/c", root, &checkpoint.SaveOptions{Store: st(),
			// Encoders of zstd, which a database needs, outlive the test, and must not be made in it.
			Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}}})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 4*turn {
			t.Errorf("the caller waited for %d turns", took/turn)
		}
		if _, err := response.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		o := checkpoint.LoadOptions{}
		o.File.Store = st()
		if _, err := checkpoint.Load(t.Context(), "runs/7/100/c", &o); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 20*turn {
			t.Errorf("the load took %d turns", took/turn)
		}
	})
}

// reput puts other bytes under a key.
func reput(t *testing.T, b object.Bucket, key string, p []byte) {
	t.Helper()
	sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	if _, err := b.Put(t.Context(), key, p, sum, object.Condition{}); err != nil {
		t.Fatal(err)
	}
}
