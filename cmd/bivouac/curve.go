package main

import (
	"math"
	"strings"
)

// curvePoints is how many points a curve has at most: twice the columns of a sparkline.
const curvePoints = 96

// curve is a series of any length in little memory. Each point is the mean of the same number of
// steps.
type curve struct {
	step   int64
	last   float64
	points []float64
	sum    float64
	n      int // values in sum
	each   int // values of a point
}

// add appends a value. Values that are not finite are gaps.
func (c *curve) add(step int64, v float64) {
	c.step, c.last = step, v
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	c.each = max(c.each, 1)
	c.sum += v
	if c.n++; c.n < c.each {
		return
	}
	c.points = append(c.points, c.sum/float64(c.n))
	c.sum, c.n = 0, 0
	if len(c.points) == curvePoints {
		for i := range curvePoints / 2 {
			c.points[i] = c.points[2*i]/2 + c.points[2*i+1]/2
		}
		c.points = c.points[:curvePoints/2]
		c.each *= 2
	}
}

// String draws the curve as a line of blocks, from the lowest to the highest value.
func (c *curve) String() string {
	points := c.points
	if c.n > 0 {
		points = append(points[:len(points):len(points)], c.sum/float64(c.n))
	}
	if len(points) == 0 {
		return ""
	}
	low, high := points[0], points[0]
	for _, v := range points {
		low, high = min(low, v), max(high, v)
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range points {
		at := 0.0
		if high > low {
			at = (v/2 - low/2) / (high/2 - low/2) // halves do not overflow
		}
		b.WriteRune(blocks[int(math.Round(at*float64(len(blocks)-1)))])
	}
	return b.String()
}
