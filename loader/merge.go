package loader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Merge returns one state out of those of all ranks of a run over an Iterable, taken
// at the same step, or of those that have come to the end of the epoch before the
// others: each rank has read its own streams, and any number of ranks that
// divides that of the streams goes on from the merged state. States of a Map need no
// merging: those of all ranks are the same. They are given in the order of ranks.
//
// Errors are of kind errs.Mismatch where the states are not of one run and step, and
// as those of Loader.SetState.
func Merge(states ...[]byte) ([]byte, error) {
	const op = "loader.Merge"
	places := make([]place, len(states))
	setups := make([]protocol.Setup, len(states))
	var id identity
	for rank, b := range states {
		d, err := state.Unmarshal(b)
		if err != nil {
			return nil, errs.Wrap(op, rankName(rank), err)
		}
		if rank == 0 {
			id = identityFor(d.Fingerprint, d.Fields)
		}
		setups[rank] = protocol.Setup{Iterable: d.Fields["data"] == "iterable", World: len(states), NoDigest: true}
		if places[rank], err = id.parse(b, &setups[rank]); err != nil {
			return nil, errs.Wrap(op, rankName(rank), err)
		}
	}
	if len(states) == 0 || !setups[0].Iterable {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "states of the ranks of a run over an Iterable"}
	}
	merged, err := mergePlaces(places)
	if err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	return id.append(nil, &merged, &setups[0]), nil
}

func rankName(rank int) string { return fmt.Sprintf("rank %d", rank) }

// mergePlaces takes each stream from the rank that reads it.
func mergePlaces(places []place) (place, error) {
	world := len(places)
	first := slices.MinFunc(places, func(a, b place) int { return cmp.Compare(a.epoch, b.epoch) })
	m := first.clone()
	m.digest, m.ledger, m.reason, m.own = state.Digest{}, faults.Ledger{}, "", false
	m.ahead.bits = nil // what streams have given is among their items
	m.index, m.position, m.turn = 0, 0, 0
	for rank := range places {
		p := &places[rank]
		differ := func(what string, want, got any) error {
			return &errs.Error{Kind: errs.Mismatch, Subject: rankName(rank) + ", " + what, Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
		}
		switch {
		case p.epoch != m.epoch && (p.epoch != m.epoch+1 || p.batch > 0):
			return m, differ("epoch", m.epoch, p.epoch)
		case p.since != 0:
			return m, differ("batches beyond the state", 0, p.since)
		case len(p.streams) != len(m.streams) || len(m.streams)%world != 0:
			return m, differ("streams", fmt.Sprint("a multiple of ", world, " and ", len(m.streams)), len(p.streams))
		case p.own && (p.rank != int64(rank) || p.world != int64(world)):
			return m, differ("place among the states", fmt.Sprintf("rank %d of %d", rank, world), fmt.Sprintf("rank %d of %d", p.rank, p.world))
		}
		for i := rank; i < len(m.streams); i += world {
			m.streams[i] = p.streams[i]
			if p.epoch > m.epoch { // it has ended before the others
				m.streams[i].ended = true
			}
		}
		if p.epoch > m.epoch {
			m.step = max(m.step, p.step)
			continue
		}
		m.position = max(m.position, p.position-p.index)
		m.step, m.batch, m.turn = max(m.step, p.step), max(m.batch, p.batch), max(m.turn, p.turn)
		m.ledger.Count += p.ledger.Count
		m.ledger.Last = slices.Concat(m.ledger.Last, p.ledger.Last)
		m.reason = max(m.reason, p.reason)
	}
	for _, s := range m.streams {
		m.index += s.items
	}
	m.position += m.index
	m.ledger.Last = m.ledger.Last[max(0, len(m.ledger.Last)-mostSkipped):]
	return m, nil
}
