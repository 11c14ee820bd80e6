package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/state"
)

// Proof is the digest and coverage of the ids up to a place.
type Proof struct {
	Samples  int64
	Digest   string
	Coverage [2]Coverage // of the epoch before the place, and of the epoch of the place
}

// Prove computes the proof of everything that is delivered before a step, from the order alone. It
// takes about ten nanoseconds a sample. progress, if not nil, receives how many of the samples are
// done.
func (t *Timeline) Prove(ctx context.Context, step int64, progress func(done, total int64)) (Proof, error) {
	end, err := t.PlaceOf(step)
	if err != nil {
		return Proof{}, err
	}
	if t.first > 0 {
		return Proof{}, &errs.Error{Kind: errs.Unsupported, Op: "timeline.Prove", Want: "a state that describes all steps",
			Got: fmt.Sprint("a state that begins with step ", t.first)}
	}
	if len(t.readers) > 1 {
		return t.proveReaders(ctx, step, end, progress)
	}
	total, _ := t.begin(end.Epoch)
	p := prover{t: t, end: end, total: total + end.Index, progress: progress}
	for p.epoch = 0; p.epoch <= end.Epoch; p.epoch++ {
		if err := p.proveEpoch(ctx); err != nil {
			return Proof{}, err
		}
	}
	return Proof{p.samples, p.digest.Sum(), p.coverage}, nil
}

// prover walks through the epochs up to a place.
type prover struct {
	t        *Timeline
	end      Place
	total    int64
	progress func(done, total int64)
	epoch    int64
	samples  int64
	digest   state.Digest
	coverage [2]Coverage
	block    [1 << 12]int64
}

func (p *prover) proveEpoch(ctx context.Context) error {
	if p.epoch > 0 {
		p.coverage[0], p.coverage[1] = p.coverage[1], Coverage{Epoch: p.epoch}
	}
	last := p.end.Index
	if p.epoch < p.end.Epoch {
		var err error
		if last, err = p.t.delivered(p.epoch); err != nil {
			return err
		}
	}
	for i := int64(0); i < last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids := p.block[:min(int64(len(p.block)), last-i)]
		if err := p.t.fill(p.epoch, i, ids); err != nil {
			return err
		}
		p.digest.Add(ids...)
		p.coverage[1].Add(ids)
		i += int64(len(ids))
		p.samples += int64(len(ids))
		if p.progress != nil {
			p.progress(p.samples, p.total)
		}
	}
	return nil
}

// mostReaders bounds the readers whose order in the graph can be found by trial.
const mostReaders = 4

// proveReaders proves a pipeline with several readers. Their ids enter the digest batch by batch,
// reader by reader. If the order of the readers is not known, proveReaders tries all orders and
// takes the one that leads to the digest of the document.
func (t *Timeline) proveReaders(ctx context.Context, step int64, end Place,
	progress func(done, total int64)) (Proof, error) {
	orders, err := t.readerOrders(ctx)
	if err != nil {
		return Proof{}, err
	}
	p, digests, err := t.digests(ctx, step, end, orders, progress)
	if err != nil {
		return Proof{}, err
	}
	p.Digest = digests[0]
	for _, d := range digests {
		if step == t.here.Step && d == t.doc.Digest {
			p.Digest = d
		}
	}
	if step == t.here.Step {
		return p, nil
	}
	for i, d := range digests {
		if d != digests[0] {
			return Proof{}, &errs.Error{Kind: errs.Unsupported, Op: "timeline.Prove", Subject: "readers",
				Want:   "the order of the readers in the graph, which decides the digest",
				Got:    fmt.Sprintf("%s, or %s", t.named(orders[0]), t.named(orders[i])),
				Remedy: "name the readers in the order of the graph: Options.Readers, or --readers NAME,NAME"}
		}
	}
	return p, nil
}

// readerOrders returns the orders that the readers may have in the graph: all orders that lead to
// the digest of the document, or else all orders.
func (t *Timeline) readerOrders(ctx context.Context) ([][]int, error) {
	own := make([]int, len(t.readers))
	for i := range own {
		own[i] = i
	}
	if t.sorted {
		return [][]int{own}, nil
	}
	if len(own) > mostReaders {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "timeline.Prove", Subject: "readers",
			Want:   fmt.Sprintf("the order of the readers in the graph (it is found by trial for at most %d readers)", mostReaders),
			Got:    fmt.Sprint(len(own), " readers"),
			Remedy: "name the readers in the order of the graph: Options.Readers, or --readers NAME,NAME"}
	}
	all := permutations(own)
	_, digests, err := t.digests(ctx, t.here.Step, t.here, all, nil)
	if err != nil {
		return nil, err
	}
	var fit [][]int
	for i, d := range digests {
		if d == t.doc.Digest {
			fit = append(fit, all[i])
		}
	}
	if fit == nil {
		return all, nil
	}
	return fit, nil
}

// permutations returns all orders of some numbers, the given order first.
func permutations(of []int) (all [][]int) {
	if len(of) < 2 {
		return [][]int{slices.Clone(of)}
	}
	for i, first := range of {
		rest := slices.Delete(slices.Clone(of), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]int{first}, p...))
		}
	}
	return all
}

// named returns the names of readers in one text.
func (t *Timeline) named(readers []int) string {
	names := make([]string, len(readers))
	for i, r := range readers {
		names[i] = t.readers[r].name
	}
	return strings.Join(names, ", ")
}

// digests walks through the batches before a step, and returns the digest for each order of the
// readers.
func (t *Timeline) digests(ctx context.Context, step int64, end Place, orders [][]int,
	progress func(done, total int64)) (p Proof, sums []string, err error) {
	digests := make([]state.Digest, len(orders))
	ids := make([][]int64, len(t.readers))
	total, _ := t.begin(end.Epoch)
	total += end.Index
	for s := int64(0); s < step; s++ {
		if err := ctx.Err(); err != nil {
			return p, nil, err
		}
		at, n, err := t.span(s)
		if err != nil {
			return p, nil, err
		}
		for i, r := range t.readers {
			ids[i] = slices.Grow(ids[i][:0], int(n))[:n]
			if err := t.fillFrom(r.order, at.Epoch, at.Index, ids[i]); err != nil {
				return p, nil, err
			}
		}
		for i, order := range orders {
			for _, r := range order {
				digests[i].Add(ids[r]...)
			}
		}
		p.Samples += n
		if at.Epoch > p.Coverage[1].Epoch {
			p.Coverage[0], p.Coverage[1] = p.Coverage[1], Coverage{Epoch: at.Epoch}
		}
		p.Coverage[1].Add(ids[0])
		if progress != nil {
			progress(p.Samples, total)
		}
	}
	for _, d := range digests {
		sums = append(sums, d.Sum())
	}
	return p, sums, nil
}

// delivered returns how many samples of a whole epoch are delivered: all except a batch that is
// left out at its end.
func (t *Timeline) delivered(epoch int64) (int64, error) {
	length := t.lengthOf(epoch)
	if !t.drops() {
		return length, nil
	}
	s, from := t.lastOf(epoch)
	if !t.packs {
		return from + (length-from)/s.global*s.global, nil
	}
	n, err := t.count(epoch, from, s.global)
	if err != nil || n == 0 {
		return from, err
	}
	first, size, _, _, err := t.batchOf(epoch, from, s.global, n-1)
	return first + size, err
}

// PlaceOf returns where a step begins. The error is of kind errs.Invalid for a step that the
// document does not describe.
func (t *Timeline) PlaceOf(step int64) (Place, error) {
	if step == t.here.Step {
		return t.here, nil
	}
	if step < t.first {
		return Place{}, &errs.Error{Kind: errs.Invalid, Op: "timeline", Subject: fmt.Sprint("step ", step),
			Want: fmt.Sprint("a step of at least ", t.first), Got: "a step that the state does not describe"}
	}
	return t.at(t.segmentOf(step), step)
}

// Verify proves that the document has the position, digest and coverage of the order up to its
// place. Samples that a policy skipped count as delivered, as in the loader. The error is of kind
// errs.Corrupt and names the first value that differs. Values that the document does not have are
// not compared.
func (t *Timeline) Verify(ctx context.Context, progress func(done, total int64)) (Proof, error) {
	if want, _ := t.begin(t.here.Epoch); t.first == 0 && t.doc.Position != want+t.here.Index {
		return Proof{}, corrupt("position", fmt.Sprint(want+t.here.Index, ", from epoch and index"), t.doc.Position)
	}
	p, err := t.Prove(ctx, t.here.Step, progress)
	if err != nil {
		return p, err
	}
	if t.doc.Digest != "" && t.doc.Digest != p.Digest {
		return p, corrupt("digest", p.Digest+", from the order", t.doc.Digest)
	}
	for i, c := range t.extra.Coverage {
		if i < len(p.Coverage) && c != p.Coverage[i] {
			return p, corrupt(fmt.Sprintf("extra.coverage[%d]", i), fmt.Sprintf("%+v, from the order", p.Coverage[i]),
				fmt.Sprintf("%+v", c))
		}
	}
	return p, nil
}
