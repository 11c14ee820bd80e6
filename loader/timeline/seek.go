package timeline

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/order"
)

// Seek returns the document of the same run before another step, with its digest and coverage. It
// is the document that the loader itself would have written there, except that the count of
// repeated samples starts again. After the place of t, batches have the size of the last segment.
func (t *Timeline) Seek(ctx context.Context, step int64, progress func(done, total int64)) ([]byte, error) {
	p, err := t.PlaceOf(step)
	if err != nil {
		return nil, err
	}
	proof, err := t.Prove(ctx, step, progress)
	if err != nil {
		return nil, err
	}
	doc := t.doc
	begin, _ := t.begin(p.Epoch)
	doc.Position, doc.Epoch = begin+p.Index, p.Epoch
	if doc.Batch, err = t.batchesBefore(p); err != nil {
		return nil, err
	}
	if doc.Digest != "" || t.here.Step == 0 {
		doc.Digest = proof.Digest
	}
	if doc.Kind == "pipeline" { // a pipeline has no other field that depends on the place
		return doc.Marshal()
	}
	history := slices.Clone(t.extra.History)
	for len(history) > 1 && history[len(history)-1][0] > step {
		history = history[:len(history)-1]
	}
	extra := document.Extra{History: history, Index: p.Index, Step: step}
	if len(t.extra.Coverage) > 0 {
		extra.Coverage = proof.Coverage[:]
	}
	if err := extra.Put(&doc); err != nil {
		return nil, err
	}
	if step != t.here.Step {
		delete(doc.Extra, "repeated") // the count depends on the number of ranks so far
	}
	return doc.Marshal()
}

// batchesBefore returns how many batches of the same epoch come before a place.
func (t *Timeline) batchesBefore(p Place) (int64, error) {
	if t.tail == order.Span {
		return p.Index / t.segments[0].global, nil
	}
	first, ok, err := t.find(p.Epoch, 0)
	if !ok || err != nil {
		return 0, err
	}
	return p.Step - first.Step, nil
}
