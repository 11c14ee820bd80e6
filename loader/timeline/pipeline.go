package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// A document of a pipeline has the order of each of its readers in a field of its own, "order
// NAME", and the size of its batches in batch_size. All readers are at one position, and the first
// reader in the graph defines the epochs. The document does not tell which reader is the first, nor
// in which order the ids of the readers enter the digest. Options.Readers tells both where it
// matters.
// order in which the digest has their ids; Options.Readers says so where it matters.

const orderField = "order "

// reader is a reader of a pipeline.
type reader struct {
	name   string
	order  order.Order
	length int64         // length of its epochs
	shards *order.Shards // set if epochs have different lengths, else nil
}

// readPipeline reads the document of a pipeline.
func (t *Timeline) readPipeline(o Options) (err error) {
	if err := t.readReaders(o); err != nil {
		return err
	}
	size, err := strconv.ParseInt(t.doc.Fields["batch_size"], 10, 64)
	if err != nil || size < 1 {
		return unsupported("fields: batch_size", "the size of a batch", strconv.Quote(t.doc.Fields["batch_size"]))
	}
	t.segments = []segment{{global: size}}
	switch t.doc.Fields["last_batch"] {
	case "fill":
		t.tail = order.Span
	case "drop":
		t.tail = order.Drop
	case "", "partial":
	default:
		return unsupported("fields: last_batch", "partial, drop or fill", t.doc.Fields["last_batch"])
	}
	first, err := t.firstReader(size)
	if err != nil {
		return err
	}
	t.follow(t.readers[first])
	t.here, err = t.placeOf(size)
	return err
}

// follow makes a reader the one that defines the epochs.
func (t *Timeline) follow(r reader) {
	t.oneEra(r.order, r.length, false)
	t.shards = r.shards
	t.show(r)
}

// readReaders reads the orders of the readers. They are in the order of their names, unless the
// options give another order.
func (t *Timeline) readReaders(o Options) error {
	names := o.Readers
	var have []string
	for _, field := range slices.Sorted(maps.Keys(t.doc.Fields)) {
		if name, ok := strings.CutPrefix(field, orderField); ok {
			have = append(have, name)
		}
	}
	switch {
	case len(have) == 0:
		return unsupported("fields", "a pipeline with the order of at least one reader", "no order")
	case names == nil:
		names = have
	case !slices.Equal(slices.Sorted(slices.Values(names)), have):
		return &errs.Error{Kind: errs.Invalid, Op: "timeline.Open", Subject: "readers",
			Want: "each of the names " + strings.Join(have, ", "), Got: strings.Join(names, ", ")}
	}
	t.sorted = o.Readers != nil || len(have) == 1
	for _, name := range names {
		description := t.doc.Fields[orderField+name]
		with := o
		if len(have) > 1 { // the options describe only one order
			if with.Order = nil; order.IdentityOf(o.Description) != description {
				with.Description = ""
			}
		}
		parsed, err := with.orderOf(description)
		switch {
		case errs.KindOf(err) == errs.Invalid:
			return unsupported("fields: "+orderField+name, "a known order", strconv.Quote(description))
		case err != nil:
			return errs.Wrap("timeline.Open", "fields: "+orderField+name, err)
		}
		r := reader{name: name, order: parsed}
		n, ok := epochLen(parsed)
		if sharded, is := parsed.(*order.Sharded); is && !ok {
			shards := sharded.Shards()
			n, ok, r.shards = shards.Largest(), true, &shards
		}
		if !ok || n < 1 {
			return unsupported("fields: "+orderField+name, "epochs of a known length", strconv.Quote(description))
		}
		r.length = n
		t.readers = append(t.readers, r)
	}
	return nil
}

// firstReader returns a reader with the epochs of the pipeline. It is the first reader, or the only
// one whose epochs fit the place of the document.
func (t *Timeline) firstReader(size int64) (int, error) {
	if t.sorted {
		return 0, nil
	}
	first := -1
	for i, r := range t.readers {
		as := *t
		as.follow(r)
		p, err := as.placeOf(size)
		if begin, _ := as.begin(p.Epoch); err != nil || t.tail != order.Span && t.doc.Position != begin+p.Index {
			continue
		}
		if first >= 0 && !t.readers[first].epochsOf(r) {
			return 0, &errs.Error{Kind: errs.Unsupported, Op: "timeline.Open", Subject: "fields",
				Want: "the first reader of the graph, whose epochs count",
				Got: fmt.Sprintf("epochs of %d samples of reader %s, and of %d samples of reader %s",
					t.readers[first].length, t.readers[first].name,
					r.length, r.name), Remedy: "name the readers in the order of the graph: Options.Readers, or --readers NAME,NAME"}
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return 0, corrupt("position", "the position that epoch and batch lead to", t.doc.Position)
	}
	return first, nil
}

// epochsOf reports whether two readers have the same epochs.
func (r reader) epochsOf(other reader) bool {
	same := (r.shards == nil) == (other.shards == nil) && r.length == other.length
	return same && (r.shards == nil || *r.shards == *other.shards)
}

// placeOf returns the place of the document.
func (t *Timeline) placeOf(size int64) (Place, error) {
	if t.tail == order.Span {
		position := t.doc.Position
		if position%size != 0 {
			return Place{}, corrupt("position", fmt.Sprint("a multiple of ", size), position)
		}
		epoch, index := t.locate(position)
		if len(t.readers) > 1 && !t.sorted && t.doc.Epoch != epoch {
			return Place{}, corrupt("epoch", fmt.Sprint(epoch), t.doc.Epoch)
		}
		return Place{position / size, epoch, index}, nil
	}
	epoch, batch := t.doc.Epoch, t.doc.Batch
	if _, ok := t.begin(max(epoch, 0)); !ok || epoch < 0 {
		return Place{}, corrupt("epoch", "an epoch that can be reached", epoch)
	}
	n := t.lengthOf(epoch)
	if most := t.batches(n, size); batch < 0 || batch > most {
		return Place{}, corrupt("batch", fmt.Sprint("at most the ", most, " batches of an epoch"), batch)
	}
	before, _, err := t.stepsTo(segment{global: size}, epoch)
	p := Place{before + batch, epoch, min(n, batch*size)}
	if t.tail == order.Drop && batch == t.batches(n, size) {
		p.Index = batch * size
	}
	return p, err
}

// show makes t describe the samples of a reader.
func (t *Timeline) show(r reader) {
	t.eras = []era{{length: t.eras[0].length, order: r.order}}
	t.samples = r.length
	if s, ok := r.order.(*order.Sharded); ok {
		t.samples = s.Shards().Samples
	}
}

// Readers returns the names of the readers of a pipeline, in the order of its graph if it is known,
// else sorted. For a loader it returns nil.
func (t *Timeline) Readers() (names []string) {
	for _, r := range t.readers {
		names = append(names, r.name)
	}
	return names
}

// Of returns the timeline with the samples of a reader of the pipeline. The error is of kind
// errs.NotFound if there is no such reader.
func (t *Timeline) Of(name string) (*Timeline, error) {
	for _, r := range t.readers {
		if r.name == name {
			of := *t
			of.show(r)
			return &of, nil
		}
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "timeline.Of", Subject: "reader " + strconv.Quote(name),
		Want: "one of " + strings.Join(t.Readers(), ", "), Remedy: errs.DidYouMean(name, t.Readers())}
}

// epochLen returns the number of samples of an epoch of an order, if all epochs have the same
// length.
func epochLen(o order.Order) (int64, bool) {
	if n, ok := o.Len(); ok {
		return n, true
	}
	switch o := o.(type) {
	case order.Epochs:
		return o.EpochLen(), true
	case *order.Sharded:
		s := o.Shards()
		return s.EpochLength(0), s.Stick || s.Pad > 0 || s.Samples%s.Count == 0
	}
	return 0, false
}

// findAround does the same as find for batches that continue over the end of an epoch.
func (t *Timeline) findAround(epoch, index int64) Seen {
	global := t.segments[0].global
	begin, _ := t.begin(epoch)
	pos := begin + index
	return Seen{Place: t.around(t.segments[0], pos/global), Row: int(pos % global), Size: int(global)}
}
