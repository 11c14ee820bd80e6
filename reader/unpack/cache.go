package unpack

import "github.com/bivouac-ml/bivouac/reader/internal/cache"

// DefaultBudget is the size of a cache.
const DefaultBudget = 64 << 20

// Cache keeps blocks that were decompressed. It is safe for concurrent use.
type Cache struct{ blocks *cache.Cache[place, []byte] }

// place is a block of a file.
type place struct {
	file  int
	block int64
}

// NewCache returns a cache of at most budget bytes. The last block stays, however large it is.
func NewCache(budget int64) *Cache { return &Cache{cache.New[place, []byte](budget)} }
