package timeline

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/state"
)

// Ranks says which ranks go on from the state of a loader.
type Ranks struct {
	// Own is set if the state belongs to rank Rank of World alone.
	Own  bool
	Rank int64
	// World is how many ranks go on; 0 is any number.
	World int64
	// Iterable is set for the state of an Iterable. If World is 0, it divides the number of streams.
	Iterable bool
}

// RanksOf returns the ranks that go on from a document of a loader. The error is of kind
// errs.Unsupported for a document of another kind, and errs.Corrupt for one that no loader writes.
func RanksOf(doc state.Document) (Ranks, error) {
	const op = "timeline.RanksOf"
	if doc.Kind != document.Kind {
		return Ranks{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: "kind", Want: "the state of a loader",
			Got: strconv.Quote(doc.Kind)}
	}
	x, err := document.ReadExtra(doc, false)
	if err != nil {
		return Ranks{}, errs.Wrap(op, "", err)
	}
	r := Ranks{Iterable: doc.Fields["data"] == "iterable"}
	switch {
	case x.Rank != nil:
		r.Own, r.Rank, r.World = true, *x.Rank, x.World
	case !r.Iterable && x.Window != nil && x.Window.World > 1:
		r.World = x.Window.World
	}
	return r, nil
}
