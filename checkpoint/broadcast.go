package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/broadcast"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// readTogether works like read. If one replica reads for others, the processes begin and end the
// load together; do gets LoadOptions with the session of the load.
func (o *LoadOptions) readTogether(ctx context.Context, path string,
	do func(*LoadOptions, *layout.Checkpoint) error) error {
	s, err := o.joinLoad(ctx)
	if err != nil {
		return err
	}
	if s == nil {
		return o.read(ctx, path, func(c *layout.Checkpoint) error { return do(o, c) })
	}
	own := *o
	own.session = s
	return s.End(ctx, own.read(ctx, path, func(c *layout.Checkpoint) error {
		s.Same(broadcast.Field{Name: "the checkpoint", Value: identity(c)})
		return do(&own, c)
	}))
}

// joinLoad begins a load of several processes. It returns nil if each process reads for itself.
func (o *LoadOptions) joinLoad(ctx context.Context) (*broadcast.Session, error) {
	scope, err := options.Resolve(ctx, o.Options, options.Options{})
	if err != nil || scope.Array.Loading.UseLoadAndBroadcast != options.On {
		return nil, err
	}
	l, m := scope.Array.Loading.LoadAndBroadcast, scope.Multiprocessing
	const at = "array.loading.load_and_broadcast_options."
	if l.Peers == nil {
		if m.ProcessCount <= 1 {
			return nil, nil //nolint:nilnil // one process reads for itself
		}
		return nil, &errs.Error{Kind: errs.Invalid, Subject: at + "peers",
			Want: fmt.Sprintf("a connection to the other processes of %d", m.ProcessCount), Got: "nothing",
			Remedy: "set peer.Open of package cluster/peer, or UseLoadAndBroadcast Off"}
	}
	if n := l.Peers.World(); m.ProcessCount > 1 && (m.ProcessCount != n || int(*m.ProcessIndex) != l.Peers.Rank()) {
		return nil, &errs.Error{Kind: errs.Mismatch, Subject: at + "peers",
			Want: fmt.Sprintf("process %d of %d, as multiprocessing says", *m.ProcessIndex, m.ProcessCount),
			Got: fmt.Sprintf("process %d of %d", l.Peers.Rank(),
				n), Remedy: "use Multiprocessing and Peers of one cluster.Member"}
	}
	s, err := broadcast.Begin(ctx, l.Peers, broadcast.Options{Mesh: l.MeshShape, Axis: *l.ReplicaAxisIndex,
		Primary: *l.PrimaryReplicaID, Memory: l.BroadcastMemoryLimitBytes.Bytes()})
	if err == nil && o.Salvage {
		err = s.End(ctx, &errs.Error{Kind: errs.Unsupported, Subject: "LoadOptions.Salvage",
			Want: "a load in which one replica reads for the others", Got: "a load that leaves out leaves",
			Remedy: "set UseLoadAndBroadcast Off"})
	}
	return s, err
}

// identity tells a checkpoint from others.
func identity(c *layout.Checkpoint) string {
	if c.Manifest == nil {
		return "a checkpoint without a manifest, layout " + c.Layout
	}
	sum := sha256.Sum256(c.Manifest.Append(nil))
	return "a manifest with the SHA-256 " + hex.EncodeToString(sum[:8])
}

// fetch reads the targets. If another process reads for this one, it receives them. filled has the
// leaves of which parts were missing on the process that read.
func (rs *readings) fetch(ctx context.Context, t *layout.OpenTree) (filled map[int]bool, err error) {
	if rs.session == nil {
		return nil, t.Read(ctx, rs.targets)
	}
	memory := make([][]byte, len(rs.targets))
	final := make([]func([]byte) error, len(rs.targets))
	sum := sha256.New()
	for i := range rs.targets {
		g := &rs.targets[i]
		memory[i], final[i], g.Final = g.Dst, g.Final, nil // the memory is sent until all have it
		fmt.Fprintf(sum, "%q %v %v %v %v %v %v\n", g.Leaf.Param, g.Leaf.DType, g.Leaf.Shape, g.Box.Origin,
			g.Box.Shape, g.DType, g.Lossy)
	}
	round := []broadcast.Field{
		{Name: "LoadOptions.Name", Value: strconv.Quote(rs.item)},
		{Name: "the boxes", Value: fmt.Sprintf("%d boxes with the SHA-256 %x", len(rs.targets), sum.Sum(nil)[:8])},
	}
	list, err := rs.session.Read(ctx, memory, round, func(ctx context.Context,
		done func(i, from, n int)) (list []int, err error) {
		if done != nil {
			for i := range rs.targets {
				rs.targets[i].Done = func(from, n int) { done(i, from, n) }
			}
		}
		if err := t.Read(ctx, rs.targets); err != nil {
			return nil, err
		}
		for i := range rs.list {
			if rs.list[i].leaf.Filled() {
				list = append(list, rs.list[i].at)
			}
		}
		return list, nil
	})
	if err != nil {
		return nil, err
	}
	filled = make(map[int]bool, len(list))
	for _, at := range list {
		filled[at] = true
	}
	for i, f := range final {
		if f == nil || len(memory[i]) == 0 {
			continue
		}
		if err := f(memory[i]); err != nil {
			return nil, err
		}
	}
	return filled, nil
}
