package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// countingSampler gives 0 to n-1, rotated by the number of its iterations; it has a
// state, and so has its cursor.
type countingSampler struct {
	n      int64
	Passes int64 `json:"passes"`
}

func (s *countingSampler) Len() int64 { return s.n }
func (s *countingSampler) Open() order.Cursor[int64] {
	return &countingCursor{of: s, Pass: s.Passes}
}
func (s *countingSampler) String() string { return "counting" }
func (s *countingSampler) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(s)
	return append(dst, b...), err
}
func (s *countingSampler) SetState(b []byte) error { return json.Unmarshal(b, s) }

type countingCursor struct {
	of    *countingSampler
	Given int64 `json:"given"`
	Pass  int64 `json:"pass"`
}

func (c *countingCursor) Next() (int64, bool, error) {
	if c.Given == c.of.n {
		c.of.Passes = c.Pass + 1
		return 0, false, nil
	}
	c.Given++
	return (c.Given + c.Pass) % c.of.n, true, nil
}
func (c *countingCursor) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(c)
	return append(dst, b...), err
}
func (c *countingCursor) SetState(b []byte) error { return json.Unmarshal(b, c) }

// epochSampler gives n ids from the epoch on.
type epochSampler struct {
	n, epoch int64
}

func (s *epochSampler) Len() int64           { return s.n }
func (s *epochSampler) SetEpoch(epoch int64) { s.epoch = epoch }
func (s *epochSampler) Open() order.Cursor[int64] {
	var list []int64
	for i := range s.n {
		list = append(list, (i+s.epoch)%s.n)
	}
	return &listCursor[int64]{list: list}
}

// Families S5, S19, S21: samplers with and without a state, of ids and of batches,
// interrupted anywhere in two epochs.
func TestSamplersGoOn(t *testing.T) {
	samplers := map[string]func() options{
		"list":     func() options { return options{BatchSize: 3, Sampler: listSampler{5, 4, 3, 2, 1, 0, 9}} },
		"stateful": func() options { return options{BatchSize: 3, Sampler: &countingSampler{n: 10}} },
		"epoch":    func() options { return options{BatchSize: 3, Sampler: &epochSampler{n: 10}, Tail: order.Drop} },
		"batches":  func() options { return options{BatchSampler: batchList{{1, 2}, {3}, {}, {4, 5, 6}}} },
		"ranks":    func() options { return options{BatchSize: 2, World: 2, Rank: 1, Sampler: &countingSampler{n: 10}} },
	}
	for name, make := range samplers {
		whole := epochs(t, open(t, ids(10), make()), 3)
		n := len(whole[0])
		for _, workers := range []int{0, 2} {
			for k := range 2*n + 1 {
				o := make()
				o.Workers = workers
				a := open(t, ids(10), o)
				for range k / n {
					take(t, a, -1)
				}
				got := take(t, a, k%n)
				o = make()
				o.Workers = 2 - workers
				b := open(t, ids(10), o)
				restore(t, b, snapshot(t, a))
				got = append(got, take(t, b, -1)...)
				if diff := cmp.Diff(whole[k/n], got); diff != "" {
					t.Fatalf("%s workers %d after %d: %s", name, workers, k, diff)
				}
				if k/n < 2 {
					if diff := cmp.Diff(whole[k/n+1], take(t, b, -1)); diff != "" {
						t.Fatalf("%s workers %d after %d, next epoch: %s", name, workers, k, diff)
					}
				}
			}
		}
	}
}

// skipping is a sampler whose cursor can leave ids out. It counts the ids that are read.
type skipping struct {
	n    int64
	read *int
}

func (s skipping) Len() int64                { return s.n }
func (s skipping) Open() order.Cursor[int64] { return &skippingCursor{skipping: s} }

type skippingCursor struct {
	skipping
	at int64
}

func (c *skippingCursor) Skip(n int64) bool {
	c.at += n
	return c.at <= c.n
}

func (c *skippingCursor) Next() (int64, bool, error) {
	if c.at == c.n {
		return 0, false, nil
	}
	*c.read++
	c.at++
	return c.at - 1, true, nil
}

// A cursor with Skip goes on without reading ids again, and is refused if it has too few.
func TestSamplerThatSkips(t *testing.T) {
	read := 0
	o := options{BatchSize: 7, Sampler: skipping{100, &read}}
	l := open(t, ids(100), o)
	whole := take(t, l, -1)
	l = open(t, ids(100), o)
	take(t, l, 10)
	saved := snapshot(t, l)
	read = 0
	l = open(t, ids(100), o)
	restore(t, l, saved)
	if d := cmp.Diff(whole[10:], take(t, l, -1)); d != "" || read != 30 {
		t.Errorf("%d ids were read; -want +got:\n%s", read, d)
	}
	o.Sampler = skipping{69, &read}
	l = open(t, ids(100), o)
	restore(t, l, saved)
	_, err := l.Next(context.Background())
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "70 draws") {
		t.Error(err)
	}
}
