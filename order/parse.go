package order

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Parse returns the order that String describes, for those that are made of
// numbers alone: Sequential, Cycle, Permutation, Shuffled, and Shard of these. A
// state document that says its order thus tells which sample was where. The error
// is of kind errs.Invalid for what no order writes, and errs.Unsupported for an
// order of another version or one that its description does not hold, as those
// over tables.
func Parse(description string) (Order, error) {
	if IsDigest(description) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "order.Parse", Subject: description, Want: "a description of the order", Got: "its digest",
			Remedy: "give the description, which Loader.Description returns and a job keeps in its directory"}
	}
	name, rest, ok := strings.Cut(description, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return nil, notAnOrder(description)
	}
	if name == "shard" {
		return parseShard(rest)
	}
	var n int64
	var key, seed uint64
	var version int
	var domain string
	var err error
	var o Order
	switch name {
	case "sequential":
		_, err = fmt.Sscanf(rest, "n=%d", &n)
		o = Sequential(n)
	case "cycle":
		_, err = fmt.Sscanf(rest, "n=%d", &n)
		o = NewCycle(n)
	case "permutation":
		_, err = fmt.Sscanf(rest, "v%d n=%d key=%x", &version, &n, &key)
		p := makePermutation(version, n, key)
		o = &p
	case "shuffled":
		_, err = fmt.Sscanf(rest, "v%d n=%d seed=%d domain=%q", &version, &n, &seed, &domain)
		o = newShuffled(version, n, seed, domain)
	default:
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "order.Parse", Subject: strconv.Quote(name), Got: "an order that its description does not hold"}
	}
	if err == nil && (version < 0 || version > Version) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "order.Parse", Subject: name, Want: fmt.Sprint("versions 1 to ", Version), Got: strconv.Itoa(version)}
	}
	if err != nil || o.String() != description {
		return nil, notAnOrder(description)
	}
	return o, nil
}

func parseShard(rest string) (Order, error) {
	numbers, of, ok := strings.Cut(rest, " of ")
	var batch, rank, world int
	if _, err := fmt.Sscanf(numbers, "batch=%d rank=%d/%d", &batch, &rank, &world); err != nil || !ok {
		return nil, notAnOrder("shard(" + rest + ")")
	}
	o, err := Parse(of)
	if err != nil {
		return nil, err
	}
	s, err := NewShard(o, batch, rank, world)
	if err != nil {
		return nil, err
	}
	if description := "shard(" + rest + ")"; s.String() != description {
		return nil, notAnOrder(description)
	}
	return s, nil
}

func notAnOrder(got string) error {
	const most = 80
	if len(got) > most {
		got = got[:most] + "…"
	}
	return &errs.Error{Kind: errs.Invalid, Op: "order.Parse", Want: "what an order's String returns", Got: strconv.Quote(got)}
}
