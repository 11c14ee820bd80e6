package grain

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/grain"
)

// rows are the elements of packers: features by name. A number is a feature of one value.
type rows = map[string][]any

// pack adds a packer to an IterDataset.
func (b *builder) pack(d dataset, s *step) (dataset, error) {
	build, err := b.packer(s)
	if err != nil {
		return d, err
	}
	d.iter = over(d.iter, func(it grain.Iter[any]) (grain.Iter[any], error) {
		// Grain fails at an element that it cannot pack, and the packer here ends.
		features := grain.ApplyIter(it, func(x any) rows { return b.features(x) })
		packed, err := build(features)
		if err != nil {
			return nil, err
		}
		return grain.ApplyIter[grain.Packed[any]](watched{packed, b}, flat), nil
	})
	_, err = d.iterate()
	return d, err
}

// watched keeps the error of a packer that ends.
type watched struct {
	grain.PackedIter[any]
	b *builder
}

func (w watched) Next() (grain.Packed[any], bool) {
	element, ok := w.PackedIter.Next()
	w.b.keep(nil, w.Err())
	return element, ok
}

// features returns the features of an element.
func (b *builder) features(x any) rows {
	element, ok := x.(map[string]any)
	if !ok {
		b.keep(nil, fmt.Errorf("an element that is no dict: %v", x))
	}
	out := rows{}
	for name, v := range element {
		if a, ok := v.(array); ok {
			out[name] = a
		} else {
			out[name] = []any{v}
		}
	}
	return out
}

// flat is a packed element as Grain names its features.
func flat(p grain.Packed[any]) any {
	out := map[string]any{}
	for name, values := range p.Values {
		out[name] = values
	}
	for name := range p.Segments {
		out[name+"_segment_ids"], out[name+"_positions"] = p.Segments[name], p.Positions[name]
	}
	for name, parts := range p.Meta {
		values := list{}
		for _, part := range parts {
			values = append(values, part[0]) // the cases have numbers only
		}
		out[name] = values
	}
	return out
}

type packerOf func(grain.Iter[rows]) (grain.PackedIter[any], error)

func (b *builder) packer(s *step) (packerOf, error) {
	lengths, err := integers(s, "length_struct")
	if err != nil {
		return nil, err
	}
	meta, err := texts(s, "meta_features")
	if err != nil {
		return nil, err
	}
	padding := map[string]any{}
	for name := range lengths {
		padding[name] = int64(0)
	}
	if s.name == "ge.ConcatThenSplitIterDataset" {
		o := grain.SplitOptions[any]{Lengths: lengths, Meta: meta, Padding: padding}
		if pass, given := s.arg(-1, "split_full_length_features").(bool); given {
			o.PassFull = !pass
		}
		return func(it grain.Iter[rows]) (grain.PackedIter[any], error) { return grain.ConcatThenSplitIter(it, o) }, nil
	}
	o := grain.PackOptions[any]{Lengths: lengths, Meta: meta, Padding: padding, Shuffle: true}
	pads, err := integers(s, "padding_struct")
	if err != nil {
		return nil, err
	}
	for name, v := range pads {
		padding[name] = int64(v)
	}
	if o.Alignments, err = integers(s, "pack_alignment_struct"); err != nil {
		return nil, err
	}
	bins, _, errBins := s.Integer(-1, "num_packing_bins")
	most, _, errMost := s.Integer(-1, "max_sequences_per_bin")
	o.Bins, o.MaxSequences = int(bins), int(most)
	if shuffle, given := s.arg(-1, "shuffle_bins").(bool); given {
		o.Shuffle = shuffle
	}
	if s.arg(-1, "seed") != nil {
		seed, ok := seedAt(s, -1)
		if !ok {
			return nil, errExcluded
		}
		o.Seed = seed
	}
	o.GroupBy, _ = s.arg(-1, "shuffle_bins_group_by_feature").(string)
	build := grain.FirstFitPackIter[any]
	if s.name == "ge.BestFitPackIterDataset" {
		build = grain.BestFitPackIter[any]
	}
	return func(it grain.Iter[rows]) (grain.PackedIter[any], error) { return build(it, o) }, errors.Join(errBins, errMost)
}

// integers takes an argument that has an integer for each feature.
func integers(s *step, name string) (map[string]int, error) {
	m, _ := s.arg(-1, name).(map[string]any)
	out := map[string]int{}
	for _, feature := range slices.Sorted(maps.Keys(m)) {
		number, _ := m[feature].(json.Number)
		n, err := number.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, feature, err)
		}
		out[feature] = int(n)
	}
	return out, nil
}

// texts takes an argument that is a list of names.
func texts(s *step, name string) ([]string, error) {
	l, _ := s.arg(-1, name).([]any)
	out := make([]string, len(l))
	for i, v := range l {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%s: %v is no name", name, v)
		}
		out[i] = text
	}
	return out, nil
}
