package geometry

import "math"

// homography is a projective transform of the plane: a matrix that maps (x, y, 1).
type homography [3][3]float64

// shifted returns the transform that moves points by x and y.
func shifted(x, y float64) homography { return homography{{1, 0, x}, {0, 1, y}, {0, 0, 1}} }

// then returns the transform that applies m first and then next.
func (m homography) then(next homography) (out homography) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				out[i][j] += float64(next[i][k] * m[k][j])
			}
		}
	}
	return out
}

// at returns where a point goes. ok is false for a point that goes to infinity or behind it.
func (m *homography) at(x, y float64) (u, v float64, ok bool) {
	sum := func(r [3]float64) float64 { return float64(r[0]*x) + float64(r[1]*y) + r[2] }
	w := sum(m[2])
	return sum(m[0]) / w, sum(m[1]) / w, w > 0
}

// row implements mapping.
func (m *homography) row(_, y int, xs, ys, _ []float32) {
	for i := range xs {
		u, v, ok := m.at(float64(i)+0.5, float64(y)+0.5)
		if !ok {
			u, v = math.MinInt32, math.MinInt32 // outside
		}
		xs[i], ys[i] = float32(u), float32(v)
	}
}

// inverse returns the inverse transform.
func (m *homography) inverse() (out homography, ok bool) {
	minor := func(a, b, c, d int) float64 { return float64(m[a][c]*m[b][d]) - float64(m[a][d]*m[b][c]) }
	det := float64(m[0][0]*minor(1, 2, 1, 2)) - float64(m[0][1]*minor(1, 2, 0, 2)) + float64(m[0][2]*minor(1, 2, 0, 1))
	for i := range 3 {
		for j := range 3 {
			a, b, c, d := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
			out[j][i] = minor(a, b, c, d) / det
		}
	}
	return out, math.Abs(det) > 1e-12 && !math.IsInf(det, 0)
}

// perspectiveOf returns the transform that moves the corners of an image by d, fractions of width
// and height. ok is false unless d has 8 numbers and the moved corners make a convex shape.
func perspectiveOf(d []float64, w, h float64) (homography, bool) {
	if len(d) != 8 {
		return homography{}, false
	}
	var p [4][2]float64
	for i, c := range [4][2]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
		p[i] = [2]float64{(c[0] + d[2*i]) * w, (c[1] + d[2*i+1]) * h}
	}
	for i := range p {
		a, b, c := p[i], p[(i+1)%4], p[(i+2)%4]
		cross := float64((b[0]-a[0])*(c[1]-b[1])) - float64((b[1]-a[1])*(c[0]-b[0]))
		if !(cross > 0) || math.IsInf(cross, 0) {
			return homography{}, false
		}
	}
	if [8]float64(d) == ([8]float64{}) {
		return shifted(0, 0), true
	}
	// The unit square goes to the corners p: see Heckbert, Fundamentals of Texture Mapping, 1989.
	sx, sy := p[0][0]-p[1][0]+p[2][0]-p[3][0], p[0][1]-p[1][1]+p[2][1]-p[3][1]
	dx1, dy1, dx2, dy2 := p[1][0]-p[2][0], p[1][1]-p[2][1], p[3][0]-p[2][0], p[3][1]-p[2][1]
	det := float64(dx1*dy2) - float64(dx2*dy1)
	g, k := (float64(sx*dy2)-float64(dx2*sy))/det, (float64(dx1*sy)-float64(sx*dy1))/det
	m := homography{
		{p[1][0] - p[0][0] + float64(g*p[1][0]), p[3][0] - p[0][0] + float64(k*p[3][0]), p[0][0]},
		{p[1][1] - p[0][1] + float64(g*p[1][1]), p[3][1] - p[0][1] + float64(k*p[3][1]), p[0][1]},
		{g, k, 1},
	}
	return homography{{1 / w, 0, 0}, {0, 1 / h, 0}, {0, 0, 1}}.then(m), true
}
