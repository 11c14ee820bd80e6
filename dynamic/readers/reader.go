package readers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
)

// Options say how a reader works. With the zero Options it works in Bivouac's own way, without
// states.
type Options struct {
	// EnableCheckpointing makes the reader have states. Checkpoint.Register and SetState
	// do the same, before the first iteration.
	EnableCheckpointing bool
	// Compat makes the reader work like a reader of another system; nil means Bivouac's own way.
	Compat Compat
	// Restore says how the reader continues from a state.
	Restore Restore
	// Seed is the seed of the order, for a reader that shuffles and whose arguments have no seed.
	Seed uint64
	// IOWorkers is the number of goroutines that read; 0 means 4.
	IOWorkers int
	// ReadAheadBytes limits the bytes of fetched samples that are held; 0 means 64 MiB. A single
	// larger sample still passes.
	ReadAheadBytes int64
	// Limits bound what a sample may cost. The zero Limits suit images.
	Limits op.Limits
}

// Reader iterates over a data set. It is safe for concurrent use, but only one iteration runs at a
// time.
type Reader struct {
	node    *graph.Node
	graph   *graph.Graph
	options Options
	typ     string // DALI's class name

	mu      sync.Mutex
	use     use
	batch   int
	states  bool // checkpointing is enabled
	pending *string
	source  reader.Source
	plan    *Arrangement // nil before the first iteration
	exec    *exec.Executor
	ring    *flow.Ring[*slot, Place]
	ids     []int64
	running int64                 // number of the newest iteration
	fresh   bool                  // no batch was delivered since the state was set
	shown   atomic.Pointer[Place] // in a compiled loop, the place after the last delivered step
	closed  bool
}

// use is the kind of iteration that a reader is used for.
type use string

const (
	forBatches use = "NextEpoch"
	forSamples use = "Samples"
	forLoop    use = "Root"
)

// New returns the reader with the given name, such as "readers.file". args is a struct of package
// opargs, or an op.Args. Each reader also has its own constructor. The data set is opened when it
// is first needed. New fails with errs.Invalid for invalid arguments.
func New(name string, args any, o Options) (*Reader, error) {
	label, set, err := op.Arguments(args)
	if err != nil {
		return nil, errs.Wrap(name, "", err)
	}
	s, err := op.Lookup(name)
	if err != nil {
		return nil, err
	}
	if !s.Reader {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "readers.New", Subject: name, Want: "a reader",
			Got: "another operator"}
	}
	var b graph.Builder
	n, err := b.AddSchema(s, label, nil, set)
	if err != nil {
		return nil, err
	}
	outputs := make([]graph.Edge, len(n.Specs))
	for i := range outputs {
		outputs[i] = graph.Edge{Node: n, Output: i}
	}
	g, err := b.Graph(outputs)
	if err != nil {
		return nil, err
	}
	if o.Compat == nil {
		o.Compat = native{}
	}
	if o.IOWorkers <= 0 {
		o.IOWorkers = 4 // as in pipelines
	}
	if o.ReadAheadBytes <= 0 {
		o.ReadAheadBytes = 64 << 20
	}
	return &Reader{node: g.Nodes[0], graph: g, options: o, typ: className(s.Name), states: o.EnableCheckpointing,
		fresh: true}, nil
}

// Kind returns the name of the reader: "readers.file".
func (r *Reader) Kind() string { return r.node.Schema.FullName() }

// Begun reports whether an iteration has begun, so that the reader takes no state any more.
func (r *Reader) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan != nil
}

// CheckpointType returns the name of the reader's type in checkpoints, such as "File".
func (r *Reader) CheckpointType() string { return r.typ }

// fail returns an error of the reader.
func (r *Reader) fail(kind errs.Kind, what, want, got, remedy string) error {
	return &errs.Error{Kind: kind, Op: r.Kind() + "." + what, Want: want, Got: got, Remedy: remedy}
}

// Metadata returns the sizes of the data set and its shards. It opens the data set and does not
// begin an iteration.
func (r *Reader) Metadata(ctx context.Context) (Metadata, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan != nil {
		return r.plan.Meta, nil
	}
	if err := r.open(ctx); err != nil {
		return Metadata{}, err
	}
	a, err := r.options.Compat.Arrange(r.request(max(1, r.batch)))
	if err != nil {
		return Metadata{}, r.wrap(err)
	}
	return a.Meta, nil
}

func (r *Reader) request(batch int) Request {
	return Request{Node: r.node, Info: r.source.Info(), BatchSize: batch, Checkpointing: r.states, Seed: r.options.Seed}
}

func (r *Reader) wrap(err error) error { return errs.Wrap(r.Kind(), "", err) }

// open opens the data set.
func (r *Reader) open(ctx context.Context) error {
	if r.closed {
		return r.fail(errs.Closed, "open", "", "", "")
	}
	if r.source != nil {
		return nil
	}
	var err error
	r.source, err = r.node.Reader.Open(ctx, r.node.Config)
	return err
}

// start prepares the reader for batches of the given size, at the place of the state.
func (r *Reader) start(ctx context.Context, u use, batch int) error {
	switch {
	case r.closed:
		return r.fail(errs.Closed, string(u), "", "", "")
	case batch < 1:
		return r.fail(errs.Invalid, string(u), "a batch size above 0", fmt.Sprint(batch), "")
	case r.use != "" && r.use != u:
		return r.fail(errs.Sequence, string(u), string(r.use)+", as before", "another kind of iteration",
			"make another reader for it")
	case r.plan != nil && r.batch != batch:
		return r.fail(errs.Invalid, string(u), fmt.Sprintf("batches of %d, as before", r.batch), fmt.Sprint(batch),
			"make another reader for it")
	case r.plan != nil:
		return nil
	}
	r.use = u
	if err := r.open(ctx); err != nil {
		return err
	}
	plan, err := r.options.Compat.Arrange(r.request(batch))
	if err != nil {
		return r.wrap(err)
	}
	r.batch, r.ids = batch, make([]int64, batch)
	if r.pending == nil {
		r.begin(plan, Place{})
		return nil
	}
	next, at, err := r.restored(plan, *r.pending, batch)
	switch {
	case err == nil:
		r.begin(next, at)
	case r.options.Restore.Compat != nil: // the system begins from the start instead of failing
		r.begin(plan, Place{})
	}
	return errs.Wrap(r.Kind(), "state", err)
}

// restored returns how a reader continues from a state.
func (r *Reader) restored(plan *Arrangement, text string, batch int) (*Arrangement, Place, error) {
	if f := r.options.Restore.Compat; f != nil {
		return f.Follow(plan, text)
	}
	next, at, err := plan.Codec.Place(text)
	if err == nil && at.Left == Unknown {
		at = next.located(at.Position, int64(batch))
	}
	return next, at, err
}

// Close stops all work and releases the data set. It may be called twice.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.ring != nil {
		r.ring.Reset(r.ring.Token())
		r.exec.Close()
	}
	if r.source != nil {
		return r.source.Close()
	}
	return nil
}
