package timeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/order"
)

// A pipeline's document has the order of each of its readers in a field of its own,
// "order NAME", and the size of its batches in batch_size. Where there is one reader
// the samples of each batch are known.

const orderField = "order "

// readPipeline reads the document of a pipeline with one reader.
func (t *Timeline) readPipeline(o Options) (err error) {
	description := ""
	for name, value := range t.doc.Fields {
		if !strings.HasPrefix(name, orderField) {
			continue
		}
		if description != "" {
			return unsupported("fields", "a pipeline with one reader", "several")
		}
		description = value
	}
	if description == "" {
		return unsupported("fields", "a pipeline with a reader, whose order is named", "none")
	}
	if t.order, err = o.orderOf(description); err != nil {
		return unsupported("fields: order", "an order that is known", strconv.Quote(description))
	}
	n, ok := epochLen(t.order)
	size, err := strconv.ParseInt(t.doc.Fields["batch_size"], 10, 64)
	if !ok || n < 1 || err != nil || size < 1 {
		return unsupported("fields", "epochs of a known length, and the size of a batch", fmt.Sprintf("%q and %q", description, t.doc.Fields["batch_size"]))
	}
	t.length = n
	if _, once := t.order.Len(); once {
		t.once = true
	}
	t.segments = []segment{{global: size}}
	switch t.doc.Fields["last_batch"] {
	case "fill":
		t.wrap = true
		t.here = Place{t.doc.Position / size, t.doc.Position / n, t.doc.Position % n}
		if t.doc.Position%size != 0 {
			return corrupt("position", fmt.Sprint("a multiple of ", size), t.doc.Position)
		}
		return nil
	case "drop":
		t.dropLast = true
	case "", "partial":
	default:
		return unsupported("fields: last_batch", "partial, drop or fill", t.doc.Fields["last_batch"])
	}
	epoch, batch := t.doc.Epoch, t.doc.Batch
	if most := t.batches(n, size); epoch < 0 || batch < 0 || batch > most {
		return corrupt("batch", fmt.Sprint("at most the ", most, " of an epoch"), batch)
	}
	t.here = Place{epoch*t.batches(n, size) + batch, epoch, min(n, batch*size)}
	if t.dropLast && batch == t.batches(n, size) {
		t.here.Index = batch * size
	}
	return nil
}

// epochLen returns the number of samples of an epoch of an order.
func epochLen(o order.Order) (int64, bool) {
	if n, ok := o.Len(); ok {
		return n, true
	}
	if e, ok := o.(interface{ EpochLen() int64 }); ok {
		return e.EpochLen(), true
	}
	return 0, false
}

// around is at for batches that go on over the end of an epoch.
func (t *Timeline) around(s segment, step int64) Place {
	pos := s.Epoch*t.length + s.Index + (step-s.Step)*s.global
	return Place{step, pos / t.length, pos % t.length}
}

// findAround is find for such batches.
func (t *Timeline) findAround(epoch, index int64) Seen {
	global := t.segments[0].global
	pos := epoch*t.length + index
	p := t.around(t.segments[0], pos/global)
	return Seen{p, int(pos % global), int(global)}
}
