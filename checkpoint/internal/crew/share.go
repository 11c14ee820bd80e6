package crew

import (
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// share is the part of a sharded leaf that a process writes.
type share struct {
	grid  tensor.Shape // of the chunks; nil if the primary has the whole leaf and cuts it itself
	parts []writer.Part
}

// shareOf determines what this process writes of a leaf, given its roll on each process. Every
// process gets the same result or the same failure.
func (g Group) shareOf(leaves map[int]leafRoll) (share, error) {
	mine := leaves[g.Self].parts
	shape := mine.Shape
	var all []held
	for _, p := range g.Active {
		for _, b := range leaves[p].Boxes {
			i := slices.IndexFunc(all,
				func(h held) bool { return slices.Equal(h.Origin, b.Origin) && slices.Equal(h.Shape, b.Shape) })
			switch {
			case i < 0:
				all = append(all, held{zarr.Box{Origin: b.Origin, Shape: b.Shape}, []int{p}})
			case !slices.Contains(all[i].by, p):
				all[i].by = append(all[i].by, p)
			}
		}
	}
	tiles := places(mine.DType, Replicas{}.deal(mine.DType, all))
	if err := writer.Tiles(shape, tiles); err != nil {
		return share{}, &errs.Error{Err: err, Remedy: "the shards of all processes together must tile the array; " +
			who(leaves, g.Active)}
	}
	dealt := g.Replicas.deal(mine.DType, all)
	if len(dealt) > len(all) {
		if grid, err := writer.Grid(shape, places(mine.DType, dealt)); err == nil {
			return g.own(mine, dealt, grid), nil
		}
		dealt = Replicas{}.deal(mine.DType, all) // slices would be too many chunks
	}
	if g.Leads() && !slices.ContainsFunc(dealt, func(o owned) bool { return o.by != g.Self }) {
		return g.own(mine, dealt, nil), nil
	}
	grid, err := writer.Grid(shape, tiles)
	return g.own(mine, dealt, grid), err
}

// places returns the places of what was dealt out, without data.
func places(d tensor.DType, all []owned) []writer.Part {
	out := make([]writer.Part, len(all))
	for i, o := range all {
		out[i] = writer.Part{Origin: o.Origin, Data: tensor.Tensor{DType: d, Shape: o.Shape}}
	}
	return out
}

// own returns the share of this process in a leaf that was dealt out.
func (g Group) own(mine *writer.Parts, dealt []owned, grid tensor.Shape) share {
	s := share{grid: grid}
	for _, o := range dealt {
		if o.by != g.Self {
			continue
		}
		i := slices.IndexFunc(mine.Parts, func(p writer.Part) bool {
			return slices.Equal(p.Origin, o.of.Origin) && slices.Equal(p.Data.Shape, o.of.Shape)
		})
		s.parts = append(s.parts, take(mine.Parts[i], o))
	}
	return s
}

// who returns a text with the number of shards of each process.
func who(leaves map[int]leafRoll, active []int) string {
	text := ""
	for i, p := range active {
		if i > 0 {
			text += ", "
		}
		text += "process " + strconv.Itoa(p) + " has " + strconv.Itoa(len(leaves[p].Boxes))
	}
	return text
}

// dealOut returns the part of the items that this process writes, given the rolls of all processes,
// which were compared with the roll of the primary.
func (g Group) dealOut(items []writer.Item, rolls map[int]roll) (mine []writer.Item, err error) {
	for _, it := range items {
		if it.Tree == nil {
			if g.Leads() {
				mine = append(mine, it)
			}
			continue
		}
		shares, err := g.sharesOf(it.Name, rolls)
		if err != nil {
			return nil, err
		}
		d := dealer{shares: shares, all: g.Leads()}
		t := d.deal(it.Tree, nil)
		switch {
		case d.all:
			it.Tree = t
			mine = append(mine, it)
		case d.writes > 0:
			mine = append(mine, writer.Item{Name: it.Name, Handler: it.Handler, Tree: t})
		}
	}
	return mine, nil
}

// sharesOf returns the shares of this process in the leaves of an item, by path.
func (g Group) sharesOf(item string, rolls map[int]roll) (map[string]share, error) {
	at := map[string]map[int]leafRoll{}
	var paths []string // in the order of the primary's tree
	for _, p := range append([]int{g.Primary}, g.Active...) {
		i := slices.IndexFunc(rolls[p].Items, func(it itemRoll) bool { return it.Name == item })
		for _, l := range rolls[p].Items[i].Leaves {
			if at[l.Path] == nil {
				at[l.Path] = map[int]leafRoll{}
				paths = append(paths, l.Path)
			}
			at[l.Path][p] = l
		}
	}
	shares := map[string]share{}
	for _, path := range paths {
		if at[path][g.Self].parts == nil {
			continue
		}
		s, err := g.shareOf(at[path])
		if err != nil {
			return nil, errs.Wrap("", "leaf "+item+": "+path, err)
		}
		shares[path] = s
	}
	return shares, nil
}

// dealer makes the tree that one process writes. Leaves that other processes write are nil in it,
// unless all entries of the tree are needed.
type dealer struct {
	shares map[string]share
	all    bool
	writes int // shares with parts
}

func (d *dealer) deal(n *tree.Node, at tree.Path) *tree.Node {
	if n.Kind != tree.Leaf {
		c := *n
		c.Items = make([]*tree.Node, len(n.Items))
		for i, child := range n.Items {
			c.Items[i] = d.deal(child, append(at[:len(at):len(at)], n.Key(i)))
		}
		return &c
	}
	s, sharded := d.shares[at.String()]
	switch {
	case !sharded && d.all:
		return n
	case !sharded || len(s.parts) == 0 && !d.all:
		return &tree.Node{}
	}
	value := n.Value
	if o, ok := value.(tree.Opaque); ok {
		value = o.TreeLeaf()
	}
	p := value.(writer.Parts) // as it was when the roll was made
	p.Parts, p.Grid = s.parts, s.grid
	if len(s.parts) > 0 {
		d.writes++
	}
	return &tree.Node{Value: p}
}
