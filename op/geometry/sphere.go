package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

func init() {
	registerDisplacement("sphere", "Makes pictures look as if on a ball: points are drawn towards the middle, the more the nearer they are to it.", nil,
		func(*op.Config) mover {
			return func(b *op.Block, size volume) mapping {
				kept := op.PerWorker[ball](b)
				*kept = ball{size}
				return kept
			}
		})
}

// ball is the map of sphere.
type ball struct{ size volume }

func (m *ball) row(_, y int, xs, ys, _ []float32) {
	middleX, middleY := float32(m.size.w)/2, float32(m.size.h)/2
	longest := float32(max(m.size.w/2, m.size.h/2)) // without a half, as in DALI
	dy := float32(y) + 0.5 - middleY
	for x := range xs {
		dx := float32(x) + 0.5 - middleX
		radius := float32(math.Sqrt(float64(float32(dx*dx)+float32(dy*dy)))) / longest
		xs[x], ys[x] = middleX+float32(radius*dx), middleY+float32(radius*dy)
	}
}
