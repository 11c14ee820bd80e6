package serve

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/rng"
)

// captured is a loop over the labels of files.
type captured struct {
	*calling
	reader int64
	number int64      // of the last value
	ahead  int        // calls that were made ahead
	looks  *rand.Rand // decides which values are looked at; nil: all
	later  []int64    // values that were not, and are in the next step
}

// capturing opens a reader of n files with the labels 0 to n-1.
func capturing(t testing.TB, n int) *captured {
	t.Helper()
	dir, list := t.TempDir(), ""
	for i := range n {
		name := fmt.Sprintf("%d.jpg", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte{'0'}, 0o600); err != nil {
			t.Fatal(err)
		}
		list += fmt.Sprintf("%s %d\n", name, i)
	}
	file := filepath.Join(dir, "list.txt")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(name, value string) pipeproto.Argument {
		return pipeproto.Argument{Name: name, Type: "string", Strings: []string{value}}
	}
	p := pipeproto.Pipeline{Ops: []pipeproto.Op{{Name: "readers__File", Instance: "reader",
		Args: []pipeproto.Argument{text("file_root", dir), text("file_list", file)}}}}
	c := &captured{calling: callings(t)}
	var v struct{ Reader int64 }
	c.call("dynamic.reader", object{"graph": pipeproto.Append(nil, &p)}).into(t, &v)
	c.reader = v.Reader
	return c
}

// next takes a batch of 3, and returns the number of its labels. It returns 0 at the end of the
// epoch.
func (c *captured) next(epoch int64, capture bool) int64 {
	c.t.Helper()
	args := object{"reader": c.reader, "epoch": epoch, "first": c.number + 1, "batch": 3}
	if capture {
		c.wait(c.group(nil))
		args["after"] = c.groups
	}
	var v struct {
		Outputs, Ahead int
		Ended          bool
	}
	c.calling.call("dynamic.next", args).into(c.t, &v)
	c.ahead += v.Ahead
	if v.Ended {
		return 0
	}
	c.number += int64(v.Outputs)
	return c.number
}

// step makes the calls of a step for labels, and returns the elements of all values. change says
// what differs from the other steps.
func (c *captured) step(plus [2]int64, flip, labels int64, g *rng.Philox, change int) (all []int32) {
	c.t.Helper()
	add, more := plus[0], plus[0]
	if change == 1 {
		more = plus[1]
	}
	if change == 2 {
		g.Skip(1)
	}
	n := c.number
	calls := [][]any{
		{callOperator, add, n + 1, 0, []int64{labels}, 0},
		{callOperator, flip, n + 2, 3, []int64{}, 0, g.String()},
		{callOperator, more, n + 3, 0, []int64{n + 1}, 0},
		{callOperator, add, n + 4, 0, []int64{n + 3}, 0},
	}
	g.Skip(7)
	if change == 3 {
		calls[3] = []any{callOperator, add, n + 4, 0, []int64{n + 1}, 0}
	}
	if change == 4 {
		calls = calls[:2]
	}
	c.number += int64(len(calls))
	c.wait(c.group(nil, calls...))
	if c.looks != nil && c.looks.IntN(4) == 0 {
		c.wait(c.group(object{"all": true}))
	}
	look := c.later
	c.later = nil
	for i := range calls {
		number := n + int64(i) + 1
		switch {
		case c.looks == nil || c.looks.IntN(2) == 0:
			look = append(look, number)
		case c.looks.IntN(3) == 0:
			c.later = append(c.later, number)
		}
	}
	for _, number := range look {
		words, _, failed := c.words(number)
		if failed != nil {
			c.t.Fatal(failed)
		}
		all = append(all, words...)
	}
	return all
}

// TestCapturedLoop holds that a captured loop gives what a plain loop gives, over two epochs, in
// which steps differ at random: in a constant, a generator, an input, and the number of calls. In
// the second half of the seeds the program looks at some of the values alone, at some of them a
// step later.
func TestCapturedLoop(t *testing.T) {
	const files = 31
	loop := func(seed uint64, capture bool) (found [][]int32, ahead int) {
		c := capturing(t, files)
		if seed >= 8 {
			c.looks = rand.New(rand.NewPCG(seed, 2))
		}
		plus := [2]int64{c.plus(10), c.plus(20)}
		flip := c.operator("random__CoinFlip", 1, 0, nil)
		r, g := rand.New(rand.NewPCG(seed, 1)), rng.NewPhilox(seed, 0, 0)
		for epoch := int64(1); epoch <= 2; epoch++ {
			for labels := c.next(epoch, capture); labels != 0; labels = c.next(epoch, capture) {
				change := 0
				if seed%8 > 0 && r.IntN(3) == 0 {
					change = 1 + r.IntN(4)
				}
				found = append(found, c.step(plus, flip, labels, &g, change))
			}
			found = append(found, nil) // the end of the epoch
		}
		return found, c.ahead
	}
	for seed := range uint64(16) {
		got, ahead := loop(seed, true)
		want, none := loop(seed, false)
		if !slices.EqualFunc(got, want, slices.Equal[[]int32]) {
			t.Errorf("seed %d: got %v, want %v", seed, got, want)
		}
		if steps := len(got) - 2; seed%8 == 0 && ahead < 4*(steps-3) { // the first ones teach the others
			t.Errorf("seed %d: %d calls of %d steps were made ahead, want those of all steps but three", seed, ahead, steps)
		}
		if ahead == 0 || none != 0 {
			t.Errorf("seed %d: %d calls were made ahead in a captured loop, %d in a plain one", seed, ahead, none)
		}
	}
}

// TestCapturedLoopCloses holds that a connection which ends in the middle of a captured loop leaves
// nothing behind: TestMain looks for goroutines. So does a reader that is closed, and a reader that
// begins another epoch.
func TestCapturedLoopCloses(t *testing.T) {
	for _, last := range []string{"connection", "reader", "epoch"} {
		c := capturing(t, 20)
		plus := [2]int64{c.plus(10), c.plus(20)}
		flip := c.operator("random__CoinFlip", 1, 0, nil)
		g := rng.NewPhilox(5, 0, 0)
		for range 4 {
			c.step(plus, flip, c.next(1, true), &g, 0)
		}
		switch last {
		case "reader":
			c.call("dynamic.close", object{"reader": c.reader})
		case "epoch":
			if got := c.step(plus, flip, c.next(2, true), &g, 0); len(got) != 12 {
				t.Errorf("%d words of a step, want 12", len(got))
			}
		}
	}
}
