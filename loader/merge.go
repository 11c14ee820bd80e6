package loader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Merge merges the states of all ranks of a run over an Iterable into one state. The states are in
// the order of ranks and belong to the same step. A rank that came to the end of the epoch earlier
// contributes its state at the end. Each rank has read its own streams. Any number of ranks that
// divides the number of streams can continue from the merged state. States of a Map need no
// merging: all ranks have the same state.
//
// The error is of kind errs.Mismatch if the states do not belong to one run and step. Otherwise
// Merge fails in the same cases as Loader.SetState.
func Merge(states ...[]byte) ([]byte, error) {
	const op = "loader.Merge"
	places := make([]document.Place, len(states))
	setups := make([]protocol.Setup, len(states))
	var id document.Identity
	for rank, b := range states {
		d, err := state.Unmarshal(b)
		if err != nil {
			return nil, errs.Wrap(op, rankName(rank), err)
		}
		if rank == 0 {
			id = document.NewIdentity(d.Fingerprint, d.Fields)
		}
		setups[rank] = protocol.Setup{Iterable: d.Fields["data"] == "iterable", World: len(states), NoDigest: true}
		if places[rank], err = id.Parse(b, scopeOf(&setups[rank])); err != nil {
			return nil, errs.Wrap(op, rankName(rank), err)
		}
	}
	if len(states) == 0 || !setups[0].Iterable {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "at least one state of a run over an Iterable"}
	}
	merged, err := mergePlaces(places)
	if err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	return id.Append(nil, &merged, scopeOf(&setups[0])), nil
}

func rankName(rank int) string { return fmt.Sprintf("rank %d", rank) }

// mergePlaces takes the state of each stream from the rank that reads it.
func mergePlaces(places []document.Place) (document.Place, error) {
	world := len(places)
	first := slices.MinFunc(places, func(a, b document.Place) int { return cmp.Compare(a.Epoch, b.Epoch) })
	m := first.Clone()
	m.Digest, m.Ledger, m.Reason, m.Own = state.Digest{}, faults.Ledger{}, "", false
	m.Ahead.Bits = nil // the items of the streams count the delivered batches
	m.Index, m.Position, m.Turn = 0, 0, 0
	for rank := range places {
		p := &places[rank]
		differ := func(what string, want, got any) error {
			return &errs.Error{Kind: errs.Mismatch, Subject: rankName(rank) + ", " + what, Want: fmt.Sprint(want),
				Got: fmt.Sprint(got)}
		}
		switch {
		case p.Epoch != m.Epoch && (p.Epoch != m.Epoch+1 || p.Batch > 0):
			return m, differ("epoch", m.Epoch, p.Epoch)
		case p.Since != 0:
			return m, differ("number of batches after the snapshot", 0, p.Since)
		case len(p.Streams) != len(m.Streams) || len(m.Streams)%world != 0:
			return m, differ("streams", fmt.Sprint("a multiple of ", world, " and ", len(m.Streams)), len(p.Streams))
		case p.Own && (p.Rank != int64(rank) || p.World != int64(world)):
			return m, differ("place among the states", fmt.Sprintf("rank %d of %d", rank, world),
				fmt.Sprintf("rank %d of %d", p.Rank, p.World))
		}
		for i := rank; i < len(m.Streams); i += world {
			m.Streams[i] = p.Streams[i]
			if p.Epoch > m.Epoch { // this rank has ended before the other ranks
				m.Streams[i].Ended = true
			}
		}
		if p.Epoch > m.Epoch {
			m.Step = max(m.Step, p.Step)
			continue
		}
		m.Position = max(m.Position, p.Position-p.Index)
		m.Step, m.Batch, m.Turn = max(m.Step, p.Step), max(m.Batch, p.Batch), max(m.Turn, p.Turn)
		m.Ledger.Count += p.Ledger.Count
		m.Ledger.Last = slices.Concat(m.Ledger.Last, p.Ledger.Last)
		m.Reason = max(m.Reason, p.Reason)
	}
	for _, s := range m.Streams {
		m.Index += s.Items
	}
	m.Position += m.Index
	m.Ledger.Last = m.Ledger.Last[max(0, len(m.Ledger.Last)-document.MaxSkipped):]
	return m, nil
}
