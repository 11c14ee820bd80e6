package loader_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// first returns a state in the form of version 1, which has no checksum.
func first(t testing.TB, b []byte) []byte {
	t.Helper()
	d, err := state.Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	d.Version = 1
	if b, err = d.Marshal(); err != nil {
		t.Fatal(err)
	}
	return b
}

// damaged are loaders of many kinds, each with a state somewhere.
func damaged(t *testing.T) map[string]func() (*loader.Loader[int64, tensor.Tensor], []byte) {
	all := map[string]func() (*loader.Loader[int64, tensor.Tensor], []byte){}
	for name, o := range map[string]options{
		"sequential": {BatchSize: 4}, "shuffled": {BatchSize: 4, Shuffle: true, Seed: 7}, "drop last": {BatchSize: 4, Shuffle: true, Tail: order.Drop},
		"sampler":  {BatchSize: 4, Sampler: &everySampler{n: 23}},
		"an order": {BatchSize: 3, Order: order.NewCycle(23)},
	} {
		for _, before := range []int{0, 3, 6, 7, 17} {
			all[fmt.Sprint(name, " after ", before)] = func() (*loader.Loader[int64, tensor.Tensor], []byte) {
				l := open(t, ids(23), o)
				for range before {
					if _, err := l.Next(t.Context()); err != nil && before == 0 {
						t.Fatal(err)
					}
				}
				return open(t, ids(23), o), snapshot(t, l)
			}
		}
	}
	all["streams"] = func() (*loader.Loader[int64, tensor.Tensor], []byte) {
		l := openIterable(t, plain(61), options{BatchSize: 4, Streams: 3})
		take(t, l, 5)
		return openIterable(t, plain(61), options{BatchSize: 4, Streams: 3}), snapshot(t, l)
	}
	return all
}

// everySampler gives all ids, the last first.
type everySampler struct{ n int64 }

func (s *everySampler) Len() int64                { return s.n }
func (s *everySampler) Open() order.Cursor[int64] { return &everyCursor{s.n} }

type everyCursor struct{ left int64 }

func (c *everyCursor) Next() (int64, bool, error) {
	c.left--
	return c.left, c.left >= 0, nil
}

// follows returns the batches that a loader gives next, over the end of an epoch.
func follows(t *testing.T, l *loader.Loader[int64, tensor.Tensor]) string {
	t.Helper()
	s := ""
	for range 9 {
		b, err := l.Next(t.Context())
		if err != nil {
			s += err.Error()
			continue
		}
		values, err := tensor.Of[int64](b)
		s += fmt.Sprint(values, err)
	}
	return s
}

// A state that was changed in any way is refused, or gives the same samples.
func TestNoDamagedStateGivesOtherSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	mutants, accepted := 400, 0
	if testing.Short() {
		mutants = 60
	}
	for name, make := range damaged(t) {
		l, saved := make()
		want := ""
		for range mutants {
			b := mutate(random, saved)
			if l.SetState(b) != nil {
				continue
			}
			got := follows(t, l)
			if accepted++; want == "" {
				if err := l.SetState(saved); err != nil {
					t.Fatal(err)
				}
				want = follows(t, l)
			}
			if got != want {
				t.Fatalf("%s: accepted, and gives other samples:\n%s\n%s", name, saved, b)
			}
		}
	}
	t.Logf("%d were accepted, which say the same", accepted)
}

// mutate changes a document: bytes, digits, order, lengths.
func mutate(random *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(b))
		switch random.IntN(6) {
		case 0:
			b[at] ^= 1 << random.IntN(8)
		case 1:
			b[at] = "0123456789,:\"{}[]"[random.IntN(17)]
		case 2:
			b = append(b[:at], b[at+1:]...)
		case 3:
			b = append(b[:at], append([]byte{b[at]}, b[at:]...)...)
		default: // another number
			numbers := numberPattern.FindAllIndex(b, -1)
			n := numbers[random.IntN(len(numbers))]
			b = append(b[:n[0]], append([]byte(strconv.Itoa(random.IntN(30))), b[n[1]:]...)...)
		}
	}
	return b
}

var numberPattern = regexp.MustCompile(`\d+`)

// A state that has no checksum yet is refused when one of its numbers contradicts the
// others, or gives the same samples.
func TestNoNumberOfAnOldStateGivesOtherSamples(t *testing.T) {
	for name, make := range damaged(t) {
		l, saved := make()
		saved = first(t, saved)
		if err := l.SetState(saved); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := follows(t, l)
		for _, n := range numberPattern.FindAllIndex(saved, -1) {
			value, err := strconv.ParseInt(string(saved[n[0]:n[1]]), 10, 64)
			if err != nil {
				continue // digits of a hash
			}
			for _, other := range []int64{0, 1, value - 4, value - 1, value + 1, value + 3, value + 4, value + 23, 2 * value} {
				b := string(saved[:n[0]]) + strconv.FormatInt(max(other, 0), 10) + string(saved[n[1]:])
				if l.SetState([]byte(b)) != nil {
					continue
				}
				if got := follows(t, l); got != want {
					t.Errorf("%s: %d instead of %d is accepted, and gives other samples:\n%s\n%s", name, other, value, saved,
						strings.TrimSpace(b))
				}
			}
		}
	}
}
