package crew

import (
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// share is the part of a sharded leaf that a process writes.
type share struct {
	grid  tensor.Shape // of the chunks; nil if the primary has the whole leaf and cuts it itself
	parts []writer.Part
}

// owned is a shard and the process that writes it.
type owned struct {
	writer.Part     // without data
	by          int // the lowest process that has the shard
}

// shareOf determines what this process writes of a leaf, given its roll on each process. Every
// process gets the same result or the same failure.
func (g Group) shareOf(leaves map[int]leafRoll) (share, error) {
	mine := leaves[g.Self].parts
	shape := mine.Shape
	var all []owned
	for _, p := range g.Active {
		for _, b := range leaves[p].Boxes {
			if !slices.ContainsFunc(all,
				func(o owned) bool { return slices.Equal(o.Origin, b.Origin) && slices.Equal(o.Data.Shape, b.Shape) }) {
				all = append(all, owned{writer.Part{Origin: b.Origin, Data: tensor.Tensor{DType: mine.DType, Shape: b.Shape}}, p})
			}
		}
	}
	parts := make([]writer.Part, len(all))
	for i, o := range all {
		parts[i] = o.Part
	}
	if err := writer.Tiles(shape, parts); err != nil {
		return share{}, &errs.Error{Err: err, Remedy: "the shards of all processes together must tile the array; " +
			who(leaves, g.Active)}
	}
	var s share
	alone := g.Leads()
	for _, o := range all {
		if o.by != g.Self {
			alone = false
			continue
		}
		i := slices.IndexFunc(mine.Parts, func(p writer.Part) bool {
			return slices.Equal(p.Origin, o.Origin) && slices.Equal(p.Data.Shape, o.Data.Shape)
		})
		s.parts = append(s.parts, mine.Parts[i])
	}
	if alone {
		return s, nil
	}
	var err error
	s.grid, err = writer.Grid(shape, parts)
	return s, err
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
