package layout

import "slices"

// forms finds the leaves of a tree that are alike while the tree is opened.
type forms struct {
	spare *Form     // that no leaf has
	known [16]*Form // the last ones that differed
	at    int
}

// next returns an empty form for the next leaf.
func (f *forms) next() *Form {
	if f.spare == nil {
		return new(Form)
	}
	form := f.spare
	f.spare = nil
	*form = Form{}
	return form
}

// share looks among the forms of the last leaves for one that equals form, and returns
// it. If it finds none, it returns form.
func (f *forms) share(form *Form) *Form {
	if form.Err != nil {
		return form
	}
	for _, k := range f.known {
		if k != nil && k.like(form) {
			f.spare = form
			return k
		}
	}
	f.known[f.at%len(f.known)] = form
	f.at++
	return form
}

// like reports whether two forms without an Err say the same.
func (f *Form) like(g *Form) bool {
	return f.ValueType == g.ValueType && f.Text == g.Text && f.KeyImpl == g.KeyImpl && f.DType == g.DType &&
		f.File == g.File &&
		f.Format == g.Format && f.slab == g.slab && same(f.WriteShape, g.WriteShape) && same(f.Shape, g.Shape) &&
		same(f.ChunkShape, g.ChunkShape) && same(f.ReadShape, g.ReadShape)
}

// same tells a list of no extents from none.
func same(a, b []int) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }
