package datafs

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/blocks"
)

// The environment variables of the cache.
const (
	DirVariable  = "BIVOUAC_CACHE_DIR"
	SizeVariable = "BIVOUAC_CACHE_SIZE"
)

// shared is the cache of the process.
var shared struct {
	sync.Mutex
	c *blocks.Cache
}

// Cache returns the cache through which this process reads objects. The first call opens it, with
// the directory of BIVOUAC_CACHE_DIR and the size of BIVOUAC_CACHE_SIZE. Without a directory, the
// process keeps blocks in memory.
func Cache() (*blocks.Cache, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.c != nil {
		return shared.c, nil
	}
	o, err := fromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := blocks.Open(o)
	if err != nil {
		if o.Dir != "" {
			err = errs.Wrap(DirVariable, "", err)
		}
		return nil, err
	}
	shared.c = c
	return c, nil
}

// SetCache makes c the cache of the process, and returns the one before, which may be nil. Data
// sets that are open keep the cache that they have. With nil, the next call of Cache opens another.
func SetCache(c *blocks.Cache) (before *blocks.Cache) {
	shared.Lock()
	defer shared.Unlock()
	before, shared.c = shared.c, c
	return before
}

func fromEnvironment(get func(string) string) (o blocks.Options, err error) {
	o.Dir = get(DirVariable)
	if text := get(SizeVariable); text != "" {
		if o.Size, err = parseSize(text); err != nil {
			return o, err
		}
	}
	return o, nil
}

// parseSize reads a number of bytes, such as 50GiB, 500MB or 1000000.
func parseSize(text string) (int64, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range []struct {
		name string
		n    int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	} {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.n
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if size := n * float64(unit); err == nil && size >= 1 && size < 1<<62 {
		return int64(size), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: SizeVariable, Want: "a number of bytes above 0, such as 50GiB or 500MB",
		Got: strconv.Quote(text)}
}

func errNoRel(dir, name string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a path below " + dir, Got: "another place"}
}
