package resample

// passes holds the costs of the passes over the axes D, H and W.
type passes struct {
	support  [3]int // inputs that take part in an output
	from, to [3]int // the inputs that take part
	out      [3]int
}

// costs are the costs of a pass along D, H and W, per output element and input that takes part.
// bias is added.
var costs = [3]float32{1.2, 1, 1.4}

const bias = 3

// orders are all orders of the axes. Orders that begin with D come last: an image, whose D is one
// element, does D at the end.
var orders = [...][3]int{{2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}}

// cheapest returns the order of axes with the least cost. For an image, D comes last.
func (p *passes) cheapest(image bool) (best [3]int) {
	candidates := orders[:]
	if image {
		candidates = orders[:2]
	}
	least := float32(-1)
	for _, order := range candidates {
		if cost := p.cost(order); least < 0 || cost < least {
			best, least = order, cost
		}
	}
	return best
}

// cost is the cost of an order of passes. Its float32 roundings decide between orders that cost the
// same.
func (p *passes) cost(order [3]int) (sum float32) {
	var size [3]int
	for i := range size {
		size[i] = p.to[i] - p.from[i]
	}
	for _, axis := range order {
		size[axis] = p.out[axis]
		n := float32(size[0] * size[1] * size[2])
		sum += float32(float32(n*float32(p.support[axis]))*costs[axis]) + float32(n*bias)
	}
	return sum
}
