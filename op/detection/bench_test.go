package detection

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkBoxEncoder(b *testing.B) {
	var anchors []float64
	for i := range 8732 {
		x, y, side := float64(i%97)/100, float64(i/97)/100, float64(1+i%30)/100
		anchors = append(anchors, x, y, min(x+side, 1), min(y+side, 1))
	}
	in := tensor.New(tensor.Float32, 20, 4)
	v, _ := tensor.Of[float32](in)
	for i := range 20 {
		x, y := float32(i*37%80)/100, float32(i*53%80)/100
		copy(v[4*i:], []float32{x, y, x + float32(5+i%15)/100, y + float32(5+i*7%15)/100})
	}
	optest.Bench(b, optest.Case{Op: "box_encoder", Args: op.Args{"anchors": anchors, "offset": true},
		Inputs: optest.Inputs(in, labels(make([]int32, 20)...))})
}
