package digits

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
)

// The gradients agree with difference quotients of the loss.
func TestGradients(t *testing.T) {
	s, err := NewState(5)
	if err != nil {
		t.Fatal(err)
	}
	trainer := NewTrainer(s)
	random := rng.NewPhilox(5, 1, 0)
	image := make([]float32, Side*Side)
	for i := range image {
		image[i] = float32(random.Normal())
	}
	trainer.drawMask(&random)
	weights, err := s.Model.slices()
	if err != nil {
		t.Fatal(err)
	}
	grads, err := trainer.grads.slices()
	if err != nil {
		t.Fatal(err)
	}
	const class = 3
	loss := func() float64 {
		trainer.net.run(image, &weights, trainer.mask)
		return float64(trainer.lossGradient(class, 1))
	}
	loss()
	trainer.backward(&weights, &grads)
	for i, w := range weights {
		close := 0
		const tries = 20
		for range tries {
			j := random.Intn(len(w))
			old := w[j]
			const h = 2e-3
			w[j] = old + h
			up := loss()
			w[j] = old - h
			down := loss()
			w[j] = old
			want := (up - down) / (2 * h)
			if math.Abs(want-float64(grads[i][j])) <= 2e-2*max(1, math.Abs(want)) {
				close++
			}
		}
		if close < tries*9/10 { // a quotient across the bend of a rectifier may be off
			t.Errorf("parameters %d: %d of %d gradients agree with difference quotients", i, close, tries)
		}
	}
}

func TestGatherAndScatter(t *testing.T) {
	l := layer{in: 2, side: 5, kernel: 3, stride: 2, out: 1}
	image := make([]float32, l.inputs())
	for i := range image {
		image[i] = float32(i)
	}
	windows := make([]float32, l.positions()*l.window())
	l.gather(windows, image)
	// The last window begins at row 2, column 2; its last pixel is the last of the image.
	if got, want := windows[3*l.window()], image[2*5+2]; got != want {
		t.Errorf("first pixel of the last window is %v, want %v", got, want)
	}
	if got, want := windows[len(windows)-1], image[len(image)-1]; got != want {
		t.Errorf("last pixel of the last window is %v, want %v", got, want)
	}
	for i := range windows {
		windows[i] = 1
	}
	clear(image)
	l.scatter(image, windows)
	if image[0] != 1 || image[2] != 2 || image[2*5+2] != 4 {
		t.Errorf("windows overlap %v, %v and %v times at corner, edge and centre, want 1, 2 and 4", image[0], image[2], image[12])
	}
}
