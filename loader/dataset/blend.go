package dataset

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// arrange makes the order of the samples.
func (d *Data) arrange() error {
	if !d.file.mixed {
		o, err := d.orderOf(d.sources, -1)
		if err != nil {
			return err
		}
		return d.pack(o)
	}
	sources := make([]order.Source, len(d.sources))
	for i, s := range d.sources {
		n := s.data.Len()
		o, err := d.orderOf(d.sources[i:i+1], s.window)
		if err != nil {
			return err
		}
		if d.file.exhausted != order.CycleOn {
			if o, err = order.NewSegments(order.Segment{Order: o, Len: n}); err != nil {
				return err
			}
		}
		sources[i] = order.Source{Order: o, Weight: s.weight, Samples: n, Name: s.name}
	}
	return d.blend(sources)
}

// orderOf returns the order of sources whose samples come by their number. window is the number of
// shards, or -1 for the number in the file.
func (d *Data) orderOf(sources []*openSource, window int64) (order.Order, error) {
	f, n, domain := d.file, int64(0), d.file.options.Name
	if window < 0 {
		window = f.window
	}
	var sizes []int64
	for _, s := range sources {
		n += s.data.Len()
		if window == 0 {
			continue
		}
		own := s.data.Shards()
		if own == nil {
			return nil, &errs.Error{Kind: errs.Unsupported, Op: "dataset.Open", Subject: s.where,
				Want: "a source that lies in shards, for shuffle_window", Got: "a source of " + s.data.Reader(),
				Remedy: "write shuffle: true instead"}
		}
		sizes = append(sizes, own...)
	}
	switch {
	case window > 0:
		return order.NewWindows(sizes, window, f.options.Seed, domain)
	case f.options.Shuffle:
		return order.NewShuffled(n, f.options.Seed, domain), nil
	}
	return order.NewCycle(n), nil
}

// blend makes the mixture. A phase from a step begins where the step begins, which depends on the
// phases before it if batches are packs.
func (d *Data) blend(sources []order.Source) error {
	var phases []order.Phase
	for _, p := range d.file.phases {
		weights := make([]float64, len(sources))
		for i := range sources {
			weights[i], _ = weightOf(p.weights[sources[i].Name])
		}
		from := p.sample
		if p.step >= 0 {
			var err error
			if from, err = d.begin(sources, phases, p); err != nil {
				return err
			}
		}
		if last := len(phases) - 1; last >= 0 && from <= phases[last].From {
			return d.file.in.Wrong(p.where.Where(), fmt.Sprintf("a phase after sample %d, where the phase before begins",
				phases[last].From),
				fmt.Sprintf("one from sample %d", from))
		}
		phases = append(phases, order.Phase{From: from, Weights: weights})
	}
	if err := d.mix(sources, phases); err != nil {
		return errs.Wrap("dataset.Open", d.file.at, err)
	}
	return d.pack(d.mixture)
}

func (d *Data) mix(sources []order.Source, phases []order.Phase) (err error) {
	d.mixture, err = order.NewMixture(sources, d.file.exhausted, phases...)
	return err
}

// begin returns the position at which the step of a phase begins.
func (d *Data) begin(sources []order.Source, phases []order.Phase, p dataPhase) (int64, error) {
	batch := int64(d.file.options.GlobalBatch)
	if d.file.pack == nil {
		return p.step * batch, nil
	}
	if err := d.mix(sources, phases); err != nil {
		return 0, errs.Wrap("dataset.Open", d.file.at, err)
	}
	packs, err := order.NewPacks(d.mixture, d.lengths, d.file.pack.PackOptions)
	if err != nil {
		return 0, err
	}
	pos := int64(0)
	for left := p.step * batch; left > 0; left-- {
		first, n, ok := packs.Pack(pos)
		if !ok {
			return 0, d.file.in.Wrong(p.where.Where(), fmt.Sprintf("a step before the end of the mixture at sample %d", pos),
				fmt.Sprint("step ", p.step))
		}
		pos = first + n
	}
	// Samples change places within a block, so the weights change between two blocks.
	block := d.file.pack.Block
	return (pos + block - 1) / block * block, nil
}

// pack puts samples into packs if the file says so.
func (d *Data) pack(o order.Order) error {
	d.order = o
	if d.file.pack == nil {
		return nil
	}
	packs, err := order.NewPacks(o, d.lengths, d.file.pack.PackOptions)
	if err != nil {
		return errs.Wrap("dataset.Open", d.file.pack.where.Where(), err)
	}
	d.order = packs
	return nil
}
