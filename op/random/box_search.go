package random

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// span is a range that includes both ends.
type span struct{ lo, hi float32 }

func (s span) has(v float32) bool { return v >= s.lo && v <= s.hi }

// boxSearch draws windows until one agrees with the boxes of an image. Its rules are as in DALI. It
// draws a threshold, which the overlap of window and boxes must reach, and then attempts windows.
// It takes the last window that reaches the threshold if any box is left in it. Otherwise it draws
// the next threshold. After total windows it takes the best one.
type boxSearch struct {
	thresholds []float32
	noCrop     bool // the draw of a threshold may also choose the whole image
	ratios     []span
	scale      span
	attempts   int
	total      int // -1: no limit
	byArea     bool
	allBoxes   bool
	prune      float32 // share of a box that must be in the window; below 0: its centre
}

// endless is the number of windows after which a search without a total gives up.
const endless = 100_000

// frame holds the sizes of a sample in pixels, or 0 if they are not given.
type frame struct{ crop, image [3]int }

// window is the result of a search.
type window struct {
	crop  box // in pixels if the size of the window is given
	boxes []box
	kept  []int32 // indices of the remaining boxes
}

// find searches a window for an image with the given boxes.
func (q *boxSearch) find(words libstdcxx.Words, boxes []box, axes int, f *frame, w *window) error {
	outcomes := len(q.thresholds)
	if q.noCrop {
		outcomes++
	}
	best := float32(-1)
	w.boxes, w.kept, w.crop = w.boxes[:0], w.kept[:0], box{}
	for count := 0; q.total < 0 || count < q.total; {
		if count >= endless && q.total < 0 {
			return &errs.Error{Kind: errs.Invalid, Subject: "boxes", Want: "a window that agrees with the arguments", Got: fmt.Sprintf("no such window in %d draws", endless),
				Remedy: "set total_num_attempts, allow_no_crop or lower thresholds"}
		}
		threshold := float32(0)
		if i := int(words.UniformInt(0, int32(outcomes-1))); i < len(q.thresholds) {
			threshold = q.thresholds[i]
		} else {
			w.whole(boxes, axes)
			return nil
		}
		found := false
		for range q.attempts {
			count++
			crop, relative, ok := q.draw(words, axes, f)
			if !ok {
				continue
			}
			overlap := q.overlap(&relative, boxes, axes, min(best, threshold))
			reached := overlap >= threshold || len(boxes) == 0 // without boxes every threshold is reached
			if overlap <= best && !reached {
				continue
			}
			best = overlap
			w.crop = crop
			q.keep(&relative, boxes, axes, w)
			found = reached && (len(w.boxes) > 0 || len(boxes) == 0)
		}
		if found {
			return nil
		}
	}
	return nil
}

// whole makes the whole image the window.
func (w *window) whole(boxes []box, axes int) {
	w.crop = box{}
	for d := range axes {
		w.crop.hi[d] = 1
	}
	w.boxes, w.kept = append(w.boxes[:0], boxes...), w.kept[:0]
	for i := range boxes {
		w.kept = append(w.kept, int32(i))
	}
}

// draw returns a window in the form of the outputs and as a part of the image. ok is false if its
// aspect ratio is not allowed.
func (q *boxSearch) draw(words libstdcxx.Words, axes int, f *frame) (crop, relative box, ok bool) {
	if f.crop != [3]int{} {
		for d := range axes {
			at := int32(0)
			if room := f.image[d] - f.crop[d]; room > 0 {
				at = words.UniformInt(0, int32(room))
			}
			crop.lo[d] = float32(at)
			relative.lo[d] = float32(at) / float32(f.image[d])
			crop.hi[d] = float32(f.crop[d]) + crop.lo[d]
			relative.hi[d] = float32(f.crop[d])/float32(f.image[d]) + relative.lo[d]
		}
		return crop, relative, true
	}
	var lengths [3]float32
	for d := range axes {
		lengths[d] = words.UniformReal(q.scale.lo, q.scale.hi)
	}
	pixels := lengths // aspect ratios compare pixels if the image has a size
	sized := f.image != [3]int{}
	if sized {
		for d := range axes {
			pixels[d] *= float32(f.image[d])
		}
	}
	if q.fixesRatio(axes) {
		q.fixRatios(words, &pixels, axes)
		lengths = pixels
		for d := range axes {
			if sized {
				lengths[d] /= float32(f.image[d])
			}
		}
	}
	if !q.ratiosAllowed(&pixels, axes) {
		return crop, relative, false
	}
	for d := range axes {
		relative.lo[d] = words.UniformReal(0, 1-lengths[d])
		relative.hi[d] = relative.lo[d] + lengths[d]
	}
	return relative, relative, true
}

// ratio returns the allowed range of the ratio of two axes. The pairs 0 1, 0 2 and 1 2 have the
// ranges 0, 1 and 2.
func (q *boxSearch) ratio(i, j int) span { return q.ratios[(i+j-1)%len(q.ratios)] }

// fixesRatio reports whether any ratio has only one allowed value.
func (q *boxSearch) fixesRatio(axes int) bool {
	for j := 1; j < axes; j++ {
		for i := range j {
			if r := q.ratio(i, j); r.lo == r.hi {
				return true
			}
		}
	}
	return false
}

// shuffledAxes returns the axes in the order in which std::shuffle puts them with the words that
// come next. It works on a copy of the stream, so that the corner of the window takes the same
// words.
func shuffledAxes(words libstdcxx.Words, axes int) [3]int {
	ahead := *words.Philox
	words.Philox = &ahead
	order := [3]int{0, 1, 2}
	swap := func(i, j int32) { order[i], order[j] = order[j], order[i] }
	if axes == 2 {
		swap(1, words.UniformInt(0, 1))
		return order
	}
	both := words.UniformInt(0, 5) // one number gives the places of two axes
	swap(1, both/3)
	swap(2, both%3)
	return order
}

// fixRatios sets each ratio that has only one allowed value to this value, and keeps the longest
// axis. It goes through the axes in a random order. For each pair it fits the second axis to the
// first axis. So the order decides which axis keeps its length, and how the other axes are rounded.
func (q *boxSearch) fixRatios(words libstdcxx.Words, lengths *[3]float32, axes int) {
	order := shuffledAxes(words, axes)
	longest := max(lengths[0], lengths[1], lengths[2])
	for a := range axes {
		for b := a + 1; b < axes; b++ {
			i, j := order[a], order[b]
			r := q.ratio(i, j)
			if r.lo != r.hi {
				continue
			}
			factor := r.lo // x/y: the factor from y to x
			if i < j {
				factor = float32(1 / float64(r.lo))
			}
			if factor > 0 {
				lengths[j] = lengths[i] * factor
			}
		}
	}
	now := max(lengths[0], lengths[1], lengths[2])
	for d := range axes {
		lengths[d] = longest * lengths[d] / now
	}
}

// ratiosAllowed reports whether all ratios are in their ranges. A ratio with only one allowed value
// must equal this value exactly. If rounding has changed it, the window does not count.
func (q *boxSearch) ratiosAllowed(lengths *[3]float32, axes int) bool {
	for i := range axes {
		for j := i + 1; j < axes; j++ {
			if !q.ratio(i, j).has(lengths[i] / lengths[j]) {
				return false
			}
		}
	}
	return true
}

// overlap returns the least or the largest overlap of a window with the boxes. An overlap below
// enough is not exact: such a window does not count.
func (q *boxSearch) overlap(crop *box, boxes []box, axes int, enough float32) float32 {
	var least, most float32
	for i := range boxes {
		v := crop.overUnion(&boxes[i], axes)
		if q.byArea {
			v = crop.common(&boxes[i], axes) / boxes[i].volume(axes)
		}
		if i == 0 {
			least, most = v, v
		}
		least, most = min(least, v), max(most, v)
		if q.allBoxes && least < enough {
			break
		}
	}
	if q.allBoxes {
		return least
	}
	return most
}

// keep sets the boxes that remain in a window, in the coordinates of the window.
func (q *boxSearch) keep(crop *box, boxes []box, axes int, w *window) {
	w.boxes, w.kept = w.boxes[:0], w.kept[:0]
	for i := range boxes {
		in := crop.hasCenter(&boxes[i], axes)
		if q.prune >= 0 {
			share := crop.common(&boxes[i], axes) / boxes[i].volume(axes)
			in = share > 0 && share >= q.prune
		}
		if in {
			w.boxes = append(w.boxes, crop.within(&boxes[i], axes))
			w.kept = append(w.kept, int32(i))
		}
	}
}
