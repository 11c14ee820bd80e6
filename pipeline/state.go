package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// stateKind is the kind of a pipeline's state document.
const stateKind = "pipeline"

// saving is the part of a Pipeline that states are made of.
type saving struct {
	identity identity
	codec    Codec
	noStates error  // the reason why there are no states, or nil
	origin   []byte // the state at the start
	consumer []byte // the consumer's data in the state that was set last
}

// identity says for which pipelines a position is valid. It holds the data set's fingerprint, and
// as readable text each option and node that decides what is delivered.
type identity struct {
	fingerprint string
	fields      map[string]string
	config      string // hash of the fields
	pieces      pieces
}

// lastBatch are the words for tails in identities.
var lastBatch = [...]string{order.Short: "partial", order.Drop: "drop", order.Span: "fill"}

// newIdentity returns the identity of a pipeline. If full is set, long descriptions of orders are
// not replaced by digests, as in states from before there were digests.
func newIdentity(
	g *graph.Graph, sources []reader.Source, orders []order.Order, o Options, full bool,
) (identity, error) {
	id := identity{fields: map[string]string{
		"seed":       strconv.FormatUint(o.Seed, 10),
		"batch_size": strconv.Itoa(o.BatchSize),
		"last_batch": lastBatch[o.Tail],
	}}
	if mode := o.compat().String(); mode != "" {
		id.fields["compat"] = mode
	}
	for _, n := range g.Nodes {
		id.fields["node "+n.Name] = n.Identity()
	}
	var outputs, prints []string
	for _, e := range g.Outputs {
		outputs = append(outputs, e.String())
	}
	id.fields["outputs"] = strings.Join(outputs, " ")
	policies, err := o.onError(g.Readers())
	if err != nil {
		return id, err
	}
	for i, n := range g.Readers() {
		if policies[i] != faults.Fail {
			id.fields["on_error "+n.Name] = policies[i].String()
		}
		description := orders[i].String()
		if !full {
			description = order.IdentityOf(description)
		}
		id.fields["order "+n.Name] = description
		prints = append(prints, sources[i].Info().Fingerprint)
	}
	id.fingerprint = strings.Join(prints, "+")
	id.config = state.HashFields(id.fields)
	id.pieces, err = newPieces(id.document(schedule{batch: 1}, Progress{}))
	return id, err
}

// digested reports whether the identity holds a digest of an order's description, because the
// description is long.
func (id *identity) digested() bool {
	for name, text := range id.fields {
		if strings.HasPrefix(name, "order ") && order.IsDigest(text) {
			return true
		}
	}
	return false
}

// document returns the state after a batch.
func (id *identity) document(s schedule, at Progress) state.Document {
	epoch, index := s.epoch(at.Position)
	return state.Document{
		Version: state.Version, Kind: stateKind,
		Position: at.Position, Epoch: epoch, Batch: index,
		Fingerprint: id.fingerprint, Config: id.config, Fields: id.fields,
		Digest: at.Digest.Sum(),
	}
}

// pieces are the parts of a pipeline's document that never change. They make a state per step
// almost free:
//
//	{ "batch":1, │"checksum":"…","config":"…",│ "digest":"…" ,"epoch":1 │,"fields":{…},…,│ "position":9 │,"version":2}│
//	             └────────── config ──────────┘                         └──── fields ────┘              └─── tail ────┘
type pieces struct{ config, fields, tail string }

// newPieces cuts a document at position 0 of epoch 0.
func newPieces(origin state.Document) (pieces, error) {
	b, err := origin.Marshal()
	if err != nil {
		return pieces{}, err
	}
	config, rest, _ := strings.Cut(string(b[1:]), `"digest":"`+origin.Digest+`"`)
	at := strings.LastIndex(rest, `"position":0`)
	return pieces{config: config, fields: rest[:at], tail: rest[at+len(`"position":0`):]}, nil
}

func (p *pieces) append(dst []byte, d state.Document) []byte {
	start := len(dst)
	dst = append(dst, '{')
	if d.Batch > 0 {
		dst = append(strconv.AppendInt(append(dst, `"batch":`...), d.Batch, 10), ',')
	}
	dst = append(append(append(append(dst, p.config...), `"digest":"`...), d.Digest...), '"')
	if d.Epoch > 0 {
		dst = strconv.AppendInt(append(dst, `,"epoch":`...), d.Epoch, 10)
	}
	dst = strconv.AppendInt(append(append(dst, p.fields...), `"position":`...), d.Position, 10)
	dst = append(dst, p.tail...)
	state.Seal(dst[start:])
	return dst
}

// AppendState appends the state after the last delivered batch, as canonical JSON. The state holds
// the position, the fingerprint of the data set, the identity of the pipeline in words and as a
// hash, and a digest of the delivered ids. Prefetched batches are not part of it. A pipeline with
// another number of workers, prefetch depth or world size can continue from it.
func (p *Pipeline) AppendState(dst []byte) ([]byte, error) {
	return p.AppendStateWith(dst, nil)
}

// AppendStateWith works like AppendState and stores the data of a consumer of the stream in the
// state; see Consumer.
func (p *Pipeline) AppendStateWith(dst, consumer []byte) ([]byte, error) {
	const what = "pipeline.AppendState"
	if err := p.turn.Take(what); err != nil {
		return dst, err
	}
	defer p.turn.Leave()
	if p.noStates != nil {
		return dst, errs.Wrap(what, "", p.noStates)
	}
	at := p.progress()
	at.Consumer = consumer
	b, err := p.codec.AppendState(dst, at)
	return b, errs.Wrap(what, "", err)
}

// Consumer returns the consumer's data in the state that was set last. It returns nil if the state
// has no such data.
func (p *Pipeline) Consumer() []byte { return p.consumer }

// SetState moves the pipeline to a state, in a time that does not depend on the position. nil moves
// it to the start of the first epoch. SetState fails with an errs.Mismatch that names the
// difference if the state belongs to another data set, seed, batch size or graph. It fails with
// errs.Corrupt if the state is damaged. After an error the pipeline stays where it was.
func (p *Pipeline) SetState(b []byte) error {
	const what = "pipeline.SetState"
	if err := p.turn.Enter(what); err != nil {
		return err
	}
	defer p.turn.Leave()
	if p.noStates != nil {
		return errs.Wrap(what, "", p.noStates)
	}
	if b == nil {
		if p.progress().Position == 0 {
			return nil
		}
		b = p.origin
	}
	at, fitting, err := p.parseState(b)
	if err != nil {
		return errs.Wrap(what, "", err)
	}
	if err := p.resumable(at); err != nil {
		return errs.Wrap(what, "", err)
	}
	if len(p.inputs) > 0 && len(p.sources) == 0 {
		return errs.Wrap(what, "", p.moveInputs(at))
	}
	if !p.schedule.valid(at.Position) {
		return &errs.Error{Kind: errs.Corrupt, Op: what, Subject: "position",
			Want: fmt.Sprintf("the start of a batch of %d", p.options.BatchSize), Got: strconv.FormatInt(at.Position, 10)}
	}
	orders, id, codec := p.orders, p.identity, p.codec
	fitting()
	if err := p.moveInputs(at); err != nil {
		p.orders, p.identity, p.codec = orders, id, codec
		return errs.Wrap(what, "", err)
	}
	return nil
}

// parseState reads a state with the newest version of the orders. If that fails, it reads the state
// with the first version, which old states name. fitting switches the pipeline to the version that
// the state names. Call fitting only while nothing runs.
func (p *Pipeline) parseState(b []byte) (at Progress, fitting func(), err error) {
	own, ok := p.codec.(documents)
	if !ok {
		at, err = p.codec.ParseState(b)
		return at, func() {}, err
	}
	for i, version := range []int{0, 1} {
		orders := p.newest
		if version > 0 {
			orders = make([]order.Order, len(p.newest))
			for r, o := range p.newest {
				orders[r] = order.At(o, version)
			}
		}
		id, failed := newIdentity(p.graph, p.sources, orders, p.options, false)
		if failed != nil {
			return at, nil, failed
		}
		codec := own
		codec.identity = id
		fitting = func() { p.orders, p.identity, p.codec = orders, id, codec }
		if at, failed = codec.ParseState(b); failed == nil {
			return at, fitting, nil
		}
		if errs.KindOf(failed) == errs.Mismatch && id.digested() {
			full, err := newIdentity(p.graph, p.sources, orders, p.options, true)
			if err != nil {
				return at, nil, err
			}
			before := own
			before.identity = full
			if at, err := before.ParseState(b); err == nil {
				return at, fitting, nil // later states have the digest
			}
		}
		if i == 0 {
			err = failed
		}
		if errs.KindOf(failed) != errs.Mismatch {
			return at, nil, failed
		}
	}
	return at, nil, err
}

// Fingerprint returns the fingerprint of the data set.
func (p *Pipeline) Fingerprint() string { return p.identity.fingerprint }

// Config returns a hash of everything in definition and options that decides what is delivered.
// Pipelines with equal Fingerprint and Config deliver the same stream.
func (p *Pipeline) Config() string { return p.identity.config }

// Description returns the full String of the reader's order, or "" unless there is exactly one
// reader. A state holds only a digest of a long description. If you keep the description once
// beside the states, timeline.Open can describe their steps. It changes when a state of an earlier
// version is set.
func (p *Pipeline) Description() string {
	if len(p.orders) != 1 {
		return ""
	}
	return p.orders[0].String()
}

// Position returns the position of the stream after the last delivered batch.
func (p *Pipeline) Position() int64 { return p.ring.Token().Position }

// Digest returns a digest of the delivered ids, in order, over all ranks.
func (p *Pipeline) Digest() string { return p.ring.Token().Digest.Sum() }
