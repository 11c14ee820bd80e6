package order

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Parse returns the order of a description, which is the String of an Order of this package. So a
// state that names its order tells which sample was at which position.
//
// Lengths, selections and the sizes of shards are tables. A description names a table by a hash of
// it, so the caller gives the tables, in any order: Parse finds the one that has the hash. Shards
// of equal sizes need no table; the last may be smaller.
//
// The error is of kind errs.Invalid for a text that no order writes, and of kind errs.Unsupported
// for an order of a newer version or of another package. It wraps a *MissingTables if tables are
// missing.
func Parse(description string, tables ...Table) (Order, error) {
	if IsDigest(description) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "order.Parse", Subject: description, Want: "a description of the order", Got: "its digest",
			Remedy: "give the description, which Loader.Description returns and a job keeps in its directory"}
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

// Bounds for the sizes in a description, because a few bytes of text can ask for much.
const (
	mostNested  = 64   // orders within orders
	mostWeights = 5000 // sets of weights of mixtures: each has a table of up to 96 kB
	mostShards  = 1 << 25
	mostStages  = 1 << 10 // of an order that grew
)

// parser reads a description from its start to its end.
type parser struct {
	text    string
	at      int
	tables  []Table
	found   map[string]any // tables that were found, by their descriptions
	missing []MissingTable
	depth   int
	weights int   // sets of weights so far
	shards  int64 // sizes of shards that may still be looked at
}

// order reads one order: a name, and its arguments in parentheses.
func (p *parser) order() (Order, error) {
	if p.depth++; p.depth > mostNested {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("at most %d orders within each other", mostNested)}
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

// readers read the orders by their names, up to the closing parenthesis. It is filled by
// init, since they read the orders below them by it.
var readers map[string]func(*parser) (Order, error)

func init() {
	readers = map[string]func(*parser) (Order, error){
		"sequential": (*parser).sequential, "cycle": (*parser).cycle, "permutation": (*parser).permutation, "shuffled": (*parser).shuffled,
		"windows": (*parser).windows, "mixture": (*parser).mixture, "grown": (*parser).grown, "packs": (*parser).packs, "buckets": (*parser).buckets,
		"selected": (*parser).selected, "filtered": (*parser).filtered, "segments": (*parser).segments, "repeat": (*parser).repeat,
		"rank": (*parser).rank, "shard": (*parser).shard, "sharded": (*parser).sharded,
	}
}

// expect reads exactly a text.
func (p *parser) expect(want string) error {
	if !strings.HasPrefix(p.text[p.at:], want) {
		return notAnOrder(p.text)
	}
	p.at += len(want)
	return nil
}

// skips reports whether a text comes next, and passes over it then.
func (p *parser) skips(text string) bool {
	ok := strings.HasPrefix(p.text[p.at:], text)
	if ok {
		p.at += len(text)
	}
	return ok
}

// until reads up to one of some characters, or to the end.
func (p *parser) until(end string) string {
	rest := p.text[p.at:]
	if i := strings.IndexAny(rest, end); i >= 0 {
		rest = rest[:i]
	}
	p.at += len(rest)
	return rest
}

// read reads texts and values in turn: a string is a text, a pointer is where a value
// goes, in the form in which Sprint writes it.
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

// hash is a number in hexadecimal digits.
type hash uint64

// version is the version of an order, with the newest that is known.
type version struct{ n, newest int }

func (p *parser) version(v *version) (err error) {
	if v.n, err = strconv.Atoi(p.until(" ")); err != nil {
		return err
	}
	if v.n < 1 || v.n > v.newest {
		return &errs.Error{Kind: errs.Unsupported, Subject: "version of an order", Want: fmt.Sprint("1 to ", v.newest), Got: strconv.Itoa(v.n)}
	}
	return nil
}

// quoted is a text in quotes.
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
