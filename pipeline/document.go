package pipeline

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// documents is the Codec of states as JSON documents.
type documents struct {
	identity identity
	schedule schedule
	external bool // external sources decide where epochs end
	extended bool // the state has more than the fields of a document
}

// extension holds the parts of a state that have no field in a document.
type extension struct {
	First   int64             `json:"first,omitempty"`   // position of the first sample of the epoch of external sources
	Sources map[string][]byte `json:"sources,omitempty"` // states of the sources and functions that have a state

	Consumer string         `json:"iterator,omitempty"` // what the consumer of the stream keeps
	Faults   *faults.Ledger `json:"faults,omitempty"`
}

// extensionKey is the key of the extension in a document.
const extensionKey = "pipeline"

// AppendState implements Codec.
func (c documents) AppendState(dst []byte, at Progress) ([]byte, error) {
	d := c.identity.document(c.schedule, at)
	if !c.extended && at.Consumer == nil && at.Faults.Count == 0 {
		return c.identity.pieces.append(dst, d), nil
	}
	if c.external {
		d.Epoch, d.Batch = at.Resets, at.Batches
	}
	e := extension{First: at.First, Sources: at.Sources, Consumer: string(at.Consumer)}
	if at.Faults.Count > 0 {
		e.Faults = &at.Faults
	}
	x, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	d.Extra = map[string]json.RawMessage{extensionKey: x}
	b, err := d.Marshal()
	return append(dst, b...), err
}

// ParseState implements Codec.
func (c documents) ParseState(b []byte) (Progress, error) {
	d, err := state.Unmarshal(b)
	if err != nil {
		return Progress{}, err
	}
	if err := d.Check(c.identity.document(c.schedule, Progress{})); err != nil {
		return Progress{}, err
	}
	if d.Position < 0 || d.Position > math.MaxInt64-1<<32 {
		return Progress{}, &errs.Error{Kind: errs.Corrupt, Subject: "position", Got: fmt.Sprint(d.Position)}
	}
	digest, err := state.ParseDigest(d.Digest)
	if err != nil {
		return Progress{}, errs.Wrap("", "digest", err)
	}
	if epoch, batch := c.schedule.epoch(d.Position); !c.external && (epoch != d.Epoch || batch != d.Batch) {
		return Progress{}, &errs.Error{Kind: errs.Corrupt, Subject: "position",
			Want: fmt.Sprintf("a position in epoch %d, batch %d, as the state says", d.Epoch, d.Batch),
			Got:  fmt.Sprintf("%d, in epoch %d, batch %d", d.Position, epoch, batch)}
	}
	at := Progress{Position: d.Position, Digest: digest}
	if !c.extended && d.Extra[extensionKey] == nil {
		return at, nil
	}
	var x extension
	if err := json.Unmarshal(d.Extra[extensionKey], &x); err != nil || x.First < 0 || x.First > d.Position {
		return Progress{}, &errs.Error{Kind: errs.Corrupt, Subject: "extra." + extensionKey,
			Want: "the position where the epoch began, and the states of the sources", Err: err}
	}
	at.First, at.Sources = x.First, x.Sources
	if x.Faults != nil {
		at.Faults = *x.Faults
	}
	if n := int64(len(at.Faults.Last)); n > mostFaults || n > at.Faults.Count {
		return Progress{}, &errs.Error{Kind: errs.Corrupt, Subject: "extra." + extensionKey + ".faults",
			Want: fmt.Sprintf("at most %d faults", mostFaults), Got: fmt.Sprint(n)}
	}
	if x.Consumer != "" {
		at.Consumer = []byte(x.Consumer)
	}
	if c.external {
		at.Resets, at.Batches = d.Epoch, d.Batch
	}
	return at, nil
}
