package bivouac

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tree"
)

// Moment is where At has put a stream and a state.
type Moment struct {
	Step  int64 // steps done: the next batch of the stream is the batch of step Step+1
	Saved int64 // the saved step that told it
	// Read is how many batches were read and dropped to get there. 0 means that the place of the step
	// was computed.
	Read int64
}

// AtOptions modify At; nil is the zero value.
type AtOptions struct {
	// State, if not nil, is filled with what was saved in the step; see Options.State. The step must
	// be a saved one.
	State any
	// Names spells the steps of the run as directory names; nil is training.StandardNames{}.
	Names training.NameFormat
	// Store, if not nil, holds the run instead of the local file system.
	Store store.Store
}

// At moves data to where it stood after a step of the run in dir: its next batch is the batch of
// the step after it, bit for bit. data must be made as the run made it, and stays the caller's. The
// run may be training: At changes nothing there and takes no lock.
//
// The step need not be a saved one. The state of a loader, and of a pipeline over files, tells the
// place of any step, so At computes it. For other streams, and where the state leaves the end of
// epochs open, At begins at the nearest saved step before, and reads and drops the batches between.
//
// The error is of kind errs.NotFound if no saved step leads there, or if AtOptions.State asks for a
// step that is not saved, and errs.Mismatch if data is another stream. After an error of a batch
// between, data stands somewhere before the step. After any other error data stands where it stood.
// With AtOptions.State the whole step is read before data is moved, so that both are of one step,
// or neither changes; a state of another shape may be partly filled.
func At[B any](ctx context.Context, dir string, step int64, data stream.Stream[B], o *AtOptions) (m Moment, err error) {
	if o == nil {
		o = &AtOptions{}
	}
	steps, err := training.Open(ctx, dir, &training.Options{Store: o.Store, Names: o.Names})
	if err != nil {
		return Moment{}, errs.Wrap("bivouac.At", dir, err)
	}
	defer func() { err = errors.Join(err, steps.Close()) }()
	m, err = at(ctx, steps, dir, step, data, o.State, true)
	return m, errs.Wrap("bivouac.At", dir, err)
}

// At works like the function At for the run of the job, and fills state unless it is nil. data is
// not the stream of the job. The job goes on as if At had not been called.
func (j *Job[B]) At(ctx context.Context, step int64, data stream.Stream[B], state any) (Moment, error) {
	if j.closed {
		return Moment{}, &errs.Error{Kind: errs.Closed, Op: "bivouac.Job", Subject: "At"}
	}
	m, err := at(ctx, j.steps, j.steps.Directory(), step, data, state, false)
	return m, errs.Wrap("bivouac.Job", "At", err)
}

func at[B any](ctx context.Context, steps *training.Checkpointer, dir string, step int64, data stream.Stream[B],
	state any, reload bool) (Moment, error) {
	p := past[B]{steps: steps, dir: dir, data: data, reload: reload}
	switch {
	case step < 0:
		return Moment{}, &errs.Error{Kind: errs.Invalid, Subject: "step", Want: "at least 0",
			Got: strconv.FormatInt(step, 10)}
	case state != nil:
		return p.fill(ctx, step, state)
	}
	return p.move(ctx, step)
}

// past is a run of which a step is looked for.
type past[B any] struct {
	steps *training.Checkpointer
	dir   string
	data  stream.Stream[B]
	// reload reports whether the list of steps is of the time when steps was opened. The list of a job
	// is kept up to date by the job.
	reload bool
}

// fill moves the stream to a saved step and fills a state from it. The step is read before anything
// is moved, so that it does not matter if a save removes the step meanwhile.
func (p *past[B]) fill(ctx context.Context, step int64, state any) (Moment, error) {
	if _, err := chosen(p.steps, p.dir, step); err != nil {
		return Moment{}, errs.Wrap("", "State", err)
	}
	if err := checkState(state); err != nil {
		return Moment{}, err
	}
	items, err := p.steps.LoadCheckpointables(ctx, step, nil)
	if err != nil {
		return Moment{}, err
	}
	raw, _ := items[dataItem].(json.RawMessage)
	token, err := streamIn(raw)
	if err != nil {
		return Moment{}, err
	}
	node, ok := items[stateItem].(*tree.Node)
	if !ok {
		return Moment{}, &errs.Error{Kind: errs.Mismatch, Subject: stateItem, Want: "the trainer's state",
			Got: "no such item"}
	}
	before, err := p.data.AppendState(nil)
	if err == nil {
		err = p.data.SetState(token)
	}
	if err != nil {
		return Moment{}, errs.Wrap("", dataItem, err)
	}
	if err := setState(state, node); err != nil {
		return Moment{}, errors.Join(errs.Wrap("", stateItem, err), errs.Wrap("", dataItem, p.data.SetState(before)))
	}
	return Moment{Step: step, Saved: step}, nil
}

// move moves the stream: to a saved state, to a place that a state tells, or by reading on from the
// nearest saved state before it.
func (p *past[B]) move(ctx context.Context, step int64) (Moment, error) {
	in, token, err := p.nearest(ctx, step)
	if err != nil {
		return Moment{}, err
	}
	m := Moment{Step: step, Saved: in.Step}
	if in.Step != step {
		sought, err := p.seek(ctx, token, step-in.Step)
		switch {
		case err != nil:
			return Moment{}, err
		case sought != nil:
			return m, errs.Wrap("", dataItem, p.data.SetState(sought))
		case in.Step > step:
			_, err := chosen(p.steps, p.dir, step)
			return Moment{}, &errs.Error{Kind: errs.NotFound, Subject: "the place of step " + strconv.FormatInt(step, 10),
				Want: "a saved step before it, or a stream whose state tells all places", Err: err}
		}
	}
	if err := p.data.SetState(token); err != nil {
		return Moment{}, errs.Wrap("", dataItem, err)
	}
	for m.Saved+m.Read < step {
		if err := p.skip(ctx); err != nil {
			return m, errs.Wrap("", "the batch of step "+strconv.FormatInt(m.Saved+m.Read+1, 10), err)
		}
		m.Read++
	}
	return m, nil
}

// nearest returns the saved step at or before a step, or else the oldest, whose state may tell the
// place too, and the state of the stream there. If that step is removed before it was read, nearest
// chooses among the others: a save of the job lists its step before it removes older ones.
func (p *past[B]) nearest(ctx context.Context, step int64) (in training.Info, token []byte, err error) {
	gone := map[string]bool{}
	for {
		found := false
		for _, other := range p.steps.Checkpoints() {
			if !gone[identityOf(other)] && (!found || other.Step <= step) {
				in, found = other, true
			}
		}
		if !found && err != nil {
			return in, nil, err // of the last step that was removed
		}
		if !found {
			_, err := chosen(p.steps, p.dir, step)
			return in, nil, err
		}
		token, err = p.token(ctx, in)
		if errs.KindOf(err) != errs.NotFound || ctx.Err() != nil || p.there(ctx, in) {
			return in, token, err
		}
		gone[identityOf(in)] = true
		if !p.reload {
			continue
		}
		if failed := p.steps.Reload(ctx); failed != nil {
			return in, nil, errors.Join(err, failed)
		}
	}
}

// identityOf tells a saved step from another one that was saved later under its name.
func identityOf(in training.Info) string {
	return in.Directory + " " + strconv.FormatInt(in.Time.UnixNano(), 10)
}

// there reports whether the directory of a step still exists.
func (p *past[B]) there(ctx context.Context, in training.Info) bool {
	st, dir, _ := p.steps.Storage()
	_, err := st.Stat(ctx, path.Join(dir, in.Directory))
	return errs.KindOf(err) != errs.NotFound
}

// token returns the state of the stream in a saved step.
func (p *past[B]) token(ctx context.Context, in training.Info) ([]byte, error) {
	st, dir, _ := p.steps.Storage()
	raw, err := checkpoint.ReadDocument(ctx, path.Join(dir, in.Directory), dataItem, &checkpoint.LoadOptions{Store: st})
	if err != nil {
		return nil, errs.Wrap("", "step "+strconv.FormatInt(in.Step, 10), err)
	}
	return streamIn(raw)
}

// streamIn returns the state of the stream in the document of a job.
func streamIn(raw []byte) ([]byte, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Version < 1 {
		return nil, &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "the document of a job", Err: err}
	}
	if doc.Version > documentVersion {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: dataItem,
			Want: "version " + strconv.Itoa(documentVersion), Got: strconv.Itoa(doc.Version), Remedy: "use a newer Bivouac"}
	}
	return doc.Stream, nil
}

// seek returns the state some steps away from another one, or nil if the state does not tell it.
// Where the state leaves open whether epochs end with a short batch, both answers must be the same.
func (p *past[B]) seek(ctx context.Context, token []byte, by int64) ([]byte, error) {
	kind, remembers := kindOf(token)
	if remembers {
		return nil, nil
	}
	tails := []order.Tail{order.Short, order.Drop}
	if kind == "pipeline" { // its state says how epochs end
		tails = tails[:1]
	}
	var found [][]byte
	for _, tail := range tails {
		t, err := timeline.Open(token, timeline.Options{Tail: tail, Description: p.description(ctx, token)})
		if err != nil {
			return nil, ctx.Err() // nil: it is not a state that tells its order
		}
		to := t.Here().Step + by
		if to < t.FirstStep() {
			return nil, nil
		}
		b, err := t.Seek(ctx, to, nil)
		if ctx.Err() != nil {
			return nil, errs.Wrap("", dataItem, err)
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the place is found by reading on
		}
		found = append(found, b)
	}
	if last := found[len(found)-1]; bytes.Equal(found[0], last) {
		return last, nil
	}
	return nil, nil
}

// kindOf returns the kind of a state. remembers reports whether it has more than a place: what
// sources and functions of a pipeline remember, which no place tells.
func kindOf(token []byte) (kind string, remembers bool) {
	var doc struct {
		Kind  string `json:"kind"`
		Extra struct {
			Pipeline struct {
				Sources map[string]json.RawMessage `json:"sources"`
				First   int64                      `json:"first"`
			} `json:"pipeline"`
		} `json:"extra"`
	}
	if json.Unmarshal(token, &doc) != nil {
		return "", false
	}
	return doc.Kind, len(doc.Extra.Pipeline.Sources) > 0 || doc.Extra.Pipeline.First > 0
}

// description returns the description of the order if the state has only its digest.
func (p *past[B]) description(ctx context.Context, token []byte) string {
	identity := string(digestInState.Find(token))
	if identity == "" {
		return ""
	}
	if d, ok := p.data.(interface{ Description() string }); ok && order.IdentityOf(d.Description()) == identity {
		return d.Description()
	}
	st, dir, _ := p.steps.Storage()
	b, err := store.ReadAll(ctx, st, path.Join(dir, notes, descriptionFile(identity)))
	if err != nil || order.IdentityOf(string(b)) != identity {
		return ""
	}
	return string(b)
}

// skip reads and drops a batch, over the end of a pass.
func (p *past[B]) skip(ctx context.Context) error {
	_, err := p.data.Next(ctx)
	if !errors.Is(err, io.EOF) {
		return err
	}
	if _, err = p.data.Next(ctx); !errors.Is(err, io.EOF) {
		return err
	}
	if r, ok := p.data.(stream.Resetter); ok {
		if err := r.Reset(); err != nil {
			return err
		}
		_, err = p.data.Next(ctx)
	}
	if errors.Is(err, io.EOF) {
		err = &errs.Error{Kind: errs.NotFound, Want: "a batch", Got: "the end of the stream", Err: err}
	}
	return err
}

// descriptionFile returns the name of the file, among the notes of a run, with the description of
// an order whose identity is a digest.
func descriptionFile(identity string) string {
	_, digest, _ := strings.Cut(identity, "digest=")
	digest, _, _ = strings.Cut(digest, " ")
	return "order-" + digest + ".txt"
}
