package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

func init() {
	registerDisplacement("sphere", "Makes pictures look as if on a ball: points are drawn towards the middle, the more the nearer they are to it.", nil,
		func(*op.Config) func(volume) mapping {
			return func(size volume) mapping { return ball{size} }
		})
}

// ball is the map of sphere.
type ball struct{ size volume }

func (m ball) row(_, y int, xs, ys, _ []float64) {
	middleX, middleY := float64(m.size.w)/2, float64(m.size.h)/2
	longest := float64(max(m.size.w/2, m.size.h/2)) // without a half, as in DALI
	dy := float64(y) + 0.5 - middleY
	for x := range xs {
		dx := float64(x) + 0.5 - middleX
		radius := math.Hypot(dx, dy) / longest
		xs[x], ys[x] = middleX+radius*dx, middleY+radius*dy
	}
}
