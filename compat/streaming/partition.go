package streaming

import (
	"fmt"
	"math"
)

// Split says how an epoch is divided among ranks and workers. Its fields are the arguments of
// get_partitions.
type Split struct {
	Samples        int64 // samples of the epoch, dropped samples included; 1 to MaxSamples
	CanonicalNodes int64
	Nodes          int64 // physical nodes
	Ranks          int64 // ranks of each node
	Workers        int64 // workers of each rank, at least 1; a loader without workers counts as one
	Batch          int64 // batch size of each rank, in samples
	// Drop is how many samples of the epoch have been seen (sample_in_epoch). As in streaming it is
	// rounded down to a multiple of the nodes.
	Drop int64
	// InitialNodes, if not 0, selects the relaxed partition. On any number of nodes the global batches
	// equal the batches on the nodes with which the run began, if Nodes*Ranks*Batch is unchanged.
	InitialNodes int64
}

// Partition gives the position in an epoch for a rank, a worker and a batch, in constant time and
// space. It is immutable.
type Partition struct {
	split Split
	plain plain // the topology of the positions; if relaxed, that topology has the initial nodes

	row, pad      int64 // samples of a canonical node, and how many are repeated after them
	ratio         int64 // nodes per canonical node
	repeats, step int64 // the samples after a row: repeats, repeats+step, …
	drop          int64
	node, rank    int64 // samples of a node; samples of a rank, with repeats
	padded        int64 // samples of a node, with repeats
	batches       int64 // batches of a worker
}

// plain is the topology of the partition without the relaxation.
type plain struct{ nodes, batch int64 }

// NewPartition returns the partition. The error is of kind errs.Invalid if streaming would refuse
// it:
//   - The number of dropped samples exceeds the number of samples.
//   - Neither of the numbers of nodes and canonical nodes divides the other.
//   - The initial ranks do not divide the global batch.
//   - The repeated samples do not fit.
func NewPartition(s Split) (*Partition, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &Partition{split: s, plain: plain{s.Nodes, s.Batch}}
	if s.InitialNodes != 0 && !divides(s.Nodes, s.CanonicalNodes) {
		global, initial := s.Nodes*s.Ranks*s.Batch, s.InitialNodes*s.Ranks
		if global%initial != 0 {
			return nil, invalid("streaming.NewPartition", fmt.Sprintf("a global batch that %d initial ranks divide", initial), fmt.Sprint(global))
		}
		p.plain = plain{s.InitialNodes, global / initial}
	}
	if !divides(p.plain.nodes, s.CanonicalNodes) {
		return nil, invalid("streaming.NewPartition",
			"a number of canonical nodes that divides the number of nodes, or the reverse",
			fmt.Sprintf("%d nodes, %d canonical nodes", p.plain.nodes, s.CanonicalNodes))
	}
	if err := p.layRows(); err != nil {
		return nil, err
	}
	p.layRanks()
	return p, nil
}

func divides(nodes, canonical int64) bool {
	return canonical%nodes == 0 || nodes%canonical == 0
}

func (s Split) check() error {
	for _, f := range []struct {
		name      string
		n, lo, hi int64
	}{
		{"samples", s.Samples, 1, MaxSamples}, {"canonical nodes", s.CanonicalNodes, 1, MaxNodes},
		{"nodes", s.Nodes, 1, MaxNodes}, {"ranks of a node", s.Ranks, 1, 1 << 12}, {"workers of a rank", s.Workers, 1, 1 << 12},
		{"samples of a batch", s.Batch, 1, 1 << 26}, {"dropped samples", s.Drop, 0, math.MaxInt64}, {"initial nodes", s.InitialNodes, 0, MaxNodes},
	} {
		if f.n < f.lo || f.n > f.hi {
			return invalid("streaming.NewPartition", fmt.Sprintf("from %d to %d %s", f.lo, f.hi, f.name), fmt.Sprint(f.n))
		}
	}
	if global := s.Nodes * s.Ranks * s.Batch; global > MaxSamples {
		return invalid("streaming.NewPartition", fmt.Sprintf("a global batch of at most %d samples", int64(MaxSamples)), fmt.Sprint(global))
	}
	if most := s.Samples + s.Nodes*s.Ranks - s.Samples%(s.Nodes*s.Ranks); s.Drop > most {
		return invalid("streaming.NewPartition", fmt.Sprintf("at most %d dropped samples, repeats included", most),
			fmt.Sprint(s.Drop))
	}
	return nil
}

// layRows gives each canonical node a row of samples of equal length.
func (p *Partition) layRows() error {
	s, nodes := p.split, p.plain.nodes
	p.row, p.ratio = (s.Samples+s.CanonicalNodes-1)/s.CanonicalNodes, 1
	if nodes > s.CanonicalNodes {
		p.ratio = nodes / s.CanonicalNodes
		p.pad = (p.ratio - p.row%p.ratio) % p.ratio
	}
	p.drop = s.Drop - s.Drop%nodes
	p.step = 1
	if s.Samples <= s.CanonicalNodes || p.pad == 0 {
		return nil
	}
	// The pad repeats samples that lie pad+ratio-1 before it, if the row is long enough. In a shorter
	// row NumPy's slice has fewer samples, and repeats a single sample or fails.
	p.repeats = max(p.row-p.pad-p.ratio+1, 0)
	if width := max(p.row-p.ratio+1, 0) - p.repeats; width != p.pad {
		if width != 1 {
			return invalid("streaming.NewPartition", "enough samples to repeat",
				fmt.Sprintf("%d samples of a canonical node on %d nodes", p.row, p.ratio))
		}
		p.step = 0
	}
	return nil
}

// layRanks divides the rows among nodes and ranks, and the ranks' samples into batches.
func (p *Partition) layRanks() {
	s := p.split
	p.node = max(s.CanonicalNodes*(p.row+p.pad)-p.drop, 0) / p.plain.nodes
	p.rank = (p.node + s.Ranks - 1) / s.Ranks
	p.padded = p.rank * s.Ranks
	each := s.Workers * p.plain.batch
	p.batches = (p.rank + each - 1) / each
}

// Batches returns the number of batches of each worker. The last ones may be short or empty.
func (p *Partition) Batches() int64 { return p.batches }

// Split returns the arguments of the partition.
func (p *Partition) Split() Split { return p.split }

// At returns the position of a sample in the shuffled epoch, or -1 if there is no such sample. The
// arguments are the node, the rank in the node, the worker in the rank, the batch of the worker and
// the place in the batch. Each counts from 0.
func (p *Partition) At(node, rank, worker, batch, place int64) int64 {
	s := p.split
	for _, c := range [...]struct{ at, of int64 }{{node, s.Nodes}, {rank, s.Ranks}, {worker, s.Workers}, {batch, p.batches}, {place, s.Batch}} {
		if c.at < 0 || c.at >= c.of {
			return -1
		}
	}
	return p.of(batch*s.Workers+worker, (node*s.Ranks+rank)*s.Batch+place)
}

// of returns the position at a place of a global batch. The workers of all ranks
// take turns: turn batch*Workers + worker is one global batch.
func (p *Partition) of(turn, place int64) int64 {
	batch, ranks := p.plain.batch, p.split.Ranks
	node, rank, place := place/(ranks*batch), place/batch%ranks, place%batch
	t := turn*batch + place
	if t >= p.rank {
		return -1
	}
	return p.ofNode(node, t*ranks+rank)
}

// ofNode returns the position of a sample of a node. Samples that only make the ranks equal repeat
// earlier samples.
func (p *Partition) ofNode(node, i int64) int64 {
	if i >= p.node {
		if more := p.padded - p.node; p.split.Ranks+more-1 <= p.node {
			i -= p.split.Ranks + more - 1
		} else {
			i %= p.node
		}
	}
	flat := p.drop + i*p.plain.nodes + node
	return p.ofRow(flat%p.split.CanonicalNodes, flat/p.split.CanonicalNodes)
}

// ofRow returns the position of a sample of a canonical node.
func (p *Partition) ofRow(row, i int64) int64 {
	n, rows := p.split.Samples, p.split.CanonicalNodes
	if n <= rows {
		return (row*(p.row+p.pad) + i) % n
	}
	if i >= p.row {
		i = p.repeats + (i-p.row)*p.step
	}
	begin, end := portion(n, row, rows), portion(n, row+1, rows)
	if i == p.row-1 && end-begin < p.row {
		i--
	}
	return begin + i
}
