package order

import "slices"

// Version numbers the mapping from seeds to orders. The order of a stream is a promise across
// versions of this package. It changes only with this number. The number enters the String of every
// shuffled order, and so its fingerprint.
//
// Version 1 differs in three points:
//   - The keys of a permutation did not depend on its length, so two data sets of similar
//     length had nearly the same order under one seed and domain.
//   - The network took two passes just above powers of two.
//   - Weights of a mixture that are not whole numbers were rounded to 1/16,384.
//
// At returns an order as it was in an earlier version, for states that name the version.
const Version = 2

// plannedVersion is the version of packs and buckets, whose plans have not changed since version 1.
const plannedVersion = 1

// Versioned is implemented by orders of other packages that contain orders of this package, so that
// At reaches the inner orders.
type Versioned interface {
	Order
	// AtVersion returns the same order with At applied to each inner order.
	AtVersion(version int) Order
}

// At returns an order with all its parts as they are in the given version of this package. Orders
// without a version, and orders of other packages that are not Versioned, stay as they are. A state
// that was saved under version 1 describes order.At(o, 1).
func At(o Order, version int) Order {
	return rebuild(o, version, "")
}

// rebuild returns an order with its parts at a version, or at their own version if version is 0. If
// name is not empty, rebuild appends it to the domains of the parts.
func rebuild(o Order, version int, name string) Order {
	pick := func(own int) int {
		if version == 0 {
			return own
		}
		return version
	}
	below := func(o Order) Order { return rebuild(o, version, name) }
	switch o := o.(type) {
	case *Permutation:
		p := makePermutation(pick(o.version), o.n, o.key)
		return &p
	case *Shuffled:
		return newShuffled(pick(o.version), o.n, o.seed, named(o.domain, name))
	case *Windows:
		return o.again(pick(o.version), named(o.domain, name))
	case *Mixture:
		sources := slices.Clone(o.sources)
		for i := range sources {
			sources[i].Order, sources[i].Name = below(sources[i].Order), ""
		}
		m := &Mixture{sources: sources, version: pick(o.version), blocks: o.blocks}
		if m.init(o.exhaustion, o.phases[1:]) == nil {
			for i := range m.sources {
				m.sources[i].Name = o.sources[i].Name
			}
			return m
		}
	case *Packs:
		return o.over(below(o.order))
	case *Buckets:
		return o.over(below(o.order))
	case *Selected:
		return &Selected{below(o.order), o.selection}
	case *Filtered:
		if e, ok := below(o.order).(Epochs); ok {
			return &Filtered{order: e, selection: o.selection}
		}
	case *grown:
		stages := make([]grownStage, len(o.stages))
		for i, s := range o.stages {
			stages[i] = grownStage{pass: s.pass, samples: s.samples}
		}
		if g, err := newGrown(below(o.order), stages); err == nil {
			return g
		}
	case *Segments:
		s := &Segments{segments: slices.Clone(o.segments), ends: o.ends}
		for i := range s.segments {
			s.segments[i].Order = below(s.segments[i].Order)
		}
		return s
	case *Repeated:
		return &Repeated{order: below(o.order), n: o.n, epochs: o.epochs}
	case *Sharded:
		s := *o
		s.order = below(o.order)
		return &s
	case *Rank:
		r, b := *o, *o.batches
		b.order = below(b.order)
		r.batches = &b
		return &r
	case Versioned:
		if version > 0 {
			return o.AtVersion(version)
		}
	}
	return o
}

// named returns domain with name appended, or domain itself if name is empty.
func named(domain, name string) string {
	if name == "" {
		return domain
	}
	return domain + "/" + name
}
