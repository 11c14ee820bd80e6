// Package reader holds the sources of samples: one format a file.
//
// A [Source] is random access: it knows how many samples there are and fetches
// them by id, 0 to Samples-1, in any order and from many goroutines. It owns no
// position: which ids come in what order is for the executor and its
// order.Order, so that a stream can be moved without telling the source.
//
// A reader is an operator without inputs, registered with [Register]; its
// schema says what arguments it takes, its outputs are known before it is opened.
package reader

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Info describes a data set.
type Info struct {
	Format  string // the reader: "readers.file"
	Samples int64  // >= 1
	// Fingerprint names the contents: equal for equal samples in equal order,
	// wherever they lie.
	Fingerprint string
}

// Source is a data set. All methods are safe for concurrent use.
type Source interface {
	Info() Info
	// Fetch reads the samples ids into the block, whose sample s is ids[s]. A
	// sample that cannot be read is failed in the block; an error returned fails
	// all of them. Fetch returns early when ctx ends.
	Fetch(ctx context.Context, ids []int64, dst *op.Block) error
	// Size estimates the bytes that Fetch takes for a sample, for budgets and for
	// the order of work. It never enters a result.
	Size(id int64) int64
	// Describe says where a sample comes from, for messages: a path.
	Describe(id int64) string
	// Close releases the source when no Fetch is running.
	Close() error
}

// Named is implemented by sources whose samples have names of their own, which
// operators can ask for as the property source_info of what the first output gave.
type Named interface {
	// Name returns the name of a sample: of a file, its path as the data set has it.
	Name(id int64) string
}

// Opener makes readers of one kind from resolved arguments.
type Opener struct {
	// Outputs returns what Fetch will produce, from the arguments alone.
	Outputs func(c *op.Config) ([]tensor.Spec, error)
	// Open finds the data set. It fails when there are no samples.
	Open func(ctx context.Context, c *op.Config) (Source, error)
}

// The registry is filled by init functions, like the registry of package op.
var registry struct {
	sync.RWMutex
	openers map[string]Opener
}

// Register makes a reader known as an operator. It panics when op.Register does.
func Register(s op.Schema, o Opener) {
	s.Reader = true
	op.Register(s)
	registry.Lock()
	defer registry.Unlock()
	if registry.openers == nil {
		registry.openers = map[string]Opener{}
	}
	registry.openers[s.FullName()] = o
}

// Lookup returns the opener of a registered reader.
func Lookup(s *op.Schema) (Opener, error) {
	registry.RLock()
	defer registry.RUnlock()
	if o, ok := registry.openers[s.FullName()]; ok {
		return o, nil
	}
	return Opener{}, &errs.Error{Kind: errs.Invalid, Op: "reader", Subject: s.FullName(), Got: "an operator that is no reader"}
}
