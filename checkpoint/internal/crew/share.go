package crew

import (
	"fmt"
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

// rolled is a leaf as the processes have it: leaf at[p] of the roll of process p, or -1.
type rolled struct {
	rolls []*itemRoll // of each of Group.Active
	at    []int32
}

// boxes yields the shards of all processes, process by process.
func (l *rolled) boxes(axes int, yield func(by int, origin, shape []int)) error {
	for p, r := range l.rolls {
		i := int(l.at[p])
		if i < 0 {
			continue
		}
		n := r.places.count(i)
		if n > 0 && int(r.places.axes[i]) != axes {
			return &errs.Error{Kind: errs.Corrupt, Subject: "places of shards", Want: count(axes, "axis", "axes"),
				Got: count(int(r.places.axes[i]), "axis", "axes")}
		}
		for k := range n {
			origin, shape := r.places.box(i, k)
			yield(p, origin, shape)
		}
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// boxKey identifies a box of up to four axes; text is for boxes of more.
type boxKey struct {
	at   [8]int
	text string
}

func keyOfBox(origin, shape []int) (k boxKey) {
	if n := len(origin); n <= 4 {
		copy(k.at[:], origin)
		copy(k.at[n:], shape)
		return k
	}
	k.text = fmt.Sprint(origin, shape)
	return k
}

// divider divides leaves. Its memory serves one leaf after the other.
type divider struct {
	Group
	self  int // the index of Self in Active
	seen  map[boxKey]struct{}
	parts []writer.Part // of all processes, each once, without data
	mine  []writer.Part // the ones that this process writes, without data
	alone bool          // this process writes all
}

// shareOf determines what this process writes of a leaf. Of equal shards the lowest process writes
// its own, unless they are split. Every process gets the same result or the same failure.
func (d *divider) shareOf(has *writer.Parts, l *rolled) (share, error) {
	if d.Replicas.Split {
		return d.split(has, l)
	}
	clear(d.seen)
	d.parts, d.mine, d.alone = d.parts[:0], d.mine[:0], d.Leads()
	err := l.boxes(len(has.Shape), func(by int, origin, shape []int) {
		k := keyOfBox(origin, shape)
		if _, twice := d.seen[k]; twice {
			return
		}
		d.seen[k] = struct{}{}
		p := writer.Part{Origin: origin, Data: tensor.Tensor{DType: has.DType, Shape: shape}}
		d.parts = append(d.parts, p)
		if by == d.self {
			d.mine = append(d.mine, p)
		} else {
			d.alone = false
		}
	})
	if err != nil {
		return share{}, err
	}
	if err := writer.Tiles(has.Shape, d.parts); err != nil {
		return share{}, d.untiled(l, err)
	}
	var s share
	for _, o := range d.mine {
		i := slices.IndexFunc(has.Parts, func(p writer.Part) bool {
			return slices.Equal(p.Origin, o.Origin) && slices.Equal(p.Data.Shape, o.Data.Shape)
		})
		s.parts = append(s.parts, has.Parts[i])
	}
	if d.alone {
		return s, nil
	}
	s.grid, err = writer.Grid(has.Shape, d.parts)
	return s, err
}

// untiled is the error for shards that do not tile their array.
func (d *divider) untiled(l *rolled, err error) error {
	return &errs.Error{Err: err, Remedy: "the shards of all processes together must tile the array; " + d.who(l)}
}

// split works like shareOf. Processes that have the same shard each write a slice of it.
func (d *divider) split(has *writer.Parts, l *rolled) (share, error) {
	var all []held
	at := map[boxKey]int{}
	err := l.boxes(len(has.Shape), func(by int, origin, shape []int) {
		k, p := keyOfBox(origin, shape), d.Active[by]
		i, ok := at[k]
		switch {
		case !ok:
			at[k] = len(all)
			all = append(all, held{zarr.Box{Origin: origin, Shape: shape}, []int{p}})
		case !slices.Contains(all[i].by, p):
			all[i].by = append(all[i].by, p)
		}
	})
	if err != nil {
		return share{}, err
	}
	whole := Replicas{}.deal(has.DType, all)
	if err := writer.Tiles(has.Shape, placed(has.DType, whole)); err != nil {
		return share{}, d.untiled(l, err)
	}
	dealt := d.Replicas.deal(has.DType, all)
	if len(dealt) > len(all) {
		if grid, err := writer.Grid(has.Shape, placed(has.DType, dealt)); err == nil {
			return d.own(has, dealt, grid), nil
		}
		dealt = whole // slices would be too many chunks
	}
	if d.Leads() && !slices.ContainsFunc(dealt, func(o owned) bool { return o.by != d.Self }) {
		return d.own(has, dealt, nil), nil
	}
	grid, err := writer.Grid(has.Shape, placed(has.DType, whole))
	return d.own(has, dealt, grid), err
}

// placed returns the places of what was dealt out, without data.
func placed(d tensor.DType, all []owned) []writer.Part {
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
func (d *divider) who(l *rolled) string {
	text := ""
	for i, p := range d.Active {
		if i > 0 {
			text += ", "
		}
		n := 0
		if k := int(l.at[i]); k >= 0 {
			n = l.rolls[i].places.count(k)
		}
		text += "process " + strconv.Itoa(p) + " has " + strconv.Itoa(n)
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
	d := divider{Group: g, self: slices.Index(g.Active, g.Self), seen: map[boxKey]struct{}{}}
	l := rolled{rolls: make([]*itemRoll, len(g.Active)), at: make([]int32, len(g.Active))}
	find := func(process int) *itemRoll {
		items := rolls[process].Items
		return &items[slices.IndexFunc(items, func(it itemRoll) bool { return it.Name == item })]
	}
	for i, p := range g.Active {
		l.rolls[i] = find(p)
	}
	order, own := find(g.Primary).leaves, l.rolls[d.self].leaves
	where := make([]map[string]int32, len(g.Active)) // where lists of another order have each leaf
	for i, r := range l.rolls {
		if same(r.leaves, order) {
			continue
		}
		where[i] = make(map[string]int32, len(r.leaves))
		for k, leaf := range r.leaves {
			where[i][leaf.Path] = int32(k)
		}
	}
	shares := map[string]share{}
	for k, leaf := range order {
		for i := range l.at {
			l.at[i] = int32(k)
			if where[i] != nil {
				at, ok := where[i][leaf.Path]
				if !ok {
					at = -1
				}
				l.at[i] = at
			}
		}
		has := own[l.at[d.self]].parts
		if has == nil {
			continue
		}
		s, err := d.shareOf(has, &l)
		if err != nil {
			return nil, errs.Wrap("", "leaf "+item+": "+leaf.Path, err)
		}
		shares[leaf.Path] = s
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
