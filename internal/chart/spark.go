package chart

import (
	"math"
	"strings"
)

// sparkPoints is how many columns a Spark without Most has at most.
const sparkPoints = 96

// Spark is a series of any length as a line of text, in little memory. Each column is the mean of
// the same number of values. The zero value is an empty series.
type Spark struct {
	Most int // columns, at least 2; 0 is 96

	points []float64
	sum    float64
	n      int // values in sum
	each   int // values of a point
}

// Add appends a value. Values that are not finite are left out.
func (c *Spark) Add(v float64) {
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
	most := c.Most &^ 1
	if most == 0 {
		most = sparkPoints
	}
	if len(c.points) == most {
		for i := range most / 2 {
			c.points[i] = c.points[2*i]/2 + c.points[2*i+1]/2
		}
		c.points = c.points[:most/2]
		c.each *= 2
	}
}

// String draws the series as a line of blocks, from the lowest to the highest value.
func (c *Spark) String() string {
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
