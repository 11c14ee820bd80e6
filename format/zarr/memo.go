package zarr

import "sync"

// memo holds what was made of metadata documents, for the arrays of other stores that have the same
// bytes: the arrays of the steps of a run, and of runs that train the same model. It may be used
// concurrently.
type memo struct {
	mu   sync.Mutex
	made map[documentOf]*common // without a store
}

// documentOf is a document, and the format that its key says.
type documentOf struct {
	format Format
	text   string
}

const (
	memoBytes = 8 << 10 // the size up to which a document is held
	memoMost  = 256     // how many documents are held
)

// met holds the metadata that this process has met.
var met memo

// get returns what was made of a document, with the store kv, or nil.
func (m *memo) get(kv KV, f Format, document []byte) *common {
	m.mu.Lock()
	c := m.made[documentOf{f, string(document)}]
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	return &common{kv: kv, meta: c.meta, chain: c.chain, sub: c.sub, small: c.small}
}

// put holds what was made of a document. If there are too many, it forgets the others.
func (m *memo) put(f Format, document []byte, c *common) {
	if len(document) > memoBytes {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= memoMost {
		m.made = map[documentOf]*common{}
	}
	m.made[documentOf{f, string(document)}] = &common{meta: c.meta, chain: c.chain, sub: c.sub, small: c.small}
}
