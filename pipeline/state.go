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

// saving is what states are made of.
type saving struct {
	identity identity
	codec    Codec
	noStates error  // why there are no states, or nil
	origin   []byte // the state of the start
	consumer []byte // as it came with the state
}

// identity is what a position is valid for: the data set, and as readable text
// each option and node that decides what is delivered.
type identity struct {
	fingerprint string
	fields      map[string]string
	config      string // hash of the fields
	pieces      pieces
}

// lastBatch are the words for tails in identities.
var lastBatch = [...]string{order.Short: "partial", order.Drop: "drop", order.Span: "fill"}

// newIdentity is the identity of a pipeline. full has the descriptions of orders as they are,
// however long, as states had them before there were digests.
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

// digested reports whether the description of an order is so long that the identity has a
// digest of it.
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

// pieces are the parts of a pipeline's document that never change, so that a
// state in each step costs next to nothing:
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

// AppendState appends the state of what was delivered so far, as canonical JSON:
// position, fingerprint of the data set, the identity of the pipeline in words
// and as a hash, and a digest of the ids delivered. What is prefetched is not in
// it. A pipeline with another number of threads, prefetch depth or ranks can go
// on from it.
func (p *Pipeline) AppendState(dst []byte) ([]byte, error) {
	return p.AppendStateWith(dst, nil)
}

// AppendStateWith appends the state as AppendState does, and in it what a consumer of the stream
// keeps; see Consumer.
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

// Consumer returns what the consumer of the stream had put into the state that was set last, nil if
// nothing.
func (p *Pipeline) Consumer() []byte { return p.consumer }

// SetState moves the pipeline to a state, in a time that does not depend on the
// position. No state at all, nil, is the start of the first epoch. A state of
// another data set, seed, batch size or graph is refused
// with an errs.Mismatch that names what differs, a damaged one with
// errs.Corrupt; the pipeline stays where it was then.
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

// parseState reads a state under the newest version of the orders, or else under the
// first, in which states of before name them. fitting makes the pipeline deliver in
// the version that the state names; nothing may run then.
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

// Fingerprint names the contents of the data set.
func (p *Pipeline) Fingerprint() string { return p.identity.fingerprint }

// Config is a hash of everything in definition and options that decides what is
// delivered. Pipelines with equal Fingerprint and Config deliver the same stream.
func (p *Pipeline) Config() string { return p.identity.config }

// Description is the String of the order of the reader in full, where there is one reader, and
// else "". A state holds a digest of it where it is long: keep it once beside the states, and
// timeline.Open can tell of their steps. It changes when a state of an earlier version is set.
func (p *Pipeline) Description() string {
	if len(p.orders) != 1 {
		return ""
	}
	return p.orders[0].String()
}

// Position returns where the stream stands: the position after the batch delivered last.
func (p *Pipeline) Position() int64 { return p.ring.Token().Position }

// Digest returns a digest of the ids that were delivered, in order, over all ranks.
func (p *Pipeline) Digest() string { return p.ring.Token().Digest.Sum() }
