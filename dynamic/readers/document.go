package readers

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// stateKind is the kind of the documents of readers.
const stateKind = "reader"

// extensionKey is the key of the cuts in a document.
const extensionKey = "reader"

// extension holds the cuts of the epoch, for which a document has no field. The last cut is the cut
// of the reader itself.
type extension struct {
	Cuts []cut `json:"cuts"`
}

// documents is the Codec of a reader in Bivouac's own mode.
type documents struct {
	order       *sharded
	meta        Metadata
	kind        string
	fingerprint string
}

// document returns the document of a state without the position.
func (c documents) document() state.Document {
	fields := map[string]string{"reader": c.kind, "order": c.order.String(),
		"stick_to_shard": strconv.FormatBool(c.meta.StickToShard)}
	return state.Document{Version: state.Version, Kind: stateKind, Fingerprint: c.fingerprint,
		Config: state.HashFields(fields), Fields: fields}
}

// State implements Codec. The position of the document counts the samples of all shards together,
// assuming that each shard has delivered as many samples as this shard.
func (c documents) State(at Place) (string, error) {
	o := c.order
	epoch, index := at.Epoch, int64(0)
	if at.Left > 0 {
		index = o.epochLength(epoch) - at.Left
	}
	var cuts []cut
	if o.length > 0 && epoch == o.first {
		for i := range o.rest.levels {
			cuts = append(cuts, o.rest.levels[i].cut)
		}
	}
	cuts = append(cuts, cut{Shards: o.shards.Count, Taken: index})
	left, err := newRemainder(o.shards.Samples, cuts)
	if err != nil {
		return "", err
	}
	d := c.document()
	d.Position, d.Epoch = (epoch+1)*o.shards.Samples-left.size, epoch
	x, err := json.Marshal(extension{Cuts: cuts})
	if err != nil {
		return "", err
	}
	d.Extra = map[string]json.RawMessage{extensionKey: x}
	b, err := d.Marshal()
	return string(b), err
}

// parseDocument reads the document of a reader.
func parseDocument(text string) (state.Document, error) {
	d, err := state.Unmarshal([]byte(text))
	if err == nil && d.Kind != stateKind {
		err = &errs.Error{Kind: errs.Mismatch, Want: "the state of a reader", Got: "a state of kind " + strconv.Quote(d.Kind)}
	}
	return d, err
}

// Place implements Codec.
func (c documents) Place(text string) (*Arrangement, Place, error) {
	d, err := parseDocument(text)
	if err != nil {
		return nil, Place{}, err
	}
	if err := d.Check(c.document()); err != nil {
		first := *c.order
		first.whole = order.At(first.whole, 1) // old states name the first version
		c.order = &first
		if d.Check(c.document()) != nil {
			return nil, Place{}, err
		}
	}
	var x extension
	if err := json.Unmarshal(d.Extra[extensionKey], &x); err != nil || len(x.Cuts) == 0 {
		return nil, Place{}, &errs.Error{Kind: errs.Corrupt, Subject: "extra." + extensionKey, Want: "the cuts of the epoch",
			Err: err}
	}
	const most = 1 << 31
	if d.Epoch < 0 || d.Epoch >= most {
		return nil, Place{}, &errs.Error{Kind: errs.Corrupt, Subject: "epoch", Want: fmt.Sprintf("0 to %d", int64(most)-1),
			Got: fmt.Sprint(d.Epoch)}
	}
	a, at, err := c.place(d.Epoch, x.Cuts)
	if err != nil {
		return a, at, err
	}
	left, err := newRemainder(c.order.shards.Samples, x.Cuts)
	if want := (d.Epoch+1)*c.order.shards.Samples - left.size; err != nil || d.Position != want {
		return nil, Place{}, &errs.Error{Kind: errs.Corrupt, Subject: "position",
			Want: fmt.Sprintf("%d, as epoch and cuts say", want), Got: fmt.Sprint(d.Position), Err: err}
	}
	return a, at, nil
}

// place returns the place of a reader after the cuts of an epoch.
func (c documents) place(epoch int64, cuts []cut) (*Arrangement, Place, error) {
	own, taken := cuts[len(cuts)-1], int64(0)
	if _, err := newRemainder(c.order.shards.Samples, cuts); err != nil {
		return nil, Place{}, err
	}
	if own.Shards == c.order.shards.Count { // the cut of this reader, which continues after it
		cuts, taken = cuts[:len(cuts)-1], own.Taken
	}
	o := c.order
	if len(cuts) > 0 {
		rest, err := newRemainder(o.shards.Samples, cuts)
		if err != nil {
			return nil, Place{}, err
		}
		switch {
		case rest.size == 0:
			return c.next(epoch)
		case rest.size < o.shards.Count:
			return nil, Place{}, &errs.Error{Kind: errs.Mismatch,
				Want:   fmt.Sprintf("at most %d shards, the number of samples left in epoch %d", rest.size, epoch),
				Got:    fmt.Sprint(o.shards.Count),
				Remedy: "resume with fewer shards, or begin the next epoch"}
		case rest.size < o.shards.Samples:
			o = o.goOn(epoch, rest)
		}
	}
	c.order = o
	at := Place{Position: o.begin(epoch) + taken, Epoch: epoch}
	switch length := o.epochLength(epoch); {
	case taken > length && o.shards.Pad == 0:
		return nil, Place{}, &errs.Error{Kind: errs.Mismatch,
			Want: fmt.Sprintf("at most %d samples of epoch %d", length, epoch), Got: fmt.Sprint(taken),
			Remedy: "resume with the data set and arguments of the reader that was saved"}
	case taken >= length:
		return c.next(epoch)
	case taken > 0:
		at.Left = length - taken
	}
	return o.arrangement(c), at, nil
}

// next returns the place of a reader after an epoch.
func (c documents) next(epoch int64) (*Arrangement, Place, error) {
	return c.order.arrangement(c), Place{Position: c.order.begin(epoch + 1), Epoch: epoch + 1}, nil
}
