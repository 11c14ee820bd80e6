package serve

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/rng"
)

// calling is the dynamic mode of a test client.
type calling struct {
	*client
	groups    int64
	operators int64
	added     []object
	slots     map[int64][]byte
}

func callings(t testing.TB) *calling { return &calling{client: served(t), slots: map[int64][]byte{}} }

// operator adds an operator: its graph goes with the next group.
func (c *calling) operator(name string, outputs, inputs int, args []pipeproto.Argument, values ...string) int64 {
	op := pipeproto.Op{Name: name, Instance: "call", Args: args}
	for i := range inputs {
		op.Inputs = append(op.Inputs, pipeproto.Edge{Name: fmt.Sprint("input", i), Device: "cpu"})
	}
	for _, v := range values {
		op.Inputs = append(op.Inputs, pipeproto.Edge{Name: v, Device: "cpu", IsArgument: true, Argument: v})
	}
	p := pipeproto.Pipeline{Ops: []pipeproto.Op{op}}
	c.operators++
	c.added = append(c.added, object{"operator": c.operators, "outputs": outputs, "graph": pipeproto.Append(nil, &p)})
	return c.operators
}

// group starts a group of calls.
func (c *calling) group(args object, calls ...[]any) int64 {
	c.groups++
	all := object{"group": c.groups, "mode": "eager", "calls": calls, "operators": c.added}
	c.added = nil
	for name, v := range args {
		all[name] = v
	}
	return c.start("dynamic.run", all)
}

// words fetches a value of int32, or the error.
func (c *calling) words(number int64) (w []int32, f fetched, failed *fault) {
	c.t.Helper()
	s := c.wait(c.group(object{"fetch": number}))
	if s.Error != nil {
		return nil, f, s.Error
	}
	s.into(c.t, &f)
	data := f.Data
	if f.Slot != 0 {
		if f.Slots[0].New {
			fd := c.fd()
			mem, err := unix.Mmap(fd, 0, f.Slots[0].Bytes, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				c.t.Fatal(err)
			}
			unix.Close(fd)
			c.slots[f.Slot] = mem
		}
		data = c.slots[f.Slot][f.Offset:][:f.Size]
	}
	for i := 0; i+4 <= len(data); i += 4 {
		w = append(w, int32(data[i])|int32(data[i+1])<<8|int32(data[i+2])<<16|int32(data[i+3])<<24)
	}
	return w, f, nil
}

// putWords is a call that takes elements of int32.
func putWords(number int64, batch bool, shapes [][]int, words ...int32) []any {
	var data []byte
	for _, w := range words {
		data = append(data, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	batched := 0
	if batch {
		batched = 1
	}
	return []any{callPut, number, batched, "int32", "", shapes, base64.StdEncoding.EncodeToString(data)}
}

// plus adds the operator that adds a constant.
func (c *calling) plus(n int64) int64 {
	return c.operator("_ArithmeticGenericOp", 1, 1, []pipeproto.Argument{
		{Name: "expression_desc", Type: "string", Strings: []string{"add(&0 $0:int32)"}},
		{Name: "integer_constants", Type: "int64", IsVector: true,
			Elements: []pipeproto.Argument{{Name: "element 0", Type: "int64", Ints: []int64{n}}}},
	})
}

// TestDynamicGroups is that groups are made in their order whatever order they come in, and that a
// group which comes twice is made once.
func TestDynamicGroups(t *testing.T) {
	c := callings(t)
	plus := c.plus(1)
	first := c.added
	c.added = nil
	const n = 50
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	under := 0
	for _, i := range order {
		args := object{"group": i + 1, "mode": "eager"}
		if i == 0 {
			args["operators"] = first
			args["calls"] = [][]any{putWords(1, false, [][]int{{2}}, 5, 7)}
		} else {
			args["calls"] = [][]any{{callOperator, plus, i + 1, 0, []int{i}, 0}}
			args["freed"] = []int{i}
		}
		for range 1 + i%7/6 { // some come twice
			c.start("dynamic.run", args)
			under++
		}
	}
	for range under {
		if s := c.next(); s.Error != nil {
			t.Fatal(s.Error)
		}
	}
	c.groups = n
	got, f, failed := c.words(n)
	if failed != nil || !slices.Equal(got, []int32{5 + n - 1, 7 + n - 1}) || f.DType != "int32" || f.Batch {
		t.Errorf("got %v %+v %v", got, f, failed)
	}
	if _, _, failed := c.words(3); failed == nil || failed.Kind != "not found" {
		t.Errorf("a freed value: %v", failed)
	}
}

// TestDynamicValues is that views, batches, stacks and broadcasts have the right elements, in every
// mode.
func TestDynamicValues(t *testing.T) {
	for _, mode := range []string{"deferred", "eager", "sync"} {
		c := callings(t)
		plus := c.plus(10)
		c.wait(c.group(object{"mode": mode},
			putWords(1, true, [][]int{{2}, {1}, {2}}, 1, 2, 3, 4, 5),
			[]any{callOperator, plus, 2, 3, []int{1}, 0},
			[]any{callAt, 3, 2, 1},
			[]any{callSelect, 4, 2, []int{2, 0}},
			[]any{callStack, 5, 4, 0},
			[]any{callBroadcast, 6, 3, 2},
			[]any{callBatch, 7, []int{3, 3}, ""},
			[]any{callStack, 8, 2, 1},
			[]any{callStack, 9, 2, 0},
			[]any{callAt, 10, 5, 0},
		))
		for number, want := range map[int64][]int32{2: {11, 12, 13, 14, 15}, 3: {13}, 4: {14, 15, 11, 12},
			5: {14, 15, 11, 12}, 6: {13, 13}, 7: {13, 13}, 8: {11, 12, 13, 0, 14, 15}} {
			if got, f, failed := c.words(number); failed != nil || !slices.Equal(got, want) {
				t.Errorf("%s: value %d: got %v %+v %v, want %v", mode, number, got, f, failed, want)
			}
		}
		for number, kind := range map[int64]string{9: "mismatch", 10: "invalid"} {
			if _, _, failed := c.words(number); failed == nil || failed.Kind != kind {
				t.Errorf("%s: value %d: %v", mode, number, failed)
			}
		}
	}
}

// TestDynamicDraws is that a random operator draws what the generator of Go draws, and that a call
// names its place in an error.
func TestDynamicDraws(t *testing.T) {
	c := callings(t)
	flip := c.operator("random__CoinFlip", 1, 0, nil)
	crop := c.operator("Crop", 1, 1, nil)
	state := rng.NewPhilox(7, 0, 0).String()
	c.wait(c.group(object{"sites": []string{"train.py:1", "train.py:42"}},
		[]any{callOperator, flip, 1, 8, []int{}, 0, state},
		[]any{callOperator, flip, 2, 8, []int{}, 0, state},
		putWords(3, false, [][]int{{2}}, 1, 2),
		[]any{callOperator, crop, 4, 0, []int{3}, 1},
		[]any{callOperator, flip, 5, 8, []int{}, 0, "no state"},
		[]any{callOperator, flip, 6, 8, []int{}, 0},
	))
	a, f, failed := c.words(1)
	b, _, again := c.words(2)
	if failed != nil || again != nil || !slices.Equal(a, b) || f.Samples != 8 || !f.Batch {
		t.Errorf("got %v and %v, %v, %v", a, b, failed, again)
	}
	for _, number := range []int64{4, 5, 6} {
		_, _, failed := c.words(number)
		if failed == nil || failed.Kind != "invalid" {
			t.Fatalf("value %d: %v", number, failed)
		}
		if number == 4 && !strings.Contains(failed.Text, "call at train.py:42: crop") {
			t.Error(failed.Text)
		}
	}
}

// TestDynamicSlots is that large values come in slots, which are used again when they are free. A
// client that frees none is refused at the limit.
func TestDynamicSlots(t *testing.T) {
	c := callings(t)
	words := make([]int32, 4000)
	for i := range words {
		words[i] = int32(i)
	}
	c.wait(c.group(nil, putWords(1, false, [][]int{{40, 100}}, words...)))
	seen := map[int64]bool{}
	for range 5 {
		got, f, failed := c.words(1)
		if failed != nil || !slices.Equal(got, words) || f.Slot == 0 || !slices.Equal(f.Shape, []int{40, 100}) {
			t.Fatalf("got %d words, %+v, %v", len(got), f, failed)
		}
		seen[f.Slot] = true
		if s := c.wait(c.group(object{"slots": []int64{f.Slot}})); s.Error != nil {
			t.Fatal(s.Error)
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d slots for one value at a time", len(seen))
	}
	s := c.wait(c.group(object{"fetch": 1, "describe": true}))
	var f fetched
	if s.into(t, &f); f.Slot != 0 || f.Size != 16000 || f.Data != nil {
		t.Errorf("a description: %+v", f)
	}
	if s := c.wait(c.group(object{"slots": []int64{99}})); s.Error == nil || s.Error.Kind != "invalid" {
		t.Errorf("a slot that there is not: %v", s.Error)
	}
	for i := 0; ; i++ {
		_, _, failed := c.words(1)
		if failed == nil && i < mostHeldValues {
			continue
		}
		if failed == nil || failed.Kind != "exhausted" || i != mostHeldValues {
			t.Errorf("value %d: %v", i, failed)
		}
		break
	}
	for _, mem := range c.slots {
		unix.Munmap(mem)
	}
}

// TestDynamicRefusals is that calls which say nothing are refused, and the server goes on.
func TestDynamicRefusals(t *testing.T) {
	c := callings(t)
	for _, args := range []object{
		{"group": 0}, {"mode": "fast"}, {"threads": -1}, {"calls": 5}, {"calls": []any{5}},
		{"calls": [][]any{{99}}}, {"calls": [][]any{{callAt}}}, {"calls": [][]any{{callOperator, 77, 1, 0, []int{}, 0}}},
		{"calls": [][]any{{callPut, 1, 0, "int32", "", [][]int{{3}}, "AAAA"}}},
		{"calls": [][]any{{callPut, 1, 0, "int33", "", [][]int{{1}}, "AAAAAA=="}}},
		{"calls": [][]any{{callPut, 1, 0, "int32", "", [][]int{}, ""}}},
		{"calls": [][]any{{callPut, 1, 0, "int32", "", [][]int{{1}}, "!"}}},
		{"operators": []any{5}}, {"operators": []any{object{"operator": 1, "outputs": -1}}}, {"nothing": 1},
	} {
		if args["group"] != nil {
			c.groups--
		}
		if s := c.wait(c.group(args)); s.Error == nil || s.Error.Kind != "invalid" {
			t.Errorf("%v: %v", args, s.Error)
		}
		if args["group"] != nil || args["threads"] != nil || args["nothing"] != nil {
			c.groups = max(0, c.groups-1) // the group was not begun
			if args["group"] != nil {
				c.groups = 0
			}
		}
	}
	unknown := c.operator("Nothing", 2, 0, nil)
	c.wait(c.group(nil, []any{callOperator, unknown, 1, 0, []int{}, 0}, putWords(3, false, [][]int{{1}}, 4)))
	for number, kind := range map[int64]string{1: "not found", 2: "not found", 8: "not found"} {
		if _, _, failed := c.words(number); failed == nil || failed.Kind != kind {
			t.Errorf("value %d: %v", number, failed)
		}
	}
	if got, _, failed := c.words(3); failed != nil || !slices.Equal(got, []int32{4}) {
		t.Errorf("after all: %v %v", got, failed)
	}
}

// TestDynamicReader is that a reader delivers its epochs, says its state after each batch, and goes
// on from it.
func TestDynamicReader(t *testing.T) {
	dir := t.TempDir()
	for i := range 7 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), []byte{byte('0' + i)}, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := callings(t)
	var files []pipeproto.Argument
	for i := range 7 {
		files = append(files, pipeproto.Argument{Name: fmt.Sprint("element ", i), Type: "string",
			Strings: []string{filepath.Join(dir, fmt.Sprintf("%d.jpg", i))}})
	}
	p := pipeproto.Pipeline{Ops: []pipeproto.Op{{Name: "readers__File", Instance: "reader", Args: []pipeproto.Argument{
		{Name: "files", Type: "string", IsVector: true, Elements: files},
	}}}}
	open := func() int64 {
		var v struct{ Reader int64 }
		c.call("dynamic.reader", object{"graph": pipeproto.Append(nil, &p), "checkpointing": true}).into(t, &v)
		return v.Reader
	}
	number := int64(0)
	next := func(reader, epoch int64) string {
		s := c.call("dynamic.next", object{"reader": reader, "epoch": epoch, "first": number + 1, "batch": 3})
		var v struct {
			Outputs int
			Ended   bool
		}
		if s.into(t, &v); v.Ended {
			return "end"
		}
		first := number + 1
		number += int64(v.Outputs)
		s = c.call("dynamic.run", object{"group": c.groups + 1, "mode": "eager", "fetch": first})
		c.groups++
		var f fetched
		s.into(t, &f)
		return string(f.Data)
	}
	state := func(reader int64) string {
		var v struct{ State string }
		c.call("dynamic.state", object{"reader": reader}).into(t, &v)
		return v.State
	}
	reader := open()
	var got, states []string
	for epoch := int64(1); epoch <= 2; epoch++ {
		for {
			b := next(reader, epoch)
			got = append(got, b)
			if b == "end" {
				break
			}
			states = append(states, state(reader))
		}
	}
	want := []string{"012", "345", "601", "end", "234", "560", "123", "end"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	other := open()
	c.call("dynamic.restore", object{"reader": other, "state": states[1]})
	if b := next(other, 1); b != "601" {
		t.Errorf("from a state: %s", b)
	}
	if s := c.wait(c.start("dynamic.restore", object{"reader": other, "state": states[1]})); s.Error == nil ||
		s.Error.Kind != "out of sequence" {
		t.Errorf("a state after a batch: %v", s.Error)
	}
	var meta map[string]int64
	c.call("dynamic.metadata", object{"reader": reader}).into(t, &meta)
	if meta["epoch_size"] != 7 || meta["number_of_shards"] != 1 {
		t.Error(meta)
	}
	c.call("dynamic.close", object{"reader": reader})
	for _, op := range []string{"dynamic.close", "dynamic.state", "dynamic.next"} {
		if s := c.wait(c.start(op, object{"reader": reader})); s.Error == nil || s.Error.Kind != "not found" {
			t.Errorf("%s of a closed reader: %v", op, s.Error)
		}
	}
}
