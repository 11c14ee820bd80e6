package loader

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

const extendOp = "loader.Extend"

// Extend makes the loader continue from a state that was taken before the run was extended. It
// accepts every state that SetState accepts, and also states from before these extensions:
//
//	more samples        The epoch of the state continues unchanged, and later epochs have
//	                    all samples. An epoch from which nothing was drawn has all
//	                    samples, too. Options.Order is the order of all samples, and
//	                    order.First must return the old order for it: Shuffled, Windows
//	                    with more shards or a longer last shard, and Packs, Buckets,
//	                    Filtered and Selected of these, with the same lengths and
//	                    selection for the old samples.
//	another future      Options.Order is the result of order.Mixture.Extend for the old
//	of a mixture        order, or has more phases: new weights, phases and sources from
//	                    a position on, and sources with more samples from their next
//	                    pass on; or Packs and Buckets of these, with the same lengths
//	                    for the old samples. A mixture that ends begins again in each
//	                    epoch, so it can be extended only in the first epoch.
//
// Everything before the state stays the same: the samples, their ids and random numbers. The error
// is of kind errs.Mismatch if it would change. This happens for fewer samples, for other samples (a
// Fingerprinted data set must be Growing), for an extension before the position of the state, and
// for another run. Later states belong to the extended run, and SetState accepts them. They record
// the lengths that the data set has had.
func (l *Loader[S, B]) Extend(b []byte) error { return l.setState(extendOp, b) }

// parseEarlier reads the state of a run of which this one is an extension. refused is the reason
// why it is not a state of this run.
func (n *native) parseEarlier(b []byte, refused error) (at document.Place, err error) {
	d, err := state.Unmarshal(b)
	if err != nil || !n.ordered() || d.Kind != document.Kind {
		return at, refused
	}
	samples, _ := n.setup.DataLen()
	before, err := strconv.ParseInt(d.Fields["samples"], 10, 64)
	switch {
	case err != nil || before < 0:
		return at, refused
	case before > samples:
		return at, &errs.Error{Kind: errs.Mismatch, Subject: "samples",
			Want: fmt.Sprintf("at least the %d samples that the data set had", before),
			Got:  fmt.Sprint(samples), Remedy: "add samples to the data set and remove none"}
	}
	for _, version := range []int{0, 1} {
		n.version = version
		n.identify()
		for _, origin := range n.origins(before) {
			fields := maps.Clone(n.identity.Document.Fields)
			fields["samples"] = strconv.FormatInt(before, 10)
			for _, text := range []string{order.IdentityOf(origin.Description), origin.Description} {
				fields["order"] = text
				id := document.NewIdentity(n.fingerprintBefore(d.Fingerprint, before), fields)
				if at, err = id.Parse(b, scopeOf(n.setup)); err == nil {
					return at, n.extendPlace(&at, origin.Until, before, samples)
				}
			}
		}
		if n.setup.Name != "" {
			break
		}
	}
	if prints, ok := n.setup.FingerprintOf(before); !ok && d.Fingerprint != n.setup.Fingerprint {
		return at, &errs.Error{Kind: errs.Mismatch, Subject: "data set fingerprint", Want: d.Fingerprint,
			Got:    n.setup.Fingerprint,
			Remedy: "implement loader.Growing, by which the data set proves that its old samples are the same"}
	} else if ok && prints != d.Fingerprint && d.Fingerprint != n.setup.Fingerprint {
		return at, &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("fingerprint of the first %d samples", before),
			Want: d.Fingerprint, Got: prints, Remedy: "the old samples have changed: restore them"}
	}
	return at, refused
}

// fingerprintBefore returns the fingerprint that a state must have.
func (n *native) fingerprintBefore(got string, samples int64) string {
	if first, ok := n.setup.FingerprintOf(samples); ok && got != n.setup.Fingerprint {
		return first
	}
	return n.setup.Fingerprint
}

// origins returns the orders from which the loader can continue, if the data set had the given
// number of samples.
func (n *native) origins(samples int64) []order.Origin {
	o, _ := orderOf(n.setup, samples, n.version)
	origins := []order.Origin{{Description: o.String(), Until: math.MaxInt64}}
	if n.setup.Order != nil {
		origins = append(origins, order.Origins(o)...)
	}
	return origins
}

// extendPlace turns a place from before the run was extended into a place of this run. Up to the
// position until both orders are the same.
func (n *native) extendPlace(at *document.Place, until, before, samples int64) error {
	if len(at.Spans) == 0 {
		at.Spans = []document.Span{{Samples: before}}
	}
	if last := at.Spans[len(at.Spans)-1]; last.Samples != before {
		return document.Corrupt("extra.spans", fmt.Sprint(before, " samples in the last span"), last.Samples)
	}
	o, length := orderOf(n.setup, at.SpanOf(at.Epoch).Samples, n.version)
	drawn := at.Index + int64(len(at.Ahead.Bits))*at.Ahead.Global
	if n.setup.Packs && len(at.Ahead.Bits) > 0 {
		drawn = length // the number of samples in packs is not known
	}
	if pos := n.epochStart(at, o, length) + drawn; pos > until {
		return &errs.Error{Kind: errs.Mismatch, Subject: "order",
			Want:   fmt.Sprintf("an order that is extended from position %d on, or later", pos),
			Got:    fmt.Sprintf("an order that differs from position %d on", until),
			Remedy: "extend the order from the position of the state on: delivered samples cannot change"}
	}
	if _, ends := o.Len(); ends && at.Epoch > 0 && until < length {
		return &errs.Error{Kind: errs.Mismatch, Subject: "order",
			Want: fmt.Sprint("an order that never ends, or a state of epoch 0 (which had all ", length, " positions of the old order)"),
			Got:  fmt.Sprintf("epoch %d of an order that ends and differs from position %d on", at.Epoch, until),
			Remedy: "extend a mixture that never ends, such as one with order.CycleOn: " +
				"an order that ends begins again in each epoch"}
	}
	at.Grow(samples)
	return nil
}
