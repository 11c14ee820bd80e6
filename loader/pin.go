package loader

// Pinner is implemented by batches that move themselves to pinned memory, for
// Options.PinMemory.
type Pinner interface {
	// Pin returns the batch in memory that alloc gives, which is aligned to pages.
	Pin(alloc func(n int) ([]byte, error)) (any, error)
}

type pinner struct{ warn func(string) }

func (p *pinner) close() error { return nil }

func pinned[B any](p *pinner, b B) (B, error) { return b, nil }
