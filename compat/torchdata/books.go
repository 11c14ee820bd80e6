package torchdata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
)

// books is the protocol that imitates StatefulDataLoader of torchdata 0.11. It reads the same
// samples and has the same states. See Loader states in the documentation of the package.
type books struct {
	generator, global *Generator // the arguments of the loader; neither is nil
	engine            protocol.Engine
	setup             *protocol.Setup
	index             index
	pass              pass   // _iterator
	initial           bool   // the pass was made for a state, and the next Begin takes it
	saved             []byte // next_iter_state
}

// pass is one iteration over the loader.
type pass interface {
	protocol.Plan
	// open begins the pass, from a state if saved is not nil.
	open(ctx context.Context, saved []byte) error
	// reset begins the pass again with the same workers.
	reset(ctx context.Context) error
	finished() bool
	document() (any, error)
}

// newBooks returns the books of one loader. nil for generator means the global generator.
func newBooks(generator, global *Generator) *books {
	global = globalOf(global)
	if generator == nil {
		generator = global
	}
	return &books{generator: generator, global: global}
}

// Attach implements protocol.Protocol.
func (p *books) Attach(e protocol.Engine) (err error) {
	p.engine, p.setup = e, e.Setup()
	p.index, err = p.indexOf(p.setup)
	return err
}

// measured is the length of a loader's data set.
type measured func() (int64, bool)

func (m measured) Len() int64 {
	n, _ := m()
	return n
}

// indexOf returns the index that yields the ids of each batch.
func (p *books) indexOf(s *protocol.Setup) (index, error) {
	if s.BatchSampler != nil {
		return batchIndex{s.BatchSampler}, nil
	}
	sampler := s.Sampler
	switch {
	case s.Iterable:
		sampler = constant{}
	case sampler == nil && s.Shuffle:
		o := RandomSamplerOptions{Global: p.global}
		if p.generator != p.global {
			o.Generator = p.generator
		}
		random, err := NewRandomSampler(measured(s.DataLen), o)
		if err != nil {
			return nil, err
		}
		sampler = random
	case sampler == nil:
		sampler = NewSequentialSampler(measured(s.DataLen))
	}
	if !s.Batched {
		return singleIndex{sampler}, nil
	}
	b, err := NewBatchSampler(sampler, s.BatchSize, s.Tail == order.Drop)
	if err != nil {
		return nil, err
	}
	return batchIndex{b}, nil
}

// newPass returns _get_iterator().
func (p *books) newPass(ctx context.Context) (pass, error) {
	var made pass = &callerPass{p: p}
	if p.setup.Workers > 0 {
		made = &workersPass{p: p}
	}
	if err := made.open(ctx, p.saved); err != nil {
		p.engine.Abandon()
		return nil, err
	}
	p.saved = nil
	return made, nil
}

// Begin implements protocol.Protocol: iter(loader).
func (p *books) Begin(ctx context.Context) (err error) {
	keep := p.setup.Persistent && p.setup.Workers > 0
	switch {
	case p.initial:
		p.initial = false
	case keep && p.pass != nil:
		err = p.pass.reset(ctx)
	default:
		err = p.renew(ctx)
	}
	if err != nil || !p.pass.finished() {
		return err
	}
	if keep {
		return p.pass.reset(ctx)
	}
	return p.renew(ctx)
}

func (p *books) renew(ctx context.Context) error {
	made, err := p.newPass(ctx)
	if err == nil {
		p.pass = made
	}
	return err
}

// AppendState implements protocol.Protocol: state_dict(). Without a pass it begins one, which draws
// a base seed. The next Begin then continues with that pass.
func (p *books) AppendState(ctx context.Context, dst []byte) ([]byte, error) {
	if p.pass == nil {
		if err := p.renew(ctx); err != nil {
			return nil, err
		}
		p.initial = true
	}
	doc, err := p.pass.document()
	if err != nil {
		return nil, err
	}
	return appendJSON(dst, doc)
}

// SetState implements protocol.Protocol: load_state_dict(b). The next Begin reads the state, as in
// torchdata. An empty object only ends the pass.
func (p *books) SetState(b []byte) error {
	var members map[string]json.RawMessage
	if err := decode("torchdata.SetState", b, &members); err != nil {
		return err
	}
	p.pass, p.initial = nil, false
	if len(members) > 0 {
		p.saved = bytes.Clone(b)
	}
	return nil
}

// lenCalled returns the announced length that Len has returned.
func (p *books) lenCalled() *int64 {
	if n, known := p.setup.AnnouncedLen(); known {
		return &n
	}
	return nil
}

// overrun warns of an iterable that yields more items than it announced.
func (p *books) overrun(announced *int64, yielded int64) {
	if !p.setup.Iterable || announced == nil || yielded <= *announced {
		return
	}
	hint := ""
	if p.setup.Workers > 0 {
		hint = " Each worker must give a part of its own: loader.WorkerInfoOf tells which."
	}
	p.setup.Warn(fmt.Sprintf("the length of the data set was announced as %d, but %d batches have been fetched.%s",
		*announced, yielded, hint))
}

// replay skips n batches that were delivered before. Their errors were reported before.
func (p *books) replay(ctx context.Context, n int64, failed *error) error {
	for n > 0 {
		*failed = nil
		err := p.engine.Skip(ctx, 1)
		switch {
		case err == nil:
			n--
		case errors.Is(err, io.EOF):
			return &errs.Error{Kind: errs.Mismatch, Op: "torchdata.Begin",
				Want: fmt.Sprintf("%d more batches that were delivered before", n), Got: "the end of the data set",
				Remedy: "use the data set that the state is of"}
		case *failed == nil:
			return errs.Wrap("torchdata.Begin", fmt.Sprintf("%d batches that were delivered before", n), err)
		}
	}
	return nil
}

// fastForward warns what an iterable without a state costs, and skips n batches.
func (p *books) fastForward(ctx context.Context, n int64, failed *error) error {
	if n == 0 {
		return nil
	}
	p.setup.Warn(fmt.Sprintf("neither the data set nor its iterator is a state.Stateful: fast-forwarding by %d steps, which reads them", n))
	return p.replay(ctx, n, failed)
}
