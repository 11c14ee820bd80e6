package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Extra is the JSON form of the part of a place that is not in a state.Document.
type Extra struct {
	Coverage []Coverage   `json:"coverage"`
	History  [][3]int64   `json:"history"`
	Index    int64        `json:"index"`
	Ledger   *ledgerForm  `json:"ledger"`
	Rank     *int64       `json:"rank"`
	Repeated int64        `json:"repeated"`
	Sampler  *samplerForm `json:"sampler"`
	Settle   int64        `json:"settle"`
	Since    int64        `json:"since"`
	Spans    [][3]int64   `json:"spans"`
	Step     int64        `json:"step"`
	Streams  []streamForm `json:"streams"`
	Turn     int64        `json:"turn"`
	Window   *windowForm  `json:"window"`
	World    int64        `json:"world"`
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

// Bounds for numbers in a state. A loader writes far smaller ones.
const (
	MaxStreams = 1 << 20
	maxWindow  = 1 << 20
)

// Parse reads a state. It returns an error for a state of another data set or order.
func (id *Identity) Parse(b []byte, s Scope) (Place, error) {
	d, err := state.Unmarshal(b)
	if err != nil {
		return Place{}, err
	}
	want := id.Document
	if id.Anonymous && d.Fingerprint == "" {
		want.Fingerprint = ""
	}
	if err := d.Check(want); err != nil {
		return Place{}, err
	}
	at := Place{Epoch: d.Epoch, Batch: d.Batch, Position: d.Position, Sealed: d.Version > 1}
	if at.Digest, err = state.ParseDigest(d.Digest); err != nil {
		return Place{}, err
	}
	f, err := ReadExtra(d, true)
	if err != nil {
		return Place{}, err
	}
	return at, f.into(&at, s)
}

// ReadExtra reads the part of a document that only a loader has. If strict, it returns an error for
// unknown names.
func ReadExtra(d state.Document, strict bool) (f Extra, err error) {
	b, err := json.Marshal(d.Extra)
	if err != nil {
		return f, Corrupt("extra", "JSON", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(&f); err != nil {
		return f, &errs.Error{Kind: errs.Corrupt, Subject: "extra", Want: "the members that a loader writes", Err: err}
	}
	return f, nil
}

// Put writes history, index, step and coverage into a document that has all other members.
func (f *Extra) Put(d *state.Document) (err error) {
	set := map[string]any{"history": f.History, "index": f.Index, "step": f.Step}
	if len(f.Coverage) > 0 {
		set["coverage"] = f.Coverage
	}
	before := d.Extra
	d.Extra = map[string]json.RawMessage{}
	maps.Copy(d.Extra, before)
	for name, value := range set {
		if d.Extra[name], err = json.Marshal(value); err != nil {
			return err
		}
	}
	return nil
}

// Corrupt returns an error for a field with a value that no loader writes.
func Corrupt(field, want string, got any) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: field, Want: want, Got: fmt.Sprint(got)}
}

// into checks the values and fills in the place.
func (f *Extra) into(at *Place, s Scope) error {
	for _, c := range []struct {
		field string
		value int64
	}{{"index", f.Index}, {"since", f.Since}, {"step", f.Step}, {"turn", f.Turn}, {"repeated", f.Repeated},
		{"settle", f.Settle}} {
		if c.value < 0 {
			return Corrupt("extra."+c.field, "at least 0", c.value)
		}
	}
	at.Index, at.Since, at.Step, at.Repeated = f.Index, f.Since, f.Step, f.Repeated
	if f.Rank != nil {
		at.Own, at.Rank, at.Settle = true, *f.Rank, f.Settle
		if at.Rank < 0 || at.Rank >= f.World {
			return Corrupt("extra.rank", fmt.Sprint("a rank below ", f.World), at.Rank)
		}
	}
	if at.Index > at.Position {
		return Corrupt("extra.index", fmt.Sprintf("at most the position, %d", at.Position), at.Index)
	}
	if len(f.History) == 0 || len(f.History) > MaxSegments {
		return Corrupt("extra.history", fmt.Sprintf("1 to %d entries", MaxSegments), len(f.History))
	}
	for _, h := range f.History {
		if h[0] < 0 || h[1] < 0 || h[2] < 0 {
			return Corrupt("extra.history", "no negative numbers", h)
		}
		at.History = append(at.History, Segment{h[0], h[1], h[2]})
	}
	if len(f.Spans) == 1 || len(f.Spans) > maxSpans {
		return Corrupt("extra.spans", fmt.Sprintf("none, or 2 to %d", maxSpans), len(f.Spans))
	}
	for i, g := range f.Spans {
		if g[0] < 0 || g[1] < 0 || g[2] < 0 || i > 0 && g[0] < f.Spans[i-1][0] {
			return Corrupt("extra.spans", "rising epochs and no negative numbers", g)
		}
		at.Spans = append(at.Spans, Span{g[0], g[1], g[2]})
	}
	at.Covered, at.World = len(f.Coverage) == len(at.Coverage), f.World
	for i, c := range f.Coverage {
		if i >= len(at.Coverage) {
			return Corrupt("extra.coverage", "two epochs", len(f.Coverage))
		}
		at.Coverage[i] = c
	}
	if l := f.Ledger; l != nil {
		at.Ledger.Count, at.Reason = l.Count, CutText(l.Reason, maxReason)
		for _, e := range l.Last[max(0, len(l.Last)-MaxSkipped):] {
			at.Ledger.Last = append(at.Ledger.Last, faults.Fault{Position: e[0], ID: e[1], Action: faults.Skip})
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

func (f *Extra) samplerInto(at *Place) (err error) {
	if f.Sampler == nil {
		return nil
	}
	if at.Draws = f.Sampler.Draws; at.Draws < 0 {
		return Corrupt("extra.sampler.draws", "at least 0", at.Draws)
	}
	if at.Cursor, err = parseBytes("extra.sampler.cursor", f.Sampler.Cursor); err != nil {
		return err
	}
	at.Sampler, err = parseBytes("extra.sampler.state", f.Sampler.State)
	return err
}

func (f *Extra) streamsInto(at *Place, s Scope) (err error) {
	for i, st := range f.Streams {
		name := fmt.Sprintf("extra.streams[%d]", i)
		alike := max(1, st.Alike)
		if st.Items < 0 || st.Alike < 0 || alike > int64(MaxStreams-len(at.Streams)) {
			return Corrupt(name, "numbers that a loader writes", fmt.Sprint(st.Items, " items, ", st.Alike, " alike"))
		}
		p := Stream{Items: st.Items, Ended: st.Ended}
		if p.Dataset, err = parseBytes(name+".dataset", st.Dataset); err != nil {
			return err
		}
		if p.Iterator, err = parseBytes(name+".iterator", st.Iterator); err != nil {
			return err
		}
		for range alike {
			at.Streams = append(at.Streams, p)
		}
	}
	at.Turn = f.Turn
	if ranks := int64(s.ranks()); ranks > 1 { // the first turn of this rank that has not ended
		at.Turn = max(0, (f.Turn-int64(s.Rank)+ranks-1)/ranks)
	}
	return nil
}

func (f *Extra) windowInto(at *Place) error {
	w := f.Window
	if w == nil {
		return nil
	}
	if w.Global < 1 || w.Global > 1<<31 || w.World < 1 || len(w.Bits) > maxWindow || strings.Trim(w.Bits, "01") != "" {
		return Corrupt("extra.window", "one digit 0 or 1 per batch, and the size of batches",
			fmt.Sprintf("%q of %d samples", CutText(w.Bits, 20), w.Global))
	}
	at.Ahead = Window{Global: w.Global, World: w.World}
	for _, b := range w.Bits {
		at.Ahead.Bits = append(at.Ahead.Bits, b == '1')
	}
	return nil
}

// parseBytes is the inverse of appendBytes. It returns nil for nil.
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
		return nil, Corrupt(field, "base64", CutText(code, 20))
	}
	return b, nil
}
