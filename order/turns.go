package order

import (
	"math"
	"sort"
)

// turns is a period in which sources take turns by whole parts. Among its first t positions each
// source has t*part/sum positions, with an error below one (R. Tijdeman, "The chairman assignment
// problem", Discrete Mathematics 32, 1980).
type turns struct {
	pick   []uint16  // the source of each position
	rank   []int32   // how often that source was picked before
	places [][]int32 // the positions of each source
}

// newTurns lays out a period of parts, whose sum is at most MixtureParts. A source may be picked at
// a position once its share is close enough to one more pick. Of the sources that may be picked,
// newTurns picks the one that would be too late first. It takes time in proportion to the sum times
// the number of sources.
func newTurns(parts []int64) *turns {
	sum, live := int64(0), make([]int, 0, len(parts))
	for i, p := range parts {
		if sum += p; p > 0 {
			live = append(live, i)
		}
	}
	t := &turns{pick: make([]uint16, sum), rank: make([]int32, sum), places: make([][]int32, len(parts))}
	for _, i := range live {
		t.places[i] = make([]int32, 0, parts[i])
	}
	slack := max(2*int64(len(live))-2, 1) // the share may be 1/slack below one more
	for pos := range sum {
		best, lateness := -1, 0.0
		for _, i := range live {
			// lack is the share of the first pos+1 positions less the picks so far, in units of 1/sum.
			lack := (pos+1)*parts[i] - int64(len(t.places[i]))*sum
			if lack*slack < sum {
				continue
			}
			if left := (float64(sum)*(1-1/float64(slack)) - float64(lack)) / float64(parts[i]); best < 0 || left < lateness {
				best, lateness = i, left
			}
		}
		t.pick[pos], t.rank[pos] = uint16(best), int32(len(t.places[best]))
		t.places[best] = append(t.places[best], int32(pos))
	}
	return t
}

// wholeParts returns whole numbers in the proportion of weights. They are exact if the weights are
// small whole numbers or stand for such numbers. Otherwise they have a sum of MixtureParts, are
// rounded by the largest remainder, and are at least 1 for a weight above 0.
func wholeParts(weights []float64) []int64 {
	if parts, ok := exactParts(weights); ok {
		return parts
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	parts, rest, given := make([]int64, len(weights)), make([]float64, len(weights)), int64(0)
	by := make([]int, len(weights))
	for i, w := range weights {
		share := w / sum * MixtureParts
		parts[i] = int64(share)
		rest[i], by[i] = share-float64(parts[i]), i
		if w > 0 && parts[i] == 0 {
			parts[i], rest[i] = 1, -1
		}
		given += parts[i]
	}
	sort.SliceStable(by, func(a, b int) bool { return rest[by[a]] > rest[by[b]] })
	for k := 0; given < MixtureParts; k++ {
		if i := by[k%len(by)]; weights[i] > 0 {
			parts[i]++
			given++
		}
	}
	for ; given > MixtureParts; given-- { // take from the largest what the smallest got
		most := 0
		for i, p := range parts {
			if p > parts[most] {
				most = i
			}
		}
		parts[most]--
	}
	return parts
}

// decimalParts returns whole parts for weights that stand in the proportion of small whole numbers,
// within the rounding of float64. Such weights are decimal numbers and fractions, and the parts are
// the exact numbers that they stand for.
func decimalParts(weights []float64) ([]int64, bool) {
	if parts, ok := exactParts(weights); ok {
		return parts, true
	}
	unit := 0.0 // the smallest weight
	for _, w := range weights {
		if w > 0 && (unit == 0 || w < unit) {
			unit = w
		}
	}
	// Some multiple of the smallest weight is a whole number that makes all other weights whole too.
	parts := make([]int64, len(weights))
	for k := 1.0; k <= MixtureParts; k++ {
		sum, divisor, ok := int64(0), int64(0), true
		for i, w := range weights {
			if w/unit > MixtureParts {
				return nil, false
			}
			x := w / unit * k
			whole := math.Round(x)
			if ok = math.Abs(x-whole) <= 1e-12*x; !ok {
				break
			}
			parts[i] = int64(whole)
			sum += parts[i]
			divisor = gcd(divisor, parts[i])
		}
		switch {
		case ok && sum/divisor <= MixtureParts:
			for i := range parts {
				parts[i] /= divisor
			}
			return parts, true
		case ok:
			return nil, false
		}
	}
	return nil, false
}

// exactParts returns weights divided by their greatest common divisor, if they are whole numbers.
func exactParts(weights []float64) ([]int64, bool) {
	parts, sum, divisor := make([]int64, len(weights)), 0.0, int64(0)
	for i, w := range weights {
		if w != math.Trunc(w) || w > 1<<53 {
			return nil, false
		}
		parts[i] = int64(w)
		divisor = gcd(divisor, parts[i])
		sum += w
	}
	if sum/float64(divisor) > MixtureParts {
		return nil, false
	}
	for i := range parts {
		parts[i] /= divisor
	}
	return parts, true
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
