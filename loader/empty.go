package loader

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// checkEmpty returns an error if order.Drop leaves no batch of an epoch, although there are
// samples. With Options.EmptyEpochs it warns instead.
func (n *native) checkEmpty() error {
	s := n.setup
	if s.Iterable || s.BatchSampler != nil || s.Packs || !s.Batched || s.Tail != order.Drop {
		return nil
	}
	samples, _ := s.DataLen()
	what := "the samples of an epoch"
	if s.Sampler != nil {
		samples, what = s.Sampler.Len(), "the samples of the sampler"
	} else {
		_, samples = orderOf(s, samples, n.version)
	}
	if samples <= 0 || samples >= int64(s.Global) {
		return nil
	}
	if s.EmptyEpochs {
		s.Warn(fmt.Sprintf("epochs have no batches: a batch of all ranks has %d samples, %s are %d, "+
			"and short batches are left out", s.Global, what, samples))
		return nil
	}
	ranks := ""
	if s.World > 1 {
		ranks = fmt.Sprintf(" of all %d ranks", s.World)
	}
	return &errs.Error{Kind: errs.Invalid, Op: "loader.New", Subject: "BatchSize",
		Want: fmt.Sprintf("a batch%s of at most %d samples, %s, because Tail leaves out shorter batches", ranks,
			samples, what), Got: fmt.Sprint(s.Global),
		Remedy: "lower BatchSize, or leave Tail order.Short, to get the samples in a short batch"}
}
