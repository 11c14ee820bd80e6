// Package reader holds the sources of samples: one format a file.
//
// A [Source] is random access: it knows how many samples there are and fetches them by id, 0 to
// Samples-1, in any order and from many goroutines. It has no position. The executor and its
// order.Order decide which ids come in what order, so a stream can be moved without telling the
// source.
//
// A reader is an operator without inputs, registered with [Register]. Its schema says what
// arguments it takes. Its outputs are known before it is opened.
package reader

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Info describes a data set.
type Info struct {
	Format  string // the name of the reader, such as "readers.file"
	Samples int64  // at least 1
	// Files has the number of samples of each file, if files have several.
	Files []int64
	// Fingerprint identifies the contents: it is equal for equal samples in equal order, wherever they
	// are stored.
	Fingerprint string
}

// Source is a data set. All methods are safe for concurrent use.
type Source interface {
	Info() Info
	// Fetch reads the samples ids into the block: sample s of the block is ids[s]. It records the
	// error of a sample that cannot be read in the block. An error that it returns is the error of all
	// samples. Fetch returns early if ctx ends.
	Fetch(ctx context.Context, ids []int64, dst *op.Block) error
	// Size estimates how many bytes Fetch reads for a sample, for budgets and for the order of work.
	// It never changes a result.
	Size(id int64) int64
	// Describe returns where a sample comes from, for messages, such as a path.
	Describe(id int64) string
	// Close releases the source. No Fetch may be running.
	Close() error
}

// Named is implemented by sources whose samples have names. Operators can read the name as the
// property source_info of the first output.
type Named interface {
	// Name returns the name of a sample. For a file it is its path as the data set writes it.
	Name(id int64) string
}

// Each calls fetch for each sample of a block, as most sources do in Fetch. The error of a sample
// is recorded in the block. Each returns early if ctx ends.
func Each(ctx context.Context, ids []int64, dst *op.Block, fetch func(id int64, s int) error) error {
	for s, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetch(id, s); err != nil {
			dst.Fail(s, err)
		}
	}
	return nil
}

// Opener makes readers of one kind from arguments.
type Opener struct {
	// Outputs returns what Fetch will produce. It uses only the arguments, or if they do not tell, the
	// headers of the data set.
	Outputs func(c *op.Config) ([]tensor.Spec, error)
	// Open opens the data set. It returns an error if there are no samples.
	Open func(ctx context.Context, c *op.Config) (Source, error)
	// Behind is for readers whose schema has arguments per sample. A reader reads before operators
	// compute, so it cannot have such values itself. Behind returns the arguments without them, and
	// the operator that does the rest with output 0. after returns its arguments, given what is read.
	Behind func(args map[string]op.Argument) (own map[string]op.Argument, operator string,
		after func(spec tensor.Spec) map[string]op.Argument)
	// Find, if there is one, looks into the data for features that args do not name. It returns nil if
	// args name them.
	Find func(ctx context.Context, args op.Args) (*FoundFeatures, error)
}

// The registry is filled by init functions, as in package op.
var registry struct {
	sync.RWMutex
	openers   map[string]Opener
	formats   []Format
	tokenizer func(path string) (Tokenizer, error)
}

// Register makes a reader known as an operator. It panics if op.Register does.
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

// alias registers a reader under a name that DALI gave up.
func alias(name string, s op.Schema, o Opener) {
	s.Deprecated = "use " + s.FullName()
	s.Module, s.Name = nil, name
	Register(s, o)
}

// Lookup returns the opener of a registered reader.
func Lookup(s *op.Schema) (Opener, error) {
	registry.RLock()
	defer registry.RUnlock()
	if o, ok := registry.openers[s.FullName()]; ok {
		return o, nil
	}
	return Opener{}, &errs.Error{Kind: errs.Invalid, Op: "reader", Subject: s.FullName(),
		Got: "an operator that is not a reader"}
}

// fingerprint hashes names, sizes and labels in order. It does not read the contents, because that
// would take as long as an epoch.
func (f *files) fingerprint() string {
	h := state.NewHasher("bivouac.readers.file.v1")
	for id := range int64(len(f.ends)) {
		h.String(f.path(id))
		h.Int(f.sizes[id])
		h.Int(int64(f.labels[id]))
	}
	return h.Sum()
}
