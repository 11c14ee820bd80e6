package checkpoint

import (
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Options say what a checkpoint does beyond DALI's. With the zero Options its text and
// its files are DALI's, byte for byte.
type Options struct {
	// Extend adds a member "bivouac" to the text, which DALI passes over: a checksum of the states, which
	// Deserialize and Load then hold the states against.
	Extend bool
	// Keep is how many of the newest files of a pattern Save leaves; it removes the others. 0: all.
	Keep int
}

// New returns an empty checkpoint with the zero Options.
func New() *Checkpoint { return NewWith(Options{}) }

// NewWith returns an empty checkpoint.
func NewWith(o Options) *Checkpoint {
	c := &Checkpoint{options: o, open: openLocal}
	c.reset()
	return c
}

func openLocal(dir string) (store.Store, error) { return local.Open(dir, nil) }
