package digits

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// memory holds a split of the data set, decoded and cropped, so that the
// network can be tested without a pipeline.
type memory struct {
	images  [][]float32
	classes []int32
}

func load(t testing.TB, root string) memory {
	t.Helper()
	var m memory
	for class := range Classes {
		names, err := filepath.Glob(filepath.Join(root, strconv.Itoa(class), "*.jpg"))
		if err != nil || len(names) == 0 {
			t.Fatalf("class %d below %s: %d files, %v", class, root, len(names), err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			img, err := jpeg.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			grey := img.(*image.Gray)
			x := make([]float32, 0, Side*Side)
			const margin = (ImageSide - Side) / 2
			for r := range Side {
				for c := range Side {
					x = append(x, (float32(grey.GrayAt(c+margin, r+margin).Y)-128)/64)
				}
			}
			m.images, m.classes = append(m.images, x), append(m.classes, int32(class))
		}
	}
	return m
}

// batch returns the samples ids as a pipeline would.
func (m memory) batch(ids ...int) (images, labels *tensor.Batch) {
	images, labels = tensor.NewBatch(tensor.Float32, len(ids), 1, Side, Side), tensor.NewBatch(tensor.Int32, len(ids), 1)
	for i, id := range ids {
		copy(images.Sample(i).Data, tensor.FromSlice(m.images[id]).Data)
		copy(labels.Sample(i).Data, tensor.FromSlice(m.classes[id:id+1]).Data)
	}
	return images, labels
}

func (m memory) random(r *rng.Philox, n int) (images, labels *tensor.Batch) {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = r.Intn(len(m.images))
	}
	return m.batch(ids...)
}

func dataset(t testing.TB) Dataset {
	t.Helper()
	d, err := WriteDataset(context.Background(), filepath.Join(t.TempDir(), "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTrainingReachesItsAccuracy(t *testing.T) {
	d := dataset(t)
	train, test := load(t, d.TrainDir()), load(t, d.TestDir())
	s, err := NewState(1)
	if err != nil {
		t.Fatal(err)
	}
	trainer := NewTrainer(s)
	random := rng.NewPhilox(1, 1, 0)
	for range 500 {
		images, labels := train.random(&random, BatchSize)
		if _, err := trainer.Step(images, labels); err != nil {
			t.Fatal(err)
		}
	}
	right := 0
	c := newClassifier(s)
	for i := range test.images {
		images, labels := test.batch(i)
		n, err := c.right(images, labels)
		if err != nil {
			t.Fatal(err)
		}
		right += n
	}
	if got := float64(right) / float64(len(test.images)); got < 0.95 {
		t.Errorf("accuracy after %d steps: %.3f, want at least 0.95", s.Step, got)
	}
}

// A step depends on State and batch alone: a copy of the state, trained by
// another Trainer, comes out the same bit for bit.
func TestStepIsAFunctionOfState(t *testing.T) {
	train := load(t, dataset(t).TestDir())
	s, err := NewState(3)
	if err != nil {
		t.Fatal(err)
	}
	random := rng.NewPhilox(3, 0, 0)
	trainer := NewTrainer(s)
	for range 5 {
		images, labels := train.random(&random, 8)
		if _, err := trainer.Step(images, labels); err != nil {
			t.Fatal(err)
		}
	}
	twin := cloneState(t, s)
	other := NewTrainer(twin)
	for range 5 {
		images, labels := train.random(&random, 8)
		a, err := trainer.Step(images, labels)
		if err != nil {
			t.Fatal(err)
		}
		b, err := other.Step(images, labels)
		if err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Fatalf("step %d: losses %v and %v", s.Step, a, b)
		}
	}
	if a, b := checksum(t, s), checksum(t, twin); a != b {
		t.Errorf("states differ: %s and %s", a, b)
	}
	twin.Random[0] ^= 1
	if checksum(t, s) == checksum(t, twin) {
		t.Error("the checksum does not see the random state")
	}
}

func cloneState(t *testing.T, s *State) *State {
	t.Helper()
	twin, err := NewState(0)
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.From(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Into(root, twin); err != nil {
		t.Fatal(err)
	}
	return twin
}

func checksum(t *testing.T, s *State) string {
	t.Helper()
	sum, err := s.Checksum()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func BenchmarkStep(b *testing.B) {
	train := load(b, dataset(b).TestDir())
	s, err := NewState(1)
	if err != nil {
		b.Fatal(err)
	}
	trainer := NewTrainer(s)
	random := rng.NewPhilox(1, 1, 0)
	images, labels := train.random(&random, BatchSize)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trainer.Step(images, labels); err != nil {
			b.Fatal(err)
		}
	}
}
