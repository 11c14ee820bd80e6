package order

// First returns the order that o would be if the data set had only its first samples, with the same
// seed, domain and options. A run whose data set grows follows this order until the end of the
// epoch in which the data set grew. If o has no more samples than that, First returns o. ok is
// false for mixtures, segments and orders of other packages, because First cannot know their
// earlier form.
//
// Windows keep the first shards that together have the given number of samples; the last of them
// keeps only the samples that it had, and later shards are left out. Lengths and selections keep
// their first entries.
func First(o Order, samples int64) (first Order, ok bool) {
	samples = max(samples, 0)
	switch o := o.(type) {
	case Sequential:
		return min(o, Sequential(samples)), true
	case Cycle:
		return NewCycle(min(o.n, samples)), true
	case *Permutation:
		p := makePermutation(o.version, min(o.n, samples), o.key)
		return &p, true
	case *Shuffled:
		return newShuffled(o.version, min(o.n, samples), o.seed, o.domain), true
	case *Windows:
		return o.firstOf(samples)
	case *Packs:
		if inner, ok := First(o.order, samples); ok {
			p, err := NewPacks(inner, o.lengths.first(samples), o.options)
			return p, err == nil
		}
	case *Buckets:
		if inner, ok := First(o.order, samples); ok {
			b, err := NewBuckets(inner, o.lengths.first(samples), o.bounds, o.batch, o.block)
			return b, err == nil
		}
	case *Selected:
		if inner, ok := First(o.order, o.selection.Rank(samples)); ok {
			return NewSelected(inner, o.selection.first(samples)), true
		}
	case *Filtered:
		if inner, ok := First(o.order, samples); ok {
			if e, ok := inner.(Epochs); ok {
				f, err := NewFiltered(e, o.selection.first(samples))
				return f, err == nil
			}
		}
	case *Repeated:
		if inner, ok := First(o.order, samples); ok {
			r, err := Repeat(inner, o.epochs)
			return r, err == nil
		}
	}
	return nil, false
}

// firstOf implements First for windows.
func (w *Windows) firstOf(samples int64) (Order, bool) {
	if samples >= w.EpochLen() {
		return w, true
	}
	var sizes []int64
	for i, begin := range w.first {
		if begin >= samples {
			break
		}
		sizes = append(sizes, min(w.first[i+1], samples)-begin)
	}
	first, err := NewWindows(sizes, w.window, w.seed, w.domain)
	if err != nil {
		return nil, false
	}
	return first.again(w.version, w.domain), true
}

// first returns the lengths of the first samples.
func (l *Lengths) first(samples int64) *Lengths {
	if samples >= int64(len(l.of)) {
		return l
	}
	first, _ := NewLengths(l.of[:samples])
	return first
}

// first returns the selection among the first samples.
func (s *Selection) first(samples int64) *Selection {
	if samples >= s.n {
		return s
	}
	return NewSelection(samples, s.Has)
}
