package loader

// length is the number of batches of an epoch.
func (e *engine[S, B]) length() (n int64, known bool) {
	s := &e.setup
	if s.BatchSampler != nil {
		n = s.BatchSampler.Len()
		return (n + int64(s.World) - 1) / int64(s.World), n >= 0
	}
	n, known = s.DataLen()
	if !s.Iterable {
		switch {
		case s.Sampler != nil:
			if n = s.Sampler.Len(); n < 0 {
				return 0, false
			}
		case s.Packs:
			return 0, false // all of an epoch would have to be planned
		default:
			_, n = orderOf(s, n, 0)
		}
	}
	if !known {
		return 0, false
	}
	if s.Iterable {
		e.announced.Store(n + 1)
	}
	return batches(n, int64(s.Global), s.DropLast && s.Batched), true
}

// batches is the number of batches that n samples make.
func batches(n, size int64, dropLast bool) int64 {
	if dropLast {
		return n / size
	}
	return (n + size - 1) / size
}
