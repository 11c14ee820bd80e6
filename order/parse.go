package order

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Parse returns the order that a description describes. A description is the String of an Order of
// this package. So a state that names its order tells which sample was at which position.
//
// Lengths, selections and the sizes of shards are tables. A description names a table by its hash,
// so the caller passes the tables, in any order, and Parse finds the table with that hash. Shards
// of equal sizes need no table, and the last of them may be smaller.
//
// The error is of kind errs.Invalid if no order has this String. It is of kind errs.Unsupported if
// the order belongs to a newer version or to another package, or if tables are missing. In the last
// case it wraps a *MissingTables.
func Parse(description string, tables ...Table) (Order, error) {
	if IsDigest(description) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "order.Parse", Subject: description, Want: "a description of the order", Got: "its digest",
			Remedy: "pass the description: Loader.Description returns it, and a job keeps it in its directory"}
	}
	p := parser{text: description, tables: tables, found: map[string]any{}, shards: mostShards}
	o, err := p.order()
	switch {
	case err != nil:
	case p.at == len(p.text) && len(p.missing) > 0:
		m := &MissingTables{Tables: p.missing}
		err = &errs.Error{Kind: errs.Unsupported, Want: "the tables that the description names", Got: m.Error(), Err: m}
	case p.at < len(p.text) || o.String() != description:
		err = notAnOrder(description)
	}
	if err != nil {
		return nil, errs.Wrap("order.Parse", "", err)
	}
	return o, nil
}

// Bounds for the sizes in a description, because a few bytes of text can ask for much memory.
const (
	mostNested  = 64   // orders within orders
	mostWeights = 5000 // sets of weights of mixtures, each with a table of up to 96 kB
	mostShards  = 1 << 25
	mostStages  = 1 << 10 // stages of an order that grew
)

// parser reads a description from its start to its end.
type parser struct {
	text    string
	at      int
	tables  []Table
	found   map[string]any // tables that were found, by description
	missing []MissingTable
	depth   int
	weights int   // sets of weights so far
	shards  int64 // how many more sizes of shards may be read
}

// order reads one order: a name, and its arguments in parentheses.
func (p *parser) order() (Order, error) {
	if p.depth++; p.depth > mostNested {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("at most %d levels of nested orders", mostNested)}
	}
	defer func() { p.depth-- }()
	rest := p.text[p.at:]
	open := strings.IndexByte(rest, '(')
	if open < 0 {
		return nil, notAnOrder(p.text)
	}
	read, ok := readers[rest[:open]]
	switch {
	case !ok && isName(rest[:open]) && strings.HasSuffix(rest, ")"):
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: strconv.Quote(rest[:open]), Got: "an order of another package or of a newer version"}
	case !ok:
		return nil, notAnOrder(p.text)
	}
	p.at += open + 1
	o, err := read(p)
	if err != nil {
		return nil, err
	}
	return o, p.expect(")")
}

// isName reports whether a text may be the name of an order.
func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// readers maps the name of each order to the function that reads its arguments, up to the closing
// parenthesis. init fills it, because these functions use readers themselves to read the orders
// below.
var readers map[string]func(*parser) (Order, error)

func init() {
	readers = map[string]func(*parser) (Order, error){
		"sequential": (*parser).sequential, "cycle": (*parser).cycle, "permutation": (*parser).permutation, "shuffled": (*parser).shuffled,
		"windows": (*parser).windows, "mixture": (*parser).mixture, "grown": (*parser).grown, "packs": (*parser).packs, "buckets": (*parser).buckets,
		"selected": (*parser).selected, "filtered": (*parser).filtered, "segments": (*parser).segments, "repeat": (*parser).repeat,
		"rank": (*parser).rank, "shard": (*parser).shard, "sharded": (*parser).sharded,
	}
}

// expect reads the text want, or returns an error.
func (p *parser) expect(want string) error {
	if !strings.HasPrefix(p.text[p.at:], want) {
		return notAnOrder(p.text)
	}
	p.at += len(want)
	return nil
}

// skips reports whether text comes next. If it does, skips passes over it.
func (p *parser) skips(text string) bool {
	ok := strings.HasPrefix(p.text[p.at:], text)
	if ok {
		p.at += len(text)
	}
	return ok
}

// until reads up to the first of the characters in end, or to the end of the description.
func (p *parser) until(end string) string {
	rest := p.text[p.at:]
	if i := strings.IndexAny(rest, end); i >= 0 {
		rest = rest[:i]
	}
	p.at += len(rest)
	return rest
}

// read reads texts and values in turn. A part that is a string is a text that must come next. A
// part that is a pointer receives a value, in the form in which fmt.Sprint writes it.
func (p *parser) read(parts ...any) error {
	for _, part := range parts {
		var err error
		switch part := part.(type) {
		case string:
			err = p.expect(part)
		case *int64:
			*part, err = strconv.ParseInt(p.until(" ;:/+)"), 10, 64)
		case *int:
			*part, err = strconv.Atoi(p.until(" ;:/+)"))
		case *uint64:
			*part, err = strconv.ParseUint(p.until(" ;:/+)"), 10, 64)
		case *bool:
			*part, err = strconv.ParseBool(p.until(" ;)"))
		case *hash:
			var n uint64
			n, err = strconv.ParseUint(p.until(" ;:/+)"), 16, 64)
			*part = hash(n)
		case *version:
			err = p.version(part)
		case *quoted:
			err = p.quoted(part)
		case *Order:
			*part, err = p.order()
		}
		if e := (*errs.Error)(nil); err != nil && !asError(err, &e) {
			err = notAnOrder(p.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hash is a number that is written in hexadecimal digits.
type hash uint64

// version is the version of an order, with the newest version that this package knows.
type version struct{ n, newest int }

func (p *parser) version(v *version) (err error) {
	if v.n, err = strconv.Atoi(p.until(" ")); err != nil {
		return err
	}
	if v.n < 1 || v.n > v.newest {
		return &errs.Error{Kind: errs.Unsupported, Subject: "version of an order",
			Want: fmt.Sprint("a version from 1 to ", v.newest), Got: strconv.Itoa(v.n)}
	}
	return nil
}

// quoted is a text that is written in quotes.
type quoted string

func (p *parser) quoted(q *quoted) error {
	text, err := strconv.QuotedPrefix(p.text[p.at:])
	if err != nil {
		return err
	}
	p.at += len(text)
	s, err := strconv.Unquote(text)
	*q = quoted(s)
	return err
}

func notAnOrder(got string) error {
	const most = 80
	if len(got) > most {
		got = got[:most] + "…"
	}
	return &errs.Error{Kind: errs.Invalid, Want: "the String of an order", Got: strconv.Quote(got)}
}

func asError(err error, target **errs.Error) bool { return errors.As(err, target) }

func (p *parser) sequential() (Order, error) {
	var n int64
	err := p.read("n=", &n)
	return Sequential(n), err
}

func (p *parser) cycle() (Order, error) {
	var n int64
	err := p.read("n=", &n)
	return NewCycle(n), err
}

func (p *parser) permutation() (Order, error) {
	v := version{newest: Version}
	var n int64
	var key hash
	if err := p.read("v", &v, " n=", &n, " key=", &key); err != nil {
		return nil, err
	}
	o := makePermutation(v.n, n, uint64(key))
	return &o, nil
}

func (p *parser) shuffled() (Order, error) {
	v := version{newest: Version}
	var n int64
	var seed uint64
	var domain quoted
	if err := p.read("v", &v, " n=", &n, " seed=", &seed, " domain=", &domain); err != nil {
		return nil, err
	}
	return newShuffled(v.n, n, seed, string(domain)), nil
}

func (p *parser) windows() (Order, error) {
	v := version{newest: Version}
	var shards, n, window int64
	var sum hash
	var seed uint64
	var domain quoted
	if err := p.read("v", &v, " shards=", &shards, ":", &sum, " n=", &n, " window=", &window, " seed=", &seed, " domain=", &domain); err != nil {
		return nil, err
	}
	if shards < 0 || n < 0 {
		return nil, notAnOrder(p.text)
	}
	sizes, ok := p.sizes(shards, n, uint64(sum))
	if !ok {
		return NewCycle(n), nil
	}
	o, err := NewWindows(sizes, window, seed, string(domain))
	if err != nil {
		return nil, err
	}
	return o.again(v.n, o.domain), nil
}

func (p *parser) mixture() (Order, error) {
	v := version{newest: Version}
	var exhaustion int
	err := p.read("v", &v, " exhaustion=", &exhaustion)
	if err != nil {
		return nil, err
	}
	var phases []Phase
	for p.skips(" ") {
		phase := Phase{}
		if err := p.read(&phase.From, ":["); err != nil {
			return nil, err
		}
		for _, w := range strings.Split(p.until("]"), " ") {
			weight, err := strconv.ParseFloat(w, 64)
			if err != nil {
				return nil, notAnOrder(p.text)
			}
			phase.Weights = append(phase.Weights, weight)
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
		phases = append(phases, phase)
	}
	var sources []Source
	var blocks []idBlock
	for p.skips("; ") && len(sources) <= maxSources {
		if p.skips("ids") {
			if blocks, err = p.blocks(len(sources)); err != nil {
				return nil, err
			}
			break
		}
		var s Source
		if err := p.read(&s.Samples, " of ", &s.Order); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(phases) == 0 || phases[0].From != 0 || len(phases[0].Weights) != len(sources) || exhaustion < 0 || exhaustion > int(CycleOn) {
		return nil, notAnOrder(p.text)
	}
	if p.weights += len(phases); exhaustion == int(DropEnded) {
		p.weights += len(sources)
	}
	if p.weights > mostWeights {
		return nil, &errs.Error{Kind: errs.Exhausted,
			Want: fmt.Sprintf("at most %d sets of weights in all mixtures together", mostWeights)}
	}
	for i, w := range phases[0].Weights {
		sources[i].Weight = w
	}
	m := &Mixture{sources: sources, version: v.n, blocks: blocks}
	if err := m.init(Exhaustion(exhaustion), phases[1:]); err != nil {
		return nil, err
	}
	return m, nil
}

// blocks reads which ids of a mixture belong to which source.
func (p *parser) blocks(sources int) (blocks []idBlock, err error) {
	for p.skips(" ") {
		var b idBlock
		if err := p.read(&b.source, ":", &b.n); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	if len(blocks) <= sources {
		return nil, notAnOrder(p.text) // no order writes blocks for sources that have one block each
	}
	return blocks, nil
}

// grown reads the order of a source that got more samples.
func (p *parser) grown() (Order, error) {
	var stages []grownStage
	for !p.skips("of ") {
		var s grownStage
		if err := p.read(&s.pass, ":", &s.samples, " "); err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	var below Order
	if err := p.read(&below); err != nil || len(p.missing) > 0 {
		return below, err
	}
	if p.shards -= int64(len(stages)) * shardsOf(below); p.shards < 0 || len(stages) > mostStages {
		return nil, &errs.Error{Kind: errs.Exhausted,
			Want: fmt.Sprintf("an order that grew at most %d times, with few shards", mostStages-1)}
	}
	return errOr(newGrown(below, stages))
}

// shardsOf returns the number of shards of an order. Each shard takes memory.
func shardsOf(o Order) int64 {
	switch o := o.(type) {
	case *Windows:
		return int64(len(o.first))
	case *Packs:
		return shardsOf(o.order)
	case *Buckets:
		return shardsOf(o.order)
	case *Selected:
		return shardsOf(o.order)
	case *Filtered:
		return shardsOf(o.order)
	}
	return 0
}

func (p *parser) packs() (Order, error) {
	v := version{newest: plannedVersion}
	var o PackOptions
	if err := p.read("v", &v, " capacity=", &o.Capacity, " block=", &o.Block, " most=", &o.Most, " padded=", &o.Padded, " "); err != nil {
		return nil, err
	}
	below, lengths, err := p.overLengths()
	if err != nil || lengths == nil {
		return below, err
	}
	return errOr(NewPacks(below, lengths, o))
}

func (p *parser) buckets() (Order, error) {
	v := version{newest: plannedVersion}
	var batch, block int64
	if err := p.read("v", &v, " batch=", &batch, " block=", &block, " bounds=["); err != nil {
		return nil, err
	}
	var bounds []int64
	if !p.skips("] ") {
		for _, b := range strings.Split(p.until("]"), " ") {
			bound, err := strconv.ParseInt(b, 10, 64)
			if err != nil {
				return nil, notAnOrder(p.text)
			}
			bounds = append(bounds, bound)
		}
		if err := p.expect("] "); err != nil {
			return nil, err
		}
	}
	below, lengths, err := p.overLengths()
	if err != nil || lengths == nil {
		return below, err
	}
	return errOr(NewBuckets(below, lengths, bounds, batch, block))
}

// overLengths reads lengths and the order that they belong to. If the lengths are missing, it
// returns nil for them and reads on, to find all missing tables.
func (p *parser) overLengths() (below Order, lengths *Lengths, err error) {
	start := p.at
	var n int64
	var sum hash
	if err := p.read("lengths(n=", &n, " hash=", &sum, ")"); err != nil {
		return nil, nil, err
	}
	lengths = p.lengths(p.text[start:p.at], n)
	return below, lengths, p.read(" of ", &below)
}

func (p *parser) selected() (Order, error) {
	below, s, _, err := p.overSelection()
	if err != nil || s == nil {
		return below, err
	}
	return NewSelected(below, s), nil
}

func (p *parser) filtered() (Order, error) {
	below, s, count, err := p.overSelection()
	if err != nil {
		return nil, err
	}
	epochs, ok := below.(Epochs)
	switch {
	case !ok:
		return nil, notAnOrder(p.text)
	case s == nil:
		return NewCycle(count), nil
	}
	return errOr(NewFiltered(epochs, s))
}

// overSelection reads a selection, the number of selected ids, and the order that the selection
// applies to. s is nil if the selection is missing.
func (p *parser) overSelection() (below Order, s *Selection, count int64, err error) {
	start := p.at
	var n int64
	var sum hash
	if err := p.read("selection(", &count, "/", &n, " hash=", &sum, ")"); err != nil {
		return nil, nil, 0, err
	}
	s = p.selection(p.text[start:p.at], n)
	return below, s, count, p.read(" of ", &below)
}

func (p *parser) segments() (Order, error) {
	var segments []Segment
	end := int64(0)
	for more := true; more; more = p.skips("; ") {
		var s Segment
		if err := p.read(&s.First, "+", &s.Len, " of ", &s.Order); err != nil {
			return nil, err
		}
		segments = append(segments, s)
		end += s.Len
	}
	// An endless last piece is created without a length, and is written with the largest possible
	// length.
	last := &segments[len(segments)-1]
	if _, ends := last.Order.Len(); !ends && last.Len == math.MaxInt64-max(end-last.Len, last.First) {
		last.Len = 0
	}
	return errOr(NewSegments(segments...))
}

func (p *parser) repeat() (Order, error) {
	var epochs int64
	var below Order
	if err := p.read("epochs=", &epochs, " of ", &below); err != nil {
		return nil, err
	}
	return errOr(Repeat(below, epochs))
}

func (p *parser) rank() (Order, error) {
	var rank, world, size int64
	var below Order
	if err := p.read(&rank, "/", &world, " of batches(size=", &size, " tail="); err != nil {
		return nil, err
	}
	tail, err := ParseTail(p.until(" "))
	if err != nil {
		return nil, notAnOrder(p.text)
	}
	if err := p.read(" of ", &below, ")"); err != nil {
		return nil, err
	}
	b, err := NewBatches(below, size, tail)
	if err != nil {
		return nil, err
	}
	return errOr(NewRank(b, rank, world))
}

func (p *parser) shard() (Order, error) {
	var batch, rank, world int
	var below Order
	if err := p.read("batch=", &batch, " rank=", &rank, "/", &world, " of ", &below); err != nil {
		return nil, err
	}
	return errOr(NewShard(below, batch, rank, world))
}

func (p *parser) sharded() (Order, error) {
	var s Shards
	var below Order
	if err := p.read("shard=", &s.ID, "/", &s.Count, " pad=", &s.Pad, " stick=", &s.Stick, " of ", &below); err != nil {
		return nil, err
	}
	e, ok := below.(Epochs)
	if !ok {
		return nil, notAnOrder(p.text)
	}
	s.Samples = e.EpochLen()
	return errOr(NewSharded(below, s))
}

// errOr returns o as an Order, or the error.
func errOr[O Order](o O, err error) (Order, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}
