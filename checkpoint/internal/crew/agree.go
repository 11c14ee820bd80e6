package crew

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
)

// Agree returns the part of the items that this process writes, and makes o write only that part;
// the rest of o is as in a save by one process. If the processes do not agree, or one of them
// cannot go on, Agree fails on all processes and the save is over. The error names the leaf or
// option and both sides.
func (m *Meeting) Agree(ctx context.Context, items []writer.Item, o *writer.Options) ([]writer.Item, error) {
	mine, err := roll{}, m.call.Err
	if err == nil {
		err = storable(o)
	}
	if err == nil {
		mine, err = rollOf(items, append(termsOf(o), m.group.Replicas.terms()...))
	}
	if err != nil {
		mine = roll{Failure: fail(err)}
	}
	tail := mine.pack()
	told := m.sayWith(ctx, of("plan", m.group.Self), mine, tail)
	if e := m.barrier(ctx, plan); e != nil {
		m.close() //nolint:errcheck // the reason is already being returned
		return nil, e
	}
	rolls, heard := m.rolls(ctx, mine)
	if heard == nil {
		heard = told
	}
	switch missing := errs.KindOf(heard) == errs.NotFound; {
	case err != nil: // all processes know: a message says so or is missing
	case heard != nil && !missing: // the others may have read all messages and wait for this process
		_, err = m.Write(ctx, nil, heard)
		return nil, err
	default:
		err = heard
	}
	if err == nil {
		items, err = m.group.settle(items, rolls)
	}
	if err != nil {
		m.leave(ctx) //nolint:errcheck // the reason is already being returned
		return nil, err
	}
	m.signing = o.Signing
	if m.next = o.Join; m.next == nil {
		m.next = parts.New(m.call.Store, m.call.Name).Join
	}
	o.Join = m.Join
	if !m.group.Leads() {
		o.Guest = "p" + strconv.Itoa(m.group.Self) + "."
	}
	return items, nil
}

// rolls reads the roll of each process. A process that has written none is NotFound.
func (m *Meeting) rolls(ctx context.Context, mine roll) (map[int]roll, error) {
	heard := make([]roll, len(m.group.Active))
	failed := atOnce(len(heard), func(i int) error {
		p := m.group.Active[i]
		tail, err := m.hearWith(ctx, of("plan", p), &heard[i])
		if errs.KindOf(err) == errs.NotFound {
			return err
		}
		if err == nil && p != m.group.Self {
			err = heard[i].unpack(tail, mine)
		}
		return errs.Wrap("", "process "+strconv.Itoa(p), err)
	})
	rolls := make(map[int]roll, len(heard))
	for i, p := range m.group.Active {
		if failed[i] != nil {
			return nil, failed[i]
		}
		if p == m.group.Self {
			heard[i] = mine // it also has the parts
		}
		rolls[p] = heard[i]
	}
	return rolls, nil
}

// Messages are read one after the other if there are at most fewMessages, so that the order of
// requests is known, and else up to readers at once.
const (
	fewMessages = 8
	readers     = 16
)

// atOnce calls f for 0 to n-1, several at once if there are many, and returns the errors.
func atOnce(n int, f func(i int) error) []error {
	all := make([]error, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			all[i] = f(i)
		}
	}
	if n <= fewMessages {
		work()
		return all
	}
	var wg sync.WaitGroup
	for range readers {
		wg.Go(work)
	}
	wg.Wait()
	return all
}

// settle compares the rolls and divides the work.
func (g Group) settle(items []writer.Item, rolls map[int]roll) ([]writer.Item, error) {
	for _, p := range g.Active {
		if err := rolls[p].Failure.from(p); err != nil {
			return nil, err
		}
	}
	for _, p := range g.others() {
		if err := rolls[p].against(rolls[g.Primary], g.Primary, p); err != nil {
			return nil, err
		}
	}
	return g.dealOut(items, rolls)
}

// storable returns an error for layouts into which several processes cannot write.
func storable(o *writer.Options) error {
	if writer.InDatabase(o.Layout) {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Subject: "Bivouac.Layout",
		Got:    "a layout without a database, into which several processes cannot write",
		Remedy: "save with a database, then bivouac convert"}
}

// termsOf lists the options that determine bytes, and must therefore be the same on all processes.
func termsOf(o *writer.Options) []term {
	of := func(name string, v any) term { return term{name, fmt.Sprint(v)} }
	return []term{
		of("Bivouac.Layout", o.Layout), of("Bivouac.Compression", o.Compression), of("Storage.ChunkByteSize",
			o.ChunkBytes), of("Storage.ShardAxes", o.ShardAxes),
		of("the kind of checkpoint", o.Style), of("Bivouac.Signing", public(o.Signing)), of("Bivouac.Label",
			o.Label), of("Base", o.Dedup != nil), of("PartialUpdate of a checkpoint", o.Join != nil), of("Bivouac.Parity", o.Parity),
	}
}

// terms lists the options that decide who writes a shard.
func (r Replicas) terms() []term {
	of := func(name string, v any) term { return term{"Array.Saving." + name, fmt.Sprint(v)} }
	return []term{of("UseReplicaParallel", r.Split), of("MinSliceBytesForReplicaParallel", r.MinBytes),
		of("MaxReplicasForReplicaParallel", r.Most)}
}
