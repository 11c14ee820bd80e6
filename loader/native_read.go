package loader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// extraForm is the JSON form of what a place holds beyond a document.
type extraForm struct {
	Coverage []coverageForm `json:"coverage"`
	History  [][3]int64     `json:"history"`
	Index    int64          `json:"index"`
	Ledger   *ledgerForm    `json:"ledger"`
	Rank     *int64         `json:"rank"`
	Repeated int64          `json:"repeated"`
	Sampler  *samplerForm   `json:"sampler"`
	Settle   int64          `json:"settle"`
	Since    int64          `json:"since"`
	Spans    [][3]int64     `json:"spans"`
	Step     int64          `json:"step"`
	Streams  []streamForm   `json:"streams"`
	Turn     int64          `json:"turn"`
	Window   *windowForm    `json:"window"`
	World    int64          `json:"world"`
}

type coverageForm struct {
	Count int64 `json:"count"`
	Epoch int64 `json:"epoch"`
	Sum   int64 `json:"sum"`
	XOR   int64 `json:"xor"`
}

type ledgerForm struct {
	Count  int64      `json:"count"`
	Last   [][2]int64 `json:"last"`
	Reason string     `json:"reason"`
}

type samplerForm struct {
	Cursor *string `json:"cursor"`
	Draws  int64   `json:"draws"`
	State  *string `json:"state"`
}

type streamForm struct {
	Alike    int64   `json:"alike"`
	Dataset  *string `json:"dataset"`
	Ended    bool    `json:"ended"`
	Items    int64   `json:"items"`
	Iterator *string `json:"iterator"`
}

type windowForm struct {
	Bits   string `json:"bits"`
	Global int64  `json:"global"`
	World  int64  `json:"world"`
}

// Bounds of what a state may ask for; a loader writes nothing near them.
const (
	mostStreams = 1 << 20
	mostWindow  = 1 << 20
)

// parse reads a state and refuses that of another data set or order.
func (id *identity) parse(b []byte, s *protocol.Setup) (place, error) {
	d, err := state.Unmarshal(b)
	if err != nil {
		return place{}, err
	}
	if err := d.Check(id.document); err != nil {
		return place{}, err
	}
	at := place{epoch: d.Epoch, batch: d.Batch, position: d.Position, sealed: d.Version > 1}
	if at.digest, err = state.ParseDigest(d.Digest); err != nil {
		return place{}, err
	}
	extra, err := json.Marshal(d.Extra)
	if err != nil {
		return place{}, corruptState("extra", "JSON", err)
	}
	var f extraForm
	dec := json.NewDecoder(bytes.NewReader(extra))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return place{}, &errs.Error{Kind: errs.Corrupt, Subject: "extra", Want: "what a loader writes", Err: err}
	}
	return at, f.into(&at, s)
}

func corruptState(field, want string, got any) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: field, Want: want, Got: fmt.Sprint(got)}
}

// into checks the form and fills in the place.
func (f *extraForm) into(at *place, s *protocol.Setup) error {
	for _, c := range []struct {
		field string
		value int64
	}{{"index", f.Index}, {"since", f.Since}, {"step", f.Step}, {"turn", f.Turn}, {"repeated", f.Repeated}, {"settle", f.Settle}} {
		if c.value < 0 {
			return corruptState("extra."+c.field, "0 or more", c.value)
		}
	}
	at.index, at.since, at.step, at.repeated = f.Index, f.Since, f.Step, f.Repeated
	if f.Rank != nil {
		at.own, at.rank, at.settle = true, *f.Rank, f.Settle
		if at.rank < 0 || at.rank >= f.World {
			return corruptState("extra.rank", fmt.Sprint("one of ", f.World), at.rank)
		}
	}
	if at.index > at.position {
		return corruptState("extra.index", fmt.Sprintf("at most the position, %d", at.position), at.index)
	}
	if len(f.History) == 0 || len(f.History) > mostSegments {
		return corruptState("extra.history", fmt.Sprintf("1 to %d entries", mostSegments), len(f.History))
	}
	for _, h := range f.History {
		if h[0] < 0 || h[1] < 0 || h[2] < 0 {
			return corruptState("extra.history", "no negative numbers", h)
		}
		at.history = append(at.history, segment{h[0], h[1], h[2]})
	}
	if len(f.Spans) == 1 || len(f.Spans) > mostSpans {
		return corruptState("extra.spans", fmt.Sprintf("none, or 2 to %d", mostSpans), len(f.Spans))
	}
	for i, g := range f.Spans {
		if g[0] < 0 || g[1] < 0 || g[2] < 0 || i > 0 && g[0] < f.Spans[i-1][0] {
			return corruptState("extra.spans", "epochs that rise, and no negative numbers", g)
		}
		at.spans = append(at.spans, span{g[0], g[1], g[2]})
	}
	at.covered, at.world = len(f.Coverage) == len(at.coverage), f.World
	for i, c := range f.Coverage {
		if i >= len(at.coverage) {
			return corruptState("extra.coverage", "two epochs", len(f.Coverage))
		}
		at.coverage[i] = coverage{epoch: c.Epoch, count: c.Count, sum: c.Sum, xor: c.XOR}
	}
	if l := f.Ledger; l != nil {
		at.ledger.Count, at.reason = l.Count, cutText(l.Reason, longestReason)
		for _, e := range l.Last[max(0, len(l.Last)-mostSkipped):] {
			at.ledger.Last = append(at.ledger.Last, faults.Fault{Position: e[0], ID: e[1], Action: faults.Skip})
		}
	}
	if err := f.samplerInto(at); err != nil {
		return err
	}
	if err := f.streamsInto(at, s); err != nil {
		return err
	}
	return f.windowInto(at)
}

func (f *extraForm) samplerInto(at *place) (err error) {
	if f.Sampler == nil {
		return nil
	}
	if at.draws = f.Sampler.Draws; at.draws < 0 {
		return corruptState("extra.sampler.draws", "0 or more", at.draws)
	}
	if at.cursor, err = parseBytes("extra.sampler.cursor", f.Sampler.Cursor); err != nil {
		return err
	}
	at.sampler, err = parseBytes("extra.sampler.state", f.Sampler.State)
	return err
}

func (f *extraForm) streamsInto(at *place, s *protocol.Setup) (err error) {
	for i, st := range f.Streams {
		name := fmt.Sprintf("extra.streams[%d]", i)
		alike := max(1, st.Alike)
		if st.Items < 0 || st.Alike < 0 || alike > int64(mostStreams-len(at.streams)) {
			return corruptState(name, "numbers that a loader writes", fmt.Sprint(st.Items, " items, ", st.Alike, " alike"))
		}
		p := streamPlace{items: st.Items, ended: st.Ended}
		if p.dataset, err = parseBytes(name+".dataset", st.Dataset); err != nil {
			return err
		}
		if p.iterator, err = parseBytes(name+".iterator", st.Iterator); err != nil {
			return err
		}
		for range alike {
			at.streams = append(at.streams, p)
		}
	}
	at.turn = f.Turn
	if ranks := int64(ranksOf(s)); ranks > 1 { // the first turn of this rank that is not over
		at.turn = max(0, (f.Turn-int64(s.Rank)+ranks-1)/ranks)
	}
	return nil
}

func (f *extraForm) windowInto(at *place) error {
	w := f.Window
	if w == nil {
		return nil
	}
	if w.Global < 1 || w.Global > 1<<31 || w.World < 1 || len(w.Bits) > mostWindow || strings.Trim(w.Bits, "01") != "" {
		return corruptState("extra.window", "batches as 0 and 1, and their size", fmt.Sprintf("%q of %d samples", cutText(w.Bits, 20), w.Global))
	}
	at.ahead = window{global: w.Global, world: w.World}
	for _, b := range w.Bits {
		at.ahead.bits = append(at.ahead.bits, b == '1')
	}
	return nil
}

// parseBytes is the inverse of appendBytes; nil for nil.
func parseBytes(field string, text *string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	code, ok := strings.CutPrefix(*text, base64Mark)
	if !ok {
		return []byte(*text), nil
	}
	b, err := base64.StdEncoding.DecodeString(code)
	if err != nil {
		return nil, corruptState(field, "base64", cutText(code, 20))
	}
	return b, nil
}
