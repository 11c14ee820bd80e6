package crew

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// upTo lists the processes below n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// One array that all have whole is cut along the first axis that divides evenly.
func TestSlicesOfReplicas(t *testing.T) {
	const d = tensor.Float32
	for _, c := range []struct {
		shape    tensor.Shape
		replicas int
		r        Replicas
		axis, n  int
	}{
		{tensor.Shape{1024, 1024}, 1, Replicas{Split: true}, 0, 1},
		{tensor.Shape{1024, 1024}, 2, Replicas{Split: true}, 0, 2},
		{tensor.Shape{1024, 1024}, 8, Replicas{Split: true}, 0, 8},
		{tensor.Shape{1024, 1024}, 8, Replicas{}, 0, 1},                            // as the options say
		{tensor.Shape{1024, 1024}, 3, Replicas{Split: true}, 0, 2},                 // no axis has a third
		{tensor.Shape{1023, 1024}, 2, Replicas{Split: true}, 1, 2},                 // the second axis
		{tensor.Shape{1023, 1024}, 3, Replicas{Split: true}, 0, 3},                 //
		{tensor.Shape{1021, 1021}, 8, Replicas{Split: true}, 0, 1},                 // primes
		{tensor.Shape{1024, 1024}, 8, Replicas{Split: true, Most: 3}, 0, 2},        //
		{tensor.Shape{1024, 1024}, 8, Replicas{Split: true, Most: 1}, 0, 1},        //
		{tensor.Shape{128, 128}, 8, Replicas{Split: true}, 0, 1},                   // slices would be below 64 KiB
		{tensor.Shape{128, 256}, 8, Replicas{Split: true}, 0, 2},                   // two halves are as large
		{tensor.Shape{8}, 8, Replicas{Split: true, MinBytes: 1}, 0, 8},             // asked for
		{tensor.Shape{8}, 8, Replicas{Split: true, MinBytes: 4}, 0, 8},             // exactly as large
		{tensor.Shape{8}, 8, Replicas{Split: true, MinBytes: 5}, 0, 4},             //
		{tensor.Shape{}, 8, Replicas{Split: true, MinBytes: 1}, 0, 1},              // a scalar
		{tensor.Shape{1, 7, 12}, 4, Replicas{Split: true, MinBytes: 1}, 2, 4},      //
		{tensor.Shape{7, 1}, 7, Replicas{Split: true, MinBytes: 1, Most: 9}, 0, 7}, //
	} {
		all := []held{{zarr.WholeBox(c.shape), upTo(c.replicas)}}
		if axis, n := c.r.axis(d, all); n != c.n || n > 1 && axis != c.axis {
			t.Errorf("%v for %d replicas, %+v: %d slices along axis %d, want %d along %d", c.shape, c.replicas, c.r,
				n, axis,
				c.n, c.axis)
		}
	}
	if got := (Replicas{Split: true}).deal(d, nil); len(got) != 0 {
		t.Errorf("no shards: %v", got)
	}
}

// Shards of different extents are cut along an axis on which all are alike, as often as the shard
// that the fewest processes have.
func TestSlicesOfUnevenShards(t *testing.T) {
	box := func(at, rows, columns int, by ...int) held {
		return held{zarr.Box{Origin: []int{at, 0}, Shape: []int{rows, columns}}, by}
	}
	r := Replicas{Split: true, MinBytes: 1}
	for _, c := range []struct {
		all     []held
		axis, n int
	}{
		{[]held{box(0, 4, 6, 0, 1), box(4, 4, 6, 2, 3)}, 0, 2},
		{[]held{box(0, 4, 6, 0, 1), box(4, 2, 6, 2, 3)}, 1, 2}, // rows differ
		{[]held{box(0, 4, 5, 0, 1), box(4, 2, 5, 2, 3)}, 0, 1}, // and columns are odd
		{[]held{box(0, 4, 6, 0, 1, 2), box(4, 4, 6, 3, 4)}, 0, 2},
		{[]held{box(0, 4, 6, 0, 1, 2), box(4, 4, 6, 3)}, 0, 1},
	} {
		if axis, n := r.axis(tensor.Uint8, c.all); n != c.n || n > 1 && axis != c.axis {
			t.Errorf("%v: %d slices along axis %d", c.all, n, axis)
		}
	}
}

// The slices of all replicas are the shards, each element once, and take has the elements of each.
func TestSlicesTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := tensor.Shape(rapid.SliceOfN(rapid.IntRange(1, 12), 0, 3).Draw(t, "shape"))
		whole := tensor.New(tensor.Int16, shape...)
		for i := range whole.Data {
			whole.Data[i] = byte(i * 7)
		}
		r := Replicas{Split: true, MinBytes: int64(rapid.IntRange(1, 40).Draw(t, "bytes")), Most: rapid.IntRange(0,
			9).Draw(t, "most")}
		shard := held{zarr.WholeBox(shape), upTo(rapid.IntRange(1, 8).Draw(t, "replicas"))}
		dealt := r.deal(tensor.Int16, []held{shard})
		if err := writer.Tiles(shape, placed(tensor.Int16, dealt)); err != nil {
			t.Fatal(err)
		}
		got := tensor.New(tensor.Int16, shape...)
		var by []int
		for _, o := range dealt {
			p := take(writer.Part{Origin: shard.Origin, Data: whole}, o)
			if err := p.Data.Check(); err != nil || !slices.Equal(p.Origin, o.Origin) {
				t.Fatal(p.Origin, err)
			}
			zarr.CopyBox(zarr.WholeBox(shape), got.Data, o.Box, p.Data.Data, 2)
			by = append(by, o.by)
		}
		if fmt.Sprint(by) != fmt.Sprint(upTo(len(dealt))) {
			t.Fatalf("written by %v", by)
		}
		if !bytes.Equal(got.Data, whole.Data) {
			t.Fatal("elements differ")
		}
	})
}

// Slices that would make too many chunks are not cut: the lowest process writes the shards.
func TestSlicesOfTooManyChunks(t *testing.T) {
	const rows = 600_000
	d := tensor.Uint8
	one, rest := tensor.New(d, 1, 2), tensor.New(d, rows-1, 2)
	p := &writer.Parts{DType: d, Shape: tensor.Shape{rows, 2},
		Parts: []writer.Part{{Origin: []int{0, 0}, Data: one}, {Origin: []int{1, 0}, Data: rest}}}
	few := &writer.Parts{DType: d, Shape: p.Shape, Parts: p.Parts[:1]}
	share := func(self int, parts *writer.Parts) (share, error) {
		g := Group{Self: self, Active: []int{0, 1}, Replicas: Replicas{Split: true, MinBytes: 1}}
		l := rolled{at: make([]int32, 2)}
		for range l.at {
			r := &itemRoll{}
			r.places.add(parts)
			l.rolls = append(l.rolls, r)
		}
		return (&divider{Group: g, self: self, seen: map[boxKey]struct{}{}}).shareOf(parts, &l)
	}
	for self, want := range []int{2, 0} {
		s, err := share(self, p)
		if err != nil || len(s.parts) != want || want > 0 && !slices.Equal(s.parts[1].Data.Shape, rest.Shape) {
			t.Errorf("process %d: %d parts, %v", self, len(s.parts), err)
		}
	}
	if _, err := share(0, few); err == nil || !strings.Contains(err.Error(), "process 1 has 1") {
		t.Error(err)
	}
}
