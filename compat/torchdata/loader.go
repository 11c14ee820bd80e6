package torchdata

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
)

// Loader is torchdata's StatefulDataLoader over a Bivouac data set. It reads the same samples,
// draws the same random numbers, and has the same states. The embedded loader does the work: Next
// and Epoch deliver batches, Start is iter(loader), and Len is len(loader).
type Loader[S, B any] struct {
	*loader.Loader[S, B]
	books *books
}

// New returns a loader over a Map. The error is of kind errs.Invalid and names the wrong field of
// Options. Fields are checked in the same order as in torch.
func New[S, B any](ds loader.Map[S], o Options[S, B]) (*Loader[S, B], error) {
	return build(o, func(o loader.Options[S, B]) (*loader.Loader[S, B], error) { return loader.New(ds, o) })
}

// NewIterable returns a loader over an Iterable. It fails in the same cases as New.
func NewIterable[S, B any](ds loader.Iterable[S], o Options[S, B]) (*Loader[S, B], error) {
	return build(o, func(o loader.Options[S, B]) (*loader.Loader[S, B], error) { return loader.NewIterable(ds, o) })
}

func build[S, B any](
	o Options[S, B], open func(loader.Options[S, B]) (*loader.Loader[S, B], error),
) (*Loader[S, B], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	engine, p := o.engine(), newBooks(o.Generator, o.Global)
	engine.Protocol = p
	l, err := open(engine)
	if err != nil {
		return nil, inTorchsWords(err)
	}
	return &Loader[S, B]{l, p}, nil
}

// StateDict returns the state after the delivered batches, as AppendState appends it. Before the
// first batch it begins an epoch and draws its seed.
func (l *Loader[S, B]) StateDict() ([]byte, error) { return l.AppendState(nil) }

// LoadStateDict makes the loader continue from a state, as SetState does.
func (l *Loader[S, B]) LoadStateDict(b []byte) error { return l.SetState(b) }

// attributes are the attributes that torch refuses to change after construction.
var attributes = []string{"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}

// Change is an assignment to an attribute of torch's loader after construction. The error is of
// kind errs.Sequence for an attribute that torch refuses to change, and for num_workers within an
// epoch. It is of kind errs.Invalid for an unknown name, and for a value that is not an integer of
// at least 0.
func (l *Loader[S, B]) Change(name string, value any) error {
	const op = "torchdata.Change"
	if slices.Contains(attributes, name) {
		return &errs.Error{Kind: errs.Sequence, Op: op, Subject: name, Want: "a value that is set before the loader is made"}
	}
	n, ok := value.(int)
	setup := l.books.setup
	set, known := map[string]func() error{
		"num_workers":            func() error { return l.books.engine.SetWorkers(n) },
		"prefetch_factor":        func() error { setup.Prefetch = n; return nil },
		"snapshot_every_n_steps": func() error { setup.SnapshotEvery = n; return nil },
	}[name]
	switch {
	case !known:
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "an attribute of a loader"}
	case !ok || n < 0:
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "an integer of at least 0",
			Got: fmt.Sprint(value)}
	}
	return errs.Wrap(op, name, set())
}

// check returns an error for options that only torch has. Options that the loader checks in the
// same order as torch are left to the loader.
func (o *Options[S, B]) check() error {
	invalid := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "torchdata.New", Subject: field, Want: want, Got: got}
	}
	contexts := []string{"", "fork", "spawn", "forkserver"}
	alone := o.NumWorkers == 0 && (o.PrefetchFactor != 0 || o.PersistentWorkers)
	switch {
	case o.NumWorkers < 0 || o.Timeout < 0 || o.PrefetchFactor < 0 || alone:
		return nil
	case o.MultiprocessingContext != "" && o.NumWorkers == 0:
		return invalid("MultiprocessingContext", "workers", "NumWorkers 0")
	case !slices.Contains(contexts, o.MultiprocessingContext):
		return invalid("MultiprocessingContext", strings.Join(contexts[1:], ", "), o.MultiprocessingContext)
	case o.PinMemoryDevice != "" && o.PinMemoryDevice != "cpu":
		return invalid("PinMemoryDevice", `"" or "cpu"`, o.PinMemoryDevice)
	}
	return nil
}

// inTorchsWords adds torch's name of the option to an error of loader.New.
func inTorchsWords(err error) error {
	var e *errs.Error
	if !errors.As(err, &e) || e.Op != "loader.New" {
		return err
	}
	names := map[string]string{
		"Workers": "NumWorkers", "Prefetch": "PrefetchFactor", "Persistent": "PersistentWorkers",
		"SnapshotEvery": "SnapshotEveryNSteps", "Tail": "DropLast",
	}
	own := *e
	own.Op = "torchdata.New"
	if name, ok := names[e.Subject]; ok {
		own.Subject = name
	}
	return &own
}
