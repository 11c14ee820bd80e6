package tokenizer

import "sync"

// cache keeps the tokens of pieces, most of which are words that come again.
type cache struct {
	mu   sync.RWMutex
	list map[string][]int32
}

const (
	mostCached  = 1 << 16 // pieces
	mostPiece   = 64      // bytes of a piece that is kept
	leastPieces = 2       // bytes from which on a look-up is faster than the model
)

// tokens appends the tokens of a piece.
func (c *cache) tokens(m model, s string, dst []int32) ([]int32, error) {
	if len(s) < leastPieces || len(s) > mostPiece {
		return m.tokens(s, dst)
	}
	c.mu.RLock()
	kept, ok := c.list[s]
	c.mu.RUnlock()
	if ok {
		return append(dst, kept...), nil
	}
	begin := len(dst)
	dst, err := m.tokens(s, dst)
	if err != nil {
		return dst, err
	}
	kept = append([]int32(nil), dst[begin:]...)
	c.mu.Lock()
	if c.list == nil {
		c.list = map[string][]int32{}
	}
	if len(c.list) < mostCached {
		c.list[string(append([]byte(nil), s...))] = kept
	}
	c.mu.Unlock()
	return dst, nil
}
