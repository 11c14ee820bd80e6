package readertest

import (
	"context"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// Scheme is the scheme of the URLs of buckets in memory.
const Scheme = "sim"

var buckets sync.Map // name -> *Bucket

func init() {
	store.Register(Scheme, func(_ context.Context, root string) (store.Store, error) {
		b, ok := buckets.Load(strings.TrimPrefix(root, Scheme+"://"))
		if !ok {
			return nil, &errs.Error{Kind: errs.NotFound, Subject: root, Err: object.ErrNoBucket}
		}
		return object.New(b.(*Bucket).bucket, "", object.Options{Parallel: 64}), nil //nolint:forcetypeassert // see NewBucket
	})
}

// Bucket is a bucket in memory. It counts requests, and may let them fail.
type Bucket struct {
	Server *simulated.Server
	URL    string // sim://name

	bucket object.Bucket
	fate   atomic.Pointer[func(r simulated.Request) simulated.Fate]
	mu     sync.Mutex
	counts map[string]int
}

var numbers atomic.Int64

// NewBucket makes an empty bucket.
func NewBucket() *Bucket {
	name := fmt.Sprint("bucket", numbers.Add(1))
	b := &Bucket{Server: simulated.NewServer(0, simulated.Lies{}), URL: Scheme + "://" + name, counts: map[string]int{}}
	b.bucket = b.Server.Bucket(func(r simulated.Request) simulated.Fate {
		b.mu.Lock()
		b.counts[r.Kind]++
		b.mu.Unlock()
		if f := b.fate.Load(); f != nil {
			return (*f)(r)
		}
		return simulated.Fate{}
	})
	buckets.Store(name, b)
	return b
}

// Fail makes f decide the fate of requests. nil ends that.
func (b *Bucket) Fail(f func(r simulated.Request) simulated.Fate) {
	if f == nil {
		b.fate.Store(nil)
		return
	}
	b.fate.Store(&f)
}

// Requests returns the number of requests of a kind, such as "Get", since the last call for it.
func (b *Bucket) Requests(kind string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.counts[kind]
	b.counts[kind] = 0
	return n
}

// Put stores an object.
func (b *Bucket) Put(key string, p []byte) error {
	sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	_, err := b.bucket.Put(context.Background(), key, p, sum, object.Condition{})
	return err
}

// Remove removes an object.
func (b *Bucket) Remove(key string) error {
	return b.bucket.Delete(context.Background(), key, object.Condition{})
}

// Upload stores the files below a directory, under a prefix.
func (b *Bucket) Upload(dir, prefix string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		p, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return b.Put(prefix+"/"+filepath.ToSlash(rel), p)
	})
}

// Moved returns arguments whose paths below dir are URLs below url.
func Moved(args op.Args, dir, url string) op.Args {
	moved := func(s string) string {
		if rest, ok := strings.CutPrefix(s, dir); ok {
			root, name := store.SplitURL(url)
			return store.JoinURL(root, strings.Trim(name+rest, "/"))
		}
		return s
	}
	out := op.Args{}
	for name, v := range args {
		switch v := v.(type) {
		case string:
			out[name] = moved(v)
		case []string:
			list := make([]string, len(v))
			for i, s := range v {
				list[i] = moved(s)
			}
			out[name] = list
		default:
			out[name] = v
		}
	}
	return out
}
